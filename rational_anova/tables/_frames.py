"""Whatever holds a table, as a frame of inputs and a target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from .._core.checks import choice


def as_frame(X: Any, names: Sequence[str] | None) -> tuple[pd.DataFrame, list[str] | None]:
    """Return the table as a frame with names of text, and the inputs that were chosen of it."""
    if isinstance(names, str):
        raise TypeError(f"names must be a list of names, got the text {names!r}")
    if isinstance(X, pd.Series):
        X = X.to_frame(X.name if X.name is not None else "x0")
    elif isinstance(X, Mapping):
        X = _from_dict(X)
    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(column) for column in X.columns], axis=1)
        if not frame.columns.is_unique:
            twice = frame.columns[frame.columns.duplicated()][0]
            raise ValueError(f"two columns are called {twice!r}; rename one of them")
        if names is None:
            return frame, None
        return frame, list(dict.fromkeys(choice(n, frame.columns, "names") for n in names))
    cells = cells_of(X, "X")
    cells = cells[:, None] if cells.ndim == 1 else cells
    if cells.ndim != 2:
        raise ValueError(f"X must have rows and columns, got the shape {tuple(cells.shape)}")
    given = [f"x{place}" for place in range(cells.shape[1])] if names is None else list(names)
    if len(given) != cells.shape[1]:
        raise ValueError(f"X has {cells.shape[1]} columns, but names has {len(given)}: {given}")
    twice = [name for place, name in enumerate(given) if name in given[:place]]
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}; rename one of them")
    return pd.DataFrame(cells, columns=[str(name) for name in given]), None


def split_target(
    frame: pd.DataFrame, y: Any, target: str | None
) -> tuple[pd.DataFrame, pd.Series, str, list[str]]:
    """Return the inputs without the target, the target, its name, and notes."""
    if isinstance(y, str):
        y = choice(y, frame.columns, "the target")
        return frame.drop(columns=y), frame[y], target or y, []
    if isinstance(y, pd.DataFrame):
        if y.shape[1] != 1:
            raise ValueError(f"y must be one column, got {y.shape[1]}; find one law at a time")
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series):
        target = target or (None if y.name is None else str(y.name))
        if len(y) == len(frame) and not y.index.equals(frame.index):
            _check_order(frame.index, y.index)
        column = y.reset_index(drop=True)
    else:
        cells = cells_of(y, "y")
        cells = cells[:, 0] if cells.ndim == 2 and cells.shape[1] == 1 else cells
        if cells.ndim != 1:
            raise ValueError(f"y must be one column, got the shape {tuple(cells.shape)}")
        column = pd.Series(cells)
    if len(column) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but y has {len(column)}")
    frame = frame.reset_index(drop=True)
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


def _check_order(rows: pd.Index, others: pd.Index) -> None:
    """Refuse rows that are named alike but lie in another order; else rows go by position."""
    if rows.is_unique and others.is_unique and len(rows.symmetric_difference(others)) == 0:
        raise ValueError(
            "X and y name the same rows in another order; bring them into one: y = y.loc[X.index]"
        )


def _from_dict(columns: Mapping[str, Any]) -> pd.DataFrame:
    try:
        return pd.DataFrame(dict(columns))
    except ValueError as error:
        raise ValueError(f"X is a dict whose columns do not fit together: {error}") from error


def cells_of(values: Any, name: str) -> np.ndarray:
    """Return an array, a list or a tensor as an array of whatever its cells are."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        values = values.double() if values.dtype in (torch.bfloat16, torch.float16) else values
        return values.numpy()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cells = np.asarray(values)
    except (ValueError, TypeError, Warning) as error:
        raise ValueError(f"{name} must be a table, every row of one length: {error}") from error
    if cells.ndim == 0:
        raise TypeError(f"{name} must be an array, a list or a DataFrame, got {values!r}")
    if cells.dtype.names is not None:
        raise TypeError(f"{name} is a structured array; give pandas.DataFrame({name})")
    return cells
