"""Ridge regression with a penalty for each term, set by the evidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from ..._core.types import Array

LEAST, MOST = 1e-6, 1e7  # of a penalty, relative to columns of variance one
STEP = 20.0  # by which a penalty may change at a time
SETTLED = 0.1  # change of all log penalties at which they count as settled


@dataclass(frozen=True)
class Solution:
    """What a ridge gives: coefficients, penalties, degrees of freedom a term, noise, factor."""

    theta: Array
    penalty: Array
    edf: Array
    noise: float
    factor: Array  # lower Cholesky factor of the penalised Gram matrix

    def cost(self, group: Array) -> float:
        """Return what the penalties take for the coefficients."""
        on = group >= 0
        return float(self.penalty[group[on]] @ self.theta[on] ** 2)


def evidence_ridge(
    gram: Array, moment: Array, square: float, rows: float, group: Array, penalty: Array,
    main: Array, updates: int, noise: float | None = None, pool: float = 0.0,
) -> Solution:  # fmt: skip
    """Minimise |y - Phi t|^2 + sum_g penalty_g |t_g|^2, with penalty_g = noise edf_g / |t_g|^2.

    That is MacKay's fixed point for the evidence. Everything comes from the Gram matrix; the data
    are not seen again.

    Args:
        gram: Phi' Phi.
        moment: Phi' y.
        square: y' y.
        rows: how many there are, or the sum of their weights.
        group: the term of each column; -1 for columns without a penalty.
        penalty: to start from, one for each term.
        main: whether each term is a main effect.
        updates: at most so many.
        noise: variance of y about the fit; None to estimate it.
        pool: degrees of freedom by which the penalty of a main effect leans to that of all.
    """
    count = len(penalty)
    on = group >= 0
    inside = group[on]
    size = np.bincount(inside, minlength=count)
    diagonal = np.diag_indices(len(moment))
    edf, variance = np.zeros(count), noise or 0.0
    step = 0
    while True:
        matrix = gram.copy()
        matrix[diagonal] += np.where(on, penalty[group] if count else 0.0, 1e-10 * rows)
        factor = _factor(matrix, diagonal)
        theta = cho_solve((factor, True), moment, check_finite=False)
        if step >= updates:
            return Solution(theta, penalty, edf, variance, factor)
        inverse = dpotri(factor, lower=1)[0].diagonal()
        edf = np.clip(size - penalty * np.bincount(inside, inverse[on], count), 1e-3, None)
        if noise is None:
            rest = max(square - 2 * moment @ theta + theta @ (gram @ theta), 1e-12 * square)
            variance = max(rest / max(rows - edf.sum() - 1, 0.1 * rows), 1e-300)
        squares = np.bincount(inside, theta[on] ** 2, count)
        # With few rows a term alone is a poor judge of its penalty: main effects share theirs.
        common = variance * edf[main].sum() / (squares[main].sum() + 1e-300)
        lean = np.where(main, pool, 0.0)
        new = variance * (edf + lean) / (squares + lean * variance / max(common, LEAST) + 1e-300)
        new = np.clip(np.clip(new, penalty / STEP, penalty * STEP), LEAST, MOST)
        alive = edf > 0.3
        step += 1
        if np.abs(np.log(new / penalty))[alive].max(initial=0.0) < SETTLED:
            step = max(step, updates)
        penalty = new


def _factor(matrix: Array, diagonal: tuple[Array, ...]) -> Array:
    """Return the Cholesky factor, with a little more on the diagonal where rounding asks for it."""
    jitter = 1e-12 * float(np.mean(matrix[diagonal]))
    for _ in range(12):
        # The matrix is symmetric: its transpose is the order of memory that LAPACK wants.
        factor, info = dpotrf(matrix.T, lower=1)
        if info == 0:
            return np.asarray(factor)
        matrix[diagonal] += jitter
        jitter *= 10
    raise np.linalg.LinAlgError(
        "the normal equations have no solution: are there infinite or huge numbers in the table?"
    )
