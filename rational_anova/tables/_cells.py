"""Cells of one column at a time: as numbers, as text, as dates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.types import Array

if TYPE_CHECKING:
    import pandas as pd

_EXACT = 15  # digits of a whole number that every float64 holds
_STRAY = 0.1  # share of cells with text that does not make a column text
_ENCODE = "encode categories and labels as numbers first"
DAYS = "the days since the first row"
_FEW = 20  # levels of a column by which one may split a table
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
)
_ISO = r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?"
_OFFSET = r"\d(?:Z|[+-]\d{2}:?\d{2})$"
# Day and month are told apart by these; 5/6/2024 means two days, so that it is left out.
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")


class NotNumbers(TypeError, ValueError):
    """Something that must be numbers is not: its type does not fit, or its cells do not.

    Args:
        where: what was read, such as "column 'city' of X".
        reason: in a word or two, such as "text".
        why: in a sentence that begins with "it".
        remedy: what to do.
        row: place of the first cell that is no number, from 0, if the message is to show it.
        cell: that cell.
    """

    def __init__(
        self, where: str, reason: str, why: str, remedy: str, row: int | None = None,
        cell: Any = None,
    ) -> None:  # fmt: skip
        such = "" if row is None else f", such as {cell!r} at row {row}"
        super().__init__(f"{where} must be numbers: {why}{such}; {remedy}")
        self.reason, self.why, self.row, self.cell = reason, why, row, cell


# ---- numbers


def numbers(
    column: pd.Series, where: str, notes: list[str] | None = None, name: str | None = None
) -> Array:
    """Return a column as floats, nan where a cell is missing; raise `NotNumbers` if it has none.

    Args:
        column: of any dtype; text that reads as a number is one.
        where: what it is, for the error.
        notes: if given, text in a tenth of the cells or fewer counts as missing, noted here.
        name: of the column, for the notes.
    """
    import pandas as pd

    kind = column.dtype
    if pd.api.types.is_complex_dtype(kind):
        raise not_real(where)
    if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
        raise _dates(where, column.iloc[0] if len(column) else None)
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    cells = column.astype(object).tolist()
    values = [_number(cell, where) for cell in cells]
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
    raise _text_error(where, cells, wrong, filled)


def stray_text(column: pd.Series) -> tuple[int, Any] | None:
    """Return place and content of the first cell that is text in a column of numbers, if any.

    Where more than a tenth of the cells are text, they are none that strayed.
    """
    if column.dtype.kind in "biufcmM":
        return None
    cells = column.astype(object).tolist()
    wrong = [place for place, cell in enumerate(cells) if _number(cell, "a column") is None]
    return (wrong[0], cells[wrong[0]]) if 0 < len(wrong) <= _STRAY * len(cells) else None


def _number(cell: Any, where: str) -> float | None:
    """Return a cell as a number, nan if it is missing, None if it is something else."""
    import pandas as pd

    if isinstance(cell, complex | np.complexfloating):
        raise not_real(where)
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


def not_real(where: str) -> NotNumbers:
    """Return the error for complex numbers."""
    why, remedy = "it has complex numbers", "split it into two columns of real numbers"
    return NotNumbers(where, "complex", why, remedy)


def _text_error(where: str, cells: list[Any], wrong: list[int], filled: int) -> NotNumbers:
    row, cell = wrong[0], cells[wrong[0]]
    words = [str(cells[place]).strip() for place in wrong]
    if any(not isinstance(cells[place], str) for place in wrong):
        if all(hasattr(cells[place], "isoformat") for place in wrong):
            return _dates(where, cell)
        why = f"it holds a {type(cell).__name__}, not numbers"
        return NotNumbers(where, "no numbers", why, _ENCODE, row, cell)
    if all(_DATE.fullmatch(word) for word in words):
        return _dates(where, cell)
    if len(wrong) < filled:
        why, remedy = "it has text among its numbers", "correct or empty these cells"
        return NotNumbers(where, "text among numbers", why, remedy, row, words[0])
    levels = list(dict.fromkeys(words))
    if len(levels) == 1:
        why = f"it is {levels[0]!r} in every row"
        return NotNumbers(where, f"constant: {levels[0]}", why, _ENCODE, cell=levels[0])
    why = f"it is text with {len(levels)} different values"
    return NotNumbers(where, "text", why, _ENCODE, row, words[0])


def _dates(where: str, cell: Any) -> NotNumbers:
    why, remedy = "it holds dates or times", f"give it as a number, such as {DAYS}"
    return NotNumbers(where, "dates", why, remedy, cell=cell)


def split_by(column: pd.Series) -> str | None:
    """Return the first level of a column of text by which one may split a table, if it has few."""
    words = [word for cell in column.dropna() if (word := str(cell).strip())]
    levels = list(dict.fromkeys(words))
    return levels[0] if 1 < len(levels) <= min(_FEW, len(words) / 2) else None


# ---- text and dates


def typed_columns(
    frame: pd.DataFrame, categories: Sequence[str] = (), dates: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a table whose text is text throughout, and whose dates are dates.

    Args:
        frame: as it was read.
        categories: columns to take as text even if they are numbers.
        dates: columns to take as dates; text in ISO format is taken so anyway.
    """
    import pandas as pd

    both = set(categories) & set(dates)
    if both:
        raise ValueError(f"categories and dates both name {both.pop()!r}; choose one")
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if name in dates or (name not in categories and is_iso(column)):
            columns[name] = as_dates(column, name)
        else:
            text = _is_text(column) or name in categories
            columns[name] = as_text(column) if text else column
    return pd.DataFrame(columns, index=frame.index)


