"""From the columns of a table to inputs: numbers, levels of categories, parts of dates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..._core.types import Array
from ...tables import NotNumbers, as_text, check_range, numbers
from ._bases import without
from ._terms import Rows

MISSING = "(missing)"  # the level of a category that is not there
SHRINKAGE = 10.0  # of target encoding: rows of the overall mean that each level starts with
CODE_FOLDS = 5
CROWDED, MANY = 30, 30  # rows a level below which, and levels from which, a category is crowded
_DAY = pd.Timedelta(days=1)
_EPOCH = pd.Timestamp("1970-01-01")
_PARTS = {
    "month": lambda t: t.dt.month,
    "weekday": lambda t: t.dt.day_of_week,
    "hour": lambda t: t.dt.hour,
}
DATE_PARTS = ("day", *_PARTS)
MOST_INDICATORS = 1000  # levels from which a category is crowded however many rows there are


@dataclass(frozen=True)
class Feature:
    """An input of the model.

    Args:
        name: as shown.
        column: position in the table.
        kind: `number`, `category` or `date`.
        part: of a date: `day` (since 1970), `month`, `weekday` or `hour`.
        levels: of a category, the commonest first.
        values: the target encoding: a number for each level, its mean target with shrinkage; one
            more for unseen levels.
        gaps: whether training rows had it missing.
        clip: least and greatest number of the training rows; beyond them the effects stay as they
            are at the border.
        often: how many of the levels were seen more than once.
        rows: that a category was learned from, by weight.
        special: numbers that are codes (-9 for "no record"), each with an effect of its own.
    """

    name: str
    column: int
    kind: str
    part: str = ""
    levels: tuple[Any, ...] = field(default=(), repr=False)
    values: Array | None = field(default=None, repr=False)
    gaps: bool = False
    clip: tuple[float, float] | None = None
    often: int = 0
    rows: float = 0.0
    special: tuple[float, ...] = ()

    @property
    def codes(self) -> Array | None:
        """The special values of a number, None if there are none."""
        return np.array(self.special) if self.special else None

    def seen(self, x: Array) -> Array:
        """Return encoded numbers as curves see them: NaN for special values."""
        return without(x, np.array(self.special)) if self.special else x

    @property
    def category(self) -> bool:
        """Whether the values are codes of levels."""
        return self.kind == "category"

    @property
    def crowded(self) -> bool:
        """Whether a category has so many levels that only their typical targets count."""
        count = len(self.levels) if self.kind == "category" else 0
        return count > MANY and (self.rows < CROWDED * count or count > MOST_INDICATORS)

    def read(self, column: pd.Series) -> Array:
        """Return a column as numbers (NaN where missing), or as codes of the levels."""
        if self.category:
            text = labels(column)
            codes = pd.Index(self.levels, dtype=object).get_indexer(text)
            if (codes < 0).all():  # perhaps the same levels, as numbers here and as text there
                known, found = (pd.Index(as_text(pd.Series(v, dtype=object)), dtype=object)
                                for v in (self.levels, text))  # fmt: skip
                if known.is_unique:
                    codes = known.get_indexer(found)
            return np.where(codes < 0, len(self.levels), codes).astype(float)
        date, column = self.kind == "date", plain(column)
        values = _date(column, self.part, self.name) if date else _finite(column, self.name)
        if self.clip is None:
            return values
        return np.where(np.isin(values, self.special), values, np.clip(values, *self.clip))


def features_of(frame: pd.DataFrame) -> list[Feature]:
    """Return the inputs that the columns of a table make; categories without levels yet."""
    found = []
    for at, name in enumerate(frame.columns):
        column, text = plain(frame.iloc[:, at]), str(name)
        usable(column, text)
        if pd.api.types.is_datetime64_any_dtype(column):
            found.append(Feature(text, at, "date", "day"))
            for part, take in _PARTS.items():
                if take(column).nunique() > 1:
                    found.append(Feature(f"{text} ({part})", at, "date", part))
        elif pd.api.types.is_numeric_dtype(column):
            found.append(Feature(text, at, "number"))
        else:
            found.append(Feature(text, at, "category"))
    return found


def plain(column: pd.Series) -> pd.Series:
    """Return objects that are all numbers, or all dates, as such; spans of time as days."""
    if pd.api.types.is_timedelta64_dtype(column):
        return column / _DAY
    if column.dtype != object:
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("floating", "integer", "mixed-integer-float", "decimal"):
        return pd.Series(column.to_numpy(float, na_value=np.nan), column.index)
    return pd.to_datetime(column) if kind in ("date", "datetime", "datetime64") else column


def usable(column: pd.Series, name: str) -> None:
    """Raise an error where a column holds what no input can be made of."""
    if pd.api.types.is_complex_dtype(column):
        raise ValueError(f"column {name!r} holds complex numbers; give two columns of real ones")
    if column.dtype == object:
        for value in column:
            if value.__hash__ is None:
                raise ValueError(
                    f"column {name!r} holds {value!r:.40}, a {type(value).__name__}; numbers, "
                    "text, dates and booleans can be used"
                )


def learn(feature: Feature, column: pd.Series, y: Array, weight: Array) -> Feature:
    """Return a feature with what it takes from training rows: levels, codes, gaps."""
    if not feature.category:
        values = feature.read(column)[weight > 0]
        gaps = bool(np.isnan(values).any())
        values = feature.seen(values)
        seen = values[~np.isnan(values)]
        check_range(seen, f"column {feature.name!r}")
        clip = (float(seen.min()), float(seen.max())) if len(seen) else None
        return replace(feature, gaps=gaps, clip=clip)
    text = labels(column)[weight > 0]
    codes, levels = pd.factorize(text)
    counts = np.bincount(codes, weight[weight > 0], len(levels))
    order = sorted(range(len(levels)), key=lambda k: (-counts[k], str(levels[k])))
    often = int((counts > 1).sum())
    levels = tuple(levels[k] for k in order)
    feature = replace(feature, levels=levels, often=often, rows=float(weight.sum()))
    codes = feature.read(column)
    sums = LevelSums.of(codes, len(levels), y, weight, np.zeros(len(codes), int), 1)
    return replace(feature, values=sums.numbers())


def level_sums(feature: Feature, codes: Array, y: Array, weight: Array, fold: Array) -> LevelSums:
    """Return the sums of a category in CODE_FOLDS folds; `fold` has twice as many."""
    return LevelSums.of(codes, len(feature.levels), y, weight, fold // 2, CODE_FOLDS)


@dataclass(frozen=True)
class LevelSums:
    """Weights and weighted targets of each level, in each fold.

    Args:
        counts: (folds, levels + 1).
        totals: (folds, levels + 1, outputs).
    """

    counts: Array
    totals: Array

    @classmethod
    def of(
        cls, codes: Array, count: int, y: Array, weight: Array, fold: Array, folds: int
    ) -> LevelSums:
        """Add up rows of a category of so many levels."""
        at = codes.astype(int) + (count + 1) * fold
        size, shape = (count + 1) * folds, (folds, count + 1)
        totals = np.stack([np.bincount(at, weight * t, size) for t in y.T], 1)
        return cls(np.bincount(at, weight, size).reshape(shape), totals.reshape(*shape, -1))

    def means(self, away: int | None = None) -> Array:
        """Return the shrunken mean target of each level, less the overall mean; without a fold.

        Levels that were not seen have 0.
        """
        counts, totals = self.counts.sum(0), self.totals.sum(0)
        if away is not None:
            counts, totals = counts - self.counts[away], totals - self.totals[away]
        overall = totals.sum(0) / counts.sum()
        means = (totals + SHRINKAGE * overall) / (counts + SHRINKAGE)[:, None]
        means[-1] = overall
        # Levels that differ by rounding only are the same.
        return np.asarray(np.round(means - overall, 12))

    def numbers(self) -> Array:
        """Return the number that stands for each level, and for levels that were not seen."""
        means = self.means()
        return np.asarray(means @ _axis(means))

    def encoded(self, codes: Array, fold: Array) -> Array:
        """Return the numbers of rows by their codes, each found without the row's own fold."""
        result, codes = np.empty(len(codes)), codes.astype(int)
        axis = _axis(self.means())
        for k in np.unique(fold):
            inside = fold == k
            if self.counts.sum() > self.counts[k].sum():
                result[inside] = (self.means(k) @ axis)[codes[inside]]
            else:
                result[inside] = 0.0
        return result


