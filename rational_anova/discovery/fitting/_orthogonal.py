"""Errors in the inputs: the curve that is nearest to the rows in all directions.

Least squares in the target alone bends a curve where the inputs have errors: a slope comes out too
small. Here each row may move along its inputs as well (orthogonal distance; Boggs, Byrd and
Schnabel 1987). How far is found row by row, so that only the parameters are sought together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._core.least_squares import levenberg_marquardt
from ..._core.types import Array
from ._fit import CONSTANT, GIVEN, Fit, NoiseShape, Rows, inverse_gram
from ._form import Form
from ._symmetry import canonical

_STEPS = 60  # of each row, most of which need four
_ROUNDS = 30  # of the target's own deviation
_FLOOR = 0.05  # of the scatter: the least that the target's own deviation is


@dataclass(frozen=True, eq=False)
class Distances:
    """Rows moved along their inputs onto a curve.

    Attributes:
        shifts: of the inputs (rows, inputs), in their units.
        residual: of the target, with the slopes at the shifted inputs (rows,).
        deviation: standard deviation of this residual (rows,): own and carried over.
        sigma: the target's own standard deviation (rows,).
    """

    shifts: Array
    residual: Array
    deviation: Array
    sigma: Array

    @property
    def ratio(self) -> Array:
        """Signed root of the squared distances, those of target and inputs together (rows,)."""
        return self.residual / self.deviation


def orthogonal(form: Form, rows: Rows, values: Array) -> Fit | None:
    """Fit a form to rows whose inputs have errors.

    The sum of ((y - f(x + d)) / sigma)^2 and (d / x_sigma)^2 is the least over the parameters and
    the shifts d. Where `rows.sigma` is None, the target's own deviation is found from the scatter
    that the errors of the inputs leave.

    Args:
        form: what is fitted.
        rows: with `x_sigma`; its zeros are inputs without error.
        values: start, such as that of plain least squares (parameters,).

    Returns:
        The fit, with standard deviations that hold both kinds of errors; None if the form has no
        value at the start.

    Example:
        >>> x = np.array([0.0, 1.1, 1.9, 3.1, 3.9])
        >>> rows = Rows(x[:, None], 2.0 * x + [0.1, -0.1, 0.0, 0.1, -0.1], np.full(5, 0.1),
        ...             np.full((5, 1), 0.1))
        >>> fit = orthogonal(Form.of("a*x + b", ["x"]), rows, np.array([1.0, 0.0]))
        >>> fit.values.round(2) + 0.0
        array([1.98, 0.04])
    """
    if rows.x_sigma is None:
        raise ValueError("x_sigma is missing: without errors in the inputs use `fitted`")
    values = np.asarray(values, dtype=float)
    sigma = rows.sigma if rows.sigma is not None else _first_sigma(form, rows, values)
    if sigma is None:
        return None
    for _ in range(1 if rows.sigma is not None else _ROUNDS):
        values = _nearest(form, rows, sigma, values)
        found = distances(form, replace(rows, sigma=sigma), values)
        if rows.sigma is not None:
            break
        before, sigma = sigma, _own_deviation(found, len(values))
        if np.allclose(before, sigma, rtol=1e-7):
            break
    return _record(form, rows, sigma, canonical(form, values))


def _first_sigma(form: Form, rows: Rows, values: Array) -> Array | None:
    """Standard deviation of the target at the start: all of the scatter."""
    with np.errstate(all="ignore"):
        left = rows.y - form.value(rows.X, values)
    spread = float(np.sqrt(np.mean(left**2)))
    return np.full(len(left), spread or 1e-12 * rows.typical) if np.isfinite(spread) else None


def _own_deviation(found: Distances, numbers: int) -> Array:
    """The target's own deviation s, with sum r^2 / (s^2 + carried^2) = rows - numbers."""
    squares = found.residual**2
    carried = np.maximum(found.deviation**2 - found.sigma**2, 0.0)
    free = max(len(squares) - numbers, 1)
    high = float(squares.sum()) / free
    low = _FLOOR**2 * high
    if not high:
        return found.sigma
    if np.sum(squares / (low + carried)) <= free:
        return np.full(len(squares), np.sqrt(low))
    for _ in range(80):  # falls with s: halve the interval, on a scale of ratios
        middle = np.sqrt(low * high)
        if np.sum(squares / (middle + carried)) > free:
            low = middle
        else:
            high = middle
    return np.full(len(squares), np.sqrt(high))


