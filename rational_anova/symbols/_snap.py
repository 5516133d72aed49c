"""`snap`: the simplest exact number near a float, if it is too simple to be there by chance.

How simple a number is, is measured by how dense numbers at least as simple lie around it: integers
one to a unit, fractions with denominators up to 5 ten to a unit, decimals of two digits after the
point a hundred. Density times the width of the window is then how many of them one would meet
there by chance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from .._core import checks as check

_CHANCE = 0.05  # how many candidates at least as simple may be expected in the window
_DIGITS = 10  # significant digits of a decimal
_DENOMINATOR = 10_000  # of a fraction
_RARITY = 4.0  # a multiple of a constant counts as if its kind were so many times as dense
_POWERS = (1, -1, 2, -2)
_NAMED: dict[str, Any] = {
    "pi": sympy.pi,
    "e": sympy.E,
    "golden": sympy.GoldenRatio,
    "ln2": sympy.log(2),
    "gamma": sympy.EulerGamma,
}


class _Factor(NamedTuple):
    exact: Any
    value: Fraction  # to fifty digits


def snap(
    value: float,
    tolerance: float,
    constants: Sequence[str] = (),
    *,
    zero: bool = False,
) -> sympy.Expr | None:
    """Return the simplest exact number within `tolerance` of `value`, None if none is simple.

    Candidates are integers, fractions, short decimals, and such multiples of the named constants
    and of their powers -2, -1, 1, 2. One is simple enough if at most 0.05 candidates at least as
    simple are to be expected in a window of this width by chance.

    Args:
        value: any finite number.
        tolerance: absolute; never less than half the distance to the next float, since a float
            stands for every number that rounds to it.
        constants: names out of `pi`, `e`, `golden`, `ln2`, `gamma` and `sqrt2`, `sqrt3`, ...
        zero: whether 0 is a candidate: then it is the answer wherever |value| <= tolerance.

    Example:
        >>> snap(1.9998, 1e-3), snap(0.333333, 1e-5), snap(0.08314, 1e-10)
        (2, 1/3, 4157/50000)
        >>> snap(0.7317, 0.01) is None  # 8/11 is in the window, as one of many
        True
        >>> snap(0.0795774715, 1e-9, constants=("pi",))
        1/(4*pi)
    """
    number = check.real(value, "value")
    if isinstance(constants, str):
        raise TypeError(
            f"constants must be a list of names, got {constants!r}: use ({constants!r},)"
        )
    factors = [factor for name in constants for factor in _factors(name)]
    resolution = math.ulp(number) / 2
    reach = max(check.nonnegative(tolerance, "tolerance"), resolution)
    if abs(number) <= reach:
        return sympy.Integer(0) if zero else None
    centre, width = Fraction(number), Fraction(reach)
    best: tuple[float, Fraction, Any] | None = None
    for factor in (_Factor(sympy.Integer(1), Fraction(1)), *factors):
        scale = abs(factor.value)
        rarity = _RARITY if factors and factor.value != 1 else 1.0
        low, high = (centre - width) / factor.value, (centre + width) / factor.value
        for density, candidate in _candidates(low, high, float(centre / factor.value)):
            cost = density * rarity / float(scale)
            if best is None or cost < best[0]:
                best = cost, candidate, factor.exact
    # Twice the resolution: of numbers that no float can tell apart none is the right one.
    window = 2 * max(reach, 4 * resolution)
    if best is None or window * _density(best[0], factors) > _CHANCE:
        return None
    return sympy.Rational(best[1].numerator, best[1].denominator) * best[2]


def _density(cost: float, factors: list[_Factor]) -> float:
    """Return how many candidates that cost no more lie in a unit, all kinds together."""
    total = _kinds(cost)
    for factor in factors:
        scale = abs(float(factor.value))
        total += _kinds(cost * scale / _RARITY) / scale
    return total


def _kinds(density: float) -> float:
    """Return the density of fractions and decimals together, each kind up to a density."""
    decimals = 10.0 ** math.floor(math.log10(density) + 1e-9)
    if density < 1:
        return decimals  # round numbers, such as 1.5e23
    return density if density < 10 else density + decimals  # below 10 decimals are integers


def _candidates(low: Fraction, high: Fraction, middle: float) -> Iterator[tuple[float, Fraction]]:
    """Yield the simplest fraction and the shortest decimal in a window, with their densities."""
    fraction = _simplest(low, high) if low > 0 else -_simplest(-high, -low)
    if fraction.numerator and fraction.denominator <= _DENOMINATOR:
        yield float(_fractions()[fraction.denominator]), fraction
    for digits in range(1, _DIGITS + 1):
        text = f"{middle:.{digits - 1}e}"
        # The float is compared first, because it is quick.
        if float(low) <= float(text) <= float(high):
            decimal = Fraction(text)
            if low <= decimal <= high:
                yield 10.0 ** (digits - 1 - int(text.partition("e")[2])), decimal
                return


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of least denominator in [low, high], 0 < low, by continued fractions."""
    a, b, c, d = low.numerator, low.denominator, high.numerator, high.denominator
    terms = []
    while True:
        whole = -(-a // b)
        if whole * d <= c:  # an integer lies in the window
            terms.append(whole)
            break
        whole = a // b
        terms.append(whole)
        a, b, c, d = d, c - whole * d, b, a - whole * b
    top, bottom = terms.pop(), 1
    for term in reversed(terms):
        top, bottom = term * top + bottom, top
    return Fraction(top, bottom)


@cache
def _fractions() -> Any:
    """Return how many fractions with denominators up to n lie in a unit, for each n."""
    count = np.arange(_DENOMINATOR + 1)
    for prime in range(2, _DENOMINATOR + 1):
        if count[prime] == prime:  # Euler's totient, by a sieve
            count[prime::prime] -= count[prime::prime] // prime
    return np.cumsum(count)


@cache
def _factors(name: str) -> tuple[_Factor, ...]:
    """Return the powers of a constant that are no multiples of one another."""
    root = re.fullmatch(r"sqrt([1-9]\d{0,5})", name) if isinstance(name, str) else None
    constant = sympy.sqrt(int(root[1])) if root else _NAMED[check.choice(name, _NAMED, "constants")]
    if constant.is_rational:
        raise ValueError(f"constants must be irrational, got {name!r}, which is {constant}")
    powers = _POWERS if not (constant**2).is_rational else (1,)
    result = []
    for power in powers:
        exact = constant**power
        result.append(_Factor(exact, Fraction(str(exact.evalf(50)))))
    return tuple(result)
