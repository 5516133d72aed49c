"""A smooth surrogate of a table: Chebyshev least squares with exact leave-one-out errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np
import scipy.linalg
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..._core.least_squares import lstsq
from ..._core.types import Array
from .._thresholds import DEGREES, MORE_DEGREES

_SHARP_LEVERAGE = 0.5  # of a row: above, it makes most of the fit there itself
_FEWEST_ROWS = 10  # that slopes are compared on


@lru_cache(None)
def exponents(variables: int, degree: int) -> NDArray[np.int64]:
    """All exponents of total degree at most `degree`, one row each."""
    rows = (
        [
            row
            for row in itertools.product(range(degree + 1), repeat=variables)
            if sum(row) <= degree
        ]
        if variables <= 2
        else list(_rows(variables, degree))
    )
    return np.array(rows, dtype=np.int64).reshape(len(rows), variables)


def _rows(variables: int, degree: int) -> Iterator[tuple[int, ...]]:
    if variables == 1:
        yield from ((k,) for k in range(degree + 1))
        return
    for k in range(degree + 1):
        for rest in _rows(variables - 1, degree - k):
            yield (k, *rest)


def top_degree(variables: int, columns: int) -> int:
    """The highest total degree that needs at most so many columns."""
    degree = 1
    while math.comb(variables + degree + 1, variables) <= columns and degree < DEGREES.get(
        variables, MORE_DEGREES
    ):
        degree += 1
    return degree


def definite(u: Array) -> bool:
    """Return whether all values have one sign and none is zero."""
    return bool((u > 0).all() or (u < 0).all())


class Basis:
    """Products of Chebyshev polynomials of total degree, of raw or of log inputs, on given rows."""

    def __init__(self, U: Array, degree: int, logs: bool = False):
        self.U, self.logs, self.degree = U, logs, degree
        V = np.log(np.abs(U)) if logs else U
        lo, hi = V.min(0), V.max(0)
        self.half = (hi - lo) / 2 + 1e-300
        self.T = np.clip((V - (hi + lo) / 2) / self.half, -1.0, 1.0)
        self.index = exponents(U.shape[1], degree)
        self.tables = [chebyshev.chebvander(t, degree) for t in self.T.T]

    def columns(self, orders: Sequence[int] | None = None) -> Array:
        """Values of the basis, or of its derivative of these orders in the variables."""
        out = np.ones((len(self.T), len(self.index)))
        for i, table in enumerate(self.tables):
            for _ in range(orders[i] if orders else 0):
                table = table @ _derivative(self.degree)
            out *= table[:, self.index[:, i]]
        if orders:
            out /= np.prod([h**k for h, k in zip(self.half, orders, strict=True)])
        return out


@lru_cache(None)
def _derivative(degree: int) -> Array:
    D = np.zeros((degree + 1, degree + 1))
    for k in range(1, degree + 1):
        D[:k, k] = chebyshev.chebder(np.eye(degree + 1)[k])[:k]
    return D


def leave_one_out(columns: Array, target: Array) -> tuple[float, Array]:
    """Root mean square of the exact leave-one-out residuals, and the coefficients."""
    return _left_out(columns, target)[:2]


def _left_out(columns: Array, target: Array) -> tuple[float, Array, Array]:
    """The same, and the leverage of each row: one where the fit merely goes through it."""
    norms = np.linalg.norm(columns, axis=0)
    norms[norms == 0] = 1.0
    M = columns / norms
    try:  # normal equations with one step of refinement: a third of the time of a QR
        factor = scipy.linalg.cholesky(M.T @ M, lower=True, check_finite=False)
        if factor.diagonal().min() < 1e-6:
            raise np.linalg.LinAlgError
        half = scipy.linalg.solve_triangular(factor, M.T, lower=True, check_finite=False)
        coefficients = np.zeros(M.shape[1])
        for _ in range(3):
            image = half @ (target - M @ coefficients)
            coefficients += scipy.linalg.solve_triangular(
                factor, image, lower=True, trans=1, check_finite=False
            )
        leverage = np.einsum("ij,ij->j", half, half)
    except np.linalg.LinAlgError:
        Q, R = np.linalg.qr(M)
        coefficients = lstsq(R, Q.T @ target, 1e-13)
        leverage = np.einsum("ij,ij->i", Q, Q)
    residual = (target - M @ coefficients) / np.clip(1 - leverage, 1e-3, None)
    return float(np.sqrt(np.mean(residual**2))), coefficients / norms, leverage


# how the target is seen: forward, slope, inverse and its first and second derivative, for f > 0
_Functions = tuple[Callable[[Array], Array], ...]
TARGETS: dict[str, _Functions] = {
    "y": (lambda f: f, np.ones_like, lambda t: t, np.ones_like, np.zeros_like),
    "log y": (np.log, lambda f: 1 / f, np.exp, np.exp, np.exp),
    "1/y": (lambda f: 1 / f, lambda f: f**-2.0, lambda t: 1 / t, lambda t: -1 / t**2,
            lambda t: 2 / t**3),
    "1/y^2": (lambda f: f**-2.0, lambda f: 2 * f**-3.0, lambda t: t**-0.5,
              lambda t: -0.5 * t**-1.5, lambda t: 0.75 * t**-2.5),
    "y^2": (lambda f: f**2, lambda f: 2 * f, np.sqrt, lambda t: 0.5 * t**-0.5,
            lambda t: -0.25 * t**-1.5),
}  # fmt: skip
RESCUE = ("1/y", "1/y^2", "y^2")  # tried where neither y nor log y is smooth enough


class Surrogate:
    """A fit of f, or of a simple function of it, by one basis, with rows in units of y."""

    def __init__(self, basis: Basis, f: Array, weight: Array, target: str):
        self.basis, self.f, self.target = basis, f, target
        self.sign = -1.0 if target != "y" and f[0] < 0 else 1.0
        forward, slope = TARGETS[target][:2]
        self.scale = weight / np.maximum(slope(self.sign * f), 1e-300)
        self.loo, self.coefficients, self.leverage = _left_out(
            basis.columns() * self.scale[:, None], forward(self.sign * f) * self.scale
        )

    def _seen(self, order: Sequence[int] | None = None) -> Array:
        r = self.basis.U.shape[1]
        return self.basis.columns(order or [0] * r) @ self.coefficients

    def _inverse(self, which: int) -> Array:
        """The inverse of the target's function, or its derivative, at the fitted values."""
        t = self._seen()
        if self.target in ("1/y", "1/y^2", "y^2"):  # a fit may stray below zero where f does not
            low = np.abs(t[t > 0]).min() if (t > 0).any() else 1.0
            t = np.maximum(t, low)
        return self.sign * TARGETS[self.target][2 + which](t)

    @cached_property
    def interior(self) -> NDArray[np.bool_]:
        """Rows where slopes are sharp: away from the faces of the box, and with rows around them.

        Where rows are few for the degree, the fit goes through each, and between them as it likes.
        """
        T = self.basis.T
        if not T.shape[1]:
            return np.ones(len(T), bool)
        inside = np.abs(T).max(1) < 0.9 ** (1 / max(1.0, T.shape[1] / 3))
        for rows in (inside & (self.leverage < _SHARP_LEVERAGE), inside):
            if rows.sum() >= _FEWEST_ROWS:
                return np.asarray(rows)
        return np.ones(len(T), bool)

    @cached_property
    def values(self) -> Array:
        """The surrogate's f on the rows."""
        return self._inverse(0)

    def left_out(self) -> Array:
        """What is missed of f on each row by the surrogate of the others, nearly."""
        return np.asarray((self.f - self.values) / np.clip(1 - self.leverage, 1e-3, None))

    @cached_property
    def _slopes(self) -> Array:
        """Slopes of what is fitted, (n, r)."""
        r = self.basis.U.shape[1]
        out = np.empty_like(self.basis.U)
        for i in range(r):
            g = self._seen([int(k == i) for k in range(r)])
            out[:, i] = g / self.basis.U[:, i] if self.basis.logs else g
        return out

    @cached_property
    def gradients(self) -> Array:
        """df/du_i on the rows, (n, r)."""
        return self._slopes * self._inverse(1)[:, None]

    @cached_property
    def hessian(self) -> Array:
        """d2f/du_i du_j on the rows for i != j, (n, r, r); the diagonal is left zero."""
        r, G = self.basis.U.shape[1], self._slopes
        first, second = self._inverse(1), self._inverse(2)
        out = np.zeros((len(self.f), r, r))
        for i, j in itertools.combinations(range(r), 2):
            h = self._seen([int(k in (i, j)) for k in range(r)])
            if self.basis.logs:
                h = h / (self.basis.U[:, i] * self.basis.U[:, j])
            out[:, i, j] = out[:, j, i] = first * h + second * G[:, i] * G[:, j]
        return out


