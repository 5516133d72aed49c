"""What must hold for a formula to have a value, and proofs of it on boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from .._core.types import Array
from ._branch_and_bound import Budget, Cells, branch
from ._expressions import FUNCTIONS, Bounds, Unknown
from ._intervals import Interval, point

_LARGEST = 700.0  # exponent


@dataclass(frozen=True)
class Condition:
    """A demand on an argument: that it lies between `low` and `high`, or is not zero."""

    argument: sp.Expr
    demand: str
    low: float = -np.inf
    high: float = np.inf
    open: bool = False  # the ends themselves are not allowed
    nonzero: bool = False

    def met(self, x: Interval) -> Array:
        """Where the demand is met by all of an interval."""
        low, high = x.low, x.high
        if self.nonzero:
            return (low > 0) | (high < 0)
        if self.open:
            return (low > self.low) & (high < self.high)
        return (low >= self.low) & (high <= self.high)

    def broken(self, x: Interval) -> Array:
        """Where the demand is broken by all of an interval."""
        low, high = x.low, x.high
        if self.nonzero:
            return (low == 0) & (high == 0)
        if self.open:
            return (high <= self.low) | (low >= self.high)
        return (high < self.low) | (low > self.high)


def conditions(formula: sp.Expr) -> tuple[Condition, ...]:
    """Return what must hold inside a formula; then it is continuous, and its value finite."""
    found: dict[Condition, None] = {}
    for part in sp.postorder_traversal(formula):
        condition = _demand(part)
        if condition is not None and (condition.argument.free_symbols or not _fine(condition)):
            found[condition] = None
    return tuple(found)


def _fine(condition: Condition) -> bool:
    value = sp.N(condition.argument, 30)
    return bool(value.is_real and condition.met(point(float(value))))


def _demand(part: sp.Expr) -> Condition | None:
    if part.is_Pow and part.base != sp.E:
        base, exponent = part.as_base_exp() if not part.base.is_Rational else part.args
        whole = exponent.is_Number and sp.Rational(exponent).is_Integer
        if whole:
            return Condition(base, "free of zeros", nonzero=True) if exponent < 0 else None
        if exponent.is_number and exponent > 0:
            return Condition(base, "at least 0", 0.0)
        return Condition(base, "above 0", 0.0, open=True)
    argument = part.args[0] if part.args else part
    if isinstance(part, sp.log):
        return Condition(argument, "above 0", 0.0, open=True)
    if isinstance(part, sp.asin | sp.acos):
        return Condition(argument, "between -1 and 1", -1.0, 1.0)
    if isinstance(part, sp.atanh):
        return Condition(argument, "between -1 and 1", -1.0, 1.0, open=True)
    if isinstance(part, sp.acosh):
        return Condition(argument, "at least 1", 1.0)
    if isinstance(part, sp.exp | sp.sinh | sp.cosh):  # beyond it float64 overflows
        return Condition(argument, f"at most {_LARGEST:g}", high=_LARGEST)
    if isinstance(part, sp.tan):
        return Condition(sp.cos(argument), "free of zeros", nonzero=True)
    if isinstance(part, sp.erf | sp.erfc) or (
        isinstance(part, sp.besselj) and part.order.is_Integer
    ):
        return None  # continuous and bounded on the whole line, though there are no bounds here
    if part.is_Function and part.func not in FUNCTIONS:
        return Condition(part, "finite", open=True)  # which nothing here can prove
    return None


_ROUNDS = 80  # halvings of one box


def shown(
    condition: Condition,
    symbols: Sequence[sp.Symbol],
    box: Sequence[tuple[float, float]],
    boxes: int = 60_000,
) -> bool | None:
    """Return True if a condition is proven on a box, False if refuted, None if neither.

    The box is cut in halves, each across the side that matters most, until the bounds on every
    piece suffice, or there would be more than so many `boxes`.
    """
    used = [(s, ends) for s, ends in zip(symbols, box, strict=True) if condition.argument.has(s)]
    real = {s: sp.Symbol(s.name, real=True) for s, _ in used}
    bounds = Bounds(condition.argument.xreplace(real), list(real.values()))
    low, high = (np.array([[ends[k] for _, ends in used]], dtype=float) for k in (0, 1))
    search = _Demand(condition, bounds)
    try:
        search.try_points(Cells.corners(low, high).low)
        left = branch(Cells.of(low, high), search, Budget(boxes), _ROUNDS)
    except Unknown:
        return None
    if search.refuted:
        return False
    return None if len(left) else True


class _Demand:
    """Whether a condition holds: values at points may refute it, bounds on cells prove it."""

    def __init__(self, condition: Condition, bounds: Bounds) -> None:
        self.condition, self.bounds = condition, bounds
        self.above = self.below = self.refuted = False

    def __call__(self, cells: Cells) -> tuple[Array, Array | None, None]:
        """Return which cells are open; none any more once the condition is refuted."""
        self.try_points(cells.middle)
        if self.refuted:
            return np.zeros(len(cells), dtype=bool), None, None
        found, weight = self.bounds.tight(cells.low, cells.high)
        return ~self.condition.met(found), weight, None

    def try_points(self, points: Array) -> None:
        """Look at points (n, variables)."""
        found = self.bounds.natural(points, points)
        self.above |= bool((found.low > 0).any())
        self.below |= bool((found.high < 0).any())
        # What changes its sign is zero in between.
        crossed = self.condition.nonzero and self.above and self.below
        self.refuted |= crossed or bool(self.condition.broken(found).any())
