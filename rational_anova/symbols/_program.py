"""Formulas as lists of array operations, with slopes: no algebra, so that it takes microseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial, reduce
from typing import Any

import numpy as np
import sympy as sp
from scipy.special import erf, erfc, jv, jvp

from ._numeric import numeric

Program = Callable[..., list[Any]]


def program(
    arguments: Sequence[sp.Symbol],
    expressions: Sequence[sp.Expr],
    slopes: Sequence[sp.Symbol] = (),
) -> Program:
    """Return a function of arrays that computes formulas, or their slopes in some arguments.

    Equal parts are computed once. A formula with a function that has no line in `_CURVES` is
    computed, and differentiated, by sympy.

    Args:
        arguments: of the function, in this order.
        expressions: what it returns, a list.
        slopes: if any are given, it returns the derivatives in these instead, those in the first
            for all expressions, then those in the second, and so on.

    Example:
        >>> x, a = sp.symbols("x a")
        >>> program((x, a), [sp.exp(a * x), a + 1])(np.zeros(2), 3.0)
        [array([1., 1.]), np.float64(4.0)]
        >>> program((x, a), [sp.exp(a * x), a + 1], (x, a))(np.zeros(2), 3.0)
        [array([3., 3.]), 0.0, array([0., 0.]), 1.0]
    """
    tape = _Tape(arguments)
    try:
        if slopes:
            wanted = [tape.slope(e, s) for s in slopes for e in expressions]
        else:
            wanted = [tape.place(e) for e in expressions]
    except _UnknownFunction:
        return _by_sympy(arguments, expressions, slopes)
    return tape.function(wanted)


def _by_sympy(
    arguments: Sequence[sp.Symbol], expressions: Sequence[sp.Expr], slopes: Sequence[sp.Symbol]
) -> Program:
    wanted = [sp.diff(e, s) for s in slopes for e in expressions] if slopes else list(expressions)
    found = numeric(tuple(arguments), [_without_jumps(e) for e in wanted], _MODULES)

    def run(*values: Any) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.real(value) for value in found(*values)]

    return run


class _UnknownFunction(Exception):
    """A function that has no line in `_CURVES`."""


class _Tape:
    """Operations in order, each on the results of earlier ones, found by their places."""

    def __init__(self, arguments: Sequence[sp.Symbol]) -> None:
        self.size = len(arguments)
        self.places: dict[sp.Expr, int] = {s: k for k, s in enumerate(arguments)}
        self.slopes: dict[tuple[sp.Expr, sp.Symbol], int | None] = {}
        self.numbers: dict[int, float] = {}  # constants by their places
        self.done: dict[tuple[Any, ...], int] = {}  # operations by what they do
        self.operations: list[tuple[Callable[..., Any], tuple[int, ...], int]] = []

    # -- values

    def place(self, e: sp.Expr) -> int:
        """Where the value of an expression is found, computed if it is new."""
        if e not in self.places:
            self.places[e] = self._computed(e)
        return self.places[e]

    def _computed(self, e: sp.Expr) -> int:
        if e.is_number:
            return self.number(_real(e))
        if e.is_Add:
            return self._folded(np.add, map(self.place, e.args))
        if e.is_Mul:
            return self._product(e.args)
        if e.is_Pow:
            return self._power(self.place(e.base), e.base, e.exp)
        if isinstance(e, sp.exp):
            return self.apply(np.exp, self.place(e.args[0]))
        if isinstance(e, sp.Max | sp.Min):
            pick = np.maximum if isinstance(e, sp.Max) else np.minimum
            return self._folded(pick, map(self.place, e.args))
        return self.apply(_curve(e)[0], self.place(e.args[-1]))

    def _product(self, factors: Sequence[sp.Expr]) -> int:
        """Factors, divided by those that stand below the line."""
        below = [f for f in factors if _is_below(f)]
        above = [self.place(f) for f in factors if not _is_below(f)] or [self.number(1.0)]
        top = self._folded(np.multiply, above)
        if not below:
            return top
        under = [self._power(self.place(f.base), f.base, -f.exp) for f in below]
        return self.apply(np.divide, top, self._folded(np.multiply, under))

    def _power(self, base: int, expression: sp.Expr, exponent: sp.Expr) -> int:
        if expression == sp.E:
            return self.apply(np.exp, self.place(exponent))
        if exponent.is_Integer and abs(exponent) <= _MULTIPLIED:
            out = self._whole_power(base, abs(int(exponent)))
            return self.apply(np.divide, self.number(1.0), out) if exponent < 0 else out
        if exponent in (sp.S.Half, -sp.S.Half):
            root = self.apply(np.sqrt, base)
            return self.apply(np.divide, self.number(1.0), root) if exponent < 0 else root
        return self.apply(np.power, base, self.place(exponent))

    def _whole_power(self, base: int, count: int) -> int:
        if count == 1:
            return base
        half = self._whole_power(base, count // 2)
        square = self.apply(np.multiply, half, half)
        return self.apply(np.multiply, square, base) if count % 2 else square

    # -- slopes

    def slope(self, e: sp.Expr, s: sp.Symbol) -> int:
        """Where the derivative of an expression is found."""
        place = self._slope(e, s)
        return self.number(0.0) if place is None else place

    def _slope(self, e: sp.Expr, s: sp.Symbol) -> int | None:
        """As `slope`; None if it is zero everywhere."""
        if (e, s) not in self.slopes:
            self.slopes[e, s] = self._differentiated(e, s)
        return self.slopes[e, s]

    def _differentiated(self, e: sp.Expr, s: sp.Symbol) -> int | None:
        if e == s:
            return self.number(1.0)
        if not e.args or s not in e.free_symbols:
            return None
        if e.is_Add:
            return self._sum(self._slope(a, s) for a in e.args)
        if e.is_Mul:
            return self._sum(self._slope_of_factor(e.args, k, s) for k in range(len(e.args)))
        if e.is_Pow and e.base != sp.E:
            return self._slope_of_power(e, s)
        if isinstance(e, sp.Max | sp.Min):
            return self._slope_of_extreme(e, s)
        inner = self._slope(e.args[-1], s)
        if isinstance(e, sp.exp) or e.is_Pow:
            return self._times(self.place(e), inner)
        outer = _curve(e)[1]
        if inner is None or outer is None:
            return None
        return self._times(self.apply(outer, self.place(e.args[-1]), self.place(e)), inner)

    def _slope_of_factor(self, factors: Sequence[sp.Expr], which: int, s: sp.Symbol) -> int | None:
        own = self._slope(factors[which], s)
        if own is None:
            return None
        others = [f for k, f in enumerate(factors) if k != which]
        return self._times(self._product(others), own)

    def _slope_of_power(self, e: sp.Pow, s: sp.Symbol) -> int | None:
        base, exponent = self._slope(e.base, s), self._slope(e.exp, s)
        parts = []
        if base is not None:
            lower = self._power(self.place(e.base), e.base, e.exp - 1)
            outer = self.apply(np.multiply, self.place(e.exp), lower)
            parts.append(self._times(outer, base))
        if exponent is not None:
            log = self.apply(_finite_log, self.place(e.base))
            parts.append(self._times(self.apply(np.multiply, self.place(e), log), exponent))
        return self._sum(parts)

    def _slope_of_extreme(self, e: sp.Expr, s: sp.Symbol) -> int | None:
        value = self.place(e)
        parts = []
        for a in e.args:
            chosen = self.apply(_equal, self.place(a), value)
            parts.append(self._times(chosen, self._slope(a, s)))
        return self._sum(parts)

    # -- operations

    def number(self, value: float) -> int:
        key = ("number", value, np.signbit(value))
        if key not in self.done:
            self.done[key] = self._next()
            self.numbers[self.done[key]] = value
        return self.done[key]

    def apply(self, function: Callable[..., Any], *inputs: int) -> int:
        """Where the result of an operation is found; one that was done is not done again."""
        key = (function, *inputs)
        if key not in self.done:
            self.done[key] = self._next()
            self.operations.append((function, inputs, self.done[key]))
        return self.done[key]

    def _next(self) -> int:
        self.size += 1
        return self.size - 1

    def _folded(self, function: Callable[..., Any], inputs: Iterable[int]) -> int:
        return reduce(lambda a, b: self.apply(function, a, b), inputs)

    def _sum(self, parts: Iterable[int | None]) -> int | None:
        known = [p for p in parts if p is not None]
        return self._folded(np.add, known) if known else None

    def _times(self, a: int, b: int | None) -> int | None:
        if b is None or self.numbers.get(b) == 1.0:
            return None if b is None else a
        return b if self.numbers.get(a) == 1.0 else self.apply(np.multiply, a, b)

    def function(self, wanted: Sequence[int]) -> Program:
        """The operations as a function; what is no longer needed is let go at once."""
        last = {place: k for k, (_, inputs, _) in enumerate(self.operations) for place in inputs}
        kept = {*wanted, *self.numbers}
        steps = [
            (f, inputs, out, tuple(p for p in {*inputs} if last[p] == k and p not in kept))
            for k, (f, inputs, out) in enumerate(self.operations)
        ]
        empty = [self.numbers.get(place) for place in range(self.size)]

        def run(*values: Any) -> list[Any]:
            found: list[Any] = [*values, *empty[len(values) :]]
            with np.errstate(all="ignore"):
                for f, inputs, out, dead in steps:
                    found[out] = f(*(found[place] for place in inputs))
                    for place in dead:
                        found[place] = None
            return [found[place] for place in wanted]

        return run


_MULTIPLIED = 12  # powers up to this are products


def _real(number: sp.Expr) -> float:
    try:
        value = complex(number)
    except TypeError:  # an infinity without a direction
        raise _UnknownFunction from None
    if value.imag:
        raise _UnknownFunction
    return value.real


def _is_below(factor: sp.Expr) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp < 0)


def _finite_log(base: Any) -> Any:
    """The logarithm, and 0 at 0: the slope of x**n in n is 0 there, not 0 * infinity."""
    return np.log(np.where(base == 0, 1.0, base))


def _equal(a: Any, b: Any) -> Any:
    return np.equal(a, b) * 1.0


# value, and slope as a function of the argument and the value; None where it is zero
_CURVES: dict[type[sp.Function], tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    sp.log: (np.log, lambda x, y: 1 / x),
    sp.sin: (np.sin, lambda x, y: np.cos(x)),
    sp.cos: (np.cos, lambda x, y: -np.sin(x)),
    sp.tan: (np.tan, lambda x, y: 1 + y * y),
    sp.asin: (np.arcsin, lambda x, y: 1 / np.sqrt(1 - x * x)),
    sp.acos: (np.arccos, lambda x, y: -1 / np.sqrt(1 - x * x)),
    sp.atan: (np.arctan, lambda x, y: 1 / (1 + x * x)),
    sp.sinh: (np.sinh, lambda x, y: np.cosh(x)),
    sp.cosh: (np.cosh, lambda x, y: np.sinh(x)),
    sp.tanh: (np.tanh, lambda x, y: 1 - y * y),
    sp.asinh: (np.arcsinh, lambda x, y: 1 / np.sqrt(1 + x * x)),
    sp.acosh: (np.arccosh, lambda x, y: 1 / np.sqrt(x * x - 1)),
    sp.atanh: (np.arctanh, lambda x, y: 1 / (1 - x * x)),
    sp.erf: (erf, lambda x, y: 2 / np.sqrt(np.pi) * np.exp(-x * x)),
    sp.erfc: (erfc, lambda x, y: -2 / np.sqrt(np.pi) * np.exp(-x * x)),
    sp.Abs: (np.abs, lambda x, y: np.sign(x)),
    sp.sign: (np.sign, None),
    sp.floor: (np.floor, None),
    sp.ceiling: (np.ceil, None),
}


def _curve(e: sp.Expr) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    if isinstance(e, sp.besselj) and e.order.is_Integer:
        return _bessel(int(e.order))
    if e.func not in _CURVES or len(e.args) != 1:
        raise _UnknownFunction
    return _CURVES[e.func]


@cache  # equal operations must be one function, to be done once
def _bessel(order: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return partial(jv, order), lambda x, y: jvp(order, x)


def _reduced(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Max and Min of arrays that broadcast, as sympy writes them."""
    return lambda values, axis=0: reduce(function, values)


_MODULES = [{"amax": _reduced(np.maximum), "amin": _reduced(np.minimum)}, "scipy", "numpy"]


def _without_jumps(expression: sp.Expr) -> sp.Expr:
    """The slope of a step is zero wherever there is a row."""
    if not expression.has(sp.DiracDelta, sp.Derivative, sp.Subs):
        return expression
    for jump in (sp.DiracDelta, sp.Derivative, sp.Subs):
        expression = expression.replace(jump, lambda *_: sp.Integer(0))
    return expression
