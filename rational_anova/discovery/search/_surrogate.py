"""A smooth surrogate of a table: Chebyshev least squares with exact leave-one-out errors.

Its gradients tell the symmetries of the table, its leave-one-out error how much noise there is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import scipy.linalg
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

Array = NDArray[np.float64]

DEGREES = {1: 60, 2: 28}  # the highest degree for one and for two variables; 24 for more


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
        variables, 24
    ):
        degree += 1
    return degree


def definite(u: Array) -> bool:
    """Whether all values have one sign and none is zero."""
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
        coefficients = np.linalg.lstsq(R, Q.T @ target, rcond=1e-13)[0]
        leverage = np.einsum("ij,ij->i", Q, Q)
    residual = (target - M @ coefficients) / np.clip(1 - leverage, 1e-3, None)
    return float(np.sqrt(np.mean(residual**2))), coefficients / norms


class Surrogate:
    """A fit of f (or log |f|) by one basis, with rows weighted to units of y."""

    def __init__(self, basis: Basis, f: Array, weight: Array, log_target: bool):
        self.basis, self.f, self.log_target = basis, f, log_target
        target = np.log(np.abs(f)) if log_target else f
        scale = weight * np.abs(f) if log_target else weight
        self.loo, self.coefficients = leave_one_out(
            basis.columns() * scale[:, None], target * scale
        )

    def _scale(self, order: Sequence[int]) -> Array:
        return self.basis.columns(order) @ self.coefficients

    def interior(self) -> NDArray[np.bool_]:
        """Rows away from the faces of the box, where derivatives are sharp."""
        T = self.basis.T
        if not T.shape[1]:
            return np.ones(len(T), bool)
        rows: NDArray[np.bool_] = np.abs(T).max(1) < 0.9 ** (1 / max(1.0, T.shape[1] / 3))
        return rows if rows.sum() >= 10 else np.ones(len(T), bool)

    def values(self) -> Array:
        """The surrogate's f on the rows."""
        value = self._scale([0] * self.basis.U.shape[1])
        return np.sign(self.f) * np.exp(value) if self.log_target else value

    def gradients(self) -> Array:
        """df/du_i on the rows, (n, r)."""
        r, f = self.basis.U.shape[1], self.values()
        out = np.empty_like(self.basis.U)
        for i in range(r):
            g = self._scale([int(k == i) for k in range(r)])
            g = g * f if self.log_target else g
            out[:, i] = g / self.basis.U[:, i] if self.basis.logs else g
        return out

    def hessian(self) -> Array:
        """d2f/du_i du_j on the rows for i != j, (n, r, r); the diagonal is left zero."""
        r, f, G = self.basis.U.shape[1], self.values(), self.gradients()
        out = np.zeros((len(f), r, r))
        for i, j in itertools.combinations(range(r), 2):
            h = self._scale([int(k in (i, j)) for k in range(r)])
            if self.basis.logs:
                h = h / (self.basis.U[:, i] * self.basis.U[:, j])
            if self.log_target:
                h = f * h + G[:, i] * G[:, j] / f
            out[:, i, j] = out[:, j, i] = h
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
    modes = [(False, False)]
    if all(definite(u) for u in U.T):
        modes.append((True, False))
    if definite(f):
        modes += [(logs, True) for logs, _ in list(modes)]
    grid = sorted({_feasible(r, min(columns, c)) for c in (10, 35, 130)})
    fits: list[Surrogate] = []
    for degree in grid:
        same = [Surrogate(Basis(U, degree, logs), f, weight, log_y) for logs, log_y in modes]
        fits += same
        same.sort(key=lambda s: s.loo)
        modes = [(s.basis.logs, s.log_target) for s in same[:2]]
    best = min(fits, key=lambda s: s.loo)
    if best.loo > hopeless:
        return best
    if best.loo > 0.02 * np.std(f * weight):
        columns = min(2 * columns, n // 3)
    logs, log_y, start = best.basis.logs, best.log_target, best.basis.degree
    last, step = _feasible(r, columns), 1 if r > 2 else 2
    for degrees in (range(start + step, last + 1, step), range(start - 1, 0, -1)):
        worse = 0
        for degree in degrees:  # up while it helps, else down: noise wants a low degree
            if degree in grid:
                continue
            trial = Surrogate(Basis(U, degree, logs), f, weight, log_y)
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
