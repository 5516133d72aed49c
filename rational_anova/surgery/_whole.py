"""Whether a feed-forward layer can be replaced whole: what it has, who else has it, its values."""

from __future__ import annotations

import torch
from torch import nn

from ..networks import RANFFN, RANFFNPlus
from ._places import linear_map
from ._trial import bare

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
