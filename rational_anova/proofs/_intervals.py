"""Arithmetic of intervals in float64, for many at once: the true range is always inside.

Every result is rounded outward by one step of the floats, unless it is known to be exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.types import Array

Pair = tuple[float, float]  # (low, high)


def down(x: Any) -> Array:
    """Return the next float below."""
    result: Array = np.nextafter(x, -np.inf)
    return result


def up(x: Any) -> Array:
    """Return the next float above."""
    result: Array = np.nextafter(x, np.inf)
    return result


@dataclass(frozen=True)
class Interval:
    """Arrays of lower and of upper ends.

    An infinite end says that nothing is known on that side. Operations may leave nan where they
    meet inf - inf or 0 * inf: that is the same, and `known` writes it as infinite.
    """

    low: Array
    high: Array

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        """Add; a sum without rounding error stays as it is."""
        low, less = _sum(self.low, other.low)
        high, more = _sum(self.high, other.high)
        return Interval(np.where(less == 0, low, down(low)), np.where(more == 0, high, up(high)))

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        """Multiply; always rounded, and unknown where zero meets infinity.

        To look for exact products as `exactly_times` does would make the bounds of units half as
        slow again (about 5 s in place of 3.5 s for two hundred), and they do not need them.
        """
        ends = np.stack(
            np.broadcast_arrays(
                self.low * other.low,
                self.low * other.high,
                self.high * other.low,
                self.high * other.high,
            )
        )
        return Interval(down(ends.min(0)), up(ends.max(0)))

    def exactly_times(self, other: Interval) -> Interval:
        """Multiply; products of numbers of few digits stay as they are, and 0 * inf is 0.

        Proofs at the very border of a domain, such as of sqrt(x**2 - 1) on [1, 2], need that.
        """
        corners = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        zero = [(a == 0) | (b == 0) for a, b in corners]
        exact = [z | (_brief(a) & _brief(b)) for z, (a, b) in zip(zero, corners, strict=True)]
        ends = [np.where(z, 0.0, a * b) for z, (a, b) in zip(zero, corners, strict=True)]
        both = list(zip(exact, ends, strict=True))
        low = np.minimum.reduce([np.where(sure, end, down(end)) for sure, end in both])
        high = np.maximum.reduce([np.where(sure, end, up(end)) for sure, end in both])
        return Interval(low, high)

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.low[index], self.high[index])

    def over(self, other: Interval) -> Interval:
        """Divide by an interval of positive numbers."""
        low = np.minimum(self.low / other.low, self.low / other.high)
        high = np.maximum(self.high / other.low, self.high / other.high)
        return Interval(down(low), up(high))

    def inverse(self) -> Interval:
        """Return 1 / x; nothing is known where x may be zero."""
        above, below = self.low > 0, self.high < 0
        low, high = down(1 / self.high), up(1 / self.low)
        least = np.where(above, np.maximum(low, 0.0), np.where(below, low, -np.inf))
        most = np.where(below, np.minimum(high, 0.0), np.where(above, high, np.inf))
        return Interval(least, most)

    def times(self, number: Any) -> Interval:
        """Multiply by exact numbers."""
        one, two = self.low * number, self.high * number
        return Interval(down(np.minimum(one, two)), up(np.maximum(one, two)))

    def meet(self, other: Interval) -> Interval:
        """Return what both contain; where one is unknown, the other."""
        return Interval(np.fmax(self.low, other.low), np.fmin(self.high, other.high))

    def known(self) -> Interval:
        """Return the interval with the whole line where nothing is known."""
        low = np.where(np.isnan(self.low), -np.inf, self.low)
        return Interval(low, np.where(np.isnan(self.high), np.inf, self.high))

    def clipped(self, least: Any, most: Any) -> Interval:
        """Return the interval with both ends moved between two numbers."""
        return Interval(np.clip(self.low, least, most), np.clip(self.high, least, most))

    def widened(self, by: Any) -> Interval:
        """Return the interval with `by` added on both sides."""
        return Interval(down(self.low - by), up(self.high + by))

    @property
    def most(self) -> Array:
        """The largest absolute value."""
        result: Array = np.maximum(np.abs(self.low), np.abs(self.high))
        return result

    @property
    def least(self) -> Array:
        """The smallest absolute value."""
        result: Array = np.maximum(0.0, np.maximum(self.low, -self.high))
        return result


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b rounded, and what rounding took away, exactly (nan where it overflows)."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def _brief(a: Array) -> Array:
    """Return where a number is short enough for products of two such to have no rounding error."""
    short = np.asarray(a, dtype=np.float32).astype(np.float64)
    result: Array = (short == a) & (np.abs(a) < 1e30) & (np.abs(a) > 1e-30)
    return result


def point(values: Any) -> Interval:
    """Return intervals of one number each."""
    array = np.asarray(values, dtype=np.float64)
    return Interval(array, array)


def hull(parts: list[Interval]) -> Interval:
    """Return what holds all of some intervals; an end that is nan stays unknown."""
    low, high = (np.stack([getattr(part, end) for part in parts]) for end in ("low", "high"))
    return Interval(low.min(0), high.max(0))


def total(parts: list[Interval]) -> Interval:
    """Add intervals up."""
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def matmul(a: Interval, b: Interval) -> Interval:
    """Multiply matrices of intervals, (n, k) by (k, m), with an a priori bound of the rounding."""
    mid_a, mid_b = 0.5 * (a.low + a.high), 0.5 * (b.low + b.high)
    rad_a, rad_b = _radius(a, mid_a), _radius(b, mid_b)
    size = np.abs(mid_a) @ np.abs(mid_b)
    spread = np.abs(mid_a) @ rad_b + rad_a @ (np.abs(mid_b) + rad_b)
    share = (2 * a.low.shape[-1] + 16) * 2.0**-52
    radius = spread * (1 + 4 * share) + share * size + 1e-300
    middle = mid_a @ mid_b
    # Where every product has an exact zero, so has the sum: then a slope that is not there is 0.
    used_a, used_b = ((mid != 0) | (rad != 0) for mid, rad in ((mid_a, rad_a), (mid_b, rad_b)))
    some = (used_a.astype(np.float64) @ used_b.astype(np.float64)) > 0
    return Interval(
        np.where(some, down(middle - radius), 0.0), np.where(some, up(middle + radius), 0.0)
    )


def _radius(x: Interval, middle: Array) -> Array:
    reach = up(up(np.maximum(x.high - middle, middle - x.low)))
    return np.where(x.low == x.high, 0.0, reach)
