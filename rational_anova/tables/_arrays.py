"""Tables and columns as arrays of numbers, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._core.types import Array
from ._cells import numbers
from ._frames import as_pandas, cells_of
from ._names import text_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike
    from torch import Tensor

LARGEST = 1e152  # number whose square, and the sum of many of them, is a float64
Numbers: TypeAlias = "ArrayLike | Tensor | pd.DataFrame | Mapping[str, Any]"


def as_array(values: Numbers, name: str = "X") -> Array:
    """Return numbers of any shape as they are: floats, integers or booleans; nan for a gap.

    Whatever `tables` takes as a table is taken, and text that reads as a number is one. A column
    that is not numbers ends in `NotNumbers`, which names it.

    >>> as_array({"T": [1, 2], "V": ["0.5", None]})
    array([[1. , 0.5],
           [2. , nan]])
    """
    import pandas as pd

    table = as_pandas(values, name)
    if isinstance(table, pd.DataFrame):
        names = text_names(table.columns)
        parts = [_column(table.iloc[:, k], _where(n, name)) for k, n in enumerate(names)]
        return np.stack(parts, axis=1) if parts else np.empty((len(table), 0))
    if table is not None:
        return _column(table, name)
    cells = cells_of(values, name)
    if cells.dtype.kind in "biuf":
        return cells
    flat = cells.reshape(len(cells), -1) if cells.size else np.empty((len(cells), 0))
    one = cells.ndim == 1
    parts = [_column(pd.Series(c), name if one else _where(k, name)) for k, c in enumerate(flat.T)]
    return np.stack(parts, axis=1).reshape(cells.shape) if parts else np.empty(cells.shape)


def _where(column: int | str, name: str) -> str:
    return f"column {column!r} of {name}"


def _column(column: pd.Series, where: str) -> Array:
    """Return a column as numbers of its own dtype; floats where cells are missing."""
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        return column.to_numpy()
    if pd.api.types.is_extension_array_dtype(kind) and not column.isna().any():
        if pd.api.types.is_bool_dtype(kind):
            return column.to_numpy(dtype=np.bool_)
        if pd.api.types.is_integer_dtype(kind):
            return column.to_numpy(dtype=np.int64)
    return numbers(column, where)


def read_matrix(
    X: Numbers, columns: int | None = None, name: str = "X", least: int = 2
) -> Array:  # (n, d)
    """Return a table as a finite float64 matrix.

    Args:
        X: whatever holds a table.
        columns: how many there must be; a table of one may come as a single column.
        name: for the errors.
        least: rows that it must have.
    """
    table = as_array(X, name).astype(np.float64)
    if table.ndim == 1 and columns == 1:
        table = table[:, None]
    if table.ndim != 2 or (columns is not None and table.shape[1] != columns):
        wanted = "features" if columns is None else columns
        raise ValueError(f"{name} must have shape (rows, {wanted}), got {table.shape}")
    if table.shape[0] < least or table.shape[1] < 1:
        rows = f"{least} row{'' if least == 1 else 's'}"
        raise ValueError(f"{name} must have at least {rows} and 1 column, got shape {table.shape}")
    check_finite(table, name)
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


def rows_of(X: Numbers, columns: Sequence[str]) -> Array:
    """Return rows as numbers (rows, columns), nan where a cell is missing.

    Args:
        X: an array in the order of `columns`, of one dimension if there is one column only; or a
            table that has columns of these names, in any order.
        columns: names of the columns.
    """
    import pandas as pd

    table = as_pandas(X)
    if isinstance(table, pd.Series):
        table = table.to_frame() if table.name is not None else None
    if table is None:
        cells = cells_of(X, "X")
        cells = cells[:, None] if cells.ndim == 1 and len(columns) == 1 else cells
        if cells.ndim != 2 or cells.shape[1] != len(columns):
            raise ValueError(
                f"X must be rows of {len(columns)} columns ({', '.join(columns)}), got the shape "
                f"{tuple(cells.shape)}"
            )
        frame = pd.DataFrame(cells, columns=list(columns))
    else:
        frame = table.set_axis([str(column) for column in table.columns], axis=1)
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"the table has no column {missing[0]!r}; the law needs {', '.join(columns)}"
            )
    parts = [numbers(frame[name], f"column {name!r}") for name in columns]
    return np.stack(parts, axis=1) if parts else np.empty((len(frame), 0))


def _check_rows(values: Array, rows: int, name: str) -> None:
    if len(values) != rows:
        raise ValueError(
            f"{name} must have one value for each row of X ({rows}), got {len(values)}"
        )


def _read_numbers(values: Numbers, name: str) -> Array:
    array = as_array(values, name).astype(np.float64)
    check_finite(array, name)
    return array


def check_finite(values: Array, name: str) -> None:
    """Raise at the first number that is not finite."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise not_finite(name, len(bad), float(values[place]), place)


def check_range(values: Array, name: str) -> None:
    """Raise if numbers are all so small, or one is so large, that squares of them have no value."""
    largest = float(np.max(np.abs(values), initial=0.0, where=~np.isnan(values)))
    if largest > 0 and not 1 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"{name} has {largest:g} as its largest size, and must have one between "
            f"{1 / LARGEST:g} and {LARGEST:g}, else its squares cannot be computed; give it in "
            "another unit"
        )


def not_finite(name: str, count: int, value: float, place: Sequence[int]) -> ValueError:
    """Return the error for numbers that are not finite: how many, and where the first is."""
    where = f"row {place[0]}" + (f", column {place[1]}" if len(place) == 2 else "")
    if len(place) > 2:
        where = f"index {tuple(place)}"
    return ValueError(
        f"{name} has {count} values that are not finite, the first is {value} at {where}; "
        "drop or fill such rows first"
    )


def standardise(X: Array) -> Array:
    """Columns of mean 0 and variance 1; a constant column becomes zero."""
    largest = np.abs(X).max(axis=0)
    Z = X / np.where(largest > 0, largest, 1.0)  # so that no square overflows or underflows
    varies = Z.max(axis=0) > Z.min(axis=0)
    Z = np.where(varies, Z - Z.mean(axis=0), 0.0)
    return Z / np.where(varies, np.sqrt(np.mean(Z**2, axis=0)), 1.0)
