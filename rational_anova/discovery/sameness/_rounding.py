"""Numbers in formulas: as decimals, and rounded."""

from __future__ import annotations

import sympy as sp

from ._agreement import DIGITS

_LARGEST = 2**20  # denominator
Pair = tuple[sp.Expr, sp.Expr]


def dyadic(expr: sp.Expr) -> sp.Expr:
    """Write floats such as 0.5 and 2.0 as the fractions that they are, for algebra's sake."""
    numbers = {number: sp.Rational(number) for number in expr.atoms(sp.Float) if number.is_finite}
    return expr.xreplace({old: new for old, new in numbers.items() if new.q <= _LARGEST})


def decimal(expr: sp.Expr) -> sp.Expr:
    """Write numbers such as pi or sqrt(2) as decimals, those that multiply or add up as one."""
    if not expr.free_symbols:
        return expr if expr.is_Number else expr.evalf(DIGITS + 10)
    return expr.func(*map(decimal, expr.args)) if expr.args else expr


def rounded(expr: sp.Expr, digits: int, fractions: bool = False) -> sp.Expr:
    """Round the floats of a formula to so many decimals, and its fractions too if asked."""
    if expr.is_Float or (fractions and expr.is_Rational and not expr.is_Integer):
        if not expr.is_finite:
            return sp.nan
        return sp.Rational(round(sp.Rational(expr) * 10**digits), 10**digits)
    if not expr.args:
        return expr
    return expr.func(*(rounded(arg, digits, fractions) for arg in expr.args))


def rounded_pairs(law: sp.Expr, truth: sp.Expr, digits: int) -> list[Pair]:
    """Return law and truth with their numbers rounded, in the ways that the rule allows."""
    law, truth = decimal(law), decimal(truth)
    first = rounded(law, digits)
    pairs = [
        (first, truth),
        (first, rounded(truth, digits)),
        (rounded(law, digits, True), rounded(truth, digits, True)),
    ]
    # A truth that loses variables by rounding is not the truth any more.
    return [
        pair
        for pair in pairs
        if pair[1].free_symbols == truth.free_symbols
        and not any(formula.has(sp.zoo, sp.nan) for formula in pair)
    ]


def remainder(law: sp.Expr, truth: sp.Expr, digits: int) -> sp.Expr:
    """Return what is left of the difference once the numbers before its terms are rounded."""
    difference = sp.expand(decimal(truth) - rounded(decimal(law), digits))
    terms = difference.as_coefficients_dict()
    return sp.Add(
        *(rounded(sp.Float(number, DIGITS), digits) * term for term, number in terms.items())
    )