def distances(form: Form, rows: Rows, values: Array, shifts: Array | None = None) -> Distances:
    """Move each row onto a curve by Gauss-Newton steps, shortened where they do not help.

    Args:
        form: the curve.
        rows: with `sigma` and `x_sigma`.
        values: its parameters.
        shifts: where to begin (rows, inputs).
    """
    sigma, errors = rows.sigma, rows.x_sigma
    assert sigma is not None
    assert errors is not None
    d = np.zeros_like(rows.X) if shifts is None else shifts / np.where(errors > 0, errors, 1.0)
    with np.errstate(all="ignore"):
        left, cost = _left(form, rows, values, d)
        rate = np.ones(len(left))
        for _ in range(_STEPS):
            slopes = form.input_slopes(rows.X + errors * d, values) * errors
            whole = left + np.sum(slopes * d, axis=1)
            # one row has one slope vector: its normal equations are solved in closed form
            goal = slopes * (whole / (sigma**2 + np.sum(slopes**2, axis=1)))[:, None]
            step = rate[:, None] * (goal - d)
            if np.abs(np.nan_to_num(step)).max(initial=0.0) < 1e-9:  # the cost has its square
                break
            trial, new = _left(form, rows, values, d + step)
            better = new <= cost
            d = np.where(better[:, None], d + step, d)
            left, cost = np.where(better, trial, left), np.where(better, new, cost)
            rate = np.where(better, np.minimum(2 * rate, 1.0), rate / 4)
        slopes = form.input_slopes(rows.X + errors * d, values) * errors
    deviation = np.sqrt(sigma**2 + np.sum(slopes**2, axis=1))
    residual = np.where(left < 0, -1.0, 1.0) * np.sqrt(cost) * deviation
    return Distances(errors * d, residual, deviation, sigma)


def _left(form: Form, rows: Rows, values: Array, d: Array) -> tuple[Array, Array]:
    """Residuals of the target and squared distances, with inputs shifted by d deviations."""
    assert rows.sigma is not None
    left = rows.y - form.value(rows.X + rows.x_sigma * d, values)
    return left, (left / rows.sigma) ** 2 + np.sum(d**2, axis=1)


def _nearest(form: Form, rows: Rows, sigma: Array, values: Array) -> Array:
    """Parameters of least distance.

    By the envelope theorem the slope of a row's signed root of the squared distance is that of the
    formula at the shifted inputs, over the deviation: the shifts drop out of the problem.
    """
    known = replace(rows, sigma=sigma)
    low, high = form.limits(form.parameters)
    last: tuple[Array, Distances] | None = None

    def at(v: Array) -> Distances:
        nonlocal last
        if last is None or not np.array_equal(last[0], v):
            near = None if last is None else np.nan_to_num(last[1].shifts)
            last = v.copy(), distances(form, known, np.clip(v, low, high), near)
        return last[1]

    def slopes(v: Array) -> Array:
        found = at(v)
        J = form.jacobian(rows.X + found.shifts, np.clip(v, low, high))
        return np.asarray(-J / found.deviation[:, None])

    for _ in range(4 if len(values) else 0):
        before = values
        values = np.clip(
            levenberg_marquardt(lambda v: at(v).ratio, slopes, values, 50)[0], low, high
        )
        if np.allclose(before, values, rtol=1e-9, atol=0):
            break
    return values


def _record(form: Form, rows: Rows, sigma: Array, values: Array) -> Fit | None:
    """Likelihood and errors, as `evaluated_fit` has them."""
    found = distances(form, replace(rows, sigma=sigma), values)
    n, k = len(rows.y), len(values)
    if not np.isfinite(found.ratio).all():
        return None
    squares = float(found.ratio @ found.ratio)
    scale = float(np.sqrt(squares / max(n - k, 1)))
    scale = max(scale, 1.0) if n > k else scale or 1e-300  # stated errors are not too large
    with np.errstate(all="ignore"):
        J = form.jacobian(rows.X + found.shifts, values) / found.deviation[:, None]
        covariance = inverse_gram(J) * scale**2
    variance = max(squares / n, 1.0) if rows.sigma is not None else max(squares / n, 1e-30)
    volume = 2 * float(np.sum(np.log(found.deviation)))
    deviance = n * np.log(2 * np.pi * variance) + squares / variance + volume
    noise = NoiseShape(GIVEN if rows.sigma is not None else CONSTANT)
    return Fit(form, values, noise, scale, float(deviance), n, covariance, found.ratio / scale)
