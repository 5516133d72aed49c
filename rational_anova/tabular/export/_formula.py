"""Models as formulas of sympy; main effects of numbers as one quotient p/q of low degree each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import sympy
from numpy.polynomial import chebyshev, polynomial

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ...symbols import Names
from ..model import Axes
from ._plan import Language, Piece, Plan, decision
from ._rational import read_number

SUMS = 12  # digits of a sum of decimals


class Formula(Language[Any]):
    """Expressions of sympy, for rows without gaps whose numbers are in the range of the data.

    Args:
        symbols: of the inputs.
        expanded: write heads as quotients of polynomials in x.
        digits: of the numbers; None for all.
        exact: numbers that `auto_rational` made exact, by the float that stands for each.
    """

    def __init__(
        self,
        symbols: tuple[Any, ...],
        expanded: bool,
        digits: int | None,
        exact: Mapping[float, str] | None = None,
    ) -> None:
        self.symbols, self.expanded, self.digits = symbols, expanded, digits
        self.exact = {} if digits is not None else exact or {}

    def number(self, value: float) -> Any:
        if value in self.exact:
            return read_number(self.exact[value])
        if self.exact:  # sums of decimals are decimals
            text = f"{value:.{SUMS}g}"
            if abs(float(text) - value) <= 2 * math.ulp(value):
                return sympy.Rational(text)
        if self.digits is not None and value:
            value = float(f"{value:.{self.digits}g}")
        if float(value).is_integer() and abs(value) < 2**53:
            return sympy.Integer(int(value))
        return sympy.Float(value) if self.digits is None else sympy.Float(value, self.digits)

    def total(self, terms: list[Any]) -> Any:
        return sympy.Add(*terms)

    def product(self, first: Any, second: Any) -> Any:
        return first * second

    def head(self, axis: int, centre: float, width: float, constant: float, linear: float) -> Any:
        x, n = self.symbols[axis], self.number
        if self.expanded and self.exact:
            c, w, a, b = (n(value) for value in (centre, width, constant, linear))
            return (a * w**2 - b * w * c + b * w * x) / (c**2 + w**2 - 2 * c * x + x**2)
        if self.expanded:
            top = n(constant * width**2 - linear * width * centre) + n(linear * width) * x
            return top / (n(centre**2 + width**2) - n(2 * centre) * x + x**2)
        u = (x - n(centre)) / n(width)
        return (n(constant) + n(linear) * u) / (1 + u**2)

    def cases(
        self, axis: int, gap: float, codes: dict[float, float],
        borders: tuple[float, float] | None, inside: Any,
    ) -> Any:  # fmt: skip
        return inside

    def levels(self, axis: int, values: Array) -> Any:
        other = float(values[-1])
        chosen = [
            (self.number(float(v)), sympy.Eq(self.symbols[axis], k))
            for k, v in enumerate(values[:-1])
            if v != other
        ]
        if not chosen:
            return self.number(other)
        # Not evaluated: sympy would compare all conditions with each other.
        return sympy.Piecewise(*chosen, (self.number(other), True), evaluate=False)


def formula(
    plan: Plan,
    combination: Array,
    expanded: bool,
    digits: int | None,
    only: Axes | None,
    exact: Mapping[float, str] | None = None,
) -> Any:
    """Return f, or an effect, as an expression of sympy."""
    language = Formula(Names(plan.names).symbols, expanded, digits, exact)
    return decision(language, plan, combination, only)


def axes_of(plan: Plan, effect: Any) -> Axes:
    """Return the inputs of an effect that is given by one name or position, or by two."""
    names = {name: i for i, name in enumerate(plan.names)}
    given = effect if isinstance(effect, tuple | list) else [effect]
    axes = tuple(sorted(names.get(one, -1) if isinstance(one, str) else one for one in given))
    if axes in plan.effects:
        return axes
    there = ", ".join(map(repr, map(plan.title, plan.effects))) or "none"
    raise ValueError(f"the model has no effect {effect!r}; there are {there}")


HIGHEST = 12  # degree of p and of q
POINTS, CHECKED = 300, 4001  # to fit on, and to measure the error on
REWEIGHTED = 12  # times that |q p_true - p| is divided by the last q


@dataclass(frozen=True)
class Quotient:
    """p/q in u from -1 to 1, lowest powers first; q(0) = 1.

    Args:
        p: coefficients.
        q: coefficients.
        error: the largest difference, in units of the effect's range.
    """

    p: Array
    q: Array
    error: float

    @property
    def degrees(self) -> tuple[int, int]:
        """Those of p and q."""
        return len(self.p) - 1, len(self.q) - 1


def rational_effects(
    plan: Plan, combination: Array, precision: float, digits: int | None
) -> pd.DataFrame:
    """Return a row for each main effect of a number."""
    found = []
    language = Formula(Names(plan.names).symbols, False, digits)
    for axes, pieces in plan.effects.items():
        feature = plan.features[axes[0]]
        if len(axes) > 1 or feature.category or feature.clip is None:
            continue
        low, high = feature.clip
        best = _lowest(pieces, combination, low, high, precision)
        if best is not None:
            u = _scaled(language, axes[0], low, high)
            top, bottom = (_expression(language, c, u) for c in (best.p, best.q))
            reached = best.error <= precision
            found.append((feature.name, best.degrees, best.error, reached, top / bottom))
    return pd.DataFrame(found, columns=["effect", "degrees", "error", "reached", "formula"])


def _lowest(
    pieces: list[Piece], combination: Array, low: float, high: float, precision: float
) -> Quotient | None:
    """Return the quotient of lowest degree that is near enough, or else the nearest one."""

    def effect(u: Array) -> Array:
        x = low + (high - low) * (u + 1) / 2
        parts = [p.columns[0].at(x.tolist()) @ (p.numerators @ combination) for p in pieces]
        return np.asarray(sum(parts))

    u = np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    check = np.linspace(-1, 1, CHECKED)
    target, truth = effect(u), effect(check)
    size = float(np.ptp(truth))
    if size == 0:
        return None
    degrees = [(m, n) for m in range(HIGHEST + 1) for n in range(0, HIGHEST + 1, 2)]
    best = None
    for m, n in sorted(degrees, key=lambda d: (sum(d), d[1])):
        for p, q in _fits(u, target, m, n):
            value = polynomial.polyval(check, p) / polynomial.polyval(check, q)
            error = float(np.abs(value - truth).max() / size)
            if best is None or error < best.error:
                best = Quotient(p, q, error)
        if best is not None and best.error <= precision:
            break
    return best


def _fits(u: Array, target: Array, m: int, n: int) -> list[tuple[Array, Array]]:
    """Return p and q whose quotient is near the target, q without a root from -1 to 1.

    The error of p - q f is linear in both; dividing it by the last q makes it that of p/q - f.
    """
    top, bottom = chebyshev.chebvander(u, m), chebyshev.chebvander(u, n)[:, 1:]
    weight = np.ones(len(u))
    found = []
    for _ in range(REWEIGHTED if n else 1):
        matrix = np.hstack([top, -target[:, None] * bottom]) / weight[:, None]
        c = lstsq(matrix, target / weight)
        p, q = chebyshev.cheb2poly(c[: m + 1]), chebyshev.cheb2poly(np.append(1.0, c[m + 1 :]))
        if _positive(q):
            found.append((p / q[0], q / q[0]))
        weight = np.maximum(np.abs(polynomial.polyval(u, q)), 1e-6)
    return found


def _positive(q: Array) -> bool:
    """Return whether a polynomial has no root from -1 to 1, not even by rounding."""
    if len(q) == 1:
        return bool(q[0] > 0)
    roots = polynomial.polyroots(q)
    near = (np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1 + 1e-6)
    return bool(q[0] > 0 and not near.any())


def _scaled(language: Formula, axis: int, low: float, high: float) -> Any:
    middle, half = (low + high) / 2, (high - low) / 2
    return (language.symbols[axis] - language.number(middle)) / language.number(half)


def _expression(language: Formula, coefficients: Array, u: Any) -> Any:
    terms = [language.number(float(c)) * u**k for k, c in enumerate(coefficients)]
    return language.total(terms)
