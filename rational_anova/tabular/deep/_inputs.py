"""What the deep part sees of a row: numbers and their bins, levels, gaps, the shallow decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..._core.types import Array
from ..model import Feature, Rows, Spread

BINS = (3, 16)  # of a number, least and most, with equal shares of the rows
ALL_BINS = 400  # of all numbers, about
LEVELS = 128  # the commonest levels of a category, which have an indicator each
FAR = 3.0  # spreads beyond which a number is pressed together


@dataclass(frozen=True)
class Number:
    """A scaled number, how far it goes through each of its bins, and whether it is missing.

    Args:
        middle: the median, which also stands for a gap.
        scale: the spread of a typical row.
        knots: borders of the bins.
        gaps: whether training rows had it missing.
    """

    middle: float
    scale: float
    knots: Array
    gaps: bool

    @classmethod
    def of(cls, x: Array, weight: Array, bins: int) -> Number | None:
        """Learn from a column; None if it has no two values."""
        spread = Spread.of(x, weight)
        if len(spread.levels) < 2:
            return None
        low, middle, high = spread.quantiles(np.array([0.25, 0.5, 0.75]))
        if high == low:
            mean = np.average(spread.levels, weights=spread.weights)
            half = np.sqrt(np.average((spread.levels - mean) ** 2, weights=spread.weights)) / 1.5
            low, high = mean - half, mean + half
        knots = np.unique(spread.quantiles(np.linspace(0, 1, bins + 1)))
        if len(knots) <= bins // 2:  # many ties: some over the values themselves
            half = np.linspace(0, len(spread.levels) - 1, bins // 2 + 1).astype(int)
            knots = np.union1d(knots, spread.levels[half])
        gaps = bool(np.isnan(x).any())
        return cls(float(middle), float(high - low) / 1.35, knots, gaps)

    def at(self, x: Array, coded: Array | None) -> Array:
        """Return the columns of this input."""
        gap = np.isnan(x)
        x = np.where(gap, self.middle, x)
        u = (x - self.middle) / self.scale
        parts = [(u / np.sqrt(1 + (u / FAR) ** 2))[:, None]]
        if self.gaps:
            parts.append(gap[:, None])
        if len(self.knots) > 2:
            parts.append(np.clip((x[:, None] - self.knots[:-1]) / np.diff(self.knots), 0, 1))
        return np.concatenate(parts, 1)


@dataclass(frozen=True)
class Category:
    """Indicators of the commonest levels; where there are many, the level's typical target, too.

    Args:
        count: of indicators.
        values: a number for each level and one for unseen levels, or None.
    """

    count: int
    values: Array | None

    def at(self, x: Array, coded: Array | None) -> Array:
        """Return the columns of this input; `coded` are numbers found without a row's target."""
        result = (x[:, None] == np.arange(self.count)).astype(float)
        if self.values is None:
            return result
        scale = self.values.std() or 1.0
        typical = self.values[x.astype(int)] if coded is None else coded
        return np.concatenate([result, typical[:, None] / scale], 1)


@dataclass(frozen=True)
class Inputs:
    """From rows and their shallow decisions to the inputs of the networks.

    Args:
        columns: by the position of the input in the rows.
        mean: of each column over the training rows.
        middle: of the shallow decisions, (outputs,).
        scale: of the shallow decisions, (outputs,).
    """

    columns: Mapping[int, Number | Category]
    mean: Array
    middle: Array
    scale: Array

    @classmethod
    def of(cls, features: list[Feature], rows: Rows, weight: Array, decision: Array) -> Inputs:
        """Learn from training rows."""
        columns: dict[int, Number | Category] = {}
        numbers = sum(not feature.category for feature in features)
        bins = min(max(ALL_BINS // max(numbers, 1), BINS[0]), BINS[1])
        for i, feature in enumerate(features):
            if feature.category:
                # Without numbers found on other rows, those of all rows would give targets away.
                values = feature.values if i in rows.target_encoded else None
                columns[i] = Category(min(len(feature.levels), LEVELS), values)
            elif (number := Number.of(rows.values[:, i], weight, bins)) is not None:
                columns[i] = number
        middle = np.average(decision, axis=0, weights=weight)
        scale = np.sqrt(np.average((decision - middle) ** 2, axis=0, weights=weight))
        raw = cls(columns, np.zeros(1), middle, np.where(scale > 0, scale, 1.0))
        total = sum(weight[p] @ raw._at(some, decision[p]) for p, some in rows.chunks())
        return cls(columns, total / weight.sum(), raw.middle, raw.scale)

    def at(self, rows: Rows, decision: Array) -> Tensor:
        """Return the inputs of the networks, (rows, inputs)."""
        pieces = [
            torch.tensor(self._at(some, decision[piece]), dtype=torch.float32)
            for piece, some in rows.chunks()
        ]
        return torch.cat(pieces)

    def _at(self, rows: Rows, decision: Array) -> Array:
        parts = [
            column.at(rows.values[:, i], rows.target_encoded.get(i))
            for i, column in self.columns.items()
        ]
        parts.append((decision - self.middle) / self.scale)
        return np.concatenate(parts, 1) - self.mean

    def to_arrays(self) -> dict[str, Array]:
        """Return all that `from_arrays` needs."""
        result = {"mean": self.mean, "middle": self.middle, "scale": self.scale}
        for i, c in self.columns.items():
            if isinstance(c, Number):
                head = np.array([c.middle, c.scale, c.gaps], float)
                result[f"number.{i}"] = np.concatenate([head, c.knots])
            else:
                values = np.empty(0) if c.values is None else c.values
                result[f"category.{i}"] = np.concatenate([[float(c.count)], values])
        return result

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Inputs:
        """Return the inputs again."""
        columns: dict[int, Number | Category] = {}
        for name, a in arrays.items():
            kind, _, position = name.partition(".")
            if kind == "number":
                columns[int(position)] = Number(float(a[0]), float(a[1]), a[3:], bool(a[2]))
            elif kind == "category":
                columns[int(position)] = Category(int(a[0]), a[1:] if len(a) > 1 else None)
        ordered = dict(sorted(columns.items()))
        return cls(ordered, arrays["mean"], arrays["middle"], arrays["scale"])
