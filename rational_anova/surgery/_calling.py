"""A model called on inputs of any form, to see the widths of its activations or count its work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..budgets import FlopCount, count_flops
from ._places import Place

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


def widths(model: nn.Module, places: Sequence[Place], inputs: Inputs) -> dict[str, int]:
    """Run the model once and return, by name, the last axis of what each activation was given."""
    seen: dict[str, int] = {}
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad(), contextlib.ExitStack() as stack:
            for place in places:
                stack.enter_context(_listening(place, seen))
            call(model, inputs)
    finally:
        for module, mode in modes.items():
            module.training = mode
    return seen


@contextlib.contextmanager
def _listening(place: Place, seen: dict[str, int]) -> Iterator[None]:
    def note(x: Tensor) -> None:
        size = x.shape[-1]
        if seen.setdefault(place.name, size) != size:
            raise ValueError(
                f"{place.name} is given {seen[place.name]} channels once and {size} another time; "
                "leave it out by where="
            )

    if isinstance(place.activation, nn.Module):
        handle = place.activation.register_forward_pre_hook(lambda _, args: note(args[0]))
        try:
            yield
        finally:
            handle.remove()
        return

    def listener(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        note(x)
        return place.activation(x, *args, **kwargs)

    vars(place.holder)[place.attribute] = listener
    try:
        yield
    finally:
        vars(place.holder)[place.attribute] = place.activation
