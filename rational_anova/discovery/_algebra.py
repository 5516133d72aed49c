"""Which algebra is small enough to be done.

sympy cannot be told to stop. A limit by the clock would give another formula on a busy machine, and
off the main thread there is none; so the size of the result is estimated before a call, and what is
too large is not begun: the same on every thread and every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import sympy as sp

T = TypeVar("T")
MANY = 10**6  # larger sizes are not told apart


def attempted(
    work: Callable[[sp.Expr], T], expression: sp.Expr, terms: float, operations: float = math.inf
) -> T | None:
    """Return work(expression); None if it fails, or would be larger than the limits.

    Args:
        work: what is to be done.
        expression: what it is done to.
        terms: the most that the expression may have once it is multiplied out, see `terms_of`.
        operations: the most that it may have as it is.
    """
    if sp.count_ops(expression) > operations or terms_of(expression) > terms:
        return None
    try:
        return work(expression)
    except Exception:  # sympy has many kinds: another form is tried instead
        return None


def terms_of(expression: sp.Expr) -> int:
    """Estimate the terms over one denominator, multiplied out; the most in any function or root.

    Terms that cancel or are alike count each, so that the estimate is mostly too large.

    Example:
        >>> x, y = sp.symbols("x y")
        >>> terms_of((x + y) ** 2 / (x - y)), terms_of(x / (x + 1) + y / (y + 1))
        (5, 8)
    """
    top, bottom, inside = _fraction(expression)
    return min(max(top + bottom, inside), MANY)


def expanded_terms(expression: sp.Expr) -> int:
    """Estimate the terms that `expand` gives; those of a denominator count as they are.

    Example:
        >>> x, y = sp.symbols("x y")
        >>> expanded_terms((x + y) ** 2 + 1 / (x - y))
        5
    """
    if expression.is_Add:
        return min(sum(map(expanded_terms, expression.args)), MANY)
    if expression.is_Mul:
        return min(math.prod(map(expanded_terms, expression.args)), MANY)
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return _to_the(expanded_terms(expression.base), int(expression.exp))
    return max(map(expanded_terms, expression.args), default=1) if expression.is_Pow else 1


def _fraction(expression: sp.Expr) -> tuple[int, int, int]:
    """Terms of numerator and denominator, and the most inside of a function or a root."""
    parts = [_fraction(part) for part in expression.args]
    inside = max((part[2] for part in parts), default=0)
    if expression.is_Add:
        below = {sp.denom(arg): part[1] for arg, part in zip(expression.args, parts, strict=True)}
        bottom = min(math.prod(below.values()), MANY)
        top = sum(n * bottom // d for n, d, _ in parts)
    elif expression.is_Mul:
        top, bottom = math.prod(n for n, _, _ in parts), math.prod(d for _, d, _ in parts)
    elif expression.is_Pow and expression.exp.is_Integer:
        power = int(expression.exp)
        top, bottom = (_to_the(size, abs(power)) for size in parts[0][:2])
        if power < 0:
            top, bottom = bottom, top
    else:
        top, bottom, inside = 1, 1, max([inside, *(n + d for n, d, _ in parts)])
    return min(top, MANY), min(bottom, MANY), min(inside, MANY)


def _to_the(terms: int, power: int) -> int:
    """Terms of a power of a sum."""
    if terms == 1:
        return 1
    return min(math.comb(terms + power - 1, power), MANY) if power < 100 else MANY
