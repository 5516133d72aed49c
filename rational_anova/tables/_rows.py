"""`rows_of`: the rows that a law is asked to predict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._core.types import Array
from ._cells import NotNumbers, numbers
from ._frames import cells_of


def rows_of(X: Any, columns: Sequence[str]) -> Array:
    """Return rows as numbers (rows, columns), nan where a cell is missing.

    Args:
        X: an array in the order of `columns`, of one dimension if there is one column only; or a
            DataFrame, a dict or a Series that has these columns, in any order.
        columns: names of the columns.
    """
    if isinstance(X, pd.Series):
        X = X.to_frame() if X.name is not None else X.to_numpy()
    if isinstance(X, dict):
        X = pd.DataFrame(X)
    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(column) for column in X.columns], axis=1)
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"the table has no column {missing[0]!r}; the law needs {', '.join(columns)}"
            )
    else:
        cells = cells_of(X, "X")
        cells = cells[:, None] if cells.ndim == 1 and len(columns) == 1 else cells
        if cells.ndim != 2 or cells.shape[1] != len(columns):
            raise ValueError(
                f"X must be rows of {len(columns)} columns ({', '.join(columns)}), got the shape "
                f"{tuple(cells.shape)}"
            )
        frame = pd.DataFrame(cells, columns=list(columns))
    try:
        parts = [numbers(frame[name], name) for name in columns]
    except NotNumbers as error:
        why = str(error).split(" was left out: ", 1)
        raise ValueError(f"column {why[0]!r} must be numbers: {why[-1]}") from None
    return np.stack(parts, axis=1) if parts else np.empty((len(frame), 0))
