"""Where a law has a value: proofs by interval arithmetic with subdivision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from ._conditions import Condition, conditions
from ._expressions import readable
from ._subdivision import shown

Box = tuple[tuple[float, float], ...]
_MOST, _STEPS = 4.0, 7  # widest factor, bisections
_FEW = 8_000  # boxes for each of many proofs


@dataclass(frozen=True)
class Domain:
    """Whether a law is proven to have a finite real value everywhere in a box.

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
