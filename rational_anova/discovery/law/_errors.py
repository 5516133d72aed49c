"""Error bars: of the parameters of a law, and of what it predicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import sympy as sp
from scipy import optimize, stats

from ..._core import checks as check
from ..._core.least_squares import levenberg_marquardt
from ..._core.types import Array
from ...symbols import Names, Program, program
from ._expressions import short
from ._formula import compiled
from ._records import Parameter

if TYPE_CHECKING:
    from ._law import Law

Interval = tuple[float, float]
STORED = 0.95  # the level of the ends that a parameter holds
METHODS = ("profile", "wald")


def fitted(parameters: Sequence[Parameter]) -> list[int]:
    """Return the places of the parameters that were fitted: neither exact nor given."""
    return [n for n, p in enumerate(parameters) if p.exact is None and not p.given]


def freedom(law: Law) -> int:
    """Return the degrees of freedom that the fit has left."""
    count = len(fitted(law.parameters))
    if law.groups is not None:
        count += (len(law.groups.values) - 1) * len(law.groups.own)
    return law.evidence.rows - len(law.outliers) - count


def quantile(law: Law, level: float) -> float:
    """Return the two-sided t-quantile; nan if the fit has no degree of freedom."""
    if not 0 < check.real(level, "level") < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, got {level}")
    free = freedom(law)
    return float(stats.t.ppf(0.5 + level / 2, free)) if free > 0 else math.nan


# -- of the parameters


def intervals(law: Law, level: float, method: str | None) -> dict[str, Interval]:
    """Return an interval for each parameter: see `Law.intervals`."""
    if method is not None:
        check.choice(method, METHODS, "method")
    wald = _wald(law, level)
    known = [law.parameters[n] for n in fitted(law.parameters)]
    ends = {p.name: (p.low, p.high) for p in known if not math.isnan(p.low + p.high)}
    stored = ends if level == STORED else {}
    if method == "wald" or len(stored) == len(known):
        return wald if method == "wald" else wald | stored
    possible = law.data is not None and law.groups is None
    if method == "profile" and not possible:
        raise ValueError(_no_profile(law, level))
    if possible and (method == "profile" or (ends and not stored)):
        return wald | profile_of(law, level) | stored
    return wald | stored


def _no_profile(law: Law, level: float) -> str:
    why = "its numbers differ by group" if law.groups is not None else "the law has no data with it"
    return (
        f"profiles at the level {level} cannot be computed, since {why}; ask for "
        "method='wald', or for level=0.95 of a law that holds its profiles"
    )


def _wald(law: Law, level: float) -> dict[str, Interval]:
    """Return value -+ t * stderr; what was not fitted has no width."""
    t, free = quantile(law, level), fitted(law.parameters)
    widths = [t * p.stderr if n in free else 0.0 for n, p in enumerate(law.parameters)]
    pairs = zip(law.parameters, widths, strict=True)
    return {p.name: (p.value - width, p.value + width) for p, width in pairs}


def coefficients(law: Law, level: float = STORED) -> pd.DataFrame:
    """Return one row a parameter: value, exact, stderr, low, high, unit, meaning."""
    bounds = intervals(law, level, None)
    rows = {
        p.name: {
            "value": p.value,
            "exact": "" if p.exact is None else short(p.exact),
            "stderr": p.stderr,
            "low": bounds[p.name][0],
            "high": bounds[p.name][1],
            "unit": p.unit,
            "meaning": p.meaning,
        }
        for p in law.parameters
    }
    columns = ["value", "exact", "stderr", "low", "high", "unit", "meaning"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def correlation(law: Law) -> pd.DataFrame:
    """Return how the errors of the fitted parameters go together, from -1 to 1."""
    free = fitted(law.parameters)
    names = [law.parameters[n].name for n in free]
    covariance = law.covariance[np.ix_(free, free)]
    with np.errstate(all="ignore"):
        scale = np.sqrt(np.diag(covariance))
        values = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    return pd.DataFrame(values, index=names, columns=names)


# -- profile likelihood

_FARTHEST = 8  # doublings of the Wald interval; a profile that has not closed then is open
_TOLERANCE = 1e-4  # of the ends, relative to the standard error
_STEPS = 60  # of a fit of the other parameters


class _Fit:
    """Weighted residuals of a template and their slopes, as functions of its free parameters."""

    def __init__(
        self,
        template: sp.Expr,
        parameters: Sequence[Parameter],
        names: Names,
        X: Array,
        y: Array,
        weights: Array,
        log: bool,
    ) -> None:
        free = [p for n, p in enumerate(parameters) if n in fitted(parameters)]
        numbers = {p.symbol: p.number for p in parameters if p not in free}
        formula, symbols = [template.xreplace(numbers)], [p.symbol for p in free]
        self._value = program((*names.symbols, *symbols), formula)
        self._slopes = program((*names.symbols, *symbols), formula, symbols)
        self.names = [p.name for p in free]
        self.X, self.y, self.weights, self.log = X, y, weights, log

    def _on_rows(self, function: Program, theta: Array) -> list[Array]:
        parts = function(*self.X.T, *theta)
        return [np.broadcast_to(np.asarray(part, dtype=float), len(self.y)) for part in parts]

    def residual(self, theta: Array) -> Array:
        """Return (law - measured) times weight, of the logarithms if `log`."""
        value = self._on_rows(self._value, theta)[0]
        with np.errstate(all="ignore"):
            apart = np.log(value / self.y) if self.log else value - self.y
        return np.asarray(apart * self.weights)

    def jacobian(self, theta: Array) -> Array:
        """Return the slopes of the residual, (rows, parameters)."""
        slopes = self._on_rows(self._slopes, theta)
        with np.errstate(all="ignore"):
            value = self._on_rows(self._value, theta)[0] if self.log else 1.0
            weight = self.weights / value
            return np.stack(slopes, 1) * weight[:, None]

    def least(self, theta: Array, fixed: int) -> tuple[Array, float]:
        """Return the best parameters with one of them fixed, and the sum of squares."""
        free = np.arange(len(theta)) != fixed

        def whole(part: Array) -> Array:
            out = theta.copy()
            out[free] = part
            return out

        if free.any():
            part, _ = levenberg_marquardt(
                lambda p: self.residual(whole(p)),
                lambda p: self.jacobian(whole(p))[:, free],
                theta[free],
                _STEPS,
            )
            theta = whole(part)
        r = self.residual(theta)
        cost = float(r @ r)
        return theta, cost if math.isfinite(cost) else math.inf


def profile(
    template: sp.Expr,
    parameters: Sequence[Parameter],
    names: Names,
    X: Array,
    y: Array,
    weights: Array | None = None,
    level: float = STORED,
    *,
    log: bool = False,
    freedom: int | None = None,
    known: bool = False,
    over: Callable[[], bool] = lambda: False,
) -> dict[str, Interval]:
    """Return an interval for each fitted parameter by profile likelihood.

    A parameter is held at values away from the optimum while the others are fitted; the interval
    ends where the sum of squares has grown by t**2 times the variance of a residual. An end that
    is never reached is infinite.

    Args:
        template: the formula, in the symbols of the columns and of the parameters.
        parameters: at the optimum of the fit, with their standard errors.
        names: of the columns.
        X: (rows, columns).
        y: (rows,).
        weights: (rows,), what residuals are multiplied with; 1 by default.
        level: of the intervals.
        log: whether logarithms of y were fitted.
        freedom: degrees of freedom; rows less parameters by default.
        known: whether weights are one over deviations that were stated, not estimated.
        over: whether the time is up: then the ends of all intervals are nan.
    """
    weight = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    fit = _Fit(template, parameters, names, X, y, weight, log)
    places = fitted(parameters)
    left = len(y) - len(places) if freedom is None else freedom
    none = {name: (math.nan, math.nan) for name in fit.names}
    if left <= 0:
        return none
    best = np.array([parameters[n].value for n in places])
    least = float(np.sum(fit.residual(best) ** 2))
    t = float(stats.t.ppf(0.5 + level / 2, left))
    # what rounding leaves of an exact fit has no profile
    variance = 1.0 if known else least / left
    noise = math.sqrt(max(variance, 1e-28 * float(np.mean((weight * y) ** 2)), 1e-300))
    steps = [_step(parameters[n]) for n in places]
    found: dict[str, Interval] = {}
    for k, name in enumerate(fit.names):
        if over():
            return none
        low, high = (_end(fit, best, k, s * steps[k], least, t * noise) for s in (-1, 1))
        found[name] = low, high
    return found


def _step(parameter: Parameter) -> float:
    """Return a first step away from the optimum."""
    known = math.isfinite(parameter.stderr) and parameter.stderr > 0
    return parameter.stderr if known else 0.01 * abs(parameter.value) or 0.01


def _end(fit: _Fit, best: Array, k: int, step: float, least: float, rise: float) -> float:
    """Return where the root of the growth of the sum of squares reaches `rise`."""
    last = best.copy()

    def above(distance: float) -> float:
        nonlocal last
        start = last.copy()
        start[k] = best[k] + distance
        theta, cost = fit.least(start, k)
        if math.isfinite(cost):
            last = theta
            return math.sqrt(max(cost - least, 0.0)) - rise
        return 1e6 * rise  # where the law has no value the interval ends

    inner, outer = 0.0, step
    for _ in range(_FARTHEST):
        if above(outer) > 0:
            return float(best[k] + _root(above, inner, outer, abs(step)))
        inner, outer = outer, 2 * outer
    return math.copysign(math.inf, step)


def _root(above: Callable[[float], float], inner: float, outer: float, step: float) -> float:
    if above(inner) > 0:  # other parameters were stuck on the way out
        return inner
    try:
        root: float = optimize.brentq(above, inner, outer, xtol=_TOLERANCE * step, rtol=1e-12)
    except ValueError:  # ... or they were stuck at the far end, and are not any more
        return outer
    return root


def profile_of(law: Law, level: float) -> dict[str, Interval]:
    """Return the profile intervals of a law from its data, under its noise."""
    data = law.data
    assert data is not None
    kept = np.ones(len(data.y), dtype=bool)
    kept[[row for row in law.outliers if row < len(kept)]] = False
    X, y = data.X[kept], data.y[kept]
    log = law.noise.model == "log-normal" and bool((y > 0).all())
    weights = None
    if not log:
        deviation = law.noise.deviation(
            law.predict(X), None if data.sigma is None else data.sigma[kept]
        )
        usable = np.isfinite(deviation).all() and (deviation > 0).all()
        weights = 1 / deviation if usable else None
    return profile(
        law.template, law.parameters, law.names, X, y, weights, level,
        log=log, freedom=freedom(law), known=weights is not None and law.noise.known,
    )  # fmt: skip


# -- of predictions


def predicted(
    law: Law, rows: Array, level: float, noise: bool, sigma: Array | float | None
) -> tuple[Array, Array]:
    """Return low and high for each row: see `Law.predict_interval`."""
    t, centre = quantile(law, level), law.predict(rows)
    own = law_deviation(law, rows)
    if not noise and not fitted(law.parameters):
        return centre.copy(), centre.copy()
    with np.errstate(all="ignore"):
        if law.noise.model == "log-normal":
            return _on_log_scale(law, centre, own, t, noise)
        width = own
        if noise:
            width = np.hypot(own, measurement_deviation(law, rows, centre, sigma))
        low, high = centre - t * width, centre + t * width
    if noise and law.noise.model == "Poisson":
        low = np.where(centre >= 0, np.maximum(low, 0.0), low)
    return low, high


def _on_log_scale(
    law: Law, centre: Array, own: Array, t: float, noise: bool
) -> tuple[Array, Array]:
    """Factors up and down in place of widths: such an interval never crosses zero."""
    relative = own / np.abs(centre)
    if noise:
        relative = np.hypot(relative, law.noise.scale)
    ends = centre * np.exp(-t * relative), centre * np.exp(t * relative)
    return np.minimum(*ends), np.maximum(*ends)


def law_deviation(law: Law, rows: Array) -> Array:
    """Return the standard error of the law by the delta method: gradient times covariance."""
    free = fitted(law.parameters)
    if not free:
        return np.zeros(len(rows))
    with np.errstate(all="ignore"):
        slopes = [slope(*rows.T) for slope in law._slopes]
        gradient = np.stack([np.broadcast_to(s, len(rows)) for s in slopes], 1)
        covariance = law.covariance[np.ix_(free, free)]
        variance = np.einsum("ni,ij,nj->n", gradient, covariance, gradient)
        return np.sqrt(np.maximum(variance, 0.0))


def slopes(law: Law) -> list[Callable[..., Array]]:
    """Return the slopes of a law in its fitted parameters, as functions of the columns."""
    real = {s: sp.Symbol(s.name, real=True) for s in law.template.free_symbols}
    plain = {new: old for old, new in real.items()}
    formula = law.template.xreplace(real)
    numbers = [law.parameters[n].symbol for n in fitted(law.parameters)]
    symbols = [real.get(symbol, symbol) for symbol in numbers]
    write = partial(compiled, names=law.names, parameters=law.parameters)
    return [write(formula.diff(symbol).xreplace(plain)) for symbol in symbols]


def measurement_deviation(
    law: Law,
    rows: Array,
    centre: Array,
    sigma: Array | float | None = None,
    x_sigma: Array | None = None,
) -> Array:
    """Return the standard deviation of new measurements on rows where the law has these values.

    Errors of the inputs count by the slope of the law, those of the fit's rows where none are
    given; if the noise was estimated, it has them in it.
    """
    noise = law.noise
    if noise.model == "given":
        if x_sigma is None and law.data is not None and law.data.x_sigma is not None:
            x_sigma = np.median(law.data.x_sigma, axis=0)
        own = _sigma(law, centre, sigma)
        both = own if x_sigma is None else np.hypot(own, _carried(law, rows, x_sigma))
        return noise.deviation(centre, both)
    if noise.model == "constant" and math.isnan(noise.scale):
        return np.full(centre.shape, law.evidence.noise * law.evidence.spread)
    return noise.deviation(centre)


def _carried(law: Law, rows: Array, x_sigma: Array) -> Array:
    """Errors of the inputs as errors of the target; none where the law has no slope."""
    symbols = law.names.symbols
    with np.errstate(all="ignore"):
        slopes = program(symbols, [law.formula], symbols)(*rows.T)
        parts = [s * e for s, e in zip(slopes, np.broadcast_to(x_sigma, rows.shape).T, strict=True)]
        total = sum(np.nan_to_num(part, nan=0.0, posinf=0.0, neginf=0.0) ** 2 for part in parts)
    return np.sqrt(np.broadcast_to(total, len(rows)))


def _sigma(law: Law, centre: Array, sigma: Array | float | None) -> Array:
    if sigma is None:
        if law.data is None or law.data.sigma is None:
            raise ValueError(
                "the law was fitted with the errors of its rows, so that the interval of a new "
                "measurement needs its error: give sigma=, a number or one a row"
            )
        return np.full(centre.shape, float(np.median(law.data.sigma)))
    given = np.asarray(sigma, dtype=float)
    if given.shape not in ((), centre.shape) or not (given > 0).all():
        raise ValueError(
            f"sigma must be a positive number, or one for each of {len(centre)} rows, got {sigma!r}"
        )
    return np.broadcast_to(given, centre.shape)
