"""Bounds of formulas on boxes, and what must hold for a formula to have a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._core.types import Array
from ._arithmetic import Interval, add, constant, inverse, multiply, outwards, rising, whole_power

_TURNS = 1e8  # beyond it the place of an angle in its period is not known well enough


class Unknown(ValueError):
    """A function of which no bounds are known here."""


def enclose(expr: sp.Expr, ranges: Mapping[sp.Symbol, Interval]) -> Interval:
    """Return bounds of an expression on boxes.

    Args:
        expr: in the symbols of `ranges`.
        ranges: low and high of each symbol, arrays of one shape.
    """
    known: dict[sp.Expr, Interval] = dict(ranges)
    with np.errstate(all="ignore"):
        return _walk(expr, known)


def _walk(expr: sp.Expr, known: dict[sp.Expr, Interval]) -> Interval:
    if expr not in known:
        known[expr] = _bounds(expr, known)
    return known[expr]


def _bounds(expr: sp.Expr, known: dict[sp.Expr, Interval]) -> Interval:
    if not expr.free_symbols:
        return constant(expr)
    if expr.is_Pow:
        return _power(expr, known)
    parts = [_walk(arg, known) for arg in expr.args]
    if expr.is_Add or expr.is_Mul:
        join = add if expr.is_Add else multiply
        total = parts[0]
        for part in parts[1:]:
            total = join(total, part)
        return total
    function = FUNCTIONS.get(expr.func)
    if function is None:
        raise Unknown(f"no bounds are known for {expr.func.__name__}")
    return function(*parts)


def _power(expr: sp.Pow, known: dict[sp.Expr, Interval]) -> Interval:
    base, exponent = _walk(expr.base, known), expr.exp
    if exponent.is_Number:
        exponent = sp.Rational(exponent)
        if exponent.is_Integer:
            power = whole_power(base, abs(int(exponent)))
            return power if exponent > 0 else inverse(power)
    base = np.maximum(base[0], 0.0), base[1]  # what lies below 0 is for the domain to refuse
    if abs(exponent) == sp.Rational(1, 2):
        root = _ROOT(base)
        return root if exponent > 0 else inverse(root)
    return _EXP(multiply(_LOG(base), _walk(exponent, known)))


def _holds(x: Interval, place: float, period: float) -> Array:
    """Whether x may hold place + k * period; near misses count as hits."""
    low, high = x
    slack = 1e-12 * (1 + np.maximum(np.abs(low), np.abs(high)))
    first = np.ceil((low - slack - place) / period) * period + place
    return ~(first > high + slack)  # nan counts as a hit


def _wave(function: Callable[[Array], Array], crest: float) -> Callable[[Interval], Interval]:
    """Bounds of sin or cos, the first crest of which is given."""

    def bounds(x: Interval) -> Interval:
        ends = function(x[0]), function(x[1])
        low, high = outwards(np.minimum(*ends), np.maximum(*ends))
        lost = ~(np.maximum(np.abs(x[0]), np.abs(x[1])) < _TURNS)
        low = np.where(lost | _holds(x, crest + np.pi, 2 * np.pi), -1.0, np.maximum(low, -1.0))
        high = np.where(lost | _holds(x, crest, 2 * np.pi), 1.0, np.minimum(high, 1.0))
        return low, high

    return bounds


def _tangent(x: Interval) -> Interval:
    lost = ~(np.maximum(np.abs(x[0]), np.abs(x[1])) < _TURNS) | _holds(x, np.pi / 2, np.pi)
    low, high = outwards(np.tan(x[0]), np.tan(x[1]))
    return np.where(lost, -np.inf, low), np.where(lost, np.inf, high)


def _absolute(x: Interval) -> Interval:
    low, high = x
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    return least, np.maximum(np.abs(low), np.abs(high))


def _arccosine(x: Interval) -> Interval:
    low, high = outwards(np.arccos(_clipped(x)[1]), np.arccos(_clipped(x)[0]))
    return np.maximum(low, 0.0), high


def _clipped(x: Interval) -> Interval:
    return np.clip(x[0], -1.0, 1.0), np.clip(x[1], -1.0, 1.0)


def _pairwise(function: Callable[[Array, Array], Array]) -> Callable[..., Interval]:
    def bounds(*parts: Interval) -> Interval:
        low, high = parts[0]
        for part in parts[1:]:
            low, high = function(low, part[0]), function(high, part[1])
        return low, high

    return bounds


_EXP, _LOG, _ROOT = rising(np.exp, 0.0), rising(np.log), rising(np.sqrt, 0.0)
_ARCSINE, _COSH = rising(np.arcsin), rising(np.cosh, 1.0)
FUNCTIONS: dict[Any, Callable[..., Interval]] = {
    sp.exp: _EXP,
    sp.log: lambda x: _LOG((np.maximum(x[0], 0.0), x[1])),
    sp.sin: _wave(np.sin, np.pi / 2),
    sp.cos: _wave(np.cos, 0.0),
    sp.tan: _tangent,
    sp.asin: lambda x: _ARCSINE(_clipped(x)),
    sp.acos: _arccosine,
    sp.atan: rising(np.arctan),
    sp.sinh: rising(np.sinh),
    sp.cosh: lambda x: _COSH(_absolute(x)),
    sp.tanh: rising(np.tanh, -1.0, 1.0),
    sp.asinh: rising(np.arcsinh),
    sp.acosh: lambda x: rising(np.arccosh, 0.0)((np.maximum(x[0], 1.0), x[1])),
    sp.atanh: lambda x: rising(np.arctanh)(_clipped(x)),
    sp.Abs: _absolute,
    sp.sign: lambda x: (np.sign(x[0]), np.sign(x[1])),
    sp.Max: _pairwise(np.maximum),
    sp.Min: _pairwise(np.minimum),
}


_LARGEST = 700.0  # exponent


@dataclass(frozen=True)
class Condition:
    """A demand on an argument: that it lies between `low` and `high`, or is not zero."""

    argument: sp.Expr
    demand: str
    low: float = -np.inf
    high: float = np.inf
    open: bool = False  # the ends themselves are not allowed
    nonzero: bool = False

    def met(self, low: Array, high: Array) -> Array:
        """Where the demand is met by all of an interval."""
        if self.nonzero:
            return (low > 0) | (high < 0)
        if self.open:
            return (low > self.low) & (high < self.high)
        return (low >= self.low) & (high <= self.high)

    def broken(self, low: Array, high: Array) -> Array:
        """Where the demand is broken by all of an interval."""
        if self.nonzero:
            return (low == 0) & (high == 0)
        if self.open:
            return (high <= self.low) | (low >= self.high)
        return (high < self.low) | (low > self.high)


def conditions(formula: sp.Expr) -> tuple[Condition, ...]:
    """Return what must hold inside a formula; then it is continuous, and its value finite."""
    found: dict[Condition, None] = {}
    for part in sp.postorder_traversal(formula):
        condition = _demand(part)
        if condition is not None and (condition.argument.free_symbols or not _fine(condition)):
            found[condition] = None
    return tuple(found)


def _fine(condition: Condition) -> bool:
    value = sp.N(condition.argument, 30)
    return bool(value.is_real and condition.met(np.float64(value), np.float64(value)))


def _demand(part: sp.Expr) -> Condition | None:
    if part.is_Pow and part.base != sp.E:
        base, exponent = part.as_base_exp() if not part.base.is_Rational else part.args
        whole = exponent.is_Number and sp.Rational(exponent).is_Integer
        if whole:
            return Condition(base, "free of zeros", nonzero=True) if exponent < 0 else None
        if exponent.is_number and exponent > 0:
            return Condition(base, "at least 0", 0.0)
        return Condition(base, "above 0", 0.0, open=True)
    argument = part.args[0] if part.args else part
    if isinstance(part, sp.log):
        return Condition(argument, "above 0", 0.0, open=True)
    if isinstance(part, sp.asin | sp.acos):
        return Condition(argument, "between -1 and 1", -1.0, 1.0)
    if isinstance(part, sp.atanh):
        return Condition(argument, "between -1 and 1", -1.0, 1.0, open=True)
    if isinstance(part, sp.acosh):
        return Condition(argument, "at least 1", 1.0)
    if isinstance(part, sp.exp | sp.sinh | sp.cosh):  # beyond it float64 overflows
        return Condition(argument, f"at most {_LARGEST:g}", high=_LARGEST)
    if isinstance(part, sp.tan):
        return Condition(sp.cos(argument), "free of zeros", nonzero=True)
    if part.is_Function and part.func not in FUNCTIONS:
        return Condition(part, "finite", open=True)  # which nothing here can prove
    return None
