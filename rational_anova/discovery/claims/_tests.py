"""Tests of a fit: what it leaves over, replicates, other rows, the outer part, what lies beyond."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from ..._core.least_squares import levenberg_marquardt
from ..._core.types import Array
from ..fitting import LOG_NORMAL, Fit, Rows, deviations, evaluated_fit
from ._smooth import residual_gain, some_rows
from ._weigh import Candidate, with_fit

RESAMPLES = 24
VAGUE = 0.3  # relative error of a number that is hardly known
_LEFT_OUT = 0.2  # of the rows, at each resample


def neighbours(fit: Fit, rows: Rows) -> float:
    """Return how much more alike rows beside each other are missed than by chance, in deviations.

    Rows are ordered by each input and by what the fit says; of rows with equal inputs the mean
    counts, since their order means nothing.
    """
    orders = [*rows.X.T, fit.predict(rows.X)]
    found = []
    for column in orders:
        left = _means(column, fit.miss)
        left = left - left.mean()
        power = float(left @ left)
        if len(left) >= 8 and power > 0:
            found.append(float(left[1:] @ left[:-1]) / power * np.sqrt(len(left)))
    return max(found, default=0.0)


def rounding(fit: Fit, rows: Rows) -> float:
    """Return what a true formula would leave over: roundings of inputs, numbers and target."""
    random, last = np.random.default_rng(0), np.finfo(float).eps
    form, values = fit.form, fit.values
    with np.errstate(all="ignore"):
        said = form.value(rows.X, values)
        inputs = form.value(rows.X * (1 + last * random.choice((-1, 1), rows.X.shape)), values)
        numbers = form.value(rows.X, values * (1 + last * random.choice((-1, 1), len(values))))
        squares = (inputs - said) ** 2 + (numbers - said) ** 2 + (last * rows.y) ** 2
    return float(np.sqrt(np.mean(squares)))


def _means(column: Array, miss: Array) -> Array:
    """Means over rows of equal value, in order; sums of equal spread, so that they compare."""
    _, which, count = np.unique(column, return_inverse=True, return_counts=True)
    return np.bincount(which, miss) / np.sqrt(count)


def shape_left(fit: Fit, rows: Rows) -> float:
    """Return by how much a smooth curve through the residuals would be believed."""
    part = some_rows(Rows(rows.X, fit.miss))
    return residual_gain(part.X, part.y)


def lack_of_fit(fit: Fit, rows: Rows, numbers: int | None = None) -> float | None:
    """Return the probability of so large a misfit beside the scatter of replicates; None if few.

    Args:
        fit: what is tested.
        rows: that it was fitted to.
        numbers: how many were fitted; those of the form by default.
    """
    _, which, count = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
    groups, n, k = len(count), len(rows.y), fit.numbers if numbers is None else numbers
    if n - groups < 4 or groups <= k:
        return None
    means = np.bincount(which.ravel(), fit.miss) / count
    pure = float(np.sum((fit.miss - means[which.ravel()]) ** 2))
    lack = float(np.sum(count * means**2))
    if pure <= 0:
        return None
    ratio = (lack / (groups - k)) / (pure / (n - groups))
    return float(stats.f.sf(ratio, groups - k, n - groups))


def undetermined(fit: Fit) -> bool:
    """Return whether the rows leave half of the numbers open, two at least, or some altogether.

    Such a fit is one of endless many that are as good, mostly with parts that cancel, or the limit
    of its form, which is another form.
    """
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.abs(np.diag(fit.covariance)))
    vague = int(np.sum(~(errors < np.abs(fit.values))))
    return bool(np.isinf(errors).any()) or (vague >= 2 and 2 * vague >= fit.numbers)


def refitted(fit: Fit, rows: Rows, steps: int = 15) -> Fit | None:
    """The same form on other rows, from where it is."""
    form, noise = fit.form, fit.noise
    values = fit.values
    if len(values):
        with np.errstate(all="ignore"):
            if noise.model == LOG_NORMAL:
                goal, root = np.log(rows.y), np.ones(len(rows.y))
                values, _ = levenberg_marquardt(
                    lambda v: np.log(form.value(rows.X, v)) - goal,
                    lambda v: form.jacobian(rows.X, v) / form.value(rows.X, v)[:, None],
                    values,
                    steps,
                )
            else:
                root = 1 / deviations(rows, form.value(rows.X, values), noise, form, values)
                values, _ = levenberg_marquardt(
                    lambda v: root * (form.value(rows.X, v) - rows.y),
                    lambda v: root[:, None] * form.jacobian(rows.X, v),
                    values,
                    steps,
                )
    return evaluated_fit(form, rows, noise, values)


def stability(
    candidates: Sequence[Candidate], rows: Rows, seed: int = 0,
    over: Callable[[], bool] = lambda: False,
) -> float:  # fmt: skip
    """Return how often the first candidate is chosen again when a fifth of the rows is left out.

    Once the time is over, this is not done again.
    """
    n = len(rows.y)
    rng = np.random.default_rng(seed)
    left_out = max(1, round(_LEFT_OUT * n))
    won = total = 0
    for _ in range(RESAMPLES):
        if total and over():
            break
        part = rows.some(np.sort(rng.permutation(n)[left_out:]))
        scores = []
        for candidate in candidates:
            fit = refitted(candidate.fit, part)
            scores.append(np.inf if fit is None else with_fit(candidate, fit).score)
        total += 1
        won += int(np.argmin(scores)) == 0
    return won / total


def outer_part(fit: Fit, rows: Rows) -> float | None:
    """Return the probability of the misses on either end of the rows, predicted from the rest.

    The third of the rows at the upper end of the first input that matters, then the third at the
    lower end, are predicted by a fit to the others; errors of its numbers are accounted for. The
    less probable end counts. None for few rows.
    """
    n, k = len(rows.y), fit.numbers
    used = [i for i, s in enumerate(fit.form.inputs) if fit.form.expression.has(s)]
    if not used or n < max(12, 3 * k + 3):
        return None
    found = []
    for column in used:
        order = np.argsort(rows.X[:, column], kind="stable")
        cut = n // 3
        for outer in (order[-cut:], order[:cut]):
            inner = np.setdiff1d(order, outer)
            if len(inner) > k + 3:
                found.append(_predicted(fit, rows.some(inner), rows.some(outer)))
    known = [p for p in found if p is not None]
    return min(min(known) * len(known), 1.0) if known else None


def _predicted(fit: Fit, inner: Rows, outer: Rows) -> float | None:
    part = refitted(fit, inner, 40)
    if part is None or not np.isfinite(part.covariance).all():
        return None
    errors = np.sqrt(np.abs(np.diag(part.covariance)))
    if (errors > VAGUE * np.abs(part.values)).any():
        return None  # the part does not determine the numbers, and errors are not linear
    with np.errstate(all="ignore"):
        said = part.predict(outer.X)
        J = part.form.jacobian(outer.X, part.values)
        if fit.noise.model == LOG_NORMAL:
            miss, J = np.log(outer.y) - np.log(said), J / said[:, None]
        else:
            spread = deviations(outer, said, fit.noise, part.form, part.values)
            miss, J = (outer.y - said) / spread, J / spread[:, None]
    scale = max(part.scale, 1e-300)
    return missed_by_chance(miss, J, part.covariance / scale**2, scale, len(inner.y) - fit.numbers)


def missed_by_chance(
    miss: Array, J: Array, covariance: Array, scale: float, free: int
) -> float | None:
    """Return the probability of so large misses of rows that a fit has not seen; None if unknown.

    Args:
        miss: of each row, in units of the noise.
        J: slopes of what is predicted in the numbers, in these units (rows, numbers).
        covariance: of the numbers, with noise of one unit.
        scale: of the noise, as the fit has it.
        free: rows less numbers of the fit.
    """
    if not all(np.isfinite(a).all() for a in (miss, J, covariance)):
        return None
    # of a sum of one and a product of few columns: no system of as many unknowns as rows
    size, directions = np.linalg.eigh((covariance + covariance.T) / 2)
    spread = J @ (directions * np.sqrt(np.maximum(size, 0.0)))
    seen = spread.T @ miss
    try:
        shared = np.linalg.solve(np.eye(len(seen)) + spread.T @ spread, seen)
    except np.linalg.LinAlgError:
        return None
    square = float(miss @ miss - seen @ shared) / scale**2
    return float(stats.f.sf(square / len(miss), len(miss), free))


def outer_error(fit: Fit, rows: Rows) -> float | None:
    """Return the error on the outer half of the rows, over the spread, of a fit to the inner."""
    used = [i for i, s in enumerate(fit.form.inputs) if fit.form.expression.has(s)]
    if not used or len(rows.y) < max(20, 4 * fit.numbers):
        return None
    low, high = rows.X[:, used].min(0), rows.X[:, used].max(0)
    out = (np.abs(rows.X[:, used] - (low + high) / 2) / ((high - low) / 2)).max(1)
    inner = out <= np.median(out)
    if inner.sum() < 10 or (~inner).sum() < 5:
        return None
    part = refitted(fit, rows.some(np.flatnonzero(inner)), 40)
    error = None if part is None else relative_error(part, rows.some(np.flatnonzero(~inner)), rows)
    return error if error is not None and np.isfinite(error) else None


def relative_error(fit: Fit, rows: Rows, whole: Rows | None = None) -> float:
    """Return the root mean square of the misses over the spread of the target."""
    with np.errstate(all="ignore"):
        left = rows.y - fit.predict(rows.X)
    y = (whole or rows).y
    spread = float(np.std(y)) or float(np.abs(y).max()) or 1.0
    error = float(np.sqrt(np.mean(left**2))) / spread
    return error if np.isfinite(error) else np.inf
