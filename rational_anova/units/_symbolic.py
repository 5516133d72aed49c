"""The symbolic form of a unit, from the same powers, psi and base as its numbers; its poles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..functional import Form, Powers

if TYPE_CHECKING:  # slow to import, and most units are never written as formulas
    import sympy


def symbols(names: Sequence[Any] | None, count: int) -> list[sympy.Symbol]:
    """Turn names into symbols, x0, x1, ... by default; symbols are taken as they are."""
    import sympy

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

    if form.reach is not None:
        return _in_pieces(form, inputs[0], numerator, denominator, gate)
    return _smooth(form, inputs, numerator, denominator, gate)


def _in_pieces(
    form: Form, x: sympy.Expr, numerator: Tensor, denominator: Tensor, gate: float | None
) -> sympy.Expr:
    """Return r in the range, and outside of it the base with what r is beyond it at the end."""
    import sympy

    assert form.reach is not None
    ends = []
    for end in (number(-form.reach), number(form.reach)):
        r = _smooth(form, [end], numerator, denominator, gate)
        ends.append(form.base.expression(x) + (r - form.base.expression(end)).evalf(17))
    inside = _smooth(form, [x], numerator, denominator, gate)
    within = sympy.Abs(x) <= number(form.reach)
    return sympy.Piecewise((inside, within), (ends[0], x < 0), (ends[1], True))


def _smooth(
    form: Form,
    inputs: Sequence[sympy.Expr],
    numerator: Tensor,
    denominator: Tensor,
    gate: float | None,
) -> sympy.Expr:
    import sympy

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
    import sympy

    value = float(value)
    return sympy.Integer(int(value)) if value.is_integer() else sympy.Float(value)


def _polynomial(coefficients: Sequence[Tensor], powers: Powers, inputs: Sequence[Any]) -> Any:
    import sympy

    total: Any = sympy.Integer(0)
    for coefficient, row in zip(coefficients, powers, strict=True):
        if coefficient.item():
            term = number(coefficient.item())
            for x, power in zip(inputs, row, strict=True):
                term = term * x**power
            total += term
    return total


_DIGITS, _STEPS = 40, 500


def roots(form: Form, denominator: Tensor) -> list[Tensor]:
    """Return the roots of d for each unit, all heads together, as complex128.

    Args:
        form: what the unit computes; its kind must be a polynomial one.
        denominator: coefficients, (heads, n, units).
    """
    if not form.kind.rational:
        raise ValueError(
            f"poles are the roots of a polynomial, and denominator={form.kind.name!r} is none; "
            "on the real line it has no pole at all: it is never below 1. "
            "Use 'square', 'sos' or 'polynomial' where poles matter"
        )
    rows = denominator.detach().to("cpu", torch.float64)
    if not rows.isfinite().all():
        bad = (~rows.isfinite()).any(0).any(0).nonzero()[0].item()
        raise ValueError(f"unit {bad} has coefficients that are not finite: it has no poles")
    return [
        torch.cat([_roots(form, rows[head, :, unit]) for head in range(rows.shape[0])])
        for unit in range(rows.shape[-1])
    ]


def _roots(form: Form, coefficients: Tensor) -> Tensor:
    import mpmath

    d = np.polynomial.Polynomial([mpmath.mpf(1 + form.eps)])
    for part, powers in zip(form.split(coefficients), form.denominator, strict=True):
        q = [mpmath.mpf(0)] * (max(row[0] for row in powers) + 1)
        for value, (power,) in zip(part, powers, strict=True):
            q[power] = mpmath.mpf(value.item())
        d = d + form.kind.expression(np.polynomial.Polynomial(q))
    rising = [*d.coef]
    while rising and not rising[-1]:
        rising.pop()
    degree = len(rising) - 1
    if degree < 1:
        return torch.empty(0, dtype=torch.complex128)
    # Not by eigenvalues in float64: they lose a pole at 1 beside another at 1e16. The variable is
    # scaled so that the first and the last coefficient are equal.
    with mpmath.workdps(_DIGITS):
        scale = mpmath.root(abs(rising[0] / rising[-1]), degree)
        falling = [c * scale**k for k, c in enumerate(rising)][::-1]
        try:
            scaled = mpmath.polyroots(falling, maxsteps=_STEPS, extraprec=_DIGITS * 10)
        except mpmath.libmp.NoConvergence:  # poles that coincide: float64 must do
            scaled = np.roots([complex(c / falling[0]) for c in falling]).tolist()
        found = [root * scale for root in scaled]
    ordered = sorted(map(complex, found), key=lambda root: (root.real, root.imag))
    return torch.tensor(ordered, dtype=torch.complex128)


def distance(poles: list[Tensor], columns: Tensor) -> Tensor:
    """Return how far the nearest pole of each unit lies from the range of its data.

    Args:
        poles: one tensor of roots for each unit.
        columns: the data of each unit, (units, n).

    Returns:
        (units,): 0 for a real pole inside the range, inf where there is no pole.
    """
    if not columns.isfinite().all():
        raise ValueError("x holds values that are not finite; leave those rows out")
    low, high = columns.amin(1).double(), columns.amax(1).double()
    nearest = torch.full((len(poles),), torch.inf, dtype=torch.float64)
    for unit, found in enumerate(poles):
        if found.numel():
            outside = torch.clamp(torch.maximum(low[unit] - found.real, found.real - high[unit]), 0)
            nearest[unit] = torch.hypot(outside, found.imag).min()
    return nearest
