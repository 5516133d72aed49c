"""What surgery has changed in a model, how large it was and is, and the way back."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from .._core.modules import linear_map
from .._core.saveable import class_name
from ..budgets import FlopCount, count_flops, count_parameters
from ..units import RationalUnit
from . import _plan as record
from ._places import Place, describe, find, listening
from ._swap import SharedUnit, Swap

Inputs = Tensor | Sequence[Any] | Mapping[str, Any]


class _Bound(nn.Module):
    """A model with its inputs, as a module of one argument that it does not need."""

    def __init__(self, model: nn.Module, inputs: Inputs) -> None:
        super().__init__()
        self.model = model
        self.inputs = inputs

    def forward(self, _: Tensor) -> Any:
        return call(self.model, self.inputs)


def call(model: nn.Module, inputs: Inputs) -> Any:
    """Call a model on a tensor, on several arguments, or on named ones."""
    if isinstance(inputs, Tensor):
        return model(inputs)
    return model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)


def operations(model: nn.Module, inputs: Inputs | None) -> FlopCount | None:
    """Return the operations of one forward pass, None without inputs."""
    return None if inputs is None else count_flops(_Bound(model, inputs), torch.empty(0))


def widths(model: nn.Module, places: Sequence[Place], inputs: Inputs) -> dict[str, tuple[int, int]]:
    """Run the model once and return, by name, how many channels each activation has, on which axis.

    The axis is that of the last linear map or convolution that ran before, if the sizes agree;
    otherwise the last one, if there are no axes of an image.
    """
    seen: dict[str, tuple[int, int]] = {}
    last: list[tuple[int, int]] = []  # axes and outputs of the last map; axes 0 for any number

    def told(place: Place, x: Tensor) -> None:
        dim = _axis(place, x, last)
        channels = x.shape[dim]
        before = seen.setdefault(place.name, (channels, dim))
        if before != (channels, dim):
            raise ValueError(
                f"{place.name} is given {before[0]} channels once and {channels} another time; "
                "leave it out by where="
            )

    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad(), contextlib.ExitStack() as stack:
            for module in modes:
                ran = _outputs(module)
                if ran is not None:
                    hook = module.register_forward_hook(lambda *_, ran=ran: last.append(ran))
                    stack.callback(hook.remove)
            for place in places:
                note = functools.partial(told, place)
                stack.enter_context(listening(place.holder, place.attribute, note))
            call(model, inputs)
    finally:
        for module, mode in modes.items():
            module.training = mode
    return seen


def _outputs(module: nn.Module) -> tuple[int, int] | None:
    """How many axes the outputs of a convolution have (0: any, of a linear map), and how many."""
    if isinstance(module, _ConvNd):
        return len(module.kernel_size) + 2, module.out_channels
    found = linear_map(module)
    return None if found is None else (0, found.outputs)


def _axis(place: Place, x: Tensor, last: list[tuple[int, int]]) -> int:
    """The axis of the channels in what an activation is given."""
    axes, outputs = last[-1] if last else (0, 0)
    convolved = axes == x.dim()
    second, final = convolved and x.shape[1] == outputs, x.shape[-1] == outputs
    if second and not final:
        return 1
    if second or (not final and (convolved or x.dim() > 3)):
        raise ValueError(
            f"{place.name} is given a tensor of shape {tuple(x.shape)}, and the map before it does "
            "not tell which axis holds the channels: pass inputs= of another size, or leave it out "
            "by where="
        )
    return -1


@dataclass(frozen=True)
class Size:
    """How large a model is: its parameters, and its operations where inputs were given."""

    parameters: int
    flops: FlopCount | None


@dataclass(frozen=True)
class Change:
    """One place: what was there, what is there now, and how far it is from what was there.

    Attributes:
        name: of the place in the model.
        old: the former activation or module.
        new: the present one.
        parameters: that came with it.
        error: largest distance of a fitted unit from the old activation over its range; 0 where
            the unit computes the same.
        tail: of a fitted unit, the largest |unit - activation| / (1 + |x|) outside of its range, to
            ten times of it.
    """

    name: str
    old: str
    new: str
    parameters: int
    error: float
    tail: float = 0.0


class SurgeryReport:
    """The record of a conversion.

    Attributes:
        changes: one for each place.
        left: names of activations that stay as they are, such as those of poolers, and of experts
            whose weights are in one tensor.
        before: size of the model as it was.
        after: size of the model as it is.
        plan: the changes in JSON's terms, for `reapply_`. A model of Hugging Face has it in its
            `config.rational_anova`, too, which its `save_pretrained` writes.
    """

    def __init__(
        self, model: nn.Module, swaps: list[Swap], before: Size, after: Size, left: Iterable[str]
    ) -> None:
        self._model, self._swaps = model, swaps
        self._undone = False
        self.left = tuple(left)
        self.before, self.after = before, after
        self.plan: dict[str, Any] = record.plan(swaps)
        self.changes = [_change(swap) for swap in swaps]

    def undo(self) -> None:
        """Restore the original activations; what the units have learned is lost."""
        if self._undone:
            raise RuntimeError("this surgery was undone before")
        moved = [swap.name for swap in self._swaps if not swap.stands]
        if moved:
            raise RuntimeError(
                f"cannot undo: the model has something else at {', '.join(moved[:3])}; undo later "
                "surgery first"
            )
        _back(self._swaps)
        record.forget(self._model, self.plan)
        self._undone = True

    def __str__(self) -> str:
        rows = [("place", "was", "is", "parameters", "error", "tail")]
        rows += [
            (c.name, c.old, c.new, f"{c.parameters:,}", f"{c.error:.2g}", f"{c.tail:.2g}")
            for c in self.changes
        ]
        sizes = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
            for row in rows
        ]
        growth = self.after.parameters / max(self.before.parameters, 1) - 1
        lines.append(
            f"parameters {self.before.parameters:,} -> {self.after.parameters:,} ({growth:+.3%})"
        )
        if self.before.flops is not None and self.after.flops is not None:
            totals = self.before.flops.total, self.after.flops.total
            share = totals[1] / max(totals[0], 1) - 1
            lines.append(f"operations {totals[0]:,} -> {totals[1]:,} ({share:+.3%})")
        if self.left:
            more = f", ... ({len(self.left)} in all)" if len(self.left) > 5 else ""
            lines.append(f"left as they are: {', '.join(self.left[:5])}{more}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        sizes = f"parameters {self.before.parameters} -> {self.after.parameters}"
        return f"SurgeryReport({len(self.changes)} places, {sizes})"


def perform(model: nn.Module, swaps: list[Swap], inputs: Inputs | None) -> SurgeryReport:
    """Do the swaps, note them in the model's configuration, and return the record."""
    before = _size(model, inputs)
    for swap in swaps:
        swap.put()
    try:
        left = [place.name for place in find(model) if not place.converted]
        report = SurgeryReport(model, swaps, before, _size(model, inputs), left)
        record.note(model, report.plan)
    except BaseException:
        _back(swaps)
        raise
    return report


def _back(swaps: list[Swap]) -> None:
    for swap in reversed(swaps):
        swap.back()


def _size(model: nn.Module, inputs: Inputs | None) -> Size:
    return Size(count_parameters(model, trainable=False), operations(model, inputs))


def _change(swap: Swap) -> Change:
    new = swap.new.unit if isinstance(swap.new, SharedUnit) else swap.new
    units = [module for module in new.modules() if isinstance(module, RationalUnit)]
    fits = [unit.init_error for unit in units if unit.init_error is not None]
    error = max((fit.maximum for fit in fits), default=0.0)
    tail = max((fit.tail for fit in fits), default=0.0)
    text = class_name(new) if len(units) > 1 or new not in units else repr(new)
    if swap.owner is not None:
        text = f"unit of {swap.owner}"
    added = count_parameters(swap.new, trainable=False)
    if isinstance(swap.old, nn.Module):
        added -= count_parameters(swap.old, trainable=False)
    old = describe(swap.old) if not _composite(swap.old) else type(swap.old).__name__
    return Change(swap.name, old, text, added, error, tail)


def _composite(old: Any) -> bool:
    return isinstance(old, nn.Module) and any(True for _ in old.children())
