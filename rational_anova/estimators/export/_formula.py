"""Models as formulas of sympy."""

from __future__ import annotations

from typing import Any

import sympy

from ..._core.types import Array
from ...symbols.names import Names
from .._model import Axes
from ._plan import Plan
from ._scalar import Language, decision


class Formula(Language[Any]):
    """Expressions of sympy, for rows without gaps whose numbers are in the range of the data.

    Args:
        symbols: of the inputs.
        expanded: write heads as quotients of polynomials in x.
        digits: of the numbers; None for all.
    """

    def __init__(self, symbols: tuple[Any, ...], expanded: bool, digits: int | None) -> None:
        self.symbols, self.expanded, self.digits = symbols, expanded, digits

    def number(self, value: float) -> Any:
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
        if self.expanded:
            top = n(constant * width**2 - linear * width * centre) + n(linear * width) * x
            return top / (n(centre**2 + width**2) - n(2 * centre) * x + x**2)
        u = (x - n(centre)) / n(width)
        return (n(constant) + n(linear) * u) / (1 + u**2)

    def cases(self, axis: int, gap: float, borders: tuple[float, float] | None, inside: Any) -> Any:
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
    plan: Plan, combination: Array, expanded: bool, digits: int | None, only: Axes | None
) -> Any:
    """Return f, or an effect, as an expression of sympy."""
    language = Formula(Names(plan.names).symbols, expanded, digits)
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
