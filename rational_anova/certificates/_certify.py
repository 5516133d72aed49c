"""`certify`: bounds of a model on a box that no sample can beat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from .._core import checks as check
from ..proofs import Interval, Pair, hull, point
from ..units import RationalUnit
from ._box import box_of, check_features, check_weights, inputs_of
from ._certificate import Certificate
from ._curves import least_denominator
from ._layer_bounds import Settings, interval_norm
from ._layers import check_plain  # with it come the steps of all networks
from ._monotone import Witnesses, sample
from ._pieces import cut, piece, product_of, run
from ._units import UnitCertificate
from .relaxation import Relaxation, relaxation

_CERTIFIERS: dict[type, Callable[..., Certificate]] = {}


@dataclass(frozen=True)
class ModelBounds:
    """What an object's own `certificate_bounds(box)` returns.

    Args:
        range: bounds (low, high) of each output.
        slopes: bounds of each partial derivative, for each output a list over the inputs.
        denominator_min: a lower bound of all denominators.
        units: further records, if there are any.
    """

    range: tuple[Pair, ...]
    slopes: tuple[tuple[Pair, ...], ...]
    denominator_min: float = math.inf
    units: tuple[UnitCertificate, ...] = ()


def register_certifier(kind: type, function: Callable[..., Certificate]) -> None:
    """Let `certify` call function(model, box, **options) for objects of a class."""
    _CERTIFIERS[kind] = function


def certify(
    model: Any,
    box: Any = None,
    *,
    tolerance: float = 0.01,
    budget: int | None = None,
    samples: int = 512,
    seed: int = 0,
    pieces: int = 8,
    planes: bool = True,
) -> Certificate:
    """Prove bounds of a model on a box: Lipschitz constant, denominators, range, monotonicity.

    Units, `RAN`, `DeepRAN`, `RANFFN`, `GatedRationalBlock`, `MLP` and `nn.Sequential` of these (and
    of linear maps, layer norms and common activations) are known. They are certified as in
    evaluation, as functions of real numbers with the exact values of their weights.

    Args:
        model: a module, an object with a method `certificate_bounds(box)`, or one of a class that
            was given to `register_certifier`.
        box: (low, high) for each input. None means the box of its data for a law, and all of space
            for a module, where denominators alone have bounds.
        tolerance: relative distance from the true bound at which the search in a unit stops.
        budget: greatest number of cells in the search of a unit; None for 2000 in one variable and
            8000 in two.
        samples: number of points where the model is differentiated, for the lower bound and for
            witnesses against monotonicity.
        seed: of these points.
        pieces: into how many pieces the box of a network is cut at most, where the sign of a slope
            is open, and then where the network is the steepest.
        planes: whether networks are bounded by linear relaxation too, which is much closer; else by
            intervals and products of norms alone.

    Returns:
        A `Certificate`.

    Raises:
        PoleError: a `polynomial` denominator is not positive on the box.

    Example:
        >>> import rational_anova as ra
        >>> certificate = certify(ra.Rational1d(2, (3, 2)), [(-1, 1), (-2, 2)])
        >>> 0.999 <= certificate.lipschitz <= 1.02, certificate.denominator_min >= 1
        (True, True)
        >>> certificate.monotone[0].increasing
        'proved'
    """
    if not 0 < check.real(tolerance, "tolerance") < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance}")
    if budget is not None:
        check.integer(budget, "budget", 1)
    check.integer(samples, "samples", 1)
    check.integer(pieces, "pieces", 1)
    options = {"tolerance": tolerance, "budget": budget, "samples": samples, "seed": seed,
               "pieces": pieces, "planes": planes}  # fmt: skip
    for kind in type(model).__mro__:
        if kind in _CERTIFIERS:
            return _CERTIFIERS[kind](model, box, **options)
    if hasattr(model, "certificate_bounds"):
        return _of_bounds(model.certificate_bounds(box), box_of(box, None))
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"cannot certify {type(model).__name__}; give a module, or an object with a method "
            "certificate_bounds(box)"
        )
    check_weights(model)
    check_plain(model)
    if box is None:
        return _everywhere(model)
    whole = box_of(box, inputs_of(model))
    check_features(model, len(whole.low))
    linear = None
    if planes and not isinstance(model, RationalUnit):
        linear = relaxation(model, len(whole.low))
    return _on_box(model, whole, Settings(tolerance, budget), linear, pieces, samples, seed)


def _on_box(
    model: nn.Module,
    box: Interval,
    settings: Settings,
    planes: Relaxation | None,
    pieces: int,
    samples: int,
    seed: int,
) -> Certificate:
    with np.errstate(all="ignore"):
        whole, state = piece(model, box, settings, planes)
        met = sample(model, box, len(whole.range.low), samples, seed)
        largest = met.lipschitz
        seen = Witnesses(*whole.slopes.low.shape)
        seen.add(whole.centre, whole.at_centre)
        seen.search(met, lambda at: run(model, point(at), settings).jacobian.known(), whole.slopes)
        units, layers = state.units, state.layers
        parts = [whole]
        if not isinstance(model, RationalUnit):  # the searches in units cut the box themselves
            parts = cut(model, whole, settings, planes, pieces, seen)
        bounds, slopes = hull([one.range for one in parts]), hull([one.slopes for one in parts])
    if isinstance(model, RationalUnit):  # the searches met larger ones
        largest = max(largest, *(unit.attained for unit in units))
    product = product_of([layer.lipschitz for layer in layers])
    theorem = product_of([layer.theorem for layer in layers])
    return Certificate(
        _pairs(box),
        min(product, theorem, max(one.lipschitz for one in parts)),
        largest,
        product,
        theorem,
        min((unit.denominator_min for unit in units), default=math.inf),
        _pairs(bounds),
        seen.verdicts(slopes),
        units,
        layers,
        len(parts),
    )


def _everywhere(model: nn.Module) -> Certificate:
    """Bound denominators on all of space."""
    least = math.inf
    for name, unit in model.named_modules():
        if isinstance(unit, RationalUnit):
            floor = least_denominator(unit.form)
            if not floor > 0:
                raise ValueError(
                    f"denominator={unit.kind!r} of {name or 'the unit'} is not positive on all of "
                    "space, as far as can be proved; give a box"
                )
            least = min(least, floor)
    return Certificate((), math.inf, 0.0, math.inf, math.inf, least, ())


def _of_bounds(own: ModelBounds, box: Interval) -> Certificate:
    rows = np.array(own.slopes, dtype=np.float64)
    jacobian = Interval(rows[..., 0], rows[..., 1]).known()
    size = interval_norm(jacobian)
    return Certificate(
        _pairs(box),
        size,
        0.0,
        size,
        math.inf,
        own.denominator_min,
        own.range,
        Witnesses(*jacobian.low.shape).verdicts(jacobian),
        own.units,
    )


def _pairs(box: Interval) -> tuple[Pair, ...]:
    return tuple(zip(box.low.tolist(), box.high.tolist(), strict=True))
