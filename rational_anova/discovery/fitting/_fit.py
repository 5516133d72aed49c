"""A form fitted under a model of the noise: likelihood, errors of the numbers, outliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares
from scipy.special import gammaln

from ..._core.least_squares import levenberg_marquardt
from ..._core.types import Array
from .._thresholds import ROUNDING
from ._descent import Effort, descended, inner, polished
from ._form import Form
from ._symmetry import canonical

CONSTANT, PROPORTIONAL, LOG_NORMAL = "constant", "proportional", "log-normal"
POISSON, GIVEN = "Poisson", "given"
LOSSES = ("squares", "robust")
MODELS = (CONSTANT, PROPORTIONAL, LOG_NORMAL, POISSON, GIVEN)
_SMALL = 1e-3  # of the typical value: relative errors of smaller ones are not believed
_BLIND = 1e-12  # of the largest singular value: directions that the rows do not see
_OUTLIER = 4.5  # robust standard deviations; of 60 normal rows one in 2,500 tables


@dataclass(frozen=True)
class NoiseShape:
    """How the standard deviation of a row goes with what the formula says there.

    Args:
        model: one of `MODELS`.
        floor: constant part beside a proportional one, relative to the typical value.
    """

    model: str = CONSTANT
    floor: float = 0.0

    @property
    def numbers(self) -> int:
        """How many numbers it has that are found from the rows."""
        return {POISSON: 0, GIVEN: 0}.get(self.model, 1) + (self.floor > 0)


@dataclass(frozen=True, eq=False)
class Rows:
    """What is fitted.

    Args:
        X: inputs (rows, columns).
        y: target (rows,).
        sigma: standard deviation of each row, if it is known.
        x_sigma: of each input (rows, columns), if these have errors.
    """

    X: Array
    y: Array
    sigma: Array | None = None
    x_sigma: Array | None = None

    def some(self, chosen: Array) -> Rows:
        """Some of the rows."""
        picked = [None if a is None else a[chosen] for a in (self.sigma, self.x_sigma)]
        return Rows(self.X[chosen], self.y[chosen], *picked)

    def columns(self, which: Sequence[int]) -> Rows:
        """Some of the columns."""
        index = list(which)
        errors = None if self.x_sigma is None else self.x_sigma[:, index]
        return replace(self, X=self.X[:, index], x_sigma=errors)

    @property
    def typical(self) -> float:
        """A typical size of the target."""
        return float(np.median(np.abs(self.y))) or float(np.abs(self.y).max()) or 1.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A form with its numbers, under a model of the noise.

    Attributes:
        form: what was fitted.
        values: its parameters, in its order.
        noise: the model.
        scale: by which the model's standard deviations are multiplied.
        deviance: minus twice the log likelihood.
        rows: how many.
        covariance: of the parameters.
        miss: what is left over, in standard deviations (rows,).
    """

    form: Form
    values: Array
    noise: NoiseShape
    scale: float
    deviance: float
    rows: int
    covariance: Array
    miss: Array

    @property
    def numbers(self) -> int:
        """How many numbers were fitted."""
        return len(self.form.parameters)

    def predict(self, X: Array) -> Array:
        """What the formula says."""
        return self.form.value(X, self.values)


def fitted(
    form: Form, rows: Rows, noise: NoiseShape = NoiseShape(), effort: Effort | None = None,
    values: Array | None = None, seed: int = 0, polish: bool = False,
) -> Fit | None:  # fmt: skip
    """Fit a form; None if it has no value on the rows, whatever its numbers.

    Args:
        form: what is fitted.
        rows: the data.
        noise: the model of the noise.
        effort: how hard to look for starts.
        values: where to begin, in place of a search.
        seed: of the starts.
        polish: whether the last digits are wanted; so is it with an effort that says so.
    """
    polish = polish or (effort is not None and effort.polish)
    root = 1 / deviations(rows, np.abs(rows.y), noise)
    if values is None:
        assert effort is not None, "starts are searched for with an effort"
        found = descended(form, rows.X, rows.y, root, effort, seed)
        if not len(found.cost):
            return None
        values = found.values(form)
        if not effort.polish:  # weights by what was measured are good enough for a comparison
            usual = values if effort.rough else canonical(form, values)
            return evaluated_fit(form, rows, noise, usual)
    values = _weighted(form, rows, noise, np.asarray(values, dtype=float), polish)
    return None if values is None else evaluated_fit(form, rows, noise, canonical(form, values))


