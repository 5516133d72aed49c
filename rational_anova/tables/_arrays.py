"""Tables and targets as float64 arrays, read and checked."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from .._core.types import Array

Numbers: TypeAlias = ArrayLike | Tensor


def read_matrix(X: Numbers) -> Array:  # (n, d)
    """Turn `X` into a finite float64 table of at least two rows and one column."""
    table = _read_numbers(X, "X")
    if table.ndim != 2:
        raise ValueError(f"X must have shape (rows, features), got {table.shape}")
    if table.shape[0] < 2 or table.shape[1] < 1:
        raise ValueError(f"X must have at least 2 rows and 1 column, got shape {table.shape}")
    return table


def read_target(y: Numbers, rows: int) -> Array:  # (n,)
    """Turn `y` into a finite float64 column with a value for each of `rows` rows."""
    target = _read_numbers(y, "y")
    if target.ndim != 1:
        raise ValueError(f"y must have shape (rows,), got {target.shape}; pass one column of it")
    _check_rows(target, rows, "y")
    return target


def read_targets(y: Numbers, rows: int) -> Array:  # (n, C)
    """Turn `y`, one target or several, into a finite float64 table of `rows` rows."""
    targets = _read_numbers(y, "y")
    if targets.ndim not in (1, 2) or (targets.ndim == 2 and targets.shape[1] == 0):
        raise ValueError(f"y must have shape (rows,) or (rows, targets), got {targets.shape}")
    _check_rows(targets, rows, "y")
    return targets.reshape(rows, -1)


def read_weight(weight: Numbers | None, rows: int) -> Array:  # (n,), mean 1
    """Turn `weight` into weights of mean one, all ones when None; refuse negative ones."""
    if weight is None:
        return np.ones(rows)
    values = _read_numbers(weight, "weight")
    if values.ndim != 1:
        raise ValueError(f"weight must have shape (rows,), got {values.shape}")
    _check_rows(values, rows, "weight")
    if values.min() < 0:
        raise ValueError(f"weight must not be negative, got {values.min()}")
    if np.count_nonzero(values) < 2:
        raise ValueError("weight must be positive for at least 2 rows")
    values = values / values.max()  # so that no sum overflows
    return values / values.mean()


def _check_rows(values: Array, rows: int, name: str) -> None:
    if len(values) != rows:
        raise ValueError(
            f"{name} must have one value for each row of X ({rows}), got {len(values)}"
        )


def _read_numbers(values: Numbers, name: str) -> Array:
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


def standardise(X: Array) -> Array:
    """Columns of mean 0 and variance 1; a constant column becomes zero."""
    largest = np.abs(X).max(axis=0)
    Z = X / np.where(largest > 0, largest, 1.0)  # so that no square overflows or underflows
    varies = Z.max(axis=0) > Z.min(axis=0)
    Z = np.where(varies, Z - Z.mean(axis=0), 0.0)
    return Z / np.where(varies, np.sqrt(np.mean(Z**2, axis=0)), 1.0)
