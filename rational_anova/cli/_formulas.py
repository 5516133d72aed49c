"""Formulas for people: few digits, and softplus by its name."""

from __future__ import annotations

import sympy


def readable(formula: sympy.Expr, digits: int) -> str:
    """Return a formula with all numbers rounded, log(1 + exp(q)) as softplus(q)."""
    named = formula.replace(
        lambda part: part.func is sympy.log and (part.args[0] - 1).func is sympy.exp,
        lambda part: sympy.Function("softplus")((part.args[0] - 1).exp),
    )
    floats = named.atoms(sympy.Float)
    return str(named.xreplace({number: sympy.Float(number, digits) for number in floats}))
