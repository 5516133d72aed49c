"""`certify`: bounds of a model on a box that no sample can beat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from .. import _validation as check
from ..units import RationalUnit
from ._box import box_of, check_features, check_weights, inputs_of
from ._certificate import Certificate, Monotone
from ._interval import Interval, down, matmul, point, up
from ._samples import Samples, sample
from ._state import Settings, State, interval_norm
from ._units import Pair, UnitCertificate
from ._walk import walk

_SURE = 1e-9  # of the largest slope: a smaller sampled slope is no witness

_CERTIFIERS: dict[type, Callable[..., Certificate]] = {}


@dataclass(frozen=True)
class Parts:
    """What an object's own `certificate_parts(box)` returns.

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
    box: Any,
    *,
    tolerance: float = 0.01,
    budget: int | None = None,
    samples: int = 512,
    seed: int = 0,
) -> Certificate:
    """Prove bounds of a model on a box: Lipschitz constant, denominators, range, monotonicity.

    Units, `RAN`, `DeepRAN`, `RANFFN`, `GatedRationalBlock` and `nn.Sequential` of these (and of
    linear maps, layer norms and common activations) are known. They are certified as in evaluation,
    as functions of real numbers with the exact values of their weights.

    Args:
        model: a module, an object with a method `certificate_parts(box)`, or one of a class that
            was given to `register_certifier`.
        box: (low, high) for each input; None for all of space, where denominators alone have
            bounds.
        tolerance: at which distance from the truth, relative to it, the search in a unit stops.
        budget: greatest number of cells in the search of a unit; None for 2000 in one variable and
            8000 in two.
        samples: number of points where the model is differentiated, for the lower bound and for
            witnesses against monotonicity.
        seed: of these points.

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
    options = {"tolerance": tolerance, "budget": budget, "samples": samples, "seed": seed}
    for kind in type(model).__mro__:
        if kind in _CERTIFIERS:
            return _CERTIFIERS[kind](model, box, **options)
    if hasattr(model, "certificate_parts"):
        return _of_parts(model.certificate_parts(box), box_of(box, None))
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"cannot certify {type(model).__name__}; give a module, or an object with a method "
            "certificate_parts(box)"
        )
    check_weights(model)
    if box is None:
        return _everywhere(model)
    whole = box_of(box, inputs_of(model))
    check_features(model, len(whole.low))
    return _on_box(model, whole, Settings(tolerance, budget), samples, seed)


def _on_box(
    model: nn.Module, box: Interval, settings: Settings, samples: int, seed: int
) -> Certificate:
    with np.errstate(all="ignore"):
        state = _run(model, box, settings)
        bounds = _sharpened(model, box, state, settings)
    met = sample(model, box, len(bounds.low), samples, seed)
    largest = met.lipschitz
    if isinstance(model, RationalUnit):  # the searches met larger ones
        largest = max(largest, *(unit.attained for unit in state.units))
    product = math.prod(layer.lipschitz for layer in state.layers) * (1 + 1e-12)
    theorem = math.prod(layer.theorem for layer in state.layers) * (1 + 1e-12)
    jacobian = state.jacobian.known()
    return Certificate(
        _pairs(box),
        float(min(product, theorem, interval_norm(jacobian))),
        largest,
        product,
        theorem,
        min((unit.denominator_min for unit in state.units), default=math.inf),
        _pairs(bounds),
        _monotone(jacobian, met),
        state.units,
        state.layers,
    )


def _run(model: nn.Module, box: Interval, settings: Settings) -> State:
    start = State(box, point(np.eye(len(box.low))), settings)
    return walk(model, start, "")


def _sharpened(model: nn.Module, box: Interval, state: State, settings: Settings) -> Interval:
    """Meet the range with f(c) + J(X)(X - c), which keeps what layers have in common."""
    centre = 0.5 * box.low + 0.5 * box.high
    if isinstance(model, RationalUnit):
        return state.box.known()
    radius = up(np.maximum(box.high - centre, centre - box.low))
    middle = _run(model, point(centre), settings).box
    reach = matmul(state.jacobian, Interval(-radius[:, None], radius[:, None]))[:, 0]
    return state.box.meet(middle + reach).known()


def _monotone(jacobian: Interval, met: Samples) -> tuple[Monotone, ...]:
    size = np.abs(met.jacobians).max(initial=0.0) * _SURE
    verdicts = []
    for output, (low, high) in enumerate(zip(jacobian.low, jacobian.high, strict=True)):
        for n in np.flatnonzero((low != 0) | (high != 0)).tolist():
            slopes = met.jacobians[:, output, n]
            falls, rises = _witness(met, -slopes, size), _witness(met, slopes, size)
            up_, down_ = low[n] >= 0, high[n] <= 0
            verdicts.append(
                Monotone(
                    n,
                    output,
                    (float(low[n]), float(high[n])),
                    "proved" if up_ else "refuted" if falls else "undecided",
                    "proved" if down_ else "refuted" if rises else "undecided",
                    falls,
                    rises,
                )
            )
    return tuple(verdicts)


def _witness(met: Samples, slopes: np.ndarray, size: float) -> tuple[float, ...] | None:
    if not len(slopes) or slopes.max() <= size:
        return None
    return tuple(met.points[int(slopes.argmax())].tolist())


def _everywhere(model: nn.Module) -> Certificate:
    """Bound denominators on all of space."""
    least = math.inf
    for name, unit in model.named_modules():
        if isinstance(unit, RationalUnit):
            if not unit.form.kind.minimum > 0:
                raise ValueError(
                    f"denominator={unit.kind!r} of {name or 'the unit'} is not positive on all of "
                    "space; give a box"
                )
            least = min(least, float(down(unit.form.kind.minimum + unit.form.eps)))
    return Certificate((), math.inf, 0.0, math.inf, math.inf, least, ())


def _of_parts(parts: Parts, box: Interval) -> Certificate:
    rows = np.array(parts.slopes, dtype=np.float64)
    jacobian = Interval(rows[..., 0], rows[..., 1]).known()
    size = interval_norm(jacobian)
    nothing = Samples(np.empty((0, len(box.low))), np.empty((0, *jacobian.low.shape)))
    return Certificate(
        _pairs(box),
        size,
        0.0,
        size,
        math.inf,
        parts.denominator_min,
        parts.range,
        _monotone(jacobian, nothing),
        parts.units,
    )


def _pairs(box: Interval) -> tuple[Pair, ...]:
    return tuple(zip(box.low.tolist(), box.high.tolist(), strict=True))
