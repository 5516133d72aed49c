"""What must hold for a formula to have a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._intervals import FUNCTIONS

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

    def met(self, low: Array, high: Array) -> Array:
        """Where the demand is met by all of an interval."""
        if self.nonzero:
            return (low > 0) | (high < 0)
        if self.open:
            return (low > self.low) & (high < self.high)
        return (low >= self.low) & (high <= self.high)

    def broken(self, low: Array, high: Array) -> Array:
        """Where the demand is broken by all of an interval."""
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
    return bool(value.is_real and condition.met(np.float64(value), np.float64(value)))


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
    if part.is_Function and part.func not in FUNCTIONS:
        return Condition(part, "finite", open=True)  # which nothing here can prove
    return None
