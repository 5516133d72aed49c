"""Pairs chosen from data, by the correlations in a table."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ._pairs import Index, pairs_at
from ._sizes import resolve_size

Array: TypeAlias = NDArray[np.float64]
Table: TypeAlias = ArrayLike | Tensor

_NEGLIGIBLE = 1e-10  # relative; below it a difference of two sums is rounding


def read_table(X: Table) -> Array:  # (n, d)
    """Turn `X` into a finite float64 table of at least two rows and one column."""
    table = _read_numbers(X, "X")
    if table.ndim != 2:
        raise ValueError(f"X must have shape (rows, features), got {table.shape}")
    if table.shape[0] < 2 or table.shape[1] < 1:
        raise ValueError(f"X must have at least 2 rows and 1 column, got shape {table.shape}")
    return table


def _read_target(y: Table, rows: int) -> Array:  # (n,)
    target = _read_numbers(y, "y")
    if target.ndim != 1:
        raise ValueError(f"y must have shape (rows,), got {target.shape}; pass one column of it")
    if len(target) != rows:
        raise ValueError(f"y must have one value for each row of X ({rows}), got {len(target)}")
    return target


def _read_numbers(values: Table, name: str) -> Array:
    if isinstance(values, Tensor):
        # numpy has no bfloat16
        values = (values.double() if values.is_floating_point() else values).numpy(force=True)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        message = f"{name} must be an array of real numbers, got {type(values).__name__}: {error}"
        raise TypeError(f"{message}; encode categories and labels as numbers first") from None
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = tuple(bad[0].tolist())
        message = (
            f"{name} must be finite, got {array[place]} at {name}[{', '.join(map(str, place))}]"
        )
        raise ValueError(f"{message}; drop or fill such rows first")
    return array


def strongest_pairs(X: Array, y: Table | None, size: int | str) -> Index:  # (K, 2)
    """The pairs of columns of `X` with the highest scores; the earlier pair wins a tie."""
    features = X.shape[1]
    count = resolve_size(size, features)
    Z = _standardise(X)
    matrix = _correlation(Z) if y is None else _interaction(Z, _read_target(y, len(X)))
    # Scores that are equal on paper differ in their last bits with the order of summation.
    scores = np.round(matrix[np.triu_indices(features, 1)], 12)
    return pairs_at(np.sort(np.argsort(-scores, kind="stable")[:count]), features)


def _standardise(X: Array) -> Array:
    """Columns of mean 0 and variance 1; a constant column becomes zero."""
    largest = np.abs(X).max(axis=0)
    Z = X / np.where(largest > 0, largest, 1.0)  # so that no square overflows or underflows
    varies = Z.max(axis=0) > Z.min(axis=0)
    Z = np.where(varies, Z - Z.mean(axis=0), 0.0)
    return Z / np.where(varies, np.sqrt(np.mean(Z**2, axis=0)), 1.0)


def _correlation(Z: Array) -> Array:  # (d, d)
    return np.abs(Z.T @ Z) / len(Z)


def _interaction(Z: Array, y: Array) -> Array:  # (d, d)
    """|corr(z_i z_j, e)|, with e what the least-squares line through `Z` leaves of `y`."""
    y = _standardise(y[:, None])[:, 0]
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
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
