"""`equivalent`: whether two formulas are the same law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from ... import _validation as check
from ._agreement import Points
from ._limit import within
from ._proof import proven
from ._rounding import Pair, dyadic, remainder, rounded_pairs

_SECONDS = 1.5  # for sympy to prove what the values show
_SMALL = 60  # operations that take no time
_STRICT, _LOOSE = 1e-20, 1e-9


@dataclass(frozen=True)
class Verdict:
    """How two formulas compare; true if they are identical.

    Attributes:
        identical: they have the same values.
        difference_constant: they differ by a constant, zero included.
        ratio_constant: one is a multiple of the other, and not zero.
        by: "sympy" if algebra shows it, else "evaluation": 30 digits at random points; with
            "after rounding" if it holds only when numbers are rounded.
    """

    identical: bool = False
    difference_constant: bool = False
    ratio_constant: bool = False
    by: str = "evaluation"

    @property
    def solved(self) -> bool:
        """Whether the law counts as a solution of its problem by SRBench's rule."""
        return self.difference_constant or self.ratio_constant

    def __bool__(self) -> bool:
        return self.identical


def equivalent(
    a: sp.Expr,
    b: sp.Expr,
    digits: int = 3,
    box: Mapping[Any, tuple[float, float]] | None = None,
) -> Verdict:
    """Compare a law with the truth by SRBench's rule.

    Numbers with a decimal point are rounded to `digits` decimals, in the law first, then in
    difference and quotient; the law is a solution if the difference is a constant, or the quotient
    one that is not zero. Numbers such as pi count as their decimals. Laws that agree before any
    rounding are solutions as well, be their numbers ever so small.

    Args:
        a: the law.
        b: the truth.
        digits: decimals to round to.
        box: range of the variables, by symbol or name. Those of a positive range are taken to be
            positive in all algebra, and so are those without a range.

    Example:
        >>> x, s = sp.symbols("x s")
        >>> truth = sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)
        >>> verdict = equivalent(0.398942 * sp.exp(-0.5 * x**2), truth)
        >>> verdict.identical, verdict.by
        (True, 'sympy after rounding')
        >>> equivalent(2 * x + s, x + s / 2).solved, equivalent(2 * x + s, x + s).solved
        (True, False)
    """
    check.integer(digits, "digits", 0)
    ranges = {_name(key): (float(low), float(high)) for key, (low, high) in (box or {}).items()}
    law, truth = (_prepared(formula, ranges) for formula in (a, b))
    if any(formula.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I) for formula in (law, truth)):
        return Verdict()
    symbols = sorted(law.free_symbols | truth.free_symbols, key=str)
    limits = {s: ranges[s.name] for s in symbols if s.name in ranges}
    points = Points((law, truth), symbols, limits)
    if not points.enough:
        return Verdict(*proven(law, truth, _SECONDS), by="sympy")

    plain = not (law.has(sp.Float) or truth.has(sp.Float))
    given = dyadic(law), dyadic(truth)
    best = _best(points, [given], _STRICT)
    if best is None or not best[1][0]:
        best = _best(points, rounded_pairs(law, truth, digits), _STRICT) or best
    if best is None or not best[1][0]:
        best = _best(points, [] if plain else [given], _LOOSE) or best
    if best is not None:
        pair, found = best
        shown = proven(*pair, _SECONDS)
        proof = shown[0] if found[0] else any(shown)
        by = "sympy" if proof else "evaluation"
        return Verdict(*found, by=by if pair == given else f"{by} after rounding")
    if points.near(law, truth):
        return _remainder(points, law, truth, digits)
    return Verdict()


def _name(key: Any) -> str:
    return key.name if isinstance(key, sp.Symbol) else str(key)


def _prepared(formula: Any, ranges: Mapping[str, tuple[float, float]]) -> sp.Expr:
    """Return the formula in symbols that know their sign, one for each name."""
    if isinstance(formula, str) or not isinstance(formula, sp.Expr | int | float):
        raise TypeError(
            f"a formula must be a sympy expression, got {formula!r}; read text with Names.parse"
        )
    formula = sp.sympify(formula)
    known = {
        s: sp.Symbol(s.name, **{_sign(ranges.get(s.name)): True}) for s in formula.free_symbols
    }
    return formula.subs(known, simultaneous=True)


def _sign(ends: tuple[float, float] | None) -> str:
    if ends is None or ends[0] >= 0:
        return "positive"
    return "negative" if ends[1] <= 0 else "real"


def _best(
    points: Points, pairs: list[Pair], tolerance: float
) -> tuple[Pair, tuple[bool, bool, bool]] | None:
    """Return the pair that agrees best, and how; None if none does."""
    found = [(pair, points.compare(*pair, tolerance)) for pair in pairs]
    found = [entry for entry in found if any(entry[1])]
    return max(found, key=lambda entry: sum(entry[1]), default=None)


def _remainder(points: Points, law: sp.Expr, truth: sp.Expr, digits: int) -> Verdict:
    """Judge by the difference alone, with the numbers before its terms rounded."""
    small = sp.count_ops(law) + sp.count_ops(truth) < _SMALL
    limited = within(_SECONDS, lambda: remainder(law, truth, digits), None)
    left = remainder(law, truth, digits) if limited is None and small else limited
    if left is None or left.has(sp.zoo, sp.nan):
        return Verdict()
    zero, constant, _ = points.compare(left + 1, sp.Integer(1), _STRICT)
    by = "evaluation" if left.free_symbols else "sympy"
    return Verdict(zero, constant, zero, f"{by} after rounding" if constant else "evaluation")
