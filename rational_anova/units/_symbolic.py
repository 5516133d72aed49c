"""The symbolic form of a unit, from the same powers, psi and base as its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from torch import Tensor

from ..functional import Form, Powers


def symbols(names: Sequence[Any] | None, count: int) -> list[sympy.Symbol]:
    """Turn names into symbols, x0, x1, ... by default; symbols are taken as they are."""
    if names is None:
        return [sympy.Symbol(f"x{n}") for n in range(count)]
    try:
        given = [] if isinstance(names, str) else list(names)
    except TypeError:
        raise TypeError(f"names must be a list of {count} names, got {names!r}") from None
    if len(given) != count:
        raise ValueError(f"names must be a list of {count} names, got {names!r}")
    if len({str(name) for name in given}) < count:
        raise ValueError(f"names must differ from one another, got {names!r}")
    return [n if isinstance(n, sympy.Basic) else sympy.Symbol(str(n)) for n in given]


def expression(
    form: Form,
    inputs: Sequence[sympy.Expr],
    numerator: Tensor,  # (heads, T)
    denominator: Tensor,  # (heads, S)
    gate: float | None,
) -> sympy.Expr:
    """Return r as a sympy expression of its inputs; coefficients that are zero are left out."""
    total: Any = sympy.Integer(0)
    for top, bottom in zip(numerator, denominator, strict=True):
        d: Any = number(1 + form.eps)
        for part, powers in zip(form.split(bottom), form.denominator, strict=True):
            d += form.kind.expression(_polynomial(part, powers, inputs))
        total += _polynomial(top.unbind(0), form.numerator, inputs) / d
    if gate is None:
        return total
    mean = sum(inputs, start=sympy.Integer(0)) / len(inputs)
    base = form.base.expression(mean)
    return base + number(gate) * (total - base)


def number(value: float) -> sympy.Expr:
    """Return integers as integers and the rest as floats, without loss."""
    value = float(value)
    return sympy.Integer(int(value)) if value.is_integer() else sympy.Float(value)


def _polynomial(coefficients: Sequence[Tensor], powers: Powers, inputs: Sequence[Any]) -> Any:
    total: Any = sympy.Integer(0)
    for coefficient, row in zip(coefficients, powers, strict=True):
        if coefficient.item():
            term = number(coefficient.item())
            for x, power in zip(inputs, row, strict=True):
                term = term * x**power
            total += term
    return total
