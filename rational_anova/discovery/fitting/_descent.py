"""Fits of one form by weighted least squares: many starts, the best polished to the last digit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from ..._core.types import Array
from ._form import Form
from ._projection import Projected, improved, screened
from ._starts import starts


@dataclass(frozen=True)
class Effort:
    """How hard a fit looks for its starts.

    Args:
        drawn: starts for each nonlinear parameter, whose errors are compared.
        kept: of these, improved.
        steps: of each.
        rows: that the comparison looks at.
        rough: whether slopes are found by differences.
        polish: whether the last digits are wanted.
    """

    drawn: int
    kept: int
    steps: int
    rows: int = 300
    rough: bool = False
    polish: bool = False


GLANCE = Effort(60, 4, 5, 50, rough=True)  # a form of the catalogue, one of hundreds
QUICK = Effort(150, 8, 15, 120)  # one of the best of these
THOROUGH = Effort(700, 40, 60, polish=True)  # the user's own form
_MOST_DRAWN = 6000


def descended(
    form: Form, X: Array, y: Array, root: Array, effort: Effort, seed: int = 0
) -> Projected:
    """The best sets of parameters on all rows, by many starts; empty if no start has a value."""
    some = _some_rows(X, y, effort.rows)
    part = (X[some], y[some], root[some])
    most = _MOST_DRAWN if effort.polish else _MOST_DRAWN // (10 if effort.rough else 4)
    count = min(effort.drawn * max(len(form.nonlinear), 1) ** 2, most)
    drawn = starts(form, X, y, count, seed)
    first = screened(form, *part, drawn, effort.kept)
    if not len(first.cost):
        return first
    better = improved(form, *part, first.theta, effort.steps, effort.rough)
    if len(some) == len(y):
        return better
    few = better.theta[: max(effort.kept // 4, 2)]
    return improved(form, X, y, root, few, effort.steps, effort.rough)


def _some_rows(X: Array, y: Array, most: int) -> Array:
    """Rows spread over the first input; all of them if they are few."""
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(X[:, 0], kind="stable")
    return np.sort(order[np.linspace(0, len(y) - 1, most).astype(int)])


def polished(form: Form, X: Array, y: Array, root: Array, values: Array) -> Array:
    """All parameters together to the last digit, within their bounds."""
    low, high = form.limits(form.parameters)
    if not len(values):
        return values
    bounded = np.isfinite(low).any() or np.isfinite(high).any()

    def residual(v: Array) -> Array:
        return np.nan_to_num(root * (form.value(X, v) - y), nan=1e150, posinf=1e150, neginf=-1e150)

    def slopes(v: Array) -> Array:
        return np.nan_to_num(form.jacobian(X, v) * root[:, None], posinf=0.0, neginf=0.0)

    inside = ((values > low) & (values < high)).all()
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "x_scale": "jac"}
    with np.errstate(all="ignore"):
        before = float(np.sum(residual(values) ** 2))
        if not np.isfinite(before):
            return values
        try:
            if (inside or not bounded) and len(y) >= len(values):
                found = least_squares(residual, values, slopes, method="lm", max_nfev=100, **tight)
                ok = ((found.x >= low) & (found.x <= high)).all()
            else:
                ok = False
            if not ok:
                start = np.clip(values, inner(low, values, 1), inner(high, values, -1))
                found = least_squares(
                    residual, start, slopes, (low, high), max_nfev=100, **tight
                )  # fmt: skip
        except (ValueError, np.linalg.LinAlgError):  # a step to where nothing has a value
            return values
    after = float(np.sum(found.fun**2))
    return np.asarray(found.x) if after <= before else values


def inner(ends: Array, values: Array, sign: int) -> Array:
    """Bounds a hair further in, since the bounded solver must start inside."""
    return np.where(np.isfinite(ends), ends + sign * 1e-10 * (1 + np.abs(values)), ends)