def _axis(means: Array) -> Array:
    """Return the direction in which the levels' means differ most."""
    if means.shape[1] == 1:
        return np.ones(1)
    first = np.linalg.svd(means, full_matrices=False)[2][0]
    return np.asarray(first * np.sign(first[np.abs(first).argmax()]))


def labels(column: pd.Series) -> Array:
    """Return a column of anything as an array of objects; a gap is the level MISSING."""
    column = column.astype(object)
    return column.where(column.notna(), MISSING).to_numpy(object)


def _finite(column: pd.Series, name: str) -> Array:
    """Return a column as float64; NaN where missing."""
    try:
        values = numbers(column, f"column {name!r}")
    except NotNumbers as error:
        raise ValueError(
            f"column {name!r} was a number when the model was fitted, and has {error.cell!r} now"
        ) from None
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"column {name!r} contains infinity (row {row}); replace it by a number, or by NaN "
            "to have it treated as missing"
        )
    return values


def _date(column: pd.Series, part: str, name: str) -> Array:
    try:
        times = pd.to_datetime(column)
    except (TypeError, ValueError) as problem:
        raise ValueError(
            f"column {name!r} was a date when the model was fitted: {problem}"
        ) from None
    return date_numbers(times, part)


def date_numbers(times: pd.Series, part: str) -> Array:
    """Return days since 1970, or months, weekdays or hours; NaN where missing."""
    if times.dt.tz is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    if part == "day":
        return ((times - _EPOCH) / _DAY).to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(_PARTS[part](times).to_numpy(dtype=float, na_value=np.nan))


