"""Bounds of functions of one variable that are monotone between their turns.

The range over an interval is spanned by the values at the ends and at the turns inside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._intervals import Interval

# Relative, 90 units in the last place: functions of NumPy and SciPy are off by a few of them, and
# the longest formulas that are bounded here, second derivatives of the bases, take about ten such
# functions and products.
MARGIN = 2e-14
_TINY = 1e-300  # where a value underflows
_MOST = np.finfo(float).max
_FAR = 1e8  # beyond it the place of an angle in its period is not known well enough


@dataclass(frozen=True)
class Curve:
    """A function that is monotone between its turns.

    Args:
        function: for arrays.
        turns: where it turns, in its first period if it has one.
        absolute: error of a value, beyond the relative one; `MARGIN` if a sum in it cancels.
        least: a number that no value is below.
        most: one that no value is above.
        domain: where it has values; of an interval that reaches beyond, the part inside counts.
        period: after which it repeats itself.
        exact: whether no value is rounded.
    """

    function: Callable[[Array], Array]
    turns: tuple[float, ...] = ()
    absolute: float = _TINY
    least: float = -np.inf
    most: float = np.inf
    domain: tuple[float, float] | None = None
    period: float | None = None
    exact: bool = False

    def __call__(self, x: Interval) -> Interval:
        """Return bounds of the range over x."""
        inside = x if self.domain is None else x.clipped(*self.domain)
        one, two = self.function(inside.low), self.function(inside.high)
        low, high = np.minimum(one, two), np.maximum(one, two)
        for turn in self.turns:
            hit = self._hit(inside, turn)
            value = self.function(np.asarray(turn))
            low = np.where(hit, np.minimum(low, value), low)
            high = np.where(hit, np.maximum(high, value), high)
        result = Interval(low, high) if self.exact else outwards(low, high, self.absolute)
        if self.least > -np.inf or self.most < np.inf:
            result = result.known().meet(
                Interval(np.asarray(self.least, float), np.asarray(self.most, float))
            )
        return result if self.domain is None else self._refused(result, x)

    def _hit(self, x: Interval, turn: float) -> Array:
        if self.period is None:
            result: Array = (x.low <= turn) & (turn <= x.high)
            return result
        return repeats_in(x, turn, self.period)

    def _refused(self, found: Interval, x: Interval) -> Interval:
        """Know nothing of intervals that lie outside of the domain."""
        assert self.domain is not None
        outside = (x.high < self.domain[0]) | (x.low > self.domain[1])
        return Interval(
            np.where(outside, -np.inf, found.low), np.where(outside, np.inf, found.high)
        )


def outwards(low: Array, high: Array, absolute: float = _TINY) -> Interval:
    """Widen by more than the rounding error of a function; an overflow is no infinity."""
    low, high = np.minimum(low, _MOST), np.maximum(high, -_MOST)  # nan, unknown, stays
    return Interval(low - np.abs(low) * MARGIN - absolute, high + np.abs(high) * MARGIN + absolute)


def repeats_in(x: Interval, place: float, period: float) -> Array:
    """Return where x may hold place + k * period; near misses count as hits, and so does nan."""
    size = x.most
    slack = 1e-12 * (1 + size)
    first = np.ceil((x.low - slack - place) / period) * period + place
    result: Array = ~(first > x.high + slack) | ~(size < _FAR)
    return result
