"""Bounds of formulas on boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .._core.types import Array
from ._curves import Curve, outwards, repeats_in
from ._intervals import Interval, down, point, up


class Unknown(ValueError):
    """A function of which no bounds are known here."""


def enclose(expr: sp.Expr, ranges: Mapping[sp.Symbol, Interval]) -> Interval:
    """Return bounds of an expression on boxes.

    Args:
        expr: in the symbols of `ranges`.
        ranges: bounds of each symbol, arrays of one shape.
    """
    known: dict[sp.Expr, Interval] = dict(ranges)
    with np.errstate(all="ignore"):
        return _walk(expr, known)


def _walk(expr: sp.Expr, known: dict[sp.Expr, Interval]) -> Interval:
    if expr not in known:
        known[expr] = _bounds(expr, known).known()
    return known[expr]


def _bounds(expr: sp.Expr, known: dict[sp.Expr, Interval]) -> Interval:
    if not expr.free_symbols:
        return _constant(expr)
    if expr.is_Pow:
        return _power(expr, known)
    parts = [_walk(arg, known) for arg in expr.args]
    if expr.is_Add or expr.is_Mul:
        total = parts[0]
        for part in parts[1:]:
            total = (total + part if expr.is_Add else total.exactly_times(part)).known()
        return total
    function = FUNCTIONS.get(expr.func)
    if function is None:
        raise Unknown(f"no bounds are known for {expr.func.__name__}")
    return function(*parts)


def _constant(expr: sp.Expr) -> Interval:
    """Return the narrowest float64 interval that is sure to hold a number."""
    value = float(expr)
    if expr.is_Number and np.isfinite(value) and sp.Rational(expr) == sp.Rational(value):
        return point(value)
    return Interval(down(value), up(value))


def _power(expr: sp.Pow, known: dict[sp.Expr, Interval]) -> Interval:
    base, exponent = _walk(expr.base, known), expr.exp
    if exponent.is_Number:
        exponent = sp.Rational(exponent)
        if exponent.is_Integer:
            power = _whole_power(base, abs(int(exponent)))
            return power if exponent > 0 else power.inverse()
    # What lies below 0 is for the domain to refuse.
    if abs(exponent) == sp.Rational(1, 2):
        root = _ROOT(base)
        return root if exponent > 0 else root.inverse()
    base = Interval(np.maximum(base.low, 0.0), base.high)
    return _EXP(_LOG(base).exactly_times(_walk(exponent, known)).known())


def _whole_power(x: Interval, n: int) -> Interval:
    """Return x**n for n >= 1."""
    if n == 1:
        return x
    one, two = (
        end.exactly_times(end) if n == 2 else outwards(end.low**n, end.low**n)
        for end in (point(x.low), point(x.high))
    )
    one, two = one.known(), two.known()
    if n % 2:
        return Interval(one.low, two.high)
    across = (x.low < 0) & (x.high > 0)
    least = np.maximum(np.minimum(one.low, two.low), 0.0)
    return Interval(np.where(across, 0.0, least), np.maximum(one.high, two.high))


def _tangent(x: Interval) -> Interval:
    lost = repeats_in(x, np.pi / 2, np.pi)
    found = outwards(np.tan(x.low), np.tan(x.high))
    return Interval(np.where(lost, -np.inf, found.low), np.where(lost, np.inf, found.high))


def _pairwise(function: Callable[[Array, Array], Array]) -> Callable[..., Interval]:
    def bounds(*parts: Interval) -> Interval:
        low, high = parts[0].low, parts[0].high
        for part in parts[1:]:
            low, high = function(low, part.low), function(high, part.high)
        return Interval(low, high)

    return bounds


_HALF, _TURN = np.pi / 2, 2 * np.pi
_EXP = Curve(np.exp, least=0.0)
_LOG = Curve(np.log, domain=(0.0, np.inf))
_ROOT = Curve(np.sqrt, least=0.0, domain=(0.0, np.inf))
FUNCTIONS: dict[Any, Callable[..., Interval]] = {
    sp.exp: _EXP,
    sp.log: _LOG,
    sp.sin: Curve(np.sin, (_HALF, 3 * _HALF), least=-1.0, most=1.0, period=_TURN),
    sp.cos: Curve(np.cos, (0.0, np.pi), least=-1.0, most=1.0, period=_TURN),
    sp.tan: _tangent,
    sp.asin: Curve(np.arcsin, domain=(-1.0, 1.0)),
    sp.acos: Curve(np.arccos, least=0.0, domain=(-1.0, 1.0)),
    sp.atan: Curve(np.arctan),
    sp.sinh: Curve(np.sinh),
    sp.cosh: Curve(np.cosh, (0.0,), least=1.0),
    sp.tanh: Curve(np.tanh, least=-1.0, most=1.0),
    sp.asinh: Curve(np.arcsinh),
    sp.acosh: Curve(np.arccosh, least=0.0, domain=(1.0, np.inf)),
    sp.atanh: Curve(np.arctanh, domain=(-1.0, 1.0)),
    sp.Abs: Curve(np.abs, (0.0,), exact=True),
    sp.sign: Curve(np.sign, exact=True),
    sp.Max: _pairwise(np.maximum),
    sp.Min: _pairwise(np.minimum),
}


class Bounds:
    """Bounds of one expression on boxes, given as arrays (boxes, variables)."""

    def __init__(self, expr: sp.Expr, variables: Sequence[sp.Symbol]) -> None:
        self.expr, self.variables = expr, tuple(variables)
        self.slopes: list[sp.Expr] | None = [expr.diff(v) for v in self.variables]

    def natural(self, low: Array, high: Array) -> Interval:
        """Bounds by putting in the intervals."""
        found = enclose(self.expr, self._ranges(low, high))
        return Interval(np.broadcast_to(found.low, len(low)), np.broadcast_to(found.high, len(low)))

    def tight(self, low: Array, high: Array) -> tuple[Interval, Array]:
        """The better of natural bounds and those by the slopes, and how much each side matters."""
        found, weight = self.natural(low, high), high - low
        if self.slopes is None:
            return found, weight
        middle = 0.5 * low + 0.5 * high
        try:
            total = self.natural(middle, middle)
            ranges = self._ranges(low, high)
            with np.errstate(all="ignore"):
                for n, slope in enumerate(self.slopes):
                    steepest = enclose(slope, ranges)
                    step = Interval(low[:, n], high[:, n]) - point(middle[:, n])
                    total = (total + steepest.exactly_times(step).known()).known()
                    size = np.nan_to_num(steepest.most, nan=1e150)
                    weight[:, n] *= np.clip(size, 1e-150, 1e150)
        except Unknown:  # no bounds of the slopes, of those of Max for instance
            self.slopes = None
            return found, high - low
        return found.meet(total), weight

    def _ranges(self, low: Array, high: Array) -> dict[sp.Symbol, Interval]:
        return {v: Interval(low[:, n], high[:, n]) for n, v in enumerate(self.variables)}
