"""The autograd function behind every unit: it saves its input, and recomputes the rest.

A faster kernel belongs in `RationalFunction.forward` and `.backward`; whatever it cannot serve
stays on the torch operations of `Form`, which also serve double backward and vmap.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .._validation import compute_dtype
from ._derivatives import gradients
from ._form import Form


def apply(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
) -> Tensor:
    """Evaluate a unit whose arguments have been checked; see `rational_1d` for their shapes.

    Args:
        x: input.
        numerator: coefficients of p.
        denominator: coefficients of q.
        gate: one number for each unit, or None.
        pairs: (2, K) for units of two variables, else None.
        form: what the units compute.
        dim: the feature axis of units of one variable.
    """
    # The compiler differentiates and fuses the plain operations better than a black box. Forward
    # mode goes through them too: a rule of our own is silently zero in the second of two levels.
    if torch.compiler.is_compiling() or forward_ad._current_level >= 0:
        return _evaluate(x, numerator, denominator, gate, pairs, form, dim)
    result: Tensor = RationalFunction.apply(x, numerator, denominator, gate, pairs, form, dim)
    return result


class RationalFunction(torch.autograd.Function):
    """r(x) with hand-written derivatives; saves x and the coefficients, nothing else."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor,
        numerator: Tensor,
        denominator: Tensor,
        gate: Tensor | None,
        pairs: Tensor | None,
        form: Form,
        dim: int,
    ) -> Tensor:
        """Return r(x)."""
        return _evaluate(x, numerator, denominator, gate, pairs, form, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the inputs of `forward`."""
        *tensors, ctx.form, ctx.dim = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives with respect to x, both polynomials and the gate."""
        x, numerator, denominator, gate, pairs = ctx.saved_tensors
        dtype = compute_dtype(x, numerator, denominator, gate)
        variables = unit_inputs(x, pairs, numerator.shape[-1], ctx.dim, dtype)
        result = gradients(
            ctx.form,
            variables,
            _coefficients(numerator, dtype),
            _coefficients(denominator, dtype),
            _gate(gate, dtype),
            grad.to(dtype).reshape(variables[0].shape),
            inputs=ctx.needs_input_grad[0],
        )
        return (
            _input_gradient(result.variables, x, pairs) if result.variables else None,
            result.numerator.reshape(numerator.shape).to(numerator.dtype),
            result.denominator.reshape(denominator.shape).to(denominator.dtype),
            None if result.gate is None else result.gate.to(gate.dtype),
            None,
            None,
            None,
        )


def _evaluate(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
) -> Tensor:
    dtype = compute_dtype(x, numerator, denominator, gate)
    result = form.value(
        unit_inputs(x, pairs, numerator.shape[-1], dim, dtype),
        _coefficients(numerator, dtype),
        _coefficients(denominator, dtype),
        _gate(gate, dtype),
    )
    return result.reshape(_output_shape(x, pairs)).to(x.dtype)


def unit_inputs(
    x: Tensor, pairs: Tensor | None, units: int, dim: int, dtype: torch.dtype
) -> list[Tensor]:
    """Return the inputs of the units, each of shape (outer, units, inner)."""
    x = x.to(dtype)
    if pairs is not None:
        rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        return [rows.index_select(1, column).unsqueeze(-1) for column in pairs.unbind(0)]
    axis = dim % x.dim()
    # Channels that share a unit lie next to each other, so they join the axes behind them.
    inner = x.shape[axis] // units * math.prod(x.shape[axis + 1 :])
    return [x.reshape(math.prod(x.shape[:axis]), units, inner)]


def _output_shape(x: Tensor, pairs: Tensor | None) -> tuple[int, ...]:
    return tuple(x.shape) if pairs is None else (*x.shape[:-1], pairs.shape[1])


def _input_gradient(grads: list[Tensor], x: Tensor, pairs: Tensor | None) -> Tensor:
    if pairs is None:
        return grads[0].reshape(x.shape).to(x.dtype)
    rows = grads[0].new_zeros(math.prod(x.shape[:-1]), x.shape[-1])
    for column, grad in zip(pairs.unbind(0), grads, strict=True):
        rows = rows.index_add(1, column, grad.squeeze(-1))
    return rows.reshape(x.shape).to(x.dtype)


def _coefficients(rows: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (k, units) or (heads, k, units) as (heads, k, units, 1)."""
    return (rows if rows.dim() == 3 else rows.unsqueeze(0)).unsqueeze(-1).to(dtype)


def _gate(gate: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if gate is None else gate.unsqueeze(-1).to(dtype)
