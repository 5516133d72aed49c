"""`replace_feed_forward_`: whole feed-forward layers become `RANFFN` or `RANFFNPlus`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .._core.modules import linear_map
from ..networks import RANFFN, RANFFNPlus
from ..topology import Topology
from ._activations import Where, listed, matches, refuse_converted
from ._places import Place, bare, describe, find, recognise
from ._report import Inputs, SurgeryReport, perform
from ._swap import Swap

_ROWS = 8
_CLOSE = 1e-4  # of two ways to compute one layer in float32


def check_alone(model: nn.Module, path: str, layer: nn.Module) -> None:
    """Raise where a layer has other parameters than those of its maps, or shares what it has."""
    maps = [child for child in layer.children() if linear_map(child) is not None]
    own = {id(tensor) for part in maps for tensor in (part.weight, part.bias)}
    others = [name for name, p in layer.named_parameters() if id(p) not in own]
    if others:
        raise ValueError(
            f"{path} has parameters beside those of its two maps, {', '.join(others[:3])}, "
            "which would be lost; use replace_activations_, or leave it out by where="
        )
    names = [n for n, part in model.named_modules(remove_duplicate=False) if part is layer]
    if len(names) > 1:
        raise ValueError(
            f"{path} is one layer under several names ({', '.join(names[:3])}), and would be under "
            "one alone; use replace_activations_, which changes what is in it"
        )
    where: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        where.setdefault(id(parameter), []).append(name)
    tied = next((names for one, names in where.items() if one in own and len(names) > 1), None)
    if tied is not None:
        raise ValueError(
            f"weights of {path} are tied ({', '.join(tied[:3])}), and would be no more; use "
            "replace_activations_, or leave it out by where="
        )


def check_same(path: str, layer: nn.Module, new: RANFFN | RANFFNPlus) -> None:
    """Raise unless a layer and its replacement compute the same, in float32 at least."""
    precise = torch.promote_types(new.fc1.weight.dtype, torch.float32)
    generator = torch.Generator("cpu").manual_seed(0)
    x = torch.randn(_ROWS, 4, new.features, generator=generator, device="cpu")
    x = x.to(device=new.fc1.weight.device, dtype=precise)
    try:
        with torch.no_grad():
            old, now = (bare(part).to(precise).eval()(x) for part in (layer, new))
            error = float((old - now).abs().max() / (1 + old.abs().max()))
    except Exception as problem:
        raise ValueError(
            f"{path} cannot be called on a tensor of its width alone: {problem}"
        ) from problem
    if not error <= _CLOSE:
        raise ValueError(
            f"{path} computes something else than fc2(act(fc1(x))): it differs by {error:.2g}; "
            "use replace_activations_, which keeps what is around"
        )


def replace_feed_forward_(
    model: nn.Module,
    topology: Topology | str | int | None = None,
    *,
    where: Where | None = None,
    inputs: Inputs | None = None,
    **options: Any,
) -> SurgeryReport:
    """Replace feed-forward layers by `RANFFN` (or `RANFFNPlus`, with a topology).

    Only layers that are a module of their own and compute fc2(act(fc1(x))), which is checked
    numerically: CLIP, GPT-2, ViT and DeiT of transformers 5, timm's `Mlp`, a sequence of two linear
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
