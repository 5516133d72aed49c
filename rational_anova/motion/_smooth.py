"""A smooth curve through noisy rows, with the noise estimated from them.

The curve is a quintic spline with the integral of its squared third derivative held down. How much
is chosen by restricted likelihood, which gives the standard deviation of the noise as well; rows
without noise are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import solve_triangular, svd
from scipy.optimize import minimize_scalar

from .._core.types import Array

_DEGREE = 5
_FREE = 3  # dimensions that the penalty does not see: parabolas
_MOST_KNOTS = 400  # splines of more would take seconds
_STRENGTHS = np.arange(-70.0, 10.0, 1.5)  # logarithms that the best is looked for among
CLEAN = 3e-4  # noise below this share of the spread is interpolated: fast transients are kept
_GAUSS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, eq=False)
class Curve:
    """A smooth curve through rows, and how far rows lie from it.

    Attributes:
        spline: the curve, in time shifted and scaled to [0, 1].
        start: first time.
        length: last time less the first.
        noise: standard deviation of rows about it.
    """

    spline: BSpline
    start: float
    length: float
    noise: float

    def __call__(self, t: Array) -> Array:
        """Values at times."""
        return np.asarray(self.spline(self._scaled(t)))

    def slope(self, t: Array) -> Array:
        """First derivative at times."""
        return np.asarray(self._slope(self._scaled(t))) / self.length

    def bend(self, t: Array) -> Array:
        """Second derivative at times."""
        return np.asarray(self._bend(self._scaled(t))) / self.length**2

    @cached_property
    def _slope(self) -> BSpline:
        return self.spline.derivative()

    @cached_property
    def _bend(self) -> BSpline:
        return self.spline.derivative(2)

    def _scaled(self, t: Array) -> Array:
        return np.clip((np.asarray(t, dtype=float) - self.start) / self.length, 0.0, 1.0)


def smooth(t: Array, x: Array, exact: bool = False, sizes: Array | None = None) -> Curve:
    """A curve through rows (t, x), times rising; rows with x = nan are gaps.

    Args:
        t: times.
        x: values.
        exact: whether to interpolate, whatever noise is estimated.
        sizes: of the noise of the rows, relative to each other; all alike by default.
    """
    known = np.isfinite(x)
    sizes = np.ones(int(known.sum())) if sizes is None else sizes[known]
    t, x = t[known], x[known]
    start, length = float(t[0]), float(t[-1] - t[0])
    u, level, scale = (t - start) / length, float(np.mean(x)), float(np.std(x)) or 1.0
    knots = _knots(u)
    values, noise = _penalised(u, (x - level) / scale, knots, exact, sizes)
    spline = BSpline(knots, values * scale + level, min(_DEGREE, len(u) - 1))
    return Curve(spline, start, length, noise * scale)


def _knots(u: Array) -> Array:
    """Knots at the rows, or at fewer where there are many, less those next to the ends."""
    degree = min(_DEGREE, len(u) - 1)
    places = u if len(u) <= _MOST_KNOTS else np.quantile(u, np.linspace(0, 1, _MOST_KNOTS))
    skipped = (degree + 1) // 2
    inner = places[skipped : len(places) - (degree + 1 - skipped)]
    if degree % 2 == 0:  # the knots of an even degree lie between rows
        inner = (inner + places[skipped - 1 : len(places) - (degree + 1 - skipped) - 1]) / 2
    return np.r_[np.zeros(degree + 1), inner, np.ones(degree + 1)]


def _penalised(
    u: Array, x: Array, knots: Array, exact: bool, sizes: Array
) -> tuple[Array, float]:  # fmt: skip
    """Coefficients of the spline, and the noise, with the likeliest strength of the penalty."""
    degree = min(_DEGREE, len(u) - 1)
    x = x / sizes
    Q, R = np.linalg.qr(BSpline.design_matrix(u, knots, degree).toarray() / sizes[:, None])
    # singular values, not eigenvalues of a Gram matrix: the largest is 1e14 times the least
    third = np.asarray(np.linalg.qr(_third_derivatives(knots, degree), mode="r"))
    _, bent, turn = svd(solve_triangular(R, third.T, trans=1, lower=False).T)
    steep = np.zeros(len(turn))  # the penalty does not see parabolas
    steep[_FREE:] = bent[: len(turn) - _FREE][::-1] ** 2
    turn = turn[::-1]
    z = turn @ (Q.T @ x)
    outside = float(np.sum((x - Q @ (Q.T @ x)) ** 2))  # what no spline of these knots can follow
    freedom = len(u) - _FREE

    def deviance(log: float) -> float:
        pull = np.exp(log) * steep[_FREE:]
        left = float(np.sum(z[_FREE:] ** 2 * pull / (1 + pull))) + outside
        return float(np.sum(np.log1p(1 / np.maximum(pull, 1e-300)))) + freedom * np.log(
            left + 1e-26 * len(u)
        )

    best = min(_STRENGTHS, key=deviance)
    best = float(minimize_scalar(deviance, bounds=(best - 2, best + 2), method="bounded").x)
    pull = np.exp(best) * steep
    noise = np.sqrt((float(np.sum(z**2 * pull / (1 + pull))) + outside) / max(freedom, 1))
    if exact or noise < CLEAN:
        pull = np.zeros_like(pull)
    return solve_triangular(R, turn.T @ (z / (1 + pull))), float(noise)


def _third_derivatives(knots: Array, degree: int) -> Array:
    """Those of the basis, at places and with weights so that their squares sum to the integral."""
    edges = np.unique(knots)
    nodes, weights = _GAUSS
    half = np.diff(edges) / 2
    places = (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel()
    size = len(knots) - degree - 1
    third = BSpline(knots, np.eye(size), degree).derivative(min(3, degree))(places)
    return np.asarray(np.sqrt(half[:, None] * weights).ravel()[:, None] * third)