def read(features: list[Feature], frame: pd.DataFrame) -> Rows:
    """Return a table as rows of the model."""
    values = np.empty((len(frame), len(features)))
    for k, feature in enumerate(features):
        values[:, k] = feature.read(frame.iloc[:, feature.column])
    return Rows(values)


def folds(values: Array, count: int, seed: int, row: Array | None = None) -> Array:
    """Return a fold for each row, the same for equal rows in whatever order they come.

    Where most rows have equals (a table of few categories), equal rows are spread over the folds.

    Args:
        values: encoded rows.
        count: of folds.
        seed: of the folds.
        row: numbers of the rows, if they are some of a larger table in which `equals` are many.
    """
    mixed = _mixed_rows(values, seed)
    if row is not None:
        mixed = _mix(mixed ^ pd.util.hash_array(row))
    elif equals(values, seed):
        nth = pd.Series(mixed).groupby(mixed).cumcount().to_numpy()
        mixed = _mix(mixed ^ pd.util.hash_array(nth))
    return (mixed % np.uint64(count)).astype(int)


def equals(values: Array, seed: int) -> bool:
    """Return whether most rows have equals."""
    return len(np.unique(_mixed_rows(values, seed))) < len(values) / 20


def _mixed_rows(values: Array, seed: int) -> Array:
    mixed = np.full(len(values), np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed))
    for column in values.T:
        mixed = _mix(mixed ^ pd.util.hash_array(np.ascontiguousarray(column + 0.0)))
    return mixed


def _mix(bits: Array) -> Array:
    bits = bits * np.uint64(0xBF58476D1CE4E5B9)
    return bits ^ (bits >> np.uint64(31))
