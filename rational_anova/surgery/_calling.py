"""A model called on inputs of any form, to see the widths of its activations or count its work."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ..budgets import FlopCount, count_flops
from ._places import Place, linear_map
from ._trial import listening

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
