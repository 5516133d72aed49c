"""Where a law has a value, and where it has poles: proofs by interval arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from ..._core.types import Array
from ...proofs import Bounds, Budget, Cells, Condition, Unknown, branch, conditions, shown
from ._expressions import readable

Box = tuple[tuple[float, float], ...]
_MOST, _STEPS = 4.0, 7  # widest factor, bisections
_FEW = 8_000  # boxes for each of many proofs


@dataclass(frozen=True)
class Domain:
    """Whether a law is proven to be finite and real everywhere in a box.

    Attributes:
        certified: True if it is proven, with all rounding errors accounted for.
        box: (low, high) of each column.
        reasons: what could not be proven, one sentence each; empty if certified.
    """

    certified: bool
    box: Box
    reasons: tuple[str, ...] = ()
    _proof: tuple[tuple[Condition, ...], tuple[sp.Symbol, ...]] = field(
        default=((), ()), repr=False, compare=False
    )

    @cached_property
    def widest(self) -> float:
        """How many times wider the box can be, about its centre, and still be certified.

        Found by bisection between 1 and 4; 0 if the box itself is not certified.
        """
        if not self.certified:
            return 0.0
        if self._holds(_MOST):
            return _MOST
        low, high = 1.0, _MOST
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._holds(middle) else (low, middle)
        return low

    def _holds(self, factor: float) -> bool:
        wide = [_widened(low, high, factor) for low, high in self.box]
        needed, symbols = self._proof
        return all(shown(c, symbols, wide, _FEW) is True for c in needed)


def certify(formula: sp.Expr, symbols: Sequence[sp.Symbol], box: Any) -> Domain:
    """Prove, if possible, that a formula has a finite real value on a box.

    Every denominator must be free of zeros, every argument of log, sqrt, asin, ... inside its
    domain, and no exponent may exceed 700.

    Args:
        formula: in `symbols`.
        symbols: one for each column.
        box: (low, high) for each column.
    """
    limits = checked_box(box, len(symbols))
    needed = conditions(formula)
    reasons = []
    for condition in needed:
        outcome = shown(condition, symbols, limits)
        what, demand = readable(condition.argument), condition.demand
        if outcome is False:
            reasons.append(f"{what} is not {demand} in all of the box")
        elif outcome is None:
            reasons.append(f"there is no proof that {what} is {demand} in all of the box")
    return Domain(not reasons, limits, tuple(reasons), (needed, tuple(symbols)))


def checked_box(box: Any, size: int) -> Box:
    """Return the box as floats, one (low, high) for each of `size` columns."""
    try:
        limits = tuple((float(low), float(high)) for low, high in box)
    except (TypeError, ValueError):
        raise TypeError(f"box must be a list of {size} pairs (low, high), got {box!r}") from None
    if len(limits) != size or not all(low <= high for low, high in limits):
        raise ValueError(f"box needs {size} pairs with low <= high, got {box!r}")
    return limits


def _widened(low: float, high: float, factor: float) -> tuple[float, float]:
    middle, half = low + (high - low) / 2, (high - low) / 2 * factor
    return min(low, middle - half), max(high, middle + half)


_WIDTH, _PIECES = 1e-13, 4096
_ROUNDS = 2200  # more than it takes from the widest interval of float64 to the narrowest
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
    done: list[float] = []

    def look(cells: Cells) -> tuple[Array, Array | None, None]:
        if len(cells) > _PIECES:  # bounds cannot tell where the zeros are
            done.extend(cells.middle[:, 0].tolist())
            return np.zeros(len(cells), dtype=bool), None, None
        found, weight = bounds.tight(cells.low, cells.high)
        kept = (found.low <= 0) & (found.high >= 0)
        width, size = cells.high - cells.low, np.maximum(np.abs(cells.low), np.abs(cells.high))
        tiny = (width <= np.maximum(_WIDTH * size, _WIDTH * (high - low) * 1e-3))[:, 0]
        done.extend(cells.middle[kept & tiny, 0].tolist())
        return kept & ~tiny, weight, None

    left = branch(Cells.of(np.array([[low]]), np.array([[high]])), look, Budget(np.inf), _ROUNDS)
    return done + left.middle[:, 0].tolist()


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
