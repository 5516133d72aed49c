"""`replace_feed_forward_`: whole feed-forward layers become `RANFFN` or `RANFFNPlus`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..networks import RANFFN, RANFFNPlus
from ..topology import Topology
from ._calling import Inputs
from ._places import Place, find, linear_map
from ._recognise import describe, recognise
from ._replace import Where, listed, matches, refuse_converted
from ._report import SurgeryReport, perform
from ._swap import Swap
from ._whole import check_alone, check_same


def replace_feed_forward_(
    model: nn.Module,
    topology: Topology | str | int | None = None,
    *,
    where: Where | None = None,
    inputs: Inputs | None = None,
    **options: Any,
) -> SurgeryReport:
    """Put `RANFFN` (or `RANFFNPlus`, with a topology) in the place of feed-forward layers.

    Only of layers that are a module of their own and compute fc2(act(fc1(x))), which is checked by
    values: CLIP, GPT-2, ViT and DeiT of transformers 5, timm's `Mlp`, a sequence of two linear
    maps with an activation between. Their linear weights are kept exactly, the activation becomes
    the base of the units, and so the model computes what it did. For others there is
    `replace_activations_`.

    Args:
        model: changed in place, or left as it was if anything is wrong.
        topology: pairs of hidden channels as in `RANFFNPlus`; None means `RANFFN`, without pairs.
        where: names of layers, as patterns or as a function of the name.
        inputs: an example to count operations with; see `replace_activations_`.
        options: of `RANFFN` or `RANFFNPlus`, such as `degrees`, `denominator`, `groups`, `dropout`.

    Returns:
        The record, with sizes before and after, and `undo()`.

    Example:
        >>> block = nn.ModuleDict({"mlp": nn.Sequential(nn.Linear(8, 32), nn.GELU(),
        ...                                             nn.Linear(32, 8))})
        >>> report = replace_feed_forward_(block, topology="0.5d", groups=4)
        >>> type(block["mlp"]).__name__, block["mlp"].fc2.in_features
        ('RANFFNPlus', 48)
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
    where = listed(where)
    places = [p for p in find(model) if p.channels is not None and matches(where, p.path)]
    done = [p.path for p in places if p.converted]
    refuse_converted(model, done, [p.path for p in places if not p.converted])
    whole = {place.path: place for place in places if place.path and _parts(place) is not None}
    missed = sorted({place.path for place in places} - set(whole))
    if missed:
        raise ValueError(
            f"{', '.join(missed[:3])}{', ...' if len(missed) > 3 else ''} in "
            f"{type(model).__name__}: not a module of two linear maps that can be replaced whole; "
            "use replace_activations_, or leave it out by where="
        )
    if not whole:
        raise ValueError(
            f"no feed-forward layer found in {type(model).__name__}"
            + (f" by where={where!r}" if where is not None else "")
        )
    parents = dict(model.named_modules())
    swaps = []
    for place in whole.values():
        check_alone(model, place.path, place.holder)
        new = _built(place, topology, options)
        parent = parents[place.path.rpartition(".")[0]]
        swaps.append(Swap(parent, place.path, place.holder, new))
    return perform(model, swaps, inputs)


def _parts(place: Place) -> tuple[nn.Module, nn.Module] | None:
    """Both linear maps of a layer that has just these and one activation."""
    found = [child for child in place.holder.children() if linear_map(child) is not None]
    if len(found) != 2 or place.dim != -1:
        return None
    return found[0], found[1]


def _built(
    place: Place, topology: Topology | str | int | None, options: Mapping[str, Any]
) -> RANFFN | RANFFNPlus:
    parts = _parts(place)
    assert parts is not None
    base = recognise(place.activation)
    if base is None:
        raise ValueError(
            f"the activation at {place.name}, {describe(place.activation)}, is no base of a unit; "
            "leave the layer out by where="
        )
    given = dict(options)
    first, second = (_matrix(part) for part in parts)
    (weight, bias), (read, shift) = first, second
    sizes = (weight.shape[1], weight.shape[0], read.shape[0])
    if (bias is None) != (shift is None):
        raise ValueError(f"{place.path} has a bias in one of its linear maps only")
    if given.get("bias", bias is not None) != (bias is not None):
        has = "no bias" if bias is None else "biases"
        raise ValueError(
            f"bias={given['bias']} cannot be chosen: the maps of {place.path} have {has}"
        )
    common = {"base": base, "bias": bias is not None, **given}
    common |= {"device": weight.device, "dtype": weight.dtype}
    plus = topology is not None
    new = RANFFNPlus(*sizes, topology, **common) if plus else RANFFN(*sizes, **common)
    for old, mine in ((weight, new.fc1.weight), (bias, new.fc1.bias), (shift, new.fc2.bias)):
        if old is not None:
            _carry(old, mine)
    _carry(read, new.fc2.weight)
    for part, own in zip(parts, (new.fc1, new.fc2), strict=True):
        for name, parameter in own.named_parameters():  # new columns, of pairs, are frozen too
            parameter.requires_grad_(getattr(part, name).requires_grad)
    check_same(place.path, place.holder, new)
    rates = {m.p for m in place.holder.modules() if isinstance(m, nn.Dropout)} - {0.0}
    if rates and "dropout" not in given:
        raise ValueError(
            f"{place.path} has dropout of {', '.join(map(str, sorted(rates)))}; say by dropout= "
            "which rate its replacement is to have behind the units (it has no other)"
        )
    return new


def _matrix(part: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Weight (outputs, inputs) and bias of a linear map."""
    weight, bias = part.weight, part.bias
    assert isinstance(weight, Tensor)
    return (weight if isinstance(part, nn.Linear) else weight.T), bias  # type: ignore[return-value]


def _carry(old: Tensor, new: Tensor) -> None:
    """Copy weights into the first columns of others."""
    with torch.no_grad():
        (new if new.dim() == 1 else new[:, : old.shape[1]]).copy_(old)
