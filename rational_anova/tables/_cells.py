"""Cells as numbers: one column of a table at a time."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd

from .._core.types import Array

_STRAY = 0.1  # share of cells with text that does not make a column text
_FEW = 20  # levels of a column by which one may split a table
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
)
_ROW_NAMES = re.compile(r"(unnamed: ?\d+|row_?(names?|id|number)?|index|idx|id|)[.]?", re.I)
_MAYBE_ROW_NAMES = re.compile(r"(nr|no|number|obs(ervation)?|case|sample|run|trial|#)[.]?", re.I)


class NotNumbers(ValueError):
    """Why a column has no numbers: a short `reason`, and a sentence on it."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


def numbers(column: pd.Series, name: str, notes: list[str] | None = None) -> Array:
    """Return a column as floats, nan where a cell is missing; raise `NotNumbers` if it has none.

    With `notes`, text in a tenth of the cells or fewer counts as missing, and is noted there.
    """
    kind = column.dtype
    if pd.api.types.is_complex_dtype(kind):
        raise TypeError(f"column {name!r} has complex numbers; split it into two real columns")
    if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
        raise _dates(name)
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    cells = column.astype(object).tolist()
    values = [_number(cell, name) for cell in cells]
    wrong = [place for place, value in enumerate(values) if value is None]
    if not wrong:
        return np.array(values, dtype=np.float64)
    if notes is not None and len(wrong) <= _STRAY * len(cells):
        notes.append(
            f"{name} has text among its numbers, such as {str(cells[wrong[0]])!r} in row "
            f"{wrong[0] + 1}: cells like this count as missing."
        )
        return np.array([math.nan if v is None else v for v in values], dtype=np.float64)
    filled = sum(value is None or not math.isnan(value) for value in values)
    raise _text(name, cells, wrong, filled)


def _number(cell: Any, name: str) -> float | None:
    """Return a cell as a number, nan if it is missing, None if it is something else."""
    if isinstance(cell, complex | np.complexfloating):
        raise TypeError(f"column {name!r} has complex numbers; split it into two real columns")
    if isinstance(cell, str):
        cell = cell.strip().replace("\N{MINUS SIGN}", "-")
        if not cell:
            return math.nan
        if "_" in cell:  # Python's way of writing 1_000, not that of tables
            return None
    elif pd.api.types.is_scalar(cell) and pd.isna(cell):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return None


def _text(name: str, cells: list[Any], wrong: list[int], filled: int) -> NotNumbers:
    words = [str(cells[place]).strip() for place in wrong]
    if any(not isinstance(cells[place], str) for place in wrong):
        if all(hasattr(cells[place], "isoformat") for place in wrong):
            return _dates(name)
        kind = type(cells[wrong[0]]).__name__
        return NotNumbers("no numbers", f"{name} was left out: it holds a {kind}, not numbers.")
    if all(_DATE.fullmatch(word) for word in words):
        return _dates(name)
    if len(wrong) < filled:
        return NotNumbers(
            "text among numbers",
            f"{name} was left out: it has text among its numbers, such as {words[0]!r} in row "
            f"{wrong[0] + 1}. Correct or empty these cells to use it.",
        )
    levels = list(dict.fromkeys(words))
    if len(levels) == 1:
        return NotNumbers(f"constant: {levels[0]}",
                          f"{name} was left out: it is {levels[0]!r} in every row.")  # fmt: skip
    sentence = f"{name} was left out: it is text with {len(levels)} different values."
    if len(levels) <= _FEW and len(levels) <= len(wrong) / 2:
        sentence += f" To find a law for one of them, give --where {name}={levels[0]}."
    return NotNumbers("text", sentence)


def _dates(name: str) -> NotNumbers:
    return NotNumbers(
        "dates",
        f"{name} was left out: it holds dates or times. To use it, give it as a number, such as "
        "the days since the first row.",
    )


def counts_rows(values: Array, name: str) -> bool:
    """Tell whether a column is a row number by its name and by its values."""
    if np.array_equal(values, np.round(values)) and len(values) > 1:
        if _ROW_NAMES.fullmatch(name.strip()):
            return bool(np.all(np.diff(values) > 0))  # perhaps of a part of the rows
        if _MAYBE_ROW_NAMES.fullmatch(name.strip()):
            return bool(values[0] in (0, 1) and np.all(np.diff(values) == 1))
    return False


def is_constant(values: Array) -> bool:
    """Tell whether all present values are equal, up to rounding."""
    present = values[~np.isnan(values)]
    spread = np.ptp(present)
    return bool(spread <= 4 * np.finfo(np.float64).eps * np.abs(present).max())


def affine(values: Array, other: Array) -> tuple[float, float] | None:
    """Return (a, b) if values = a * other + b in every row up to rounding, else None."""
    known = ~np.isnan(other)
    if not np.array_equal(known, ~np.isnan(values)):
        return None
    x, y = other[known], values[known]
    if np.array_equal(x, y):
        return 1.0, 0.0
    low, high = np.argmin(x), np.argmax(x)
    if len(x) < 3 or x[low] == x[high]:
        return None
    with np.errstate(all="ignore"):
        a = (y[high] - y[low]) / (x[high] - x[low])
        b = y[low] - a * x[low]
        size = np.abs(y).max() + np.abs(a * x).max()
        b = 0.0 if abs(b) <= 1e-13 * size else b
        close = np.abs(a * x + b - y).max() <= 1e-13 * size
    return (float(a), float(b)) if close and a != 0 else None
