"""Whether two formulas agree, by their values to 30 digits at random points."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import sympy as sp

DIGITS = 30
_INSIDE, _OUTSIDE, _TRIES, _FEWEST = 12, 12, 400, 5
_WIDEST = 64.0  # an approximation that is good in the box is not so far away from it
_USUAL = ((1.0, 5.0), (0.1, 1.0), (0.01, 0.3))  # for a variable of unknown range
Point = tuple[float, ...]


class Points:
    """Points inside a box and far outside of it where some formulas have real values."""

    def __init__(
        self,
        formulas: Sequence[sp.Expr],
        symbols: Sequence[sp.Symbol],
        box: Mapping[sp.Symbol, tuple[float, float]],
    ) -> None:
        self.symbols = tuple(symbols)
        self._known: dict[sp.Expr, list[Any]] = {}
        draw = random.Random(0)
        functions = [sp.lambdify(self.symbols, f, "mpmath") for f in formulas]
        self.points: list[Point] = []
        self.inside = 0
        for wanted, widest in ((_INSIDE, 1.0), (_INSIDE + _OUTSIDE, _WIDEST)):
            for _ in range(_TRIES):
                if len(self.points) >= wanted:
                    break
                factor = widest ** draw.random()
                point = tuple(_drawn(draw, box.get(s), factor) for s in self.symbols)
                if all(_value(function, point) is not None for function in functions):
                    self.points.append(point)
            self.inside = self.inside or len(self.points)

    @property
    def enough(self) -> bool:
        """Whether there are points enough to tell formulas apart."""
        return len(self.points) >= _FEWEST

    def values(self, formula: sp.Expr) -> list[Any]:
        """Return the value at each point; None where it is not a real number."""
        if formula not in self._known:
            function = sp.lambdify(self.symbols, formula, "mpmath")
            self._known[formula] = [_value(function, point) for point in self.points]
        return self._known[formula]

    def compare(self, a: sp.Expr, b: sp.Expr, tolerance: float) -> tuple[bool, bool, bool]:
        """Say if a = b, if a - b is constant, and if a / b is constant and not zero."""
        both = list(zip(self.values(a), self.values(b), strict=True))
        whole = [(n, x, y) for n, (x, y) in enumerate(both) if x is not None and y is not None]
        if len(whole) < _FEWEST:
            return False, False, False
        with mpmath.workdps(DIGITS):
            near = [y for n, _, y in whole if n < self.inside] or [y for _, _, y in whole]
            spread = max(near) - min(near) or abs(near[0]) or mpmath.mpf(1)
            _, x0, y0 = whole[0]

            def apart(x: Any, y: Any, n: int) -> Any:
                # Inside the box what matters is what varies, not a large constant.
                size = max(abs(x), abs(y))
                return tolerance * (min(size, spread) if n < self.inside else size)

            same = all(abs(x - y) <= apart(x, y, n) for n, x, y in whole)
            shifted = all(abs(x - y - (x0 - y0)) <= 2 * apart(x, y, n) for n, x, y in whole)
            scaled = x0 != 0 and y0 != 0
            scaled = scaled and all(
                abs(x * (y0 / x0) - y) <= 2 * apart(x * (y0 / x0), y, n) for n, x, y in whole
            )
        return same, same or shifted, same or scaled

    def near(self, a: sp.Expr, b: sp.Expr) -> bool:
        """Say if a and b agree so roughly that rounded numbers might be all that differs."""
        return any(self.compare(a, b, 0.05))


def _drawn(draw: random.Random, ends: tuple[float, float] | None, factor: float) -> float:
    low, high = ends or draw.choice(_USUAL)
    if low == high:  # a column that does not vary: other values must do
        low, high = sorted((low / 2, low * 1.5)) if low else (-1.0, 1.0)
    sign = 1 if low >= 0 else -1 if high <= 0 else 0
    middle, half = (low + high) / 2, (high - low) / 2 * factor
    low, high = middle - half, middle + half
    if sign > 0:
        low = max(low, high * 1e-3)
    elif sign < 0:
        high = min(high, low * 1e-3)
    return draw.uniform(low, high)


def _value(function: Any, point: Point) -> Any:
    with mpmath.workdps(DIGITS + 10):
        try:
            value = mpmath.mpmathify(function(*map(mpmath.mpf, point)))
        except Exception:  # a pole, an overflow: the formula has no value here
            return None
        real = isinstance(value, mpmath.mpf) and mpmath.isfinite(value)
        return value if real else None
