"""`equivalent`: whether two formulas are the same law."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy as sp

from .._core import checks as check
from ._algebra import attempted, expanded_terms
from ._thresholds import EXPANDED_TERMS, PROVEN_TERMS, SIMPLIFIED

DIGITS = 30
_INSIDE, _OUTSIDE, _TRIES, _FEWEST = 12, 12, 400, 5
_WIDEST = 64.0  # an approximation that is good in the box is not so far away from it
_USUAL = ((1.0, 5.0), (0.1, 1.0), (0.01, 0.3))  # for a variable of unknown range
Point = tuple[float, ...]


class Points:
    """Points inside a box and far outside of it where some formulas have real values."""

    def __init__(
        self,
        formulas: Sequence[sp.Expr],
        symbols: Sequence[sp.Symbol],
        box: Mapping[sp.Symbol, tuple[float, float]],
    ) -> None:
        self.symbols = tuple(symbols)
        self._known: dict[sp.Expr, list[Any]] = {}
        draw = random.Random(0)
        functions = [sp.lambdify(self.symbols, f, "mpmath") for f in formulas]
        self.points: list[Point] = []
        self.inside = 0
        for wanted, widest in ((_INSIDE, 1.0), (_INSIDE + _OUTSIDE, _WIDEST)):
            for _ in range(_TRIES):
                if len(self.points) >= wanted:
                    break
                factor = widest ** draw.random()
                point = tuple(_drawn(draw, box.get(s), factor) for s in self.symbols)
                if all(_value(function, point) is not None for function in functions):
                    self.points.append(point)
            self.inside = self.inside or len(self.points)

    @property
    def enough(self) -> bool:
        """Whether there are points enough to tell formulas apart."""
        return len(self.points) >= _FEWEST

    def values(self, formula: sp.Expr) -> list[Any]:
        """Return the value at each point; None where it is not a real number."""
        if formula not in self._known:
            function = sp.lambdify(self.symbols, formula, "mpmath")
            self._known[formula] = [_value(function, point) for point in self.points]
        return self._known[formula]

    def compare(self, a: sp.Expr, b: sp.Expr, tolerance: float) -> tuple[bool, bool, bool]:
        """Return whether a = b, whether a - b is constant, and a / b is and not zero."""
        both = list(zip(self.values(a), self.values(b), strict=True))
        whole = [(n, x, y) for n, (x, y) in enumerate(both) if x is not None and y is not None]
        if len(whole) < _FEWEST:
            return False, False, False
        with mpmath.workdps(DIGITS):
            near = [y for n, _, y in whole if n < self.inside] or [y for _, _, y in whole]
            spread = max(near) - min(near) or abs(near[0]) or mpmath.mpf(1)
            _, x0, y0 = whole[0]

            def apart(x: Any, y: Any, n: int) -> Any:
                # Inside the box what matters is what varies, not a large constant.
                size = max(abs(x), abs(y))
                return tolerance * (min(size, spread) if n < self.inside else size)

            same = all(abs(x - y) <= apart(x, y, n) for n, x, y in whole)
            shifted = all(abs(x - y - (x0 - y0)) <= 2 * apart(x, y, n) for n, x, y in whole)
            scaled = x0 != 0 and y0 != 0
            scaled = scaled and all(
                abs(x * (y0 / x0) - y) <= 2 * apart(x * (y0 / x0), y, n) for n, x, y in whole
            )
        return same, same or shifted, same or scaled

    def near(self, a: sp.Expr, b: sp.Expr) -> bool:
        """Return whether a and b agree so roughly that rounding might be the difference."""
        return any(self.compare(a, b, 0.05))


def _drawn(draw: random.Random, ends: tuple[float, float] | None, factor: float) -> float:
    low, high = ends or draw.choice(_USUAL)
    if low == high:  # a column that does not vary: other values must do
        low, high = sorted((low / 2, low * 1.5)) if low else (-1.0, 1.0)
    sign = 1 if low >= 0 else -1 if high <= 0 else 0
    middle, half = (low + high) / 2, (high - low) / 2 * factor
    low, high = middle - half, middle + half
    if sign > 0:
        low = max(low, high * 1e-3)
    elif sign < 0:
        high = min(high, low * 1e-3)
    return draw.uniform(low, high)


def _value(function: Any, point: Point) -> Any:
    with mpmath.workdps(DIGITS + 10):
        try:
            value = mpmath.mpmathify(function(*map(mpmath.mpf, point)))
        except Exception:  # a pole, an overflow: the formula has no value here
            return None
        real = isinstance(value, mpmath.mpf) and mpmath.isfinite(value)
        return value if real else None


Step = Callable[[sp.Expr], sp.Expr]


def proven(a: sp.Expr, b: sp.Expr) -> tuple[bool, bool, bool]:
    """Return whether sympy shows a = b, a - b constant, a / b constant; not where it is long."""
    difference = _number(a - b)
    if difference is not None:
        same = bool(difference == 0)
        return same, True, same
    ratio = _number(a / b)
    return bool(ratio == 1), bool(ratio == 1), bool(ratio is not None and ratio != 0)


def _number(expr: sp.Expr) -> sp.Expr | None:
    """Return the number that an expression is; None if it does not look like one."""
    for form in _forms(expr):
        if form is not None and not form.free_symbols:
            return attempted(_settled, form, math.inf)
    return None


def _settled(number: sp.Expr) -> sp.Expr:
    """Return 0 for a number that is zero to 25 digits."""
    return sp.Integer(0) if number.is_zero or abs(number.evalf(30)) < 1e-25 else number


def _forms(expr: sp.Expr) -> Iterator[sp.Expr | None]:
    """The same in other words, the cheap ones first; None in place of what is too long to do."""
    yield expr
    if expanded_terms(expr) <= EXPANDED_TERMS:
        yield attempted(sp.expand, expr, math.inf)
    yield attempted(_cancelled, expr, PROVEN_TERMS)
    waves = attempted(lambda e: e.rewrite(sp.exp), expr, PROVEN_TERMS)
    if waves is not None:
        yield attempted(lambda e: _cancelled(sp.expand(e, power_exp=False)), waves, PROVEN_TERMS)
    yield attempted(_without_roots, expr, PROVEN_TERMS)
    yield attempted(sp.simplify, expr, PROVEN_TERMS, SIMPLIFIED)
    if waves is not None:
        yield attempted(sp.simplify, waves, PROVEN_TERMS, SIMPLIFIED)


def _cancelled(expr: sp.Expr) -> sp.Expr:
    return sp.cancel(sp.together(expr))


def _without_roots(expr: sp.Expr) -> sp.Expr:
    roots = expr.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and not e.exp.is_Integer, _factored
    )
    return _cancelled(sp.powsimp(roots, force=False))


def _factored(power: sp.Expr) -> sp.Expr:
    """Draw factors of known sign out of a root: sqrt(1 - v**2/c**2) = sqrt(c**2 - v**2)/c."""
    return sp.expand_power_base(sp.Pow(sp.factor(sp.together(power.base)), power.exp))


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
        return Verdict(*proven(law, truth), by="sympy")

    plain = not (law.has(sp.Float) or truth.has(sp.Float))
    given = dyadic(law), dyadic(truth)
    best = _best(points, [given], _STRICT)
    if best is None or not best[1][0]:
        best = _best(points, rounded_pairs(law, truth, digits), _STRICT) or best
    if best is None or not best[1][0]:
        best = _best(points, [] if plain else [given], _LOOSE) or best
    if best is not None:
        pair, found = best
        shown = proven(*pair)
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
    if expanded_terms(law) + expanded_terms(truth) > EXPANDED_TERMS:
        return Verdict()
    left = remainder(law, truth, digits)
    if left.has(sp.zoo, sp.nan):
        return Verdict()
    zero, constant, _ = points.compare(left + 1, sp.Integer(1), _STRICT)
    by = "evaluation" if left.free_symbols else "sympy"
    return Verdict(zero, constant, zero, f"{by} after rounding" if constant else "evaluation")
