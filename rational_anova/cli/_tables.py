"""Tables as the commands take them: columns and conditions as they are typed, text and dates."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .._core.checks import choice
from ..tables import read_table

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


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "=": operator.eq,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def listed(texts: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Split at commas, unless a text as a whole is one of the names."""
    found = []
    for text in texts or []:
        parts = [text] if text in names else text.split(",")
        found += [part if part in names else part.strip() for part in parts if part.strip()]
    return list(dict.fromkeys(found))


def rows_where(frame: pd.DataFrame, conditions: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that meet every condition, and the columns that this makes constant."""
    fixed = []
    for text in conditions:
        name, sign, value = _split(text, frame.columns.tolist())
        column = frame[name]
        kept = _COMPARE[sign](*_sides(column, sign, value, text))
        if not kept.any():
            there = ", ".join(str(level) for level in column.dropna().unique()[:5])
            raise ValueError(f"no row meets --where {text!r}; {name} has {there}, ...")
        frame = frame[kept]
        fixed += [name] if sign == "=" else []
    return frame.reset_index(drop=True), fixed


def _split(text: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Split a condition; a name may have signs in it, so that the longest that fits counts."""
    for name in sorted(names, key=len, reverse=True):
        rest = text[len(name) :].lstrip() if text.startswith(name) else ""
        for sign in _COMPARE:
            if rest.startswith(sign):
                value = rest.removeprefix(sign).removeprefix("=" if sign == "=" else "")
                return name, sign, value.strip()
    raise ValueError(
        f"--where must be as state=treated, got {text!r}; the columns are {', '.join(names)}"
    )


def _sides(column: pd.Series, sign: str, value: str, text: str) -> tuple[pd.Series, Any]:
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(str).str.casefold(), value.casefold()
    if pd.api.types.is_numeric_dtype(column.dtype):
        try:
            return column, float(value)
        except ValueError:
            raise ValueError(f"--where {text!r}: {column.name} is a number") from None
    if sign in ("=", "!="):
        return column.astype(str).str.strip(), value
    raise ValueError(f"--where {text!r} compares {column.name}, which is not numbers, by size")


@dataclass(frozen=True)
class Chosen:
    """What `--target`, `--inputs`, `--exclude` and `--where` choose of a table.

    Args:
        frame: the rows that meet the conditions, with all columns.
        inputs: the columns that are inputs, in order.
        named: whether `--inputs` named them.
    """

    frame: pd.DataFrame
    inputs: list[str]
    named: bool


def read_chosen(
    path: Path,
    target: str | None,
    inputs: Sequence[str] | None,
    exclude: Sequence[str] | None,
    where: Sequence[str] | None,
) -> Chosen:
    """Read a table and choose of it; options are as typed, columns as `a,b`."""
    frame = read_table(path)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    names = list(frame.columns)
    if target is not None:
        choice(target, names, "--target")
    chosen, gone = known(inputs, names, "--inputs"), known(exclude, names, "--exclude")
    if target in chosen:
        raise ValueError(f"--inputs names the target {target!r}; leave it out of them")
    for name in names:
        if name in gone and name in (target, *chosen):
            raise ValueError(f"--exclude leaves out {name!r}, which is asked for")
    frame, fixed = rows_where(frame, where or [])
    # What is the same in every row explains nothing; a model that is there may still want it.
    gone += [target, *fixed] if target is not None else []
    others = [name for name in names if name not in gone]
    return Chosen(frame, chosen or others, bool(chosen))


def read_inputs(
    chosen: Chosen, target: str, category: Sequence[str] | None, date: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return inputs, target and what is to be said of them."""
    frame, inputs = chosen.frame, chosen.inputs
    if not inputs:
        raise ValueError(f"the table has no column but the target {target!r} to predict it from")
    texts = known(category, inputs, "--category")
    dates = known(date, inputs, "--date")
    notes = []
    gaps = frame[target].isna()
    if gaps.all():
        raise ValueError(f"the target {target!r} is missing in all rows")
    if gaps.any():
        notes.append(f"{gaps.sum()} rows without {target} were left out")
        frame = frame[~gaps].reset_index(drop=True)
    y = frame[target]
    frame = prepared(frame[inputs], texts, dates)
    notes += _doubts(frame)
    return frame, y, notes


def _doubts(frame: pd.DataFrame) -> list[str]:
    """Return what is odd about columns."""
    notes = []
    for name in frame.columns:
        column = frame[name]
        values = column.nunique()
        if column.isna().all():
            notes.append(f"{name} is missing in all rows and says nothing")
        elif values == 1 and not column.isna().any():
            notes.append(f"{name} is the same in all rows and says nothing")
        elif values == len(column) > 20 and column.dtype == object:
            notes.append(
                f"{name} is different in every row; if it only names rows, --exclude {name}"
            )
    return notes


def known(given: Sequence[str] | None, names: Sequence[str], option: str) -> list[str]:
    """Return the names that an option lists, if there are such columns."""
    return [choice(name, names, option) for name in listed(given, names)]
