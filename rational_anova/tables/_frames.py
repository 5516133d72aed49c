"""Whatever holds a table, as a frame of pandas, or as an array of its cells.

A table is a frame of pandas, polars or pyarrow (anything with `to_pandas` or `__dataframe__`), a
dict of columns, a list of dicts, a structured array, a tensor, an array or a list of rows. Every
entrance of the package takes all of them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.checks import choice
from .._core.types import Array
from ._names import check_unique, default_names, text_names

if TYPE_CHECKING:
    import pandas as pd


def from_tensor(values: Any) -> Any:
    """Return a tensor as an array, whatever its dtype, device and history; all else as it is.

    Of a masked array, what is masked is missing: nan in an array of numbers, else None.
    """
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.stack(values)
    if isinstance(values, np.ma.MaskedArray) and values.dtype.names is None:
        return _unmasked(values)
    torch = sys.modules.get("torch")  # where nobody has imported it, there are no tensors
    if torch is None or not isinstance(values, torch.Tensor):
        return values
    if values.is_floating_point() and values.dtype not in (torch.float32, torch.float64):
        values = values.double()  # numpy has no bfloat16, and little use for float16
    return values.numpy(force=True)


def _unmasked(values: Any) -> Array:
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    if values.dtype.kind in "mM":
        return np.asarray(values.filled(np.array("NaT", values.dtype)))
    if values.dtype.kind in "biuf":
        return np.asarray(values.astype(np.float64).filled(np.nan))
    return np.asarray(values.astype(object).filled(None))


def as_pandas(values: Any, name: str = "X") -> pd.DataFrame | pd.Series | None:
    """Return what has columns with names, or is a column, as pandas has it; None for arrays."""
    import pandas as pd

    if isinstance(values, pd.DataFrame | pd.Series):
        return values
    if isinstance(values, Mapping) and not hasattr(values, "shape"):  # a sparse matrix may be one
        return _from_dict(values, name)
    if getattr(getattr(values, "dtype", None), "names", None) is not None:
        return pd.DataFrame.from_records(values)
    if isinstance(values, list | tuple) and values and isinstance(values[0], Mapping):
        return pd.DataFrame([dict(row) for row in values])
    if callable(getattr(values, "to_pandas", None)):
        found: pd.DataFrame | pd.Series = values.to_pandas()
        return found
    if hasattr(values, "__dataframe__"):
        with warnings.catch_warnings():
            # deprecated by pandas, and all that tables without `to_pandas` share
            warnings.simplefilter("ignore")
            return pd.api.interchange.from_dataframe(values)
    return None


def _from_dict(columns: Mapping[str, Any], name: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.DataFrame({key: from_tensor(column) for key, column in columns.items()})
    except ValueError as error:
        raise ValueError(f"{name} is a dict whose columns do not fit together: {error}") from error


def cells_of(values: Any, name: str) -> Array:
    """Return an array, a list or a tensor as an array of whatever its cells are."""
    values = from_tensor(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cells = np.asarray(values)
    except (ValueError, TypeError, Warning) as error:
        raise ValueError(f"{name} must be a table, every row of one length: {error}") from error
    if cells.ndim == 0:
        raise TypeError(f"{name} must be an array, a list or a DataFrame, got {values!r}")
    return cells


def as_frame(X: Any, names: Sequence[str] | None = None) -> tuple[pd.DataFrame, list[str] | None]:
    """Return the table as a frame with names of text, and the inputs that were chosen of it."""
    import pandas as pd

    if isinstance(names, str):
        raise TypeError(f"names must be a list of names, got the text {names!r}")
    table = as_pandas(X)
    if isinstance(table, pd.Series):
        table = table.to_frame(table.name if table.name is not None else "x0")
    if table is not None:
        frame = table.set_axis(text_names(table.columns), axis=1)
        if names is None:
            return frame, None
        return frame, list(dict.fromkeys(choice(n, frame.columns, "names") for n in names))
    cells = cells_of(X, "X")
    cells = cells[:, None] if cells.ndim == 1 else cells
    if cells.ndim != 2:
        raise ValueError(f"X must have rows and columns, got the shape {tuple(cells.shape)}")
    given = default_names(cells.shape[1]) if names is None else list(names)
    if len(given) != cells.shape[1]:
        raise ValueError(f"X has {cells.shape[1]} columns, but names has {len(given)}: {given}")
    check_unique(given)
    return pd.DataFrame(cells, columns=[str(name) for name in given]), None


def as_column(y: Any, name: str = "y") -> pd.Series:
    """Return one column as a Series: of an array, a list, a tensor, a Series, a frame of one."""
    import pandas as pd

    table = as_pandas(y, name)
    if isinstance(table, pd.Series):
        return table
    if table is not None:
        if table.shape[1] != 1:
            raise ValueError(f"{name} must be one column, got {table.shape[1]}")
        return table.iloc[:, 0]
    cells = cells_of(y, name)
    cells = cells[:, 0] if cells.ndim == 2 and cells.shape[1] == 1 else cells
    if cells.ndim != 1:
        raise ValueError(f"{name} must be one column, got the shape {tuple(cells.shape)}")
    return pd.Series(cells)


def split_target(
    frame: pd.DataFrame, y: Any, target: str | None
) -> tuple[pd.DataFrame, pd.Series, str, list[str]]:
    """Return the inputs without the target, the target, its name, and notes."""
    if isinstance(y, str):
        y = choice(y, frame.columns, "the target")
        return frame.drop(columns=y), frame[y], target or y, []
    column = as_column(y)
    target = target or (None if column.name is None else str(column.name))
    if len(column) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but y has {len(column)}")
    if as_pandas(y) is not None and not column.index.equals(frame.index):
        check_order(frame.index, column.index)
    column, frame = column.reset_index(drop=True), frame.reset_index(drop=True)
    if target is None:
        free = ("y", "target", *(f"y{n}" for n in range(len(frame.columns))))
        target = next(name for name in free if name not in frame.columns)
    if target not in frame.columns:
        return frame, column, target, []
    if not frame[target].equals(column.rename(target)):
        raise ValueError(
            f"an input is called {target!r} as the target is, and has other values; "
            "rename one of them, or give target= another name"
        )
    note = f"{target} was left out of the inputs: it is the target."
    return frame.drop(columns=target), column, target, [note]


def check_order(rows: pd.Index, others: pd.Index, name: str = "y") -> None:
    """Refuse rows that are named alike but lie in another order; else rows go by position."""
    if rows.is_unique and others.is_unique and len(rows.symmetric_difference(others)) == 0:
        raise ValueError(
            f"X and {name} name the same rows in another order; bring them into one: "
            f"{name} = {name}.loc[X.index]"
        )
