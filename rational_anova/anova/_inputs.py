"""Inputs as effects and pictures know them: a name, and how the data are distributed along it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.types import Array

CELLS = 24  # of a pair's table of frequencies, along a number
MOST_LEVELS = 20  # of a category that pictures show
LONG = 2.5  # ranges of the middle 98 % that the whole range may have without being cut
EDGE = 0.01  # share of the rows that is cut off at either end then


@dataclass(frozen=True)
class Observed:
    """How an input is distributed over the rows.

    Args:
        points: of a number its distinct values if there are few, else quantiles at even levels
            from 0 to 1; of a category its codes.
        weight: share of each value or level; empty for quantiles.
        missing: share of the rows in which the number is missing.
    """

    points: Array
    weight: Array
    missing: float

    @property
    def shown(self) -> tuple[float, float]:
        """The range that pictures show: all, or the middle 98 % where the tails are long."""
        points = self.points if len(self.points) else np.zeros(1)
        low, high = float(points[0]), float(points[-1])
        if not len(self.weight):
            cut = round(EDGE * (len(points) - 1))
            if cut and high - low > LONG * (points[-1 - cut] - points[cut]) > 0:
                low, high = float(points[cut]), float(points[-1 - cut])
        return (low, high) if low < high else (low - 0.5, high + 0.5)


@dataclass(frozen=True)
class Input:
    """An input of a model.

    Args:
        name: as shown.
        observed: its distribution over the rows.
        levels: of a category, by code; empty for numbers.
        gaps: whether the number is missing in some rows.
        part: of a date, which is then a number: `day` (since 1970), `month`, `weekday`, `hour`.
        special: values of a number that are codes, and stand beside the curve.
    """

    name: str
    observed: Observed
    levels: tuple[Any, ...] = ()
    gaps: bool = False
    part: str = ""
    special: tuple[float, ...] = ()

    @property
    def category(self) -> bool:
        """Whether the values are codes of levels."""
        return bool(self.levels)

    @property
    def many(self) -> bool:
        """Whether it is a number of so many values that only quantiles are known."""
        return not self.category and not len(self.observed.weight)

    def readable(self, x: Array) -> Any:
        """Return values as a table has them: levels, dates or numbers."""
        if self.category:
            return [self.levels[int(code)] for code in x]
        if self.part == "day":
            import pandas as pd  # networks use effects too, and need no pandas otherwise

            return pd.to_datetime(x, unit="D")
        return x

    def points(self, count: int, levels: int | None = None, even: bool = False) -> Array:
        """Return values to draw an effect at.

        Args:
            count: of a number with many values; half of them evenly spaced, half quantiles.
            levels: of a category, the commonest; None for all.
            even: the middles of equal cells of the range that pictures show instead.
        """
        seen = self.observed
        if self.category:
            return seen.points[:levels]
        if len(seen.weight) or not len(seen.points):
            return seen.points
        if even:
            borders = cells(self, count)
            return (borders[1:] + borders[:-1]) / 2
        half = np.linspace(0, 1, count - count // 2)
        quantiles = np.interp(half, np.linspace(0, 1, len(seen.points)), seen.points)
        few = count // 6  # over the whole range, which may have long tails
        whole = np.linspace(seen.points[0], seen.points[-1], few + 2)[1:-1]
        spaced = np.linspace(*seen.shown, count // 2 - few)
        return np.unique(np.concatenate([quantiles, spaced, whole]))


def cells(one: Input, count: int = CELLS) -> Array:
    """Return the borders of a pair's cells along an input: levels, distinct values, or even."""
    seen = one.observed
    if one.category:
        return np.arange(min(len(one.levels), MOST_LEVELS) + 1) - 0.5
    if not len(seen.weight):
        return np.linspace(*seen.shown, count + 1)
    if len(seen.points) < 2:
        return np.asarray(seen.shown)
    middle = (seen.points[1:] + seen.points[:-1]) / 2
    ends = 2 * seen.points[0] - middle[0], 2 * seen.points[-1] - middle[-1]
    return np.concatenate([ends[:1], middle, ends[1:]])


def named(inputs: Sequence[Input], names: Any) -> list[Input]:
    """Return the inputs under other names; None leaves them as they are."""
    if names is None:
        return list(inputs)
    texts = [str(name) for name in getattr(names, "symbols", names)]
    if isinstance(names, str) or len(texts) != len(inputs):
        raise ValueError(f"names must be {len(inputs)} names, one for each input, got {names!r}")
    return [replace(one, name=text) for one, text in zip(inputs, texts, strict=True)]
