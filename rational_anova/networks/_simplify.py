"""Simpler forms of a sum of rational terms, with bounded effort.

`sympy.simplify` may take minutes on a few dozen terms, so nothing here looks at more than one small
fraction at a time, or at a short sum that has exact numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

_OPERATIONS = 200  # of a fraction that is cancelled
_SUM = 120  # of a sum that is brought to one fraction
_FRACTIONS = 3  # that such a sum may have
_DIGITS = 60  # of all integers in it: cancelling multiplies them


def simplified(weights: Sequence[Any], terms: Sequence[Sequence[sympy.Expr]]) -> sympy.Expr:
    """Return sum of weight * term, tidied up.

    Args:
        weights: one number for each term.
        terms: each term as its summands.
    """
    numerators: dict[Any, Any] = {}
    for weight, parts in zip(weights, terms, strict=True):
        for part in parts:
            top, bottom = _fraction(weight * part)
            numerators[bottom] = numerators.get(bottom, sympy.Integer(0)) + top
    fractions = [_tidy(sympy.expand(top), bottom) for bottom, top in numerators.items() if top != 0]
    total: sympy.Expr = sympy.Add(*fractions)
    return min(_whole(total, len(fractions)), key=lambda form: sympy.count_ops(form, visual=False))


def _fraction(part: Any) -> tuple[Any, Any]:
    """Return numerator and denominator, both expanded, without common factors where exact."""
    top, bottom = sympy.fraction(part)
    polynomial = bottom.is_polynomial(*bottom.free_symbols)
    if not polynomial:
        return sympy.expand(top), bottom
    top, bottom = sympy.expand(top), sympy.expand(bottom)
    if _exact(part) and sympy.count_ops(part) <= _OPERATIONS:
        top, bottom = sympy.fraction(sympy.cancel(top / bottom))
        top, bottom = sympy.expand(top), sympy.expand(bottom)
    if bottom.is_number:
        return sympy.expand(top / bottom), sympy.Integer(1)
    return top, bottom


def _tidy(top: Any, bottom: Any) -> Any:
    if bottom == 1:
        return top
    whole = top / bottom
    if _exact(whole) and sympy.count_ops(whole) <= _OPERATIONS:
        short = sympy.factor_terms(sympy.cancel(whole))
        return short if sympy.count_ops(short) <= sympy.count_ops(whole) else whole
    return whole


def _whole(total: sympy.Expr, fractions: int) -> list[sympy.Expr]:
    """Return forms of the whole sum, the sum itself first."""
    digits = sum(len(str(n.p)) + len(str(n.q)) for n in total.atoms(sympy.Rational))
    forms = [total]
    if (
        _exact(total)
        and sympy.count_ops(total) <= _SUM
        and fractions <= _FRACTIONS
        and digits <= _DIGITS
        and total.is_rational_function(*total.free_symbols)
    ):
        forms.append(sympy.factor_terms(sympy.cancel(total)))
        forms.append(sympy.factor(total))
    return forms


def _exact(expression: Any) -> bool:
    return not expression.has(sympy.Float)
