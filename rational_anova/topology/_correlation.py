"""Pairs chosen from data, by the correlations in a table."""

from __future__ import annotations

import numpy as np

from .._core.least_squares import lstsq
from .._core.types import Array
from ..tables import Numbers, read_target, standardise
from ._pairs import Index, largest, resolve_size

_NEGLIGIBLE = 1e-10  # relative; below it a difference of two sums is rounding


def strongest_pairs(X: Array, y: Numbers | None, size: int | str) -> Index:  # (K, 2)
    """The pairs of columns of `X` with the highest scores; the earlier pair wins a tie."""
    features = X.shape[1]
    count = resolve_size(size, features)
    Z = standardise(X)
    matrix = _correlation(Z) if y is None else _interaction(Z, read_target(y, len(X)))
    return largest(matrix, count)


def _correlation(Z: Array) -> Array:  # (d, d)
    return np.abs(Z.T @ Z) / len(Z)


def _interaction(Z: Array, y: Array) -> Array:  # (d, d)
    """|corr(z_i z_j, e)|, with e what the least-squares line through `Z` leaves of `y`."""
    y = standardise(y[:, None])[:, 0]
    residual = y - Z @ lstsq(Z, y)
    spread = np.sqrt(np.mean(residual**2))
    if spread <= _NEGLIGIBLE:
        raise ValueError(
            f"y is a linear function of the {Z.shape[1]} columns of X on these {len(Z)} rows, so "
            "nothing is left to rank pairs by; give more rows, or y=None to rank by X alone"
        )
    covariance = (Z * (residual / spread)[:, None]).T @ Z / len(Z)
    square = (Z**2).T @ Z**2 / len(Z)
    variance = square - (Z.T @ Z / len(Z)) ** 2
    varies = variance > _NEGLIGIBLE * square
    return np.where(varies, np.abs(covariance) / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
