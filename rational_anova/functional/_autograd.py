"""The autograd function behind every unit: it saves its input, and recomputes the rest.

A faster kernel belongs in `RationalFunction.forward` and `.backward`; whatever it cannot serve
stays on the torch operations of `Form`, which also serve double backward and vmap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .._validation import compute_dtype
from ._derivatives import gradients
from ._form import Form, total

# Numbers in a block of rows: so many that the temporaries of a block stay in the cache.
_BLOCK = 2**17


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
        return _evaluate(x, numerator, denominator, gate, pairs, form, dim, _BLOCK)

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
        coefficients = _internal(numerator, denominator, gate, dtype)
        rows = _rows(x, pairs, numerator.shape[-1], ctx.dim)
        tops = _rows(grad, None, numerator.shape[-1], -1 if pairs is not None else ctx.dim)
        inputs = []
        sums: list[list[Tensor]] = []
        blocks = zip(_blocks(rows, tops, _BLOCK), _blocks(tops, tops, _BLOCK), strict=True)
        for block, top in blocks:
            variables = _select(block, pairs, dtype)
            result = gradients(
                ctx.form, variables, *coefficients, top.to(dtype), inputs=ctx.needs_input_grad[0]
            )
            if result.variables:
                inputs.append(_gather(result.variables, block, pairs).to(x.dtype))
            sums.append([part for part in result[1:] if part is not None])
        parts = [total(list(each)) for each in zip(*sums, strict=True)]
        return (
            torch.cat(inputs).reshape(x.shape) if inputs else None,
            parts[0].reshape(numerator.shape).to(numerator.dtype),
            parts[1].reshape(denominator.shape).to(denominator.dtype),
            None if gate is None else parts[2].to(gate.dtype),
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
    block: int | None = None,
) -> Tensor:
    """Return r(x), by blocks of rows if `block` numbers are to stay in the cache."""
    dtype = compute_dtype(x, numerator, denominator, gate)
    coefficients = _internal(numerator, denominator, gate, dtype)
    rows = _rows(x, pairs, numerator.shape[-1], dim)
    shape = x.shape if pairs is None else (*x.shape[:-1], pairs.shape[1])
    wide = rows if pairs is None else rows[:, :1].expand(-1, pairs.shape[1])
    values = [
        form.value(_select(part, pairs, dtype), *coefficients).to(x.dtype)
        for part in _blocks(rows, wide, block)
    ]
    return (values[0] if len(values) == 1 else torch.cat(values)).reshape(shape)


def unit_inputs(
    x: Tensor, pairs: Tensor | None, units: int, dim: int, dtype: torch.dtype
) -> list[Tensor]:
    """Return the inputs of the units, each of shape (outer, units, inner)."""
    return _select(_rows(x, pairs, units, dim), pairs, dtype)


def _rows(x: Tensor, pairs: Tensor | None, units: int, dim: int) -> Tensor:
    """Return x as (outer, units, inner), or as (outer, features) for pairs."""
    if pairs is not None:
        return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    axis = dim % x.dim()
    # Channels that share a unit lie next to each other, so they join the axes behind them.
    inner = x.shape[axis] // units * math.prod(x.shape[axis + 1 :])
    return x.reshape(math.prod(x.shape[:axis]), units, inner)


def _select(rows: Tensor, pairs: Tensor | None, dtype: torch.dtype) -> list[Tensor]:
    rows = rows.to(dtype)
    if pairs is None:
        return [rows]
    return [rows.index_select(1, column).unsqueeze(-1) for column in pairs.unbind(0)]


def _blocks(rows: Tensor, wide: Tensor, block: int | None) -> Sequence[Tensor]:
    """Cut rows so that as many rows of `wide` hold about `block` numbers; on a CPU only."""
    if block is None or rows.device.type != "cpu" or wide.numel() <= 2 * block:
        return [rows]
    return rows.split(max(1, block // math.prod(wide.shape[1:])))


def _gather(grads: list[Tensor], rows: Tensor, pairs: Tensor | None) -> Tensor:
    """Bring the gradients of the units' inputs back to the features they came from."""
    if pairs is None:
        return grads[0]
    result = grads[0].new_zeros(rows.shape)
    for column, grad in zip(pairs.unbind(0), grads, strict=True):
        result = result.index_add(1, column, grad.squeeze(-1))
    return result


def _internal(
    numerator: Tensor, denominator: Tensor, gate: Tensor | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return coefficients as (heads, k, units, 1) and the gate as (units, 1)."""
    top, bottom = (
        (rows if rows.dim() == 3 else rows.unsqueeze(0)).unsqueeze(-1).to(dtype)
        for rows in (numerator, denominator)
    )
    return top, bottom, None if gate is None else gate.unsqueeze(-1).to(dtype)
