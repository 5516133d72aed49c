"""The first pass: what the columns are, what the target is, and a part of the rows.

Each row has a number by chance, made from the seed and its place in the table; the rows with the
least numbers are the part. So the part is the same however the table is cut, and parts of it are
parts of the table. Shares of the rows below a number are known from the part to within 0.5 % (99 %
sure, by the bound of Dvoretzky, Kiefer and Wolfowitz); counts of levels and ends are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..._core.types import Array
from ..model import DATE_PARTS, date_numbers, labels, plain, usable

STATISTICS = 100_000  # rows of the part
RESERVE = 1_000  # rows of each class that are kept beside it, so that rare ones are there
ENDS = 9  # least and greatest numbers that are kept: some may be codes
MOST_LEVELS = 1_000_000
KEY, ROW = "(key)", "(row)"  # columns of the part that are no columns of the table


@dataclass(frozen=True)
class Given:
    """Which columns are what.

    Args:
        target: name of the column of targets.
        weight: name of the column of weights, None without.
        clean: checks targets and returns them as an array.
        classes: whether targets are classes.
    """

    target: Any
    weight: Any
    clean: Callable[[Any], Array]
    classes: bool


class NamedError(ValueError):
    """An error that names the part of the table in which it was met."""


@dataclass
class Column:
    """What is known of a column: its kind, whether there are gaps, its ends or its levels."""

    kind: str
    where: str  # the part in which the kind was seen first
    gaps: bool = False
    ends: dict[str, Array] = field(default_factory=dict)
    levels: Counter[Any] = field(default_factory=Counter)

    def merge(self, other: Column, name: str) -> None:
        """Take in what another part says of it."""
        self.gaps = self.gaps or other.gaps
        if other.kind == "empty":
            return
        if self.kind == "empty":
            self.kind, self.where = other.kind, other.where
        if self.kind != other.kind:
            raise NamedError(
                f"column {name!r} holds {_KINDS[other.kind]} in {other.where}, and "
                f"{_KINDS[self.kind]} in {self.where}; make it the same in all parts"
            )
        for part, values in other.ends.items():
            mine = self.ends.get(part)
            self.ends[part] = _outermost(values if mine is None else np.append(mine, values))
        self.levels.update(other.levels)
        if len(self.levels) > MOST_LEVELS:
            raise NamedError(
                f"column {name!r} has more than {MOST_LEVELS:,} levels: it names single rows, and "
                "no effect can be learned from that; leave it out"
            )


_KINDS = {"number": "numbers", "date": "dates", "category": "text or other levels"}


class Part:
    """The rows with the least numbers by chance of those that were seen.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.limit = np.uint64(2**64 - 1)
        self.frames: list[pd.DataFrame] = []
        self.count = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Take in rows that have a column KEY."""
        some = frame[frame[KEY].to_numpy() <= self.limit]
        if len(some):
            self.frames.append(some)
            self.count += len(some)
        if self.count > 2 * self.most:
            self._cut()

    def merge(self, other: Part) -> None:
        """Take in the rows of another part."""
        for frame in other.frames:
            self.add(frame)

    def frame(self) -> pd.DataFrame:
        """Return the rows, by chance: the first of them are a smaller part."""
        self._cut()
        return self.frames[0]

    def _cut(self) -> None:
        rows = pd.concat(self.frames, ignore_index=True) if len(self.frames) > 1 else self.frames[0]
        order = np.argsort(rows[KEY].to_numpy(), kind="stable")[: self.most]
        self.frames, self.count = [rows.iloc[order].reset_index(drop=True)], len(order)
        if len(order) == self.most:
            self.limit = self.frames[0][KEY].to_numpy()[-1]


class Scan:
    """What a pass over some rows finds.

    Args:
        given: which columns are what.
        seed: of the part.
    """

    def __init__(self, given: Given, seed: int) -> None:
        self.given, self.seed = given, seed
        self.names: list[Any] | None = None
        self.where = ""
        self.columns: dict[Any, Column] = {}
        self.part = Part(STATISTICS)
        self.reserve: dict[Any, Part] = {}
        self.rows = 0
        self.weight = self.used = 0.0  # sum of the weights, rows of positive weight
        self.heaviest, self.fractions = 0.0, False
        self.counts: Counter[Any] = Counter()  # of classes, by weight
        self.ends = np.zeros(0)  # of targets
        self.text_target: bool | None = None

    def over(self, chunks: Iterable[tuple[str, pd.DataFrame]], start: int) -> Scan:
        """Take in the rows of named chunks, which begin at a row of the table."""
        for where, frame in chunks:
            self._add(where, frame, start)
            start += len(frame)
        return self

    def _add(self, where: str, frame: pd.DataFrame, start: int) -> None:
        if not len(frame):
            return
        frame = frame.reset_index(drop=True)
        inputs = self._inputs(where, frame)
        weight = _weights(frame, self.given.weight, where)
        with naming(where):
            y = self.given.clean(frame[self.given.target])
        self._target(y, weight, where)
        used = weight > 0
        columns = {}
        for name in inputs:
            with naming(where):
                columns[name] = settled(frame[name], name)
                found = _column(columns[name], name, weight, where)
            if name in self.columns:
                self.columns[name].merge(found, str(name))
            else:
                self.columns[name] = found
        row = np.arange(start, start + len(frame), dtype=np.uint64)
        kept = pd.DataFrame(columns)
        kept[self.given.target] = y
        if self.given.weight is not None:
            kept[self.given.weight] = weight
        kept[ROW], kept[KEY] = row, mixed(row, self.seed)
        kept = kept[used]
        self.part.add(kept)
        if self.given.classes:
            for one, rows in kept.groupby(self.given.target, sort=False):
                self.reserve.setdefault(one, Part(RESERVE)).add(rows)

    def _inputs(self, where: str, frame: pd.DataFrame) -> list[Any]:
        for what, name in (("y", self.given.target), ("sample_weight", self.given.weight)):
            if name is not None and name not in frame.columns:
                raise NamedError(
                    f"{what} names {name!r}, which is no column of {where}; it has "
                    f"{list(frame.columns)}"
                )
        inputs = [n for n in frame.columns if n not in (self.given.target, self.given.weight)]
        if not inputs:
            raise NamedError(f"{where} has no column beside the target")
        if self.names is None:
            self.names, self.where = inputs, where
        check_names(self.names, self.where, inputs, where)
        return self.names

    def _target(self, y: Array, weight: Array, where: str) -> None:
        used = weight > 0
        self.rows += len(y)
        self.weight += float(weight.sum())
        self.used += int(used.sum())
        self.heaviest = max(self.heaviest, float(weight.max(initial=0.0)))
        self.fractions = self.fractions or bool((weight % 1).any())
        if not self.given.classes:
            if used.any():
                seen = y[used]
                self.ends = _outermost(np.append(self.ends, [seen.min(), seen.max()]))
            return
        text = y.dtype.kind not in "biuf"
        if self.text_target is None:
            self.text_target = text
        elif self.text_target != text:
            raise NamedError(f"the classes are text in one part and numbers in another ({where})")
        for one, count in zip(*np.unique(y[used], return_counts=True), strict=True):
            self.counts[one] += int(count)

    def merge(self, other: Scan) -> Scan:
        """Take in what was found in other rows."""
        if other.names is None:
            return self
        if self.names is None:
            return other
        check_names(self.names, self.where, other.names, other.where)
        for name, column in other.columns.items():
            self.columns[name].merge(column, str(name))
        self.part.merge(other.part)
        for one, part in other.reserve.items():
            self.reserve.setdefault(one, Part(RESERVE)).merge(part)
        self.rows += other.rows
        self.weight += other.weight
        self.used += other.used
        self.heaviest = max(self.heaviest, other.heaviest)
        self.fractions = self.fractions or other.fractions
        self.counts.update(other.counts)
        self.ends = _outermost(np.append(self.ends, other.ends))
        if other.text_target is not None and self.text_target not in (None, other.text_target):
            raise NamedError(f"the classes are text in one part and numbers in {other.where}")
        return self


def check_names(names: list[Any], where: str, others: list[Any], there: str) -> None:
    """Raise if two parts of a table have not the same columns; their order does not matter."""
    if set(names) == set(others) and len(names) == len(others):
        return
    lacks = [name for name in names if name not in others]
    more = [name for name in others if name not in names]
    said = [f"lacks {lacks}"] * bool(lacks) + [f"has {more} beside"] * bool(more)
    raise NamedError(
        f"{there} has other columns than {where}: it {' and '.join(said) or 'has one twice'}; give "
        "all parts the same columns"
    )


def settled(column: pd.Series, name: Any) -> pd.Series:
    """Return a column as numbers, dates or objects, the same way in every part of a table."""
    column = plain(column)
    usable(column, str(name))
    if pd.api.types.is_datetime64_any_dtype(column):
        return column
    if column.isna().all():
        return pd.Series(np.nan, column.index)
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) == "boolean":
        return column.astype(float)
    return column.astype(float) if pd.api.types.is_numeric_dtype(column) else column.astype(object)


def _column(column: pd.Series, name: Any, weight: Array, where: str) -> Column:
    used = weight > 0
    gaps = bool(column.isna().to_numpy()[used].any())
    if pd.api.types.is_datetime64_any_dtype(column):
        times = column[used].dropna()
        ends = {part: _outermost(date_numbers(times, part)) for part in DATE_PARTS}
        return Column("date", where, gaps, ends)
    if column.dtype == float:
        values = column.to_numpy()[used]
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(column.to_numpy()))[0])
            raise ValueError(
                f"column {str(name)!r} contains infinity (row {row} of it); replace it by a "
                "number, or by NaN to have it treated as missing"
            )
        values = values[~np.isnan(values)]
        return Column("number" if len(values) else "empty", where, gaps, {"": _outermost(values)})
    codes, levels = pd.factorize(labels(column)[used])
    counts = np.bincount(codes, weight[used], len(levels))
    return Column("category", where, gaps, levels=Counter(dict(zip(levels, counts, strict=True))))


def _outermost(values: Array) -> Array:
    """Return the least and the greatest distinct numbers."""
    if len(values) > 4 * ENDS:
        split = min(ENDS, len(values) - 1)
        low = np.partition(values, split)[:split]
        high = -np.partition(-values, split)[:split]
        if len(np.unique(low)) == split == len(np.unique(high)):
            return np.unique(np.append(low, high))
    distinct = np.unique(values)
    if len(distinct) <= 2 * ENDS:
        return distinct
    return np.append(distinct[:ENDS], distinct[-ENDS:])


def _weights(frame: pd.DataFrame, name: Any, where: str) -> Array:
    if name is None:
        return np.ones(len(frame))
    try:
        weight = frame[name].to_numpy(float)
    except (TypeError, ValueError):
        raise NamedError(f"the weights {name!r} in {where} are no numbers") from None
    if not np.isfinite(weight).all() or (weight < 0).any():
        row = int(np.flatnonzero(~np.isfinite(weight) | (weight < 0))[0])
        raise NamedError(
            f"the weights {name!r} must be finite and not negative, got {weight[row]} in row {row} "
            f"of {where}"
        )
    return weight


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Let errors say which part of the table they are of."""
    try:
        yield
    except NamedError:
        raise
    except (ValueError, TypeError, OSError) as error:
        raise NamedError(f"{where}: {error}") from error


def mixed(row: Array, seed: int) -> Array:
    """Return a number by chance for each row (splitmix64)."""
    with np.errstate(over="ignore"):
        bits = (row + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(bits ^ (bits >> np.uint64(31)))
