"""Tables for models: which columns are text, which are dates, and the same again for new tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

_ISO = r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?"
_OFFSET = r"\d(?:Z|[+-]\d{2}:?\d{2})$"
# Day and month are told apart by these; 5/6/2024 means two days, so that it is left out.
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_TIMES = ("", " %H:%M", " %H:%M:%S")


def prepared(frame: pd.DataFrame, categories: Sequence[str], dates: Sequence[str]) -> pd.DataFrame:
    """Return a table whose text is text throughout, and whose dates are dates.

    Args:
        frame: as it was read.
        categories: columns to take as text even if they are numbers.
        dates: columns to take as dates; text in ISO format is taken so anyway.
    """
    both = set(categories) & set(dates)
    if both:
        raise ValueError(f"--category and --date both name {both.pop()!r}")
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if name in dates or (name not in categories and _is_iso(column)):
            columns[name] = as_dates(column, name)
        else:
            text = _is_text(column) or name in categories
            columns[name] = as_text(column) if text else column
    return pd.DataFrame(columns, index=frame.index)


def as_fitted(frame: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Return the columns that a model wants of a table, in its order and of its kinds."""
    names = list(getattr(model, "feature_names_in_", ()))
    if not names:
        if frame.shape[1] != model.n_features_in_:
            raise ValueError(
                f"the model was fitted without names of columns and wants {model.n_features_in_} "
                f"of them, the table has {frame.shape[1]}"
            )
        names = list(frame.columns)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"the table lacks {', '.join(map(repr, missing))}, which the model was fitted with; it "
            f"has {', '.join(map(repr, frame.columns))}"
        )
    frame = frame[names].copy()
    for feature in model.features_:
        name = names[feature.column]
        if feature.kind == "date":
            frame[name] = as_dates(frame[name], name)
        elif feature.category and all(isinstance(level, str) for level in feature.levels):
            frame[name] = as_text(frame[name])
    return frame


def as_text(column: pd.Series) -> pd.Series:
    """Return a column as text, None where missing.

    Numbers are written in one way: a file with 7 and one with 7.0, or one with text among the
    numbers, so give the same level.
    """
    values = [None if pd.isna(value) else _text(value) for value in column.astype(object)]
    return pd.Series(values, index=column.index, dtype=object)


def _text(value: Any) -> str:
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    whole = math.isfinite(number) and number == int(number) and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def as_dates(column: pd.Series, name: str) -> pd.Series:
    """Return a column as times; with an offset in any of them, as times in UTC."""
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
    formats = ["ISO8601"] if _is_iso(text) else [f"{day}{time}" for day in _DAYS for time in _TIMES]
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
    """Say whether a column holds text."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.categories.to_series()
    if pd.api.types.is_bool_dtype(column):
        return False
    return bool(pd.api.types.infer_dtype(column, skipna=True) in ("string", "mixed", "empty"))


def _is_iso(column: pd.Series) -> bool:
    if not _is_text(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    text = column.dropna().astype(str).str.strip()
    return bool(len(text) and text.str.fullmatch(_ISO).all() and _valid(text))


def _valid(text: pd.Series) -> bool:
    try:
        pd.to_datetime(text, format="ISO8601", utc=True)
    except (ValueError, TypeError):
        return False
    return True
