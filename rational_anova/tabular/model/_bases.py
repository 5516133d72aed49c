"""Functions of one input, out of which effects are made, and where they are put.

Rational heads stand at quantiles of the data, as wide as the gaps between them; levels and gaps
have functions of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..._core.types import Array


class Basis(Protocol):
    """Some functions of one input: `at` gives their values, (rows, size)."""

    @property
    def size(self) -> int: ...

    def at(self, x: Array) -> Array:
        """Return the functions at values or codes x, (len(x), size)."""
        ...


@dataclass(frozen=True)
class Heads:
    """Quotients p/d with d = 1 + u^2, u = (x - centre)/width.

    Args:
        centre: of each head.
        width: of each head, positive.
        odd: whether the numerators have degree 1 (columns 1/d, then u/d) or 0.
        fill: what the columns are where x is missing: their means over the data.
        values: for categories, the number that stands for each level; the last one is for levels
            that were not seen.
        start: centres and widths before they were moved.
        special: numbers that are codes: heads see them as missing.
    """

    centre: Array
    width: Array
    odd: bool = False
    fill: Array | None = None
    values: Array | None = None
    start: tuple[Array, Array] | None = None
    special: Array | None = None

    @property
    def size(self) -> int:
        return len(self.centre) * (2 if self.odd else 1)

    def coordinate(self, x: Array) -> Array:
        """Return the numbers that the heads see: x itself, or those that stand for its levels."""
        if self.special is not None:
            return without(x, self.special)
        return x if self.values is None else self.values[x.astype(int)]

    def at(self, x: Array) -> Array:
        return self.of(self.coordinate(x))

    def of(self, coordinate: Array) -> Array:
        """Return the columns at coordinates."""
        u = (coordinate[:, None] - self.centre) / self.width
        phi = 1 / (1 + u * u)
        result = np.concatenate([phi, phi * u], 1) if self.odd else phi
        gaps = np.isnan(coordinate)
        if gaps.any():
            result[gaps] = 0.0 if self.fill is None else self.fill
        return result

    def filled(self, coordinate: Array, weight: Array) -> Heads:
        """Return the same heads with the means over some data for what is missing."""
        seen = ~np.isnan(coordinate)
        if self.values is not None:  # levels have no gaps
            return self
        if not weight[seen].any():
            return replace(self, fill=np.zeros(self.size))
        total, chunk = np.zeros(self.size), 1 << 14
        x, w = coordinate[seen], weight[seen]
        for at in range(0, len(x), chunk):
            total += w[at : at + chunk] @ self.of(x[at : at + chunk])
        return replace(self, fill=total / w.sum())

    # -- moving the heads: shifts are (centre in widths, log width) from where they were put

    @property
    def origin(self) -> tuple[Array, Array]:
        """Centres and widths as they were put."""
        return self.start or (self.centre, self.width)

    @property
    def shift(self) -> Array:
        """How far the heads have moved."""
        centre, width = self.origin
        return np.concatenate([(self.centre - centre) / width, np.log(self.width / width)])

    def moved(self, shift: Array) -> Heads:
        """Return heads at a shift from where they were put."""
        centre, width = self.origin
        m = len(centre)
        new = centre + width * shift[:m], width * np.exp(shift[m:])
        return replace(self, centre=new[0], width=new[1], start=(centre, width))

    def slopes(self, coordinate: Array, constant: Array, linear: Array | None) -> Array:
        """Return d/d shift of sum_k (constant_k + linear_k u_k)/d_k, (rows, 2 heads).

        Args:
            coordinate: of the rows.
            constant: numerators, (heads,) or (rows, heads).
            linear: numerators of degree 1, or None.
        """
        u = (coordinate[:, None] - self.centre) / self.width
        u[np.isnan(coordinate)] = np.inf
        with np.errstate(invalid="ignore"):
            phi = 1 / (1 + u * u)
            u_phi = np.where(np.isinf(u), 0.0, u * phi)
            centre = 2 * u_phi * phi * constant
            width = 2 * u_phi**2 * constant
            if linear is not None:
                centre += (2 * u_phi**2 - phi) * linear
                width += np.where(np.isinf(u), 0.0, 2 * u_phi**2 * u - u_phi) * linear
        return np.concatenate([centre * (self.origin[1] / self.width), width], 1)


@dataclass(frozen=True)
class Levels:
    """One indicator for each level of a category; codes past the last level have none."""

    count: int

    @property
    def size(self) -> int:
        return self.count

    def at(self, x: Array) -> Array:
        return (x[:, None] == np.arange(self.count)).astype(float)


def without(x: Array, special: Array) -> Array:
    """Return numbers with NaN in the place of special ones."""
    return np.where(np.isin(x, special), np.nan, x)


@dataclass(frozen=True)
class Codes:
    """One indicator for each special value of a number.

    Args:
        values: the special values.
    """

    values: Array

    @property
    def size(self) -> int:
        return len(self.values)

    def at(self, x: Array) -> Array:
        return (x[:, None] == self.values).astype(float)


@dataclass(frozen=True)
class Missing:
    """The indicator of a missing number."""

    @property
    def size(self) -> int:
        return 1

    def at(self, x: Array) -> Array:
        return np.isnan(x)[:, None].astype(float)


@dataclass(frozen=True)
class Constant:
    """One function that is 1 everywhere: with it a function of one input can be part of a pair."""

    @property
    def size(self) -> int:
        return 1

    def at(self, x: Array) -> Array:
        return np.ones((len(x), 1))


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
