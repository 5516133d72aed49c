"""Arithmetic of intervals in float64: every result is rounded outward by one step of the floats."""

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
    """Arrays of lower and of upper ends; an end that is nan says that nothing is known."""

    low: Array
    high: Array

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __add__(self, other: Interval) -> Interval:
        return Interval(down(self.low + other.low), up(self.high + other.high))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(down(self.low - other.high), up(self.high - other.low))

    def __mul__(self, other: Interval) -> Interval:
        ends = np.stack(
            np.broadcast_arrays(
                self.low * other.low,
                self.low * other.high,
                self.high * other.low,
                self.high * other.high,
            )
        )
        return Interval(down(ends.min(0)), up(ends.max(0)))

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.low[index], self.high[index])

    def over(self, other: Interval) -> Interval:
        """Divide by an interval of positive numbers."""
        low = np.minimum(self.low / other.low, self.low / other.high)
        high = np.maximum(self.high / other.low, self.high / other.high)
        return Interval(down(low), up(high))

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
