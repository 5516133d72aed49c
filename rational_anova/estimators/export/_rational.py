"""Main effects of numbers as one quotient p/q of low degree each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.polynomial import chebyshev, polynomial

from ..._core.types import Array
from ...symbols.names import Names
from ._formula import Formula
from ._plan import Piece, Plan

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
        c = np.linalg.lstsq(matrix, target / weight, rcond=None)[0]
        p, q = chebyshev.cheb2poly(c[: m + 1]), chebyshev.cheb2poly(np.append(1.0, c[m + 1 :]))
        if _positive(q):
            found.append((p / q[0], q / q[0]))
        weight = np.maximum(np.abs(polynomial.polyval(u, q)), 1e-6)
    return found


def _positive(q: Array) -> bool:
    """Say whether a polynomial has no root from -1 to 1, nor one that rounding could put there."""
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
