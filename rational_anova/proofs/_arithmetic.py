"""Arithmetic of intervals: bounds that hold, for many boxes at once.

An interval is a pair of arrays, low and high. Every operation rounds outwards unless its result is
exact, so that the true range is always inside; (-inf, inf) stands for "nothing is known".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp

from .._core.types import Array

Interval = tuple[Array, Array]

_SLACK = 4e-15  # relative; more than the error of any function of numpy in float64
_TINY = 1e-300
_MOST = np.finfo(float).max


def constant(expr: sp.Expr) -> Interval:
    """Return the narrowest float64 interval that is sure to hold a number."""
    value = float(expr)
    number = np.float64(value)
    if expr.is_Number and np.isfinite(number) and sp.Rational(expr) == sp.Rational(value):
        return number, number
    return np.nextafter(number, -np.inf), np.nextafter(number, np.inf)


def add(x: Interval, y: Interval) -> Interval:
    """x + y; a sum without rounding error stays as it is."""
    ends = []
    for a, b, way in ((x[0], y[0], -np.inf), (x[1], y[1], np.inf)):
        total = a + b
        rest = total - a
        error = (a - (total - rest)) + (b - rest)
        end = np.where(error == 0, total, np.nextafter(total, way))
        ends.append(np.where(np.isnan(end), way, end))
    return ends[0], ends[1]


def multiply(x: Interval, y: Interval) -> Interval:
    """x * y; products of numbers of few digits stay as they are."""
    corners = [(a, b) for a in x for b in y]
    products = [np.where((a == 0) | (b == 0), 0.0, a * b) for a, b in corners]  # 0 * inf is 0
    exact = [(a == 0) | (b == 0) | (_brief(a) & _brief(b)) for a, b in corners]
    pairs = list(zip(products, exact, strict=True))
    low = np.minimum.reduce([np.where(e, p, np.nextafter(p, -np.inf)) for p, e in pairs])
    high = np.maximum.reduce([np.where(e, p, np.nextafter(p, np.inf)) for p, e in pairs])
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _brief(a: Array) -> Array:
    """Whether the product of two such numbers has no rounding error."""
    return (np.float64(np.float32(a)) == a) & (np.abs(a) < 1e30) & (np.abs(a) > 1e-30)


def inverse(x: Interval) -> Interval:
    """1 / x; nothing is known where x may be zero."""
    low, high = x
    above, below = low > 0, high < 0
    least = np.where(above, np.maximum(np.nextafter(1 / high, -np.inf), 0.0), -np.inf)
    most = np.where(below, np.minimum(np.nextafter(1 / low, np.inf), 0.0), np.inf)
    least = np.where(below, np.nextafter(1 / high, -np.inf), least)
    most = np.where(above, np.nextafter(1 / low, np.inf), most)
    return least, most


def whole_power(x: Interval, n: int) -> Interval:
    """x**n for n >= 1."""
    low, high = x
    if n == 1:
        return x
    if n == 2:
        squares = multiply((low, low), (low, low)), multiply((high, high), (high, high))
    else:
        squares = outwards(low**n, low**n), outwards(high**n, high**n)
    (a, b), (c, d) = squares
    if n % 2:
        return a, d
    across = (low < 0) & (high > 0)
    return np.where(across, 0.0, np.maximum(np.minimum(a, c), 0.0)), np.maximum(b, d)


def outwards(low: Array, high: Array) -> Interval:
    """Widen by more than the rounding error of a function; an overflow is no infinity."""
    low = np.where(np.isnan(low), -np.inf, np.minimum(low, _MOST))
    high = np.where(np.isnan(high), np.inf, np.maximum(high, -_MOST))
    return low - np.abs(low) * _SLACK - _TINY, high + np.abs(high) * _SLACK + _TINY


def rising(
    function: Callable[[Array], Array], least: float = -np.inf, most: float = np.inf
) -> Callable[[Interval], Interval]:
    """Bounds of a function that rises, with values between `least` and `most`."""

    def bounds(x: Interval) -> Interval:
        low, high = outwards(function(x[0]), function(x[1]))
        return np.maximum(low, least), np.minimum(high, most)

    return bounds
