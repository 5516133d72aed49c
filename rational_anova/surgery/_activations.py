"""`replace_activations_`: rational units in the place of a model's activations."""

from __future__ import annotations

import copy
import fnmatch
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from .._core import checks as check
from ..functional import BASES, DENOMINATORS
from ..units import Rational1d
from ._places import Place, describe, find, function_calls, recognise, settled, values
from ._report import Inputs, SurgeryReport, perform, widths
from ._swap import SharedUnit, Swap


def check_widths(places: list[Place], share: str | int) -> None:
    """Raise where units cannot be shared as asked."""
    if share == "model" and len({(place.channels, place.dim) for place in places}) > 1:
        found = sorted({place.channels or 0 for place in places})
        raise ValueError(f"share='model' needs layers of one width, got {found}; use share='layer'")
    for place in places:
        assert place.channels is not None
        if isinstance(share, int) and place.channels % share:
            raise ValueError(
                f"share={share} groups must divide the channels, got {place.channels} at "
                f"{place.name}"
            )


def base_of(place: Place, init: str) -> str | None:
    """Return the base that a place's activation is; one that is none can be fitted only."""
    base = recognise(place.activation)
    if base is None and init != "fit":
        known = ", ".join(name for name in BASES if name not in ("identity", "mean", "zero"))
        raise ValueError(
            f"the activation at {place.name}, {describe(place.activation)}, is none of {known}; "
            "use init='fit' to start near it, or leave it out by where="
        )
    return base


def unit_for(
    place: Place, base: str | None, share: str | int, init: str, options: dict[str, Any]
) -> Rational1d:
    """Return the unit for a place, with the device and dtype of the linear map before it."""
    assert place.channels is not None
    few = math.gcd(place.channels, _FEW)
    named = {"auto": few, "channel": None, "layer": 1, "model": 1}
    groups = named[share] if isinstance(share, str) else share
    weight = place.weight
    if weight is None or not weight.is_floating_point():  # a quantised layer
        weight = next((p for p in place.holder.parameters()), torch.empty(0, device="cpu"))
    return Rational1d(
        place.channels,
        base=base or "identity",
        groups=groups,
        init="base" if init == "base" else (base or settled(place.activation)),
        dim=place.dim,
        device=weight.device,
        dtype=precise(weight),
        **unit_options(base, init, options),
    )


def precise(weight: torch.Tensor) -> torch.dtype | None:
    """The dtype of units beside a weight: coefficients in half precision would not move."""
    if not weight.is_floating_point():
        return None
    return torch.promote_types(weight.dtype, torch.float32)


