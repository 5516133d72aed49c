"""Where a fit may begin: numbers of the right size, found from the formula and the data alone.

Every input and the target have a dimension of their own; what a formula adds must be of one
dimension, and what a function takes of none. So a rate is one over the width of its input, a place
lies among the rows, and an exponent is a small number.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy as sp

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ..dimensions import scales
from ._form import Form, evaluated

_REACH = 10.0  # how far past the scales of the data a number may start


def starts(form: Form, X: Array, y: Array, count: int, seed: int = 0) -> Array:
    """Draw values of the nonlinear parameters, (count, nonlinear), within the bounds."""
    if not form.nonlinear:
        return np.zeros((1, 0))
    rng = np.random.default_rng(seed)
    powers = _scales(form.expression, form.parameters, form.inputs)
    columns = [_drawn(form, p, powers.get(p), X, y, count, rng) for p in form.nonlinear]
    low, high = form.limits(form.nonlinear)
    drawn = np.column_stack(columns)
    for k in range(drawn.shape[1]):
        drawn[:, k] = _within(drawn[:, k], low[k], high[k], rng)
    linear = linearised(form, X, y)
    return drawn if linear is None else np.vstack([np.clip(linear, low, high), drawn])


_scales = lru_cache(2048)(scales)


def _drawn(
    form: Form,
    parameter: sp.Symbol,
    power: tuple[Fraction, ...] | None,
    X: Array,
    y: Array,
    count: int,
    rng: np.random.Generator,
) -> Array:
    if power is None:  # nothing is known of it
        return _signs(10.0 ** rng.uniform(-3, 3, count), rng)
    exponents = [float(p) for p in power]
    if not any(exponents):
        return _dimensionless(count, rng)
    size = np.ones(count)
    for column, exponent in zip((*X.T, y), exponents, strict=True):
        if exponent:
            size *= _magnitudes(column, count, rng, wide=column is not y) ** exponent
    drawn = _signs(size, rng)
    places = [k for k, e in enumerate(exponents[:-1]) if e == 1]
    if len(places) == 1 and sum(map(abs, exponents)) == 1:  # a place on the axis of an input
        x = X[:, places[0]]
        width = float(np.ptp(x)) or 1.0
        place = rng.uniform(x.min() - 0.2 * width, x.max() + 0.2 * width, count)
        drawn = np.where(rng.random(count) < 0.5, place, drawn)
    return drawn


def _magnitudes(column: Array, count: int, rng: np.random.Generator, wide: bool) -> Array:
    """Log-uniform between the finest and the widest scale of a column."""
    size = np.abs(column[column != 0])
    if not len(size):
        return np.ones(count)
    width = float(np.ptp(column)) or float(size.max())
    large = max(width, float(size.max()))
    different = np.diff(np.unique(column))
    step = float(np.median(different)) if len(different) else width
    # a wave shorter than two steps cannot be told from a longer one
    small = min(max(step / 3, 1e-9 * large), float(np.quantile(size, 0.05)), width / 3)
    top = _REACH if wide else 3.0
    return np.asarray(np.exp(rng.uniform(np.log(small), np.log(top * large), count)))


def _dimensionless(count: int, rng: np.random.Generator) -> Array:
    """Exponents, phases and factors: mostly between a tenth and ten, of either sign."""
    sizes = _signs(10.0 ** rng.uniform(-1.5, 1.3, count), rng)
    return np.where(rng.random(count) < 0.5, rng.uniform(-3, 3, count), sizes)


def _signs(sizes: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(len(sizes)) < 0.3, -sizes, sizes)


def _within(drawn: Array, low: float, high: float, rng: np.random.Generator) -> Array:
    """Bring numbers inside their bounds: by their sign, else anew."""
    if low >= 0:
        drawn = np.abs(drawn)
    elif high <= 0:
        drawn = -np.abs(drawn)
    out = (drawn < low) | (drawn > high)
    if np.isfinite(low) and np.isfinite(high):
        drawn = np.where(out, rng.uniform(low, high, len(drawn)), drawn)
    return np.asarray(np.clip(drawn, low, high))


def linearised(form: Form, X: Array, y: Array, rounds: int = 6) -> Array | None:
    """Nonlinear parameters of a quotient that is linear in all numbers once it is multiplied out.

    p(x) - y q(x) = 0 is solved by least squares, and again with the rows divided by the last q
    (Sanathanan and Koerner 1963). None for forms of other kinds. Returns every round, (rounds, q).
    """
    if not form.nonlinear:
        return None
    split = _affine_quotient(form.expression, form.parameters)
    if split is None:
        return None
    top, bottom = split
    parts = evaluated((*top, *bottom), form.inputs, X)
    P, Q = parts[: len(top)], parts[len(top) :]
    A = (P[1:] - y * Q[1:]).T
    right = y * Q[0] - P[0]
    if not (np.isfinite(A).all() and np.isfinite(right).all()):
        return None
    weight, found = np.ones(len(y)), []
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0] = 1.0
    for _ in range(rounds):
        values = lstsq(A / norms * weight[:, None], right * weight) / norms
        found.append([values[form.parameters.index(p)] for p in form.nonlinear])
        below = np.abs(Q[0] + values @ Q[1:])
        weight = 1 / np.maximum(below, 1e-3 * np.median(below) + 1e-300)
    out = np.array(found)
    return out if np.isfinite(out).all() else None


@lru_cache(2048)
def _affine_quotient(
    expression: sp.Expr, parameters: tuple[sp.Symbol, ...]
) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]] | None:
    """Numerator and denominator as (alone, slope in each parameter), if both are affine."""
    if not expression.is_rational_function(*parameters):
        return None
    top, bottom = sp.fraction(sp.together(expression))
    both = []
    for side in (top, bottom):
        slopes = [sp.diff(side, p) for p in parameters]
        if any(s.has(*parameters) for s in slopes):
            return None
        alone = side.xreplace(dict.fromkeys(parameters, sp.Integer(0)))
        both.append((alone, *slopes))
    if both[0][0] == 0 == both[1][0]:  # nothing fixes the scale: all zeros would solve it
        return None
    return both[0], both[1]