def _weighted(
    form: Form, rows: Rows, noise: NoiseShape, values: Array, polish: bool
) -> Array | None:
    """Parameters of greatest likelihood, from a start."""
    step = polished if polish else _stepped
    if noise.model == LOG_NORMAL:
        root = 1 / deviations(rows, np.abs(rows.y), noise)
        return _logarithmic(form, rows, step(form, rows.X, rows.y, root, values), polish)
    rounds = 1 if noise.model in (CONSTANT, GIVEN) and rows.x_sigma is None else 5
    near = 1e-9 if polish else 1e-3  # a comparison needs no more
    for _ in range(rounds):  # weights follow what is fitted, not what was measured
        said = form.value(rows.X, values)
        root = 1 / deviations(rows, said, noise, form, values)
        if not np.isfinite(root).all():
            return None
        before, values = values, step(form, rows.X, rows.y, root, values)
        if np.allclose(before, values, rtol=near, atol=0):
            break
    return values


def _stepped(form: Form, X: Array, y: Array, root: Array, values: Array) -> Array:
    """Some damped Gauss-Newton steps; bounds are not left."""
    if not len(values):
        return values
    found = levenberg_marquardt(
        lambda v: root * (form.value(X, v) - y),
        lambda v: root[:, None] * form.jacobian(X, v),
        values,
        30,
        least_gain=1e-6,  # of the squares: nothing beside the price of a number
    )[0]
    return np.clip(found, *form.limits(form.parameters)) if form.bounds else found


def _logarithmic(form: Form, rows: Rows, values: Array, polish: bool) -> Array | None:
    """Least squares of logarithms."""
    with np.errstate(all="ignore"):
        goal = np.log(rows.y)

        def residual(v: Array) -> Array:
            return np.log(form.value(rows.X, v)) - goal

        def slopes(v: Array) -> Array:
            return form.jacobian(rows.X, v) / form.value(rows.X, v)[:, None]

        if not np.isfinite(residual(values)).all():
            return None
        if not len(values):
            return values
        if not form.bounds:
            return levenberg_marquardt(residual, slopes, values, 100)[0]
        low, high = form.limits(form.parameters)
        inside = np.clip(values, inner(low, values, 1), inner(high, values, -1))
        try:
            most = None if polish else 40
            found = least_squares(residual, inside, slopes, (low, high), max_nfev=most)
            return np.asarray(found.x)
        except ValueError:  # a step to where there is no logarithm
            return values


def deviations(
    rows: Rows, said: Array, noise: NoiseShape, form: Form | None = None,
    values: Array | None = None,
) -> Array:  # fmt: skip
    """Standard deviations of the rows, up to a factor that they share."""
    size, typical = np.abs(said), rows.typical
    if noise.model == GIVEN and rows.sigma is not None:
        spread = rows.sigma
    elif noise.model in (PROPORTIONAL, LOG_NORMAL):
        spread = np.hypot(np.maximum(size, _SMALL * typical), noise.floor * typical)
    elif noise.model == POISSON:
        spread = np.sqrt(np.maximum(size, 0.5))
    else:
        spread = np.ones(len(said))
    if rows.x_sigma is None or form is None or values is None:
        return np.asarray(spread, dtype=float)
    return _with_input_errors(rows, spread, said, noise, form, values)


def _with_input_errors(
    rows: Rows, spread: Array, said: Array, noise: NoiseShape, form: Form, values: Array
) -> Array:
    """Errors of the inputs, carried to the target by the slopes of the formula."""
    assert rows.x_sigma is not None
    slopes = np.nan_to_num(form.input_slopes(rows.X, values))
    carried = np.sum((slopes * rows.x_sigma) ** 2, axis=1)
    if noise.model == GIVEN:
        return np.sqrt(spread**2 + carried)
    # the rest of the scatter is the target's own; a tenth of it at least
    left = np.mean(((rows.y - said) / spread) ** 2) - np.mean(carried / spread**2)
    own = max(float(left), 0.1 * float(np.mean(((rows.y - said) / spread) ** 2)), 1e-300)
    return np.sqrt(own * spread**2 + carried)


