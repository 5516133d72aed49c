"""Columns and conditions as they are typed: `T,V` and `state=treated`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

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