def as_text(column: pd.Series) -> pd.Series:
    """Return a column as text, None where missing.

    Numbers are written in one way: a file with 7 and one with 7.0, or one with text among the
    numbers, so give the same level.
    """
    import pandas as pd

    values = [None if pd.isna(value) else _text(value) for value in column.astype(object)]
    return pd.Series(values, index=column.index, dtype=object)


def _text(value: Any) -> str:
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if text.lstrip("+-").isdecimal() and len(text) > _EXACT:
        return text  # two numbers of an account are not to be one
    whole = math.isfinite(number) and number == int(number) and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def as_dates(column: pd.Series, name: str) -> pd.Series:
    """Return a column as times; with an offset in any of them, as times in UTC."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if column.isna().all():
        return pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns]")
    if pd.api.types.is_numeric_dtype(column):
        raise ValueError(
            f"column {name!r} is to be a date, and holds numbers such as "
            f"{column.dropna().iloc[0]:g}; write dates as 2024-05-31"
        )
    text = column.dropna().astype(str).str.strip()
    formats = ["ISO8601"] if is_iso(text) else [f"{day}{time}" for day in _DAYS for time in _TIMES]
    for form in formats:
        utc = form == "ISO8601" and bool(text.str.contains(_OFFSET).any())
        times = pd.to_datetime(text, format=form, utc=utc, errors="coerce")
        if times.notna().all():
            return times.reindex(column.index)
    raise ValueError(
        f"column {name!r} is to be a date, and {text.iloc[0]!r} is the first of its values; write "
        "all of them as 2024-05-31, 2024/05/31, 31.05.2024, 31 May 2024 or May 31, 2024"
    )


def _is_text(column: pd.Series) -> bool:
    """Return whether a column holds text."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.categories.to_series()
    if pd.api.types.is_bool_dtype(column):
        return False
    return bool(pd.api.types.infer_dtype(column, skipna=True) in ("string", "mixed", "empty"))


def is_iso(column: pd.Series) -> bool:
    """Return whether every cell of a column is the text of a date as ISO 8601 writes it."""
    import pandas as pd

    if not _is_text(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    text = column.dropna().astype(str).str.strip()
    return bool(len(text) and text.str.fullmatch(_ISO).all() and _valid(text))


def _valid(text: pd.Series) -> bool:
    import pandas as pd

    try:
        pd.to_datetime(text, format="ISO8601", utc=True)
    except (ValueError, TypeError):
        return False
    return True