def unit_options(base: str | None, init: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return degrees, denominator, gate and reach of a unit, with what was not given filled in."""
    options = _UNITS[init] | {key: value for key, value in given.items() if value is not None}
    if base is None:  # a function that it could go on as is not known
        return {**options, "denominator": given["denominator"] or "sos", "reach": None}
    # Fitted, p/d is the activation by itself.
    return options | ({"gate": None} if init == "fit" else {})


def alike(place: Place, swaps: list[Swap]) -> Rational1d | None:
    """A copy of the unit of an equal place, where there was one: a fit takes a second or more."""
    weight = place.weight
    for swap in swaps:
        unit = swap.new
        assert isinstance(unit, Rational1d)
        same = values(place.activation), values(swap.old)
        if (
            (unit.features, unit.dim) == (place.channels, place.dim)
            and weight is not None
            and (unit.numerator.device, unit.numerator.dtype) == (weight.device, precise(weight))
            and same[0] is not None
            and same[1] is not None
            and torch.equal(same[0], same[1])
        ):
            return copy.deepcopy(unit)
    return None


Where = str | Iterable[str] | Callable[[str], bool]

_SHARES = ("auto", "channel", "layer", "model")
_FEW = 8
# A unit that is to be the activation by itself needs more degrees than one that adds to it.
# Measured by experiments.vit.panel and experiments.vit.grid: docs/results/transformers.md.
_UNITS: dict[str, dict[str, Any]] = {
    "base": {"degrees": (3, 2), "denominator": "square"},
    "fit": {"degrees": (5, 4), "denominator": "square"},
}


def replace_activations_(
    model: nn.Module,
    degrees: tuple[int, int] | None = None,
    denominator: str | None = None,
    *,
    share: str | int = "auto",
    init: str = "base",
    init_range: tuple[float, float] | None = None,
    reach: float | None = 2.0,
    where: Where | None = None,
    inputs: Inputs | None = None,
) -> SurgeryReport:
    """Replace the activations in a model's feed-forward layers by rational units.

    No framework is required: layers are recognised by their linear maps, activations by their
    values. BERT, ViT, DeiT, GPT-2, CLIP, T5, LLaMA and their kin from Hugging Face, timm's `Mlp`,
    `nn.TransformerEncoderLayer` and `nn.Sequential(Linear, GELU, Linear)` are found; poolers and
    classification heads are not changed. On any error the model is unchanged.

    Args:
        model: changed in place.
        degrees: degrees (m, n) of the units; (3, 2), or (5, 4) for `init="fit"`.
        denominator: as in `Rational1d`; `square`.
        share: a number of groups of neighbouring channels, `channel` (a unit for each hidden
            channel), `layer` (one unit a layer) or `model` (one unit for all layers). `auto` is
            eight units a layer, fewer where eight do not divide its channels.
        init: `base` starts exactly at the old activation: it is the unit's base, the gate is 0.
            `fit` starts at p/d fitted to it, without a gate: to 1e-5 for smooth ones.
        init_range: (low, high) of that fit; None is the reach.
        reach: as in `Rational1d`: beyond it units go on as the old activation does.
        where: names to replace, as patterns (`"encoder.layer.0.*"`) or as a function of the name.
            Patterns may also name activations outside feed-forward layers; these need `inputs`.
        inputs: an example to count operations with, and to see widths that linear maps do not
            tell: a tensor, a sequence of arguments, or a mapping of named ones.

    Returns:
        The record, with sizes before and after, and `undo()`.

    Example:
        >>> import torch
        >>> layer = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        >>> x = torch.randn(5, 8)
        >>> y = layer(x)
        >>> report = replace_activations_(layer, share=4)
        >>> report
        SurgeryReport(1 places, parameters 552 -> 580)
        >>> torch.allclose(layer(x), y, atol=1e-6)
        True
        >>> report.undo()
        >>> layer[1]
        GELU(approximate='none')
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
    check.choice(init, ("base", "fit"), "init")
    if degrees is not None:
        degrees = check.degrees(degrees)
    if denominator is not None:
        check.choice(denominator, DENOMINATORS, "denominator")
    if isinstance(share, str):
        check.choice(share, _SHARES, "share (a number of groups, or a name)")
    else:
        check.integer(share, "share", 1)
    places = _chosen(model, where, inputs)
    check_widths(places, share)
    bases = [base_of(place, init) for place in places]
    if share == "model" and len(set(bases)) > 1:
        raise ValueError(f"share='model' needs one activation in all layers, got {set(bases)}")
    options: dict[str, Any] = {"degrees": degrees, "denominator": denominator}
    options |= {"init_range": init_range, "reach": reach}
    swaps: list[Swap] = []
    for place, base in zip(places, bases, strict=True):
        if share == "model" and swaps:
            owner = swaps[0]
            assert isinstance(owner.new, Rational1d)
            shared = SharedUnit(owner.new)
            swaps.append(Swap(place.holder, place.name, place.activation, shared, owner.name))
        else:
            unit = alike(place, swaps) if init == "fit" else None
            unit = unit or unit_for(place, base, share, init, options)
            swaps.append(Swap(place.holder, place.name, place.activation, unit))
    return perform(model, swaps, inputs)


def listed(where: Where | None) -> Where | None:
    """Return names in a form that can be gone through twice."""
    return where if where is None or callable(where) or isinstance(where, str) else list(where)


def matches(where: Where | None, name: str) -> bool:
    """Return whether a name is among those chosen."""
    if where is None:
        return True
    if callable(where):
        return bool(where(name))
    patterns = [where] if isinstance(where, str) else where
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def refuse_converted(model: nn.Module, done: Sequence[str], left: Sequence[str]) -> None:
    """Raise if some of the places have rational units already."""
    if done:
        rest = f" and {len(left)} are not ({left[0]}, ...)" if left else ""
        raise ValueError(
            f"{len(done)} of the chosen places in {type(model).__name__} are rational already "
            f"({', '.join(done[:3])}{', ...' if len(done) > 3 else ''}){rest}; undo that surgery "
            "first, or name the others by where="
        )


def _chosen(model: nn.Module, where: Where | None, inputs: Inputs | None) -> list[Place]:
    """The places to change, each with its channels; raises where there are none, or converted."""
    everywhere = find(model)
    where = listed(where)
    named = where is not None and not callable(where)
    places = [p for p in everywhere if matches(where, p.name)]
    if not named:
        places = [p for p in places if p.channels is not None]
    if not places:
        others = [p.name for p in everywhere]
        seen = f"; there are activations at {', '.join(others[:5])}" if others else ""
        raise ValueError(
            f"no replaceable activation found in the feed-forward layers of {type(model).__name__}"
            + (f" by where={where!r}" if where is not None else "")
            + (f"{seen}: name those to replace by where=" if others else "")
            + function_calls(model)
        )
    done = [p.name for p in places if p.converted]
    refuse_converted(model, done, [p.name for p in places if not p.converted])
    return _with_widths(model, places, inputs)


def _with_widths(model: nn.Module, places: list[Place], inputs: Inputs | None) -> list[Place]:
    unseen = [place for place in places if place.channels is None or place.doubt]
    if not unseen:
        return places
    if inputs is None:
        doubt = next((place.doubt for place in unseen if place.doubt), None)
        names = ", ".join(place.name for place in unseen[:3])
        why = f"the width of {names} is not told by linear maps beside it; pass inputs= to see it"
        raise ValueError(f"{doubt or why}, or leave it out by where=")
    seen = widths(model, unseen, inputs)
    never = [place.name for place in unseen if place.name not in seen]
    if never:
        raise ValueError(f"the model did not call {', '.join(never[:3])} on the given inputs")
    return [
        replace(p, channels=seen[p.name][0], dim=seen[p.name][1]) if p.name in seen else p
        for p in places
    ]
