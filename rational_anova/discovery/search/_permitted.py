"""Functions that the user does not want in a law."""

from __future__ import annotations

import sympy as sp

CLASSES = {
    "sin": (sp.sin, sp.asin),
    "cos": (sp.cos, sp.acos),
    "exp": (sp.exp,),
    "log": (sp.log,),
    "tanh": (sp.tanh,),
}


def permitted(expression: sp.Expr, forbidden: frozenset[str]) -> bool:
    """Whether an expression has none of the forbidden functions."""
    if not forbidden:
        return True
    if any(expression.has(*CLASSES[name]) for name in forbidden if name in CLASSES):
        return False
    powers = [p.exp for p in expression.atoms(sp.Pow)]
    halves = any(p.is_Rational and p.q == 2 for p in powers)
    others = any(not (p.is_Rational and p.q <= 2) for p in powers)
    return not ((halves and "sqrt" in forbidden) or (others and "power" in forbidden))
