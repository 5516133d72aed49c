"""Main effects and interactions in what a fit leaves over: an ANOVA of its residuals."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy import stats

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ..fitting import Fit, Rows

_DEGREES = (6, 5, 4, 3, 2)  # of the polynomials, the highest that the rows can bear
_ROWS_A_TERM = 10
_MOST_ROWS = 5000


def effects_left(fit: Fit, rows: Rows) -> float | None:
    """Return the probability of so large effects in the residuals by chance; None for few rows.

    The residuals are regressed on polynomials of each column's ranks and on products of two of
    them. Of a law nothing is left but noise; what merely comes near to it leaves its error over,
    smooth and mostly of one or two columns, and many rows show an error well below the noise.
    """
    X, left = rows.X[:_MOST_ROWS], fit.miss[:_MOST_ROWS]
    n, k = X.shape
    degree = next((d for d in _DEGREES if _terms(k, d) * _ROWS_A_TERM <= n), None)
    if degree is None:
        return None
    M = _polynomials(X, degree)
    effects, rank = lstsq(M, left), np.linalg.matrix_rank(M)
    seen = float(np.sum((M @ effects) ** 2))
    free = n - int(rank) - fit.numbers
    rest = float(left @ left) - seen
    return float(stats.f.sf(seen / rank / (rest / free), rank, free)) if rest > 0 else None


def _terms(columns: int, degree: int) -> int:
    """How many polynomials there are."""
    return 1 + columns * degree + columns * (columns - 1) // 2 * len(_pairs(degree))


def _pairs(degree: int) -> list[tuple[int, int]]:
    """Degrees of the two factors of an interaction, of one degree less in all."""
    return [(i, j) for i in range(1, degree) for j in range(1, degree - i)]


def _polynomials(X: Array, degree: int) -> Array:
    """One, main effects and interactions on the rows (rows, terms)."""
    ranks = (stats.rankdata(X, axis=0) - 0.5) / len(X)
    columns = [legvander(2 * rank - 1, degree) for rank in ranks.T]
    mains = [V[:, 1:] for V in columns]
    pairs = [
        (U[:, i] * V[:, j])[:, None]
        for U, V in itertools.combinations(columns, 2)
        for i, j in _pairs(degree)
    ]
    return np.hstack([np.ones((len(X), 1)), *mains, *pairs])