def fit_surrogate(
    U: Array, f: Array, weight: Array, columns: int = 500, hopeless: float = np.inf
) -> Surrogate | None:
    """The surrogate with the least leave-one-out error over degrees, raw/log inputs and target.

    Where a first look finds an error above `hopeless`, no more time is spent.
    """
    n, r = U.shape
    if r == 0:
        return None
    columns = max(r + 1, min(columns, n // 3))
    kinds = (False, True) if all(definite(u) for u in U.T) else (False,)
    modes = [(logs, seen) for seen in (("y", "log y") if definite(f) else ("y",)) for logs in kinds]
    grid = sorted({_feasible(r, min(columns, c)) for c in (10, 35, 130)})
    fits: list[Surrogate] = []
    for degree in grid:
        same = [Surrogate(Basis(U, degree, logs), f, weight, seen) for logs, seen in modes]
        fits += same
        same.sort(key=lambda s: s.loo)
        modes = [(s.basis.logs, s.target) for s in same[:2]]
    best = min(fits, key=lambda s: s.loo)
    if best.loo > 0.02 * np.std(f * weight) and definite(f):
        fits = [
            Surrogate(Basis(U, degree, logs), f, weight, seen)
            for degree in grid[1:]
            for seen in RESCUE
            for logs in kinds
        ]
        best = min([best, *fits], key=lambda s: s.loo)
    if best.loo > hopeless:
        return best
    if best.loo > 0.02 * np.std(f * weight):
        columns = min(2 * columns, n // 3)
    logs, seen, start = best.basis.logs, best.target, best.basis.degree
    last, step = _feasible(r, columns), 1 if r > 2 else 2
    for degrees in (range(start + step, last + 1, step), range(start - 1, 0, -1)):
        worse = 0
        for degree in degrees:  # up while it helps, else down: noise wants a low degree
            if degree in grid:
                continue
            trial = Surrogate(Basis(U, degree, logs), f, weight, seen)
            worse = 0 if trial.loo < best.loo else worse + 1
            best = min(best, trial, key=lambda s: s.loo)
            if worse == 2:
                break
        if best.basis.degree > start:
            break
    return best


def _feasible(variables: int, columns: int) -> int:
    degree = top_degree(variables, columns)
    return degree if math.comb(variables + degree, variables) <= columns else 1
