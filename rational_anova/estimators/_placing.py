"""Where heads are put: at quantiles of the data, as wide as the gaps between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._bases import Heads

# A level with this share of the rows is an atom (zeros of an amount, say): it gets a head so
# narrow that its neighbours do not see it.
ATOM = 0.05


@dataclass(frozen=True)
class Spread:
    """The distinct values of an input, and the weight of each."""

    levels: Array
    weights: Array

    @classmethod
    def of(cls, x: Array, weight: Array) -> Spread:
        """Count the values that are there; rows of no weight do not count."""
        seen = ~np.isnan(x) & (weight > 0)
        levels, inverse = np.unique(x[seen], return_inverse=True)
        return cls(levels, np.bincount(inverse, weight[seen], len(levels)))

    def quantiles(self, at: Array) -> Array:
        """Return the values below which these shares of the weight lie."""
        total = np.cumsum(self.weights)
        # A hair below, so that a weight of two is the same as two rows whatever the rounding.
        return self.levels[np.searchsorted(total, at * total[-1] * (1 - 1e-12))]


def place(spread: Spread, count: int, odd: bool = False) -> Heads | None:
    """Return heads at `count` quantiles, or one a level where there are fewer levels.

    The width of a head is the mean distance to its neighbours. Returns None for a constant.
    """
    levels = spread.levels
    if len(levels) < 2:
        return None
    if len(levels) <= count:
        centre = levels
    else:
        centre = np.unique(spread.quantiles((np.arange(count) + 0.5) / count))
        if len(centre) < count // 2:  # many ties: spread some over the levels themselves
            half = max(count // 2, 1)
            more = levels[((np.arange(half) + 0.5) / half * len(levels)).astype(int)]
            centre = np.unique(np.concatenate([centre, more]))
    if len(centre) == 1:
        mean = np.average(levels, weights=spread.weights)
        scale = np.sqrt(np.average((levels - mean) ** 2, weights=spread.weights))
        return Heads(centre, np.array([scale]), odd)
    gap = np.diff(centre)
    width = np.concatenate([gap[:1], (gap[1:] + gap[:-1]) / 2, gap[-1:]])
    least = 1e-3 * (levels[-1] - levels[0]) / len(centre)
    return Heads(centre, np.maximum(width, least), odd)


def place_wide(spread: Spread) -> Heads | None:
    """Return one head as wide as the data: nearly a straight line and a parabola."""
    levels = spread.levels
    if len(levels) < 2:
        return None
    low, high = spread.quantiles(np.array([0.05, 0.95]))
    low, high = (low, high) if low < high else (levels[0], levels[-1])
    return Heads(np.array([(low + high) / 2]), np.array([high - low]), odd=True)


def place_atoms(spread: Spread) -> Heads | None:
    """Return narrow heads at values that many rows share; None where there are none."""
    levels, share = spread.levels, spread.weights / spread.weights.sum()
    found = np.flatnonzero(share > ATOM)
    if len(levels) < 20 or not len(found):
        return None
    gap = np.diff(levels)
    near = np.minimum(np.append(gap, np.inf), np.insert(gap, 0, np.inf))
    return Heads(levels[found], near[found] / 3)
