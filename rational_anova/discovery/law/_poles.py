"""Poles: where the denominators of a law are zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from ._conditions import Condition, conditions
from ._domain import checked_box
from ._intervals import Unknown
from ._subdivision import Bounds, halves, shown

_WIDTH, _PIECES = 1e-13, 4096
_REAL = sp.Symbol("x", real=True)


def poles(formula: sp.Expr, symbols: Sequence[sp.Symbol], box: Any) -> tuple[Any, ...]:
    """Return where a formula goes to infinity in a box.

    Args:
        formula: in `symbols`.
        symbols: one for each column.
        box: (low, high) for each column.

    Returns:
        If the formula has one variable, all its real poles there, sorted; a place that bounds
        cannot tell from a pole is among them. If it has more, the denominators (and arguments of
        logarithms) that could not be proven to be free of zeros in the box.
    """
    limits = checked_box(box, len(symbols))
    used = [(s, ends) for s, ends in zip(symbols, limits, strict=True) if formula.has(s)]
    if len(used) == 1:
        symbol, (low, high) = used[0]
        # Common factors are no poles; floats are made fractions, or they would not cancel.
        if formula.is_rational_function(symbol):
            formula = sp.cancel(_exact(formula))
        places = [r for s in _suspects(formula) for r in _roots(s.argument, symbol, low, high)]
        return tuple(_apart(sorted(places), high - low))
    proofs = ((s.argument, shown(s, symbols, limits)) for s in _suspects(formula))
    return tuple(dict.fromkeys(argument for argument, proof in proofs if proof is not True))


def _suspects(formula: sp.Expr) -> list[Condition]:
    """The denominators, and the arguments of logarithms."""
    return [c for c in conditions(formula) if c.nonzero or (c.open and c.low == 0)]


def _exact(expr: sp.Expr) -> sp.Expr:
    return expr.xreplace({number: sp.Rational(number) for number in expr.atoms(sp.Float)})


def _roots(expr: sp.Expr, symbol: sp.Symbol, low: float, high: float) -> list[float]:
    """Return the zeros of an expression of one variable in [low, high]."""
    if expr.is_polynomial(symbol):
        polynomial = sp.Poly(_exact(expr), symbol)
        if polynomial.domain.is_Exact and polynomial.domain in (sp.ZZ, sp.QQ):
            roots = (float(root.evalf(20)) for root in set(polynomial.real_roots()))
            return [root for root in roots if low <= root <= high]
    try:
        places = _narrowed(Bounds(expr.xreplace({symbol: _REAL}), [_REAL]), low, high)
        places = _apart(sorted(places), high - low)
        return [_polished(expr, symbol, place, low, high) for place in places]
    except Unknown as error:
        raise ValueError(f"the zeros of {expr} cannot be found: {error}") from None


def _narrowed(bounds: Bounds, low: float, high: float) -> list[float]:
    """Halve the interval, and drop the halves without a zero, until the rest is tiny."""
    a, b = np.array([[low]]), np.array([[high]])
    done: list[float] = []
    while len(a) and len(a) <= _PIECES:
        least, most, weight = bounds.tight(a, b)
        kept = (least <= 0) & (most >= 0)
        a, b, weight = a[kept], b[kept], weight[kept]
        tiny = (b - a <= _WIDTH * np.maximum(np.abs(a), np.abs(b)))[:, 0]
        tiny |= (b - a <= _WIDTH * (high - low) * 1e-3)[:, 0]
        done += ((a + b) / 2)[tiny, 0].tolist()
        a, b = halves(a[~tiny], b[~tiny], weight[~tiny])
    return done + ((a + b) / 2)[:, 0].tolist()


def _polished(expr: sp.Expr, symbol: sp.Symbol, place: float, low: float, high: float) -> float:
    """Return the zero beside a place, to the last digit where Newton's method gets there."""
    try:
        with mpmath.workdps(30):
            root = mpmath.findroot(sp.lambdify(symbol, expr, "mpmath"), mpmath.mpf(place))
    except (ValueError, ZeroDivisionError, TypeError):  # a double zero, or none after all
        return place
    near = isinstance(root, mpmath.mpf) and abs(root - place) < 1e-6 * max(abs(place), high - low)
    return min(max(float(root), low), high) if near else place


def _apart(roots: list[float], width: float) -> list[float]:
    """Return the middle of each cluster of roots that bounds cannot tell apart."""
    clusters: list[list[float]] = []
    for root in roots:
        if clusters and root - clusters[-1][-1] <= 1e-9 * max(abs(root), width):
            clusters[-1].append(root)
        else:
            clusters.append([root])
    return [(cluster[0] + cluster[-1]) / 2 for cluster in clusters]
