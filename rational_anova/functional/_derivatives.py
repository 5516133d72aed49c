"""The derivatives of a unit by hand, in torch operations.

Nothing larger than p, d and their ratio is formed: d^2 and p d' would overflow in float32 at inputs
where r itself is small. All operations can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from . import _polynomial as polynomial
from ._form import Form, total
from ._polynomial import Powers


def over_batch(rows: Tensor) -> Tensor:
    """Sum (outer, units, inner) over the axes that coefficients are shared along."""
    return rows.sum((0, 2))


def by_row(rows: Tensor) -> Tensor:
    """Keep every row: the derivatives then are a Jacobian."""
    return rows


class Gradients(NamedTuple):
    """Derivatives of a scalar loss; `variables` holds one entry for each input of the unit."""

    variables: list[Tensor]
    numerator: Tensor
    denominator: Tensor
    gate: Tensor | None


def gradients(
    form: Form,
    variables: Sequence[Tensor],
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    grad: Tensor,
    inputs: bool = True,
    reduce: Callable[[Tensor], Tensor] = over_batch,
) -> Gradients:
    """Return the derivatives of sum(grad * r); those of the inputs only if asked for.

    With `reduce=by_row` those of the coefficients are (..., outer, units, inner), not summed.
    """
    open_gate = grad if gate is None else grad * gate
    given, variables = variables, form.held(variables)
    ratios, tops, bottoms = [], [], []
    slopes: list[list[Tensor]] = [[] for _ in variables]
    for top, bottom in zip(numerator, denominator, strict=True):
        above = top.unbind(0)
        d, qs = form.denominators(variables, bottom)
        ratio = polynomial.evaluate(above, form.numerator, variables) / d
        weight = open_gate / d  # d loss / d p
        tops.append(torch.stack(polynomial.moments(weight, form.numerator, variables, reduce)))
        if inputs:
            _collect(slopes, weight, above, form.numerator, variables)
        below, rows = -open_gate * ratio, []
        for q, part, powers in zip(qs, form.split(bottom), form.denominator, strict=True):
            weight = below * (form.kind.slope(q) / d)  # d loss / d q
            rows += polynomial.moments(weight, powers, variables, reduce)
            if inputs:
                _collect(slopes, weight, part, powers, variables)
        bottoms.append(torch.stack(rows))
        ratios.append(ratio)
    return Gradients(
        _input_gradients(form, given, slopes, gate, grad, open_gate) if inputs else [],
        torch.stack(tops),
        torch.stack(bottoms),
        None if gate is None else reduce(grad * _beyond_base(form, variables, ratios)),
    )


def _beyond_base(form: Form, variables: Sequence[Tensor], ratios: list[Tensor]) -> Tensor:
    """p/d - b: what the gate lets through."""
    if form.base.is_zero:
        return total(ratios)
    return total(ratios) - form.base.value(form.mean(variables))


def _collect(
    slopes: list[list[Tensor]],
    weight: Tensor,
    coefficients: Sequence[Tensor],
    powers: Powers,
    variables: Sequence[Tensor],
) -> None:
    """Add weight * d(polynomial)/d(variable) to the slopes of each variable."""
    for axis in range(len(variables)):
        lowered, rest = polynomial.differentiate(coefficients, powers, axis)
        if rest:
            slopes[axis].append(weight * polynomial.evaluate(lowered, rest, variables))


def _input_gradients(
    form: Form,
    variables: Sequence[Tensor],
    slopes: list[list[Tensor]],
    gate: Tensor | None,
    grad: Tensor,
    open_gate: Tensor,
) -> list[Tensor]:
    result = [total(terms) if terms else torch.zeros_like(grad) for terms in slopes]
    if form.reach is not None:
        (x,) = variables
        beyond = open_gate * form.base.slope(x)
        result = [torch.where(x.abs() <= form.reach, result[0], beyond)]
    if gate is None or form.base.is_zero:
        return result
    through = grad * (1 - gate) * form.base.slope(form.mean(variables)) / len(variables)
    return [slope + through for slope in result]
