"""Where a model has the activations of its feed-forward layers.

A feed-forward layer is seen by its linear maps: one goes from the width d to h channels, another
back from h to d, and the activation stands beside them (as in ViT, GPT-2, LLaMA and timm's `Mlp`),
beside the first of them (as in BERT), or between them in an `nn.Sequential`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from ..networks import RANFFN, RANFFNPlus
from ..units import Rational1d, RationalUnit
from ._recognise import Activation, is_activation
from ._shared import SharedUnit
from ._trial import shapes

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
    """An activation in a model; `channels` is None where its width has not been seen.

    `doubt` says why the linear maps beside it do not suffice to tell the width.
    """

    holder: nn.Module
    path: str
    attribute: str
    activation: Activation
    channels: int | None
    dim: int = -1
    weight: torch.Tensor | None = None
    doubt: str | None = None

    @property
    def name(self) -> str:
        """Its name in the model."""
        return f"{self.path}.{self.attribute}" if self.path else self.attribute

    @property
    def converted(self) -> bool:
        """Whether a rational unit is there already."""
        return _is_unit(self.activation)


def find(model: nn.Module) -> list[Place]:
    """Return every activation of a model; those outside feed-forward layers have no channels."""
    modules = dict(model.named_modules())
    return [
        place
        for path, holder in modules.items()
        # Some activations hold a function, which is theirs alone.
        if not isinstance(holder, RationalUnit | SharedUnit) and not is_activation(holder)
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
    if isinstance(holder, nn.Sequential):
        yield from (_in_sequence(holder, path, *what) for what in found)
        return
    beside = _around(modules, path, holder)
    if beside is None:
        yield from (_place(holder, path, *what, None, None) for what in found)
        return
    channels, first = beside
    left = [attribute for attribute, old in found if not _is_unit(old)]
    seen = shapes(holder, left, first.inputs, first.dim) if left else None
    for attribute, activation in found:
        place = _place(holder, path, attribute, activation, channels, first)
        if not place.converted:
            sure = len(left) == 1 and first.outputs == channels
            place = _told(place, first, None if seen is None else seen[attribute], sure)
        yield place


def _place(
    holder: nn.Module,
    path: str,
    attribute: str,
    activation: Activation,
    channels: int | None,
    first: Linear | None,
) -> Place:
    if channels is None or first is None:
        return Place(holder, path, attribute, activation, None)
    return Place(holder, path, attribute, activation, channels, first.dim, first.weight)


def _told(place: Place, first: Linear, given: list[tuple[int, ...]] | None, sure: bool) -> Place:
    """A place with the width that its layer gave it, called alone.

    Other activations may stand in a layer, such as one behind its second map: these are none of
    the hidden channels, and have no width here.
    """
    if not given:  # the layer cannot be called alone, or does not call the activation then
        why = (
            f"{place.name} may be given {place.channels} channels or others: pass inputs= to see it"
        )
        return place if sure else replace(place, doubt=why)
    sizes = sorted({shape[first.dim] for shape in given})
    if len(sizes) > 1:
        why = f"{place.name} is given {sizes[0]} channels once and {sizes[1]} another time"
        return replace(place, doubt=why)
    if sizes[0] in (place.channels, first.outputs):
        return replace(place, channels=sizes[0])
    return Place(place.holder, place.path, place.attribute, place.activation, None)


def _is_unit(activation: Any) -> bool:
    return isinstance(activation, Rational1d | SharedUnit)


def _activations(holder: nn.Module) -> Iterator[tuple[str, Activation]]:
    for name, child in _children(holder).items():
        if _is_unit(child) or is_activation(child):
            yield name, child
    for name, value in vars(holder).items():
        plain = callable(value) and not isinstance(value, nn.Module) and not name.startswith("_")
        if plain and _NAME.search(name) and is_activation(value):
            yield name, value


def _in_sequence(holder: nn.Sequential, path: str, attribute: str, activation: Activation) -> Place:
    """The place of an activation in a sequence, with channels if it is between linear maps."""
    children = _children(holder)
    here = list(children).index(attribute)
    parts = list(children.values())
    before, after = _next_map(parts[:here][::-1]), _next_map(parts[here + 1 :])
    if before is None or after is None or after.inputs != before.outputs:
        return _place(holder, path, attribute, activation, None, None)
    place = _place(holder, path, attribute, activation, before.outputs, before)
    if place.converted:
        return place
    start = max(n for n in range(here) if linear_map(parts[n]) is not None)
    last = str(here - start)
    seen = shapes(nn.Sequential(*parts[start : here + 1]), [last], before.inputs, before.dim)
    return _told(place, before, None if seen is None else seen[last], sure=True)


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
