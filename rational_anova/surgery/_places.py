"""Where a model has the activations of its feed-forward layers.

A feed-forward layer is seen by its linear maps: one goes from the width d to h channels, another
back from h to d, and the activation stands beside them (as in ViT, GPT-2, LLaMA and timm's `Mlp`),
beside the first of them (as in BERT), or between them in an `nn.Sequential`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ..networks import RANFFN, RANFFNPlus
from ..units import Rational1d, RationalUnit
from ._recognise import Activation, is_activation
from ._shared import SharedUnit

# Attributes that hold a plain function, such as BERT's `intermediate_act_fn`.
_NAME = re.compile(r"act|nonlin|gelu|relu|silu|swish|tanh", re.I)


@dataclass(frozen=True)
class Linear:
    """What is known of a linear map: its sizes, the axis of its features, and its weight."""

    inputs: int
    outputs: int
    dim: int
    weight: torch.Tensor


@dataclass(frozen=True)
class Place:
    """An activation in a model; `channels` is None where its width has not been seen."""

    holder: nn.Module
    path: str
    attribute: str
    activation: Activation
    channels: int | None
    dim: int = -1
    weight: torch.Tensor | None = None

    @property
    def name(self) -> str:
        """Its name in the model."""
        return f"{self.path}.{self.attribute}" if self.path else self.attribute

    @property
    def converted(self) -> bool:
        """Whether a rational unit is there already."""
        return isinstance(self.activation, Rational1d | SharedUnit)


def find(model: nn.Module) -> list[Place]:
    """Return every activation of a model; those outside feed-forward layers have no channels."""
    modules = dict(model.named_modules())
    return [
        place
        for path, holder in modules.items()
        if not isinstance(holder, RationalUnit | SharedUnit)
        for place in _places(modules, path, holder)
    ]


def linear_map(module: Any) -> Linear | None:
    """Return the sizes of a linear map: of torch, of GPT-2's transposed kind, or a 1 x 1 kernel."""
    weight = getattr(module, "weight", None)
    if isinstance(module, nn.Linear):
        return Linear(module.in_features, module.out_features, -1, module.weight)
    if isinstance(module, nn.Conv2d) and module.kernel_size == (1, 1) and module.groups == 1:
        return Linear(module.in_channels, module.out_channels, 1, module.weight)
    if isinstance(weight, torch.Tensor) and weight.dim() == 2 and hasattr(module, "nf"):
        return Linear(weight.shape[0], weight.shape[1], -1, weight)
    return None


def _places(modules: dict[str, nn.Module], path: str, holder: nn.Module) -> Iterator[Place]:
    found = list(_activations(holder))
    if not found:
        return
    beside = None if isinstance(holder, nn.Sequential) else _around(modules, path, holder)
    for attribute, activation in found:
        near = _between(holder, attribute) if isinstance(holder, nn.Sequential) else beside
        if near is None:
            yield Place(holder, path, attribute, activation, None)
        else:
            channels, first = near
            yield Place(holder, path, attribute, activation, channels, first.dim, first.weight)


def _activations(holder: nn.Module) -> Iterator[tuple[str, Activation]]:
    for name, child in _children(holder).items():
        if isinstance(child, Rational1d | SharedUnit) or is_activation(child):
            yield name, child
    for name, value in vars(holder).items():
        plain = callable(value) and not isinstance(value, nn.Module) and not name.startswith("_")
        if plain and _NAME.search(name) and is_activation(value):
            yield name, value


def _between(holder: nn.Sequential, attribute: str) -> tuple[int, Linear] | None:
    """Channels of an activation in a sequence, and the linear map before it."""
    children = _children(holder)
    here = list(children).index(attribute)
    parts = list(children.values())
    before, after = _next_map(parts[:here][::-1]), _next_map(parts[here + 1 :])
    if before is None or after is None or after.inputs != before.outputs:
        return None
    return before.outputs, before


def _next_map(modules: list[nn.Module]) -> Linear | None:
    """The first linear map, if no other matrix comes before it (norms and dropout may)."""
    for module in modules:
        found = linear_map(module)
        if found is not None or any(p.dim() > 1 for p in module.parameters()):
            return found
    return None


def _children(module: nn.Module) -> dict[str, nn.Module]:
    """The modules in another by name; one that stands there twice, twice."""
    return {name: child for name, child in module._modules.items() if child is not None}


def _around(
    modules: dict[str, nn.Module], path: str, holder: nn.Module
) -> tuple[int, Linear] | None:
    """Channels of the feed-forward layer that a module is, and its first linear map."""
    own = _linears(holder)
    if isinstance(holder, RANFFN | RANFFNPlus):  # the latter's second map reads pairs as well
        return own[0].outputs, own[0]
    pairs = [
        (back.inputs, first)
        for n, first in enumerate(own)
        for back in own[n + 1 :]
        # Gated layers may have both halves of their first map in one.
        if back.outputs == first.inputs and first.outputs in (back.inputs, 2 * back.inputs)
    ]
    if pairs:
        return max(pairs, key=lambda pair: pair[0])
    if len(own) != 1 or not path:
        return None
    parent = modules[path.rpartition(".")[0]]
    for sibling in parent.children():
        for back in [] if sibling is holder else _linears(sibling):
            if (back.inputs, back.outputs) == (own[0].outputs, own[0].inputs):
                return own[0].outputs, own[0]
    return None


def _linears(module: nn.Module) -> list[Linear]:
    return [found for child in _children(module).values() if (found := linear_map(child))]
