"""Terms that the right-hand side of an equation of motion may have, as data, with their prices.

A price is minus the logarithm of a stated prior probability: what textbooks are full of is cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
import sympy as sp

from ..._core.types import Array

POLYNOMIAL, FUNCTION, QUOTIENT = "polynomial", "function", "quotient"
KINDS = ((POLYNOMIAL,), (POLYNOMIAL, FUNCTION), (POLYNOMIAL, QUOTIENT))  # looked at in this order
_POWER_PRICES = {0: 1.0, 1: 1.0, 2: 1.5, 3: 2.5, 4: 4.0, 5: 4.5}
_HIGHEST = {1: 5, 2: 4, 3: 4, 4: 3}  # degree of polynomials, by the number of variables
_FUNCTION, _FACTOR, _RARE = 4.0, 1.5, 2.0  # prices: of a function, a further factor, a rare one
_QUOTIENT = 3.5
_VALUES = 11  # of an inner number that are tried
_WAVES = 12  # quarters of a period that the range of a variable may have
_POWERS = (-0.5, 0.33, 0.67, 1.3, 1.7, 2.5, 3.5)
_WIDE = 4.0  # times the range of a variable: how far constants of denominators are looked for
_NEAR = 25.0  # ... and how far below its small values


@dataclass(frozen=True)
class Term:
    """A function of the variables, to be multiplied with a fitted number.

    Args:
        expression: in the variables and its inner numbers.
        price: minus the logarithm of its prior probability.
        kind: "polynomial", "function" or "quotient".
        inner: symbols of numbers inside of it.
        starts: values of these to begin with, each a tuple.
        factor: what the user calls the fitted number: a name, or a product of powers of names.
    """

    expression: sp.Expr
    price: float
    kind: str
    inner: tuple[sp.Symbol, ...] = ()
    starts: tuple[tuple[float, ...], ...] = ((),)
    factor: sp.Expr | None = None

    @property
    def key(self) -> sp.Expr:
        """What it is, whatever its sign, which belongs to the fitted number."""
        signed = self.expression.could_extract_minus_sign()
        return -self.expression if signed else self.expression


def library(variables: Sequence[sp.Symbol], values: Array) -> list[Term]:
    """All terms in some variables that have values on the data.

    Args:
        variables: states and inputs.
        values: of these on the data, (rows, variables).
    """
    found = [*_monomials(variables), *_functions(variables, values)]
    found += [t for k, s in enumerate(variables) for t in _quotients(s, values[:, k], variables)]
    return list({term.expression: term for term in reversed(found)}.values())[::-1]


def _monomials(variables: Sequence[sp.Symbol]) -> Iterator[Term]:
    highest = _HIGHEST.get(len(variables), 2)
    for degree in range(highest + 1):
        for factors in combinations_with_replacement(variables, degree):
            yield Term(sp.Mul(*factors), _POWER_PRICES[degree], POLYNOMIAL)


def _functions(variables: Sequence[sp.Symbol], values: Array) -> Iterator[Term]:
    """Functions of one variable, of differences, and products of two of them."""
    single = {s: dict(_of_one(s, values[:, k])) for k, s in enumerate(variables)}
    for s in variables:
        for expression, price in single[s].items():
            yield Term(expression, price, FUNCTION)
            yield from (Term(expression * x, price + _FACTOR, FUNCTION) for x in variables)
        yield Term(sp.sin(s) * sp.cos(s), _FUNCTION + _FACTOR, FUNCTION)
    for one, other in combinations(variables, 2):
        for f, price in single[one].items():
            for g, more in single[other].items():
                yield Term(f * g, price + more, FUNCTION)
        for wave in (sp.sin, sp.cos):
            yield Term(wave(one - other), _FUNCTION + 0.5, FUNCTION)
            yield Term(wave(one + other), _FUNCTION + _FACTOR, FUNCTION)


def _of_one(s: sp.Symbol, x: Array) -> Iterator[tuple[sp.Expr, float]]:
    """Functions of a variable without inner numbers, and their prices."""
    yield sp.sin(s), _FUNCTION
    yield sp.cos(s), _FUNCTION
    yield sp.sin(s) ** 2, _FUNCTION + 0.5
    if float(np.min(np.abs(x))) > 0.02 * float(np.max(np.abs(x))):
        yield 1 / s, _FUNCTION
        yield 1 / s**2, _FUNCTION + _FACTOR
    if float(np.min(x)) > 0:
        yield sp.log(s), _FUNCTION
        yield sp.sqrt(s), _FUNCTION + _FACTOR
    if float(np.min(x)) < 0 < float(np.max(x)):
        yield sp.Abs(s), _FUNCTION
    if float(np.max(np.abs(x))) < 20:
        yield sp.exp(-s), _FUNCTION + 0.5
        yield sp.exp(s), _FUNCTION + _FACTOR
    if float(np.min(np.abs(np.cos(x)))) > 0.02:
        yield sp.tan(s), _FUNCTION + _FACTOR
    if float(np.min(np.abs(np.sin(x)))) > 0.02:
        yield sp.cot(s), _FUNCTION + _FACTOR


def _quotients(s: sp.Symbol, x: Array, variables: Sequence[sp.Symbol]) -> Iterator[Term]:
    """Terms with numbers inside: saturation s**m/(k + s**n), exponentials, waves, steps, powers."""
    k = sp.Symbol(f"k_{s.name}")
    others = [other for other in variables if other != s]
    for power in (1, 2, *((3, 4, 5) if not others else ())):
        starts = _constants(x, power)
        if not starts:
            continue
        price = _QUOTIENT if power <= 2 else _QUOTIENT + _RARE
        for above in range(power + 1) if power <= 2 else (0, power):
            own = s**above / (k + s**power)
            extra = 0.0 if above in (power, 1) else 1.0 if above == 0 else _RARE
            yield Term(own, price + extra, QUOTIENT, (k,), starts)
            for other in others:
                yield Term(own * other, price + extra + 0.5, QUOTIENT, (k,), starts)
    for rate in _rates(x):
        yield Term(sp.exp(k * s), _QUOTIENT + 1.0, QUOTIENT, (k,), rate)
        yield Term(s * sp.exp(k * s), _QUOTIENT + _RARE, QUOTIENT, (k,), rate)
    spread = float(np.ptp(x))
    waves = tuple((n * np.pi / (2 * spread),) for n in range(1, _WAVES + 1)) if spread > 0 else ()
    for wave in (sp.sin, sp.cos) if waves else ():
        yield Term(wave(k * s), _QUOTIENT + 1.0, QUOTIENT, (k,), waves)
    if steps := _steps(x):
        m = sp.Symbol(f"m_{s.name}")
        yield Term(1 / (1 + sp.exp(k * s - m)), _QUOTIENT + 1.0, QUOTIENT, (k, m), steps)
    if float(np.min(x)) > 0:
        powers = tuple((p,) for p in _POWERS)
        yield Term(s**k, _QUOTIENT + 1.0, QUOTIENT, (k,), powers)
        for other in others:
            yield Term(s**k * other, _QUOTIENT + _RARE, QUOTIENT, (k,), powers)


def _constants(x: Array, power: int) -> tuple[tuple[float, ...], ...]:
    """Constants k of k + x**power that keep it from zero on the data."""
    size = np.abs(x) ** power
    high = float(np.max(size))
    low = max(float(np.quantile(size, 0.05)), 1e-3 * high)
    if not high > 0:
        return ()
    tried = np.geomspace(low / _NEAR, high * _WIDE, _VALUES)
    worst = float(np.min(x**power))
    return tuple((float(k),) for k in tried if k + worst > 0.05 * k)


def _steps(x: Array) -> tuple[tuple[float, ...], ...]:
    """Rates and places of steps that lie in the data, rising and falling."""
    spread = float(np.ptp(x))
    if not spread > 0:
        return ()
    places = np.quantile(x, [0.2, 0.5, 0.8])
    rates = [sign * steep / spread for sign in (-1, 1) for steep in (4.0, 10.0, 25.0)]
    return tuple((rate, float(rate * place)) for rate in rates for place in places)


def _rates(x: Array) -> Iterator[tuple[tuple[float, ...], ...]]:
    """Rates of exponentials that change over the data by a factor that can be told."""
    spread = float(np.ptp(x))
    if spread > 0:
        tried = [float(r) / spread for r in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)]
        yield tuple((sign * rate,) for sign in (-1.0, 1.0) for rate in tried)
