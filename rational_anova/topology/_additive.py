"""Main effects from data: orthonormal functions of each column, and a smooth additive fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .._core.types import Array
from ._tables import standardise

_MAINS = 4  # degree of the main effects, in ranks
_PRESENT = 1e-6  # a function whose norm falls below this share is a combination of earlier ones
_RANK = 1e-10  # relative; smaller eigenvalues are rounding
# Generalised cross validation as it stands follows noise; 1.4 degrees of freedom for each one
# used cures that (Kim and Gu, 2004).
_CAUTION = 1.4


def rank_polynomials(X: Array, weight: Array, degree: int) -> Array:  # (degree + 1, n, d)
    """Polynomials in the ranks of each column, orthonormal under `weight`.

    Ranks, because they do not care about units, tails and outliers. A column with L different
    values has L - 1 functions beside the constant; the others are zero.
    """
    ranks = rankdata(X, axis=0)
    t = (ranks - (len(X) + 1) / 2) * (2 / len(X))
    result = np.zeros((degree + 1, *X.shape))
    result[0] = 1
    for k in range(1, degree + 1):
        result[k] = _orthonormal(t * result[k - 1], result[:k], weight)
    return result


def _orthonormal(columns: Array, basis: Array, weight: Array) -> Array:  # (n, d)
    """What `basis` leaves of `columns`, at norm one; zero where that is rounding."""
    norms = np.sqrt(weight @ columns**2 / len(weight))
    for _ in range(2):  # once more removes the rounding errors of the first time
        for function in basis:
            columns = columns - function * (weight @ (function * columns) / len(weight))
    rest = np.sqrt(weight @ columns**2 / len(weight))
    present = rest > _PRESENT * np.maximum(norms, _PRESENT)
    return np.where(present, columns / np.where(present, rest, 1.0), 0.0)


@dataclass(frozen=True)
class AdditiveFit:
    """A ridge fit of functions of single columns: it takes main effects out of any column."""

    basis: Array  # (n, p)
    weight: Array  # (n,), mean 1
    vectors: Array  # (p, rank)
    inverse: Array  # (rank,), 1 / (eigenvalue + penalty)
    freedom: float  # degrees of freedom used, the constant included

    def residual(self, Y: Array) -> Array:  # (n, C)
        """What main effects leave of the columns of `Y`."""
        weighted = self.weight[:, None] * Y
        projected = self.vectors.T @ (self.basis.T @ weighted)
        fit = self.basis @ (self.vectors @ (self.inverse[:, None] * projected))
        return Y - weighted.mean(axis=0) - fit


def fit_additive(X: Array, Y: Array, weight: Array, polynomials: Array) -> AdditiveFit:
    """Fit main effects to the columns of `Y`, with one penalty chosen by cross validation."""
    basis = _main_basis(X, weight, polynomials)
    root = np.sqrt(weight)[:, None]
    values, vectors = _spectrum(root * basis)
    centred = root * (Y - weight @ Y / len(Y))
    penalty = _choose_penalty(values, vectors, root * basis, centred)
    inverse = 1 / (values + penalty)
    return AdditiveFit(basis, weight, vectors, inverse, 1 + float(values @ inverse))


def _main_basis(X: Array, weight: Array, polynomials: Array) -> Array:  # (n, p)
    """Polynomials of ranks, the higher ones held back, and what of the column they miss."""
    degree = min(_MAINS, len(polynomials) - 1)
    parts = [polynomials[k] / k**2 for k in range(1, degree + 1)]
    # With it a straight line in a column with long tails is in the span, too.
    parts.append(_orthonormal(standardise(X), polynomials[: degree + 1], weight))
    basis = np.concatenate(parts, axis=1)
    return basis[:, np.any(basis != 0, axis=0)]


def _spectrum(A: Array) -> tuple[Array, Array]:  # (rank,), (p, rank)
    """Eigenvalues and vectors of A^T A, by the smaller of A^T A and A A^T."""
    tall = A.shape[0] >= A.shape[1]
    values, vectors = np.linalg.eigh(A.T @ A if tall else A @ A.T)
    kept = values > _RANK * max(values.max(initial=0.0), 1.0)
    values, vectors = values[kept], vectors[:, kept]
    return values, vectors if tall else A.T @ vectors / np.sqrt(values)


def _choose_penalty(values: Array, vectors: Array, A: Array, Y: Array) -> float:
    """The penalty with the least generalised cross validation score over all of `Y`."""
    scores = vectors.T @ (A.T @ Y)  # (rank, C)
    outside = np.sum((Y - A @ (vectors @ (scores / values[:, None]))) ** 2)
    power = np.sum(scores**2, axis=1) / values
    penalties = values.max(initial=1.0) * np.logspace(-13, 2, 61)[:, None]
    error = outside + (penalties / (values + penalties)) ** 2 @ power
    used = 1 + np.sum(values / (values + penalties), axis=1)
    spare = 1 - _CAUTION * used / len(Y)
    risk = np.where(spare > 0, error, np.inf) / np.maximum(spare, 0.01) ** 2
    return float(penalties[np.argmin(risk), 0])
