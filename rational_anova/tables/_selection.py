"""Columns and rows of a table by choice: which to include, which to exclude, which rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._core.checks import choice

if TYPE_CHECKING:
    import pandas as pd

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "=": operator.eq,
    "<": operator.lt, ">": operator.gt,
}  # fmt: skip


def select_columns(
    names: Sequence[str],
    target: str | None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    words: tuple[str, str, str] = ("target", "include", "exclude"),
) -> list[str]:
    """Return the columns that a target may depend on, in the order of `include`, if it is given.

    Args:
        names: of all columns.
        target: is never among them; None if there is none.
        include: columns to use; all by default.
        exclude: columns to leave out.
        words: what the user calls the three, for the errors.

    >>> select_columns(["id", "T", "V", "P"], "P", exclude=["id"])
    ['T', 'V']
    """
    if target is not None:
        choice(target, names, words[0])
    chosen = [choice(name, names, words[1]) for name in include]
    gone = [choice(name, names, words[2]) for name in exclude]
    for name in (target, *chosen):
        if name in gone:
            what = f"the target {name!r}" if name == target else f"{name!r}, which is asked for"
            raise ValueError(f"{words[2]} leaves out {what}")
    left = [name for name in chosen or names if name != target and name not in gone]
    if not left:
        raise ValueError(f"the table has no column but the target {target!r} to predict it from")
    return left


def listed(texts: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Split at commas, unless a text as a whole is one of the names."""
    found = []
    for text in texts or []:
        parts = [text] if text in names else text.split(",")
        found += [part if part in names else part.strip() for part in parts if part.strip()]
    return list(dict.fromkeys(found))


def rows_where(
    frame: pd.DataFrame, conditions: Sequence[str], word: str = "where"
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that meet every condition, and the columns that this makes constant.

    Args:
        frame: the table.
        conditions: such as "state=treated"; also with != < <= > >=.
        word: what the user calls them, for the errors.
    """
    fixed = []
    for text in conditions:
        name, sign, value = _split(text, frame.columns.tolist(), word)
        column = frame[name]
        kept = _COMPARE[sign](*_sides(column, sign, value, f"{word} {text!r}"))
        if not kept.any():
            there = ", ".join(str(level) for level in column.dropna().unique()[:5])
            raise ValueError(f"no row meets {word} {text!r}; {name} has {there}, ...")
        frame = frame[kept]
        fixed += [name] if sign == "=" else []
    return frame.reset_index(drop=True), fixed


def _split(text: str, names: Sequence[str], word: str) -> tuple[str, str, str]:
    """Split a condition; a name may have signs in it, so that the longest that fits counts."""
    for name in sorted(names, key=len, reverse=True):
        rest = text[len(name) :].lstrip() if text.startswith(name) else ""
        for sign in _COMPARE:
            if rest.startswith(sign):
                value = rest.removeprefix(sign).removeprefix("=" if sign == "=" else "")
                return name, sign, value.strip()
    raise ValueError(
        f"{word} must be as state=treated, got {text!r}; the columns are {', '.join(names)}"
    )


def _sides(column: pd.Series, sign: str, value: str, condition: str) -> tuple[pd.Series, Any]:
    import pandas as pd

    if pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(str).str.casefold(), value.casefold()
    if pd.api.types.is_numeric_dtype(column.dtype):
        try:
            return column, float(value)
        except ValueError:
            raise ValueError(f"{condition}: {column.name} is a number") from None
    if sign in ("=", "!="):
        return column.astype(str).str.strip(), value
    raise ValueError(f"{condition} compares {column.name}, which is not numbers, by size")
