"""The units as operators of torch, which is how `torch.compile` sees them: one node, not fifty."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._form import Form
from ._pairs import check_pairs
from ._paths import slopes, value


def operator(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
) -> Tensor:
    """Call the operator; arguments as in `apply`."""
    names = form.kind.name, form.base.name
    numbers = (form.variables, *form.degrees, *names, form.eps, form.constant, form.reach)
    result: Tensor = torch.ops.rational_anova.value(
        x, numerator, denominator, gate, pairs, *numbers, dim
    )
    return result


@torch.library.custom_op("rational_anova::value", mutates_args=())
def _value(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    variables: int,
    above: int,
    below: int,
    kind: str,
    base: str,
    eps: float,
    constant: bool,
    reach: float | None,
    dim: int,
) -> Tensor:
    form = Form.make(variables, (above, below), kind, base, eps, constant, reach)
    if pairs is not None:  # a compiled graph has not looked at their values
        check_pairs(pairs, x.shape[-1])
    # What the compiler is told of strides is that there are none.
    return value(x, numerator, denominator, gate, pairs, form, dim).contiguous()


@_value.register_fake
def _(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    *numbers: Any,
) -> Tensor:
    return x.new_empty(x.shape if pairs is None else (*x.shape[:-1], pairs.shape[1]))


@torch.library.custom_op("rational_anova::slopes", mutates_args=())
def _slopes(
    grad: Tensor,
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    variables: int,
    above: int,
    below: int,
    kind: str,
    base: str,
    eps: float,
    constant: bool,
    reach: float | None,
    dim: int,
    inputs: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    form = Form.make(variables, (above, below), kind, base, eps, constant, reach)
    if pairs is not None:
        check_pairs(pairs, x.shape[-1])
    with torch.no_grad():
        found = slopes(grad, x, numerator, denominator, gate, pairs, form, dim, inputs)
    # An operator returns tensors, always: an empty one stands for none.
    along, tops, bottoms, gates = (
        x.new_empty(0) if part is None else part.contiguous() for part in found
    )
    return along, tops, bottoms, gates


@_slopes.register_fake
def _(
    grad: Tensor,
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    *numbers: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return (
        x.new_empty(x.shape if numbers[-1] else 0),
        numerator.new_empty(numerator.shape),
        denominator.new_empty(denominator.shape),
        x.new_empty(0) if gate is None else gate.new_empty(gate.shape),
    )


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:5])
    ctx.numbers = inputs[5:]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    along, tops, bottoms, gates = torch.ops.rational_anova.slopes(
        grad, *ctx.saved_tensors, *ctx.numbers, ctx.needs_input_grad[0]
    )
    needs = ctx.needs_input_grad
    wanted = (along, tops, bottoms, gates)
    parts = (part if need else None for part, need in zip(wanted, needs[:4], strict=True))
    return (*parts, *[None] * 10)


_value.register_autograd(_backward, setup_context=_keep)