def evaluated_fit(form: Form, rows: Rows, noise: NoiseShape, values: Array) -> Fit | None:
    """Likelihood and errors at given parameters."""
    n, k = len(rows.y), len(values)
    with np.errstate(all="ignore"):
        said = form.value(rows.X, values)
        J = form.jacobian(rows.X, values) if k else np.zeros((n, 0))
        if noise.model == LOG_NORMAL:
            miss, J = np.log(rows.y) - np.log(said), J / said[:, None]
        else:
            spread = deviations(rows, said, noise, form, values)
            miss, J = (rows.y - said) / spread, J / spread[:, None]
    if not np.isfinite(miss).all():
        return None
    squares = float(miss @ miss)
    scale = np.sqrt(squares / max(n - k, 1)) or 1e-300
    if noise.model == GIVEN and n > k:
        scale = max(scale, 1.0)  # errors that are stated too small are not believed
    with np.errstate(all="ignore"):
        covariance = inverse_gram(J) * scale**2
    deviance = _deviance(rows, noise, said, squares, form, values)
    return Fit(form, values, noise, float(scale), deviance, n, covariance, miss / scale)


def _deviance(
    rows: Rows, noise: NoiseShape, said: Array, squares: float, form: Form, values: Array
) -> float:
    n = len(rows.y)
    if noise.model == POISSON:
        mean = np.maximum(said, 1e-9)
        return float(2 * np.sum(mean - rows.y * np.log(mean) + gammaln(rows.y + 1)))
    spread = float(np.std(rows.y)) or rows.typical
    floor = ROUNDING * spread if noise.model == CONSTANT else ROUNDING
    typical = max(
        np.sqrt(squares / n), floor
    )  # no square of it, which may be too small for a float
    if noise.model == GIVEN:
        typical = max(typical, 1.0)
    volume = 0.0
    if noise.model == LOG_NORMAL:
        volume = 2 * float(np.sum(np.log(rows.y)))
    elif noise.model != CONSTANT or rows.x_sigma is not None:
        volume = 2 * float(np.sum(np.log(deviations(rows, said, noise, form, values))))
    spent = (np.sqrt(squares) / typical) ** 2
    return float(n * (np.log(2 * np.pi) + 2 * np.log(typical)) + spent + volume)


def inverse_gram(J: Array) -> Array:
    """Inverse of J'J, columns scaled; of infinite variance where a parameter says nothing."""
    if not J.shape[1]:
        return np.zeros((0, 0))
    if not np.isfinite(J).all() or len(J) <= J.shape[1]:
        return np.full((J.shape[1], J.shape[1]), np.nan)
    norms = np.linalg.norm(J, axis=0)
    norms[norms == 0] = 1.0
    _, sizes, turns = np.linalg.svd(J / norms, full_matrices=False)
    known = sizes > _BLIND * sizes[0]
    inverse = turns[known].T / sizes[known]
    covariance = (inverse @ inverse.T) / np.outer(norms, norms)
    # a parameter that can move without the rows noticing is not known at all
    free = np.flatnonzero((turns[~known] ** 2).sum(0) > 1e-6)
    covariance[free, free] = np.inf
    return np.asarray(covariance)


def robust(
    form: Form, rows: Rows, noise: NoiseShape, effort: Effort, seed: int = 0,
    over: Callable[[], bool] = lambda: False,
) -> Array:  # fmt: skip
    """Rows that do not belong to the rest: those far from a fit that they cannot bend.

    Weights fall to zero with the distance (Tukey's bisquare); the scale is the median's. Once the
    time is over, no further start is looked at.

    Returns:
        True for the rows that are outliers (rows,).
    """
    root = 1 / deviations(rows, np.abs(rows.y), noise)
    found = descended(form, rows.X, rows.y, root, effort, seed)
    if not len(found.cost):
        return np.zeros(len(rows.y), dtype=bool)
    best: tuple[float, Array] | None = None
    for which in range(min(len(found.cost), 6)):
        if best is not None and over():
            break
        values = found.values(form, which)
        scale = np.inf
        for step in range(30):
            left = root * (rows.y - form.value(rows.X, values))
            free = len(left) / max(len(left) - len(values), 1)
            scale = 1.4826 * float(np.median(np.abs(left))) * np.sqrt(free) or 1e-300
            ratio = np.abs(left) / scale
            # absolute deviations first, so that the start is not that of the outliers
            weight = 1 / np.maximum(ratio, 0.3) if step < 8 else np.maximum(1 - (ratio / 6) ** 2, 0)
            near = root * (np.sqrt(weight) if step < 8 else weight)
            values = _stepped(form, rows.X, rows.y, near, values)
        if best is None or scale < best[0]:
            best = scale, np.abs(left) / scale
    assert best is not None
    return np.asarray(best[1] > _OUTLIER)
