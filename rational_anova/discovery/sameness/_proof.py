"""What sympy can prove of two formulas in the time it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sympy as sp

from ._limit import within

Step = Callable[[sp.Expr], sp.Expr]


def proven(a: sp.Expr, b: sp.Expr, seconds: float) -> tuple[bool, bool, bool]:
    """Say if sympy shows a = b, a - b constant, a / b constant; False if it does not in time."""
    difference = within(seconds, lambda: _number(a - b), None)
    if difference is not None:
        same = bool(difference == 0)
        return same, True, same
    ratio = within(seconds, lambda: _number(a / b), None)
    return bool(ratio == 1), bool(ratio == 1), bool(ratio is not None and ratio != 0)


def _number(expr: sp.Expr) -> sp.Expr | None:
    """Return the number that an expression is; None if it does not look like one."""
    for form in _forms(expr):
        if not form.free_symbols:
            return sp.Integer(0) if form.is_zero or abs(form.evalf(30)) < 1e-25 else form
    return None


def _forms(expr: sp.Expr) -> Iterator[sp.Expr]:
    """The same in other words, the cheap ones first."""
    yield expr
    yield sp.expand(expr)
    yield sp.cancel(sp.together(expr))
    yield sp.cancel(sp.together(sp.expand(expr.rewrite(sp.exp), power_exp=False)))
    roots = expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer, _factored
    )
    yield sp.cancel(sp.together(sp.powsimp(roots, force=False)))
    yield sp.simplify(expr)
    yield sp.simplify(expr.rewrite(sp.exp))


def _factored(power: sp.Expr) -> sp.Expr:
    """Draw factors of known sign out of a root: sqrt(1 - v**2/c**2) = sqrt(c**2 - v**2)/c."""
    return sp.expand_power_base(sp.Pow(sp.factor(sp.together(power.base)), power.exp))
