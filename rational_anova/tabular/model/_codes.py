"""Special values of numbers: codes such as -9 for "no record", which have no place on the scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ..._core.types import Array
from ._columns import Feature

COLUMNS = 2  # that must have the same code
MOST = 4  # codes below a column's numbers
LEAST_ROWS, LEAST_SHARE = 10, 0.002  # rows that must have a code, in one column at least
OTHERS = 10  # distinct numbers that a column must have beside its codes
APART = 3.0  # typical steps between a column's other numbers by which codes are away
FAR = 1.0  # ranges of the other numbers by which codes above them are away


def special_values(
    features: list[Feature], frame: pd.DataFrame, weight: Array, wanted: Any
) -> list[Feature]:
    """Return the inputs with the special values of their numbers.

    Found are values that many rows share, that stand alone below zero where all other numbers of
    the column are not negative (or a whole range above them), and that two columns or more have.

    Args:
        features: of the table.
        frame: the table.
        weight: of each row.
        wanted: `auto` to find them; numbers; a dict from columns to numbers; None for none.
    """
    if wanted is None:
        return features
    numbers = [f for f in features if f.kind == "number"]
    if isinstance(wanted, str):
        if wanted != "auto":
            raise ValueError(
                f"special_values must be 'auto', numbers, a dict from columns to numbers, or None, "
                f"got {wanted!r}"
            )
        known = _found({f.name: _levels(f, frame, weight) for f in numbers})
    elif isinstance(wanted, Mapping):
        strange = [name for name in wanted if str(name) not in {f.name for f in numbers}]
        if strange:
            raise ValueError(
                f"special_values names {strange[0]!r}, which is no column of numbers; there are "
                f"{[f.name for f in numbers]}"
            )
        known = {str(name): _numbers(values) for name, values in wanted.items()}
    else:
        known = {f.name: _numbers(wanted) for f in numbers}
    result = []
    for f in features:
        some = known.get(f.name, ()) if f.kind == "number" else ()
        if some:
            levels = _levels(f, frame, weight)[0]
            some = tuple(sorted(float(v) for v in some if v in levels))
        result.append(replace(f, special=some) if some else f)
    return result


def _numbers(values: Any) -> tuple[float, ...]:
    some = values if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    try:
        found = tuple(float(value) for value in some)
    except (TypeError, ValueError):
        raise ValueError(f"special_values takes numbers, got {values!r}") from None
    if not np.isfinite(found).all():
        raise ValueError(f"special_values takes finite numbers, got {values!r}; NaN is a gap")
    return found


def _levels(feature: Feature, frame: pd.DataFrame, weight: Array) -> tuple[Array, Array]:
    """Return the distinct numbers of a column, and how many rows have each."""
    x = feature.read(frame.iloc[:, feature.column])
    there = ~np.isnan(x) & (weight > 0)
    levels, counts = np.unique(x[there], return_counts=True)
    return levels, counts


def _found(columns: dict[str, tuple[Array, Array]]) -> dict[str, tuple[float, ...]]:
    """Return the codes of each column, of those that several columns have."""
    candidates = {name: _candidates(*levels) for name, levels in columns.items()}
    every = sorted({code for codes in candidates.values() for code in codes})
    shared = set()
    for code in every:
        there = [name for name, codes in candidates.items() if code in codes]
        apart = any(candidates[name][code] for name in there)
        often = any(_often(code, *columns[name]) for name in there)
        if len(there) >= COLUMNS and apart and often:
            shared.add(code)
    return {name: tuple(c for c in codes if c in shared) for name, codes in candidates.items()}


def _often(code: float, levels: Array, counts: Array) -> bool:
    rows = int(counts[levels == code][0])
    return bool(rows >= max(LEAST_ROWS, LEAST_SHARE * counts.sum()))


def _candidates(levels: Array, counts: Array) -> dict[float, bool]:
    """Return whole numbers outside a column's others, and whether they are well apart from them."""
    found: dict[float, bool] = {}
    negative = int((levels < 0).sum())
    rest = levels[negative:]
    if 0 < negative <= MOST and len(rest) >= OTHERS:
        step = float(np.median(np.diff(rest)))
        apart = bool(rest[0] - levels[negative - 1] >= APART * step)
        found |= dict.fromkeys(levels[:negative].tolist(), apart)
    for count in range(1, MOST + 1):
        rest, above = levels[negative:-count], levels[-count:]
        if len(rest) < OTHERS:
            break
        if above[0] - rest[-1] > FAR * (rest[-1] - rest[0]) and (counts[-count:] > 1).all():
            found |= dict.fromkeys(above.tolist(), True)
            break
    return {code: apart for code, apart in found.items() if code % 1 == 0}
