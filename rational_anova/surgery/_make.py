"""The unit for a place: its base, its groups, and a start that is not computed twice."""

from __future__ import annotations

import copy
from typing import Any

import torch

from ..functional import BASES
from ..units import Rational1d
from ._places import Place
from ._recognise import describe, recognise, settled, values
from ._swap import Swap


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
    if base is None and init == "base":
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
    groups = {"channel": None, "layer": 1, "model": 1}[share] if isinstance(share, str) else share
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
        dtype=weight.dtype if weight.is_floating_point() else None,
        **options,
    )


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
            and (unit.numerator.device, unit.numerator.dtype) == (weight.device, weight.dtype)
            and same[0] is not None
            and same[1] is not None
            and torch.equal(same[0], same[1])
        ):
            return copy.deepcopy(unit)
    return None
