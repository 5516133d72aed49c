"""Data as the workflow of a fitted network takes them: a table of numbers, perhaps with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def table(values: Any, columns: int, name: str = "X") -> Tensor:
    """Return an array, tensor, list or table of pandas as a float64 tensor (rows, columns)."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold numbers only, got {type(values).__name__}") from None
    if array.ndim == 1 and columns == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (rows, {columns}), got {array.shape}")
    if not len(array):
        raise ValueError(f"{name} has no rows")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds values that are not finite; leave those rows out")
    return torch.tensor(array)


def labels(names: Any, X: Any, count: int) -> Sequence[Any] | None:
    """Return names for `count` inputs: those given, else the columns of X, else None.

    An object with `symbols`, such as `Names`, stands for these.
    """
    if names is None:
        names = getattr(X, "columns", None)
        return None if names is None else [str(name) for name in names]
    given: Sequence[Any] = getattr(names, "symbols", names)
    return given
