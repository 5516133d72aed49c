"""The ways to compute a unit and its derivatives: a kernel, or torch's operations in blocks.

`value` and `slopes` are where a kernel takes over from the torch operations of `Form`, which stay
for whatever no kernel can serve: vmap, double backward, forward mode, export.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import kernels
from .._core.checks import compute_dtype
from ._derivatives import gradients
from ._form import Form, total

# Numbers in a block of rows: so many that the temporaries of a block stay in the cache.
_BLOCK = 2**17


def value(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
) -> Tensor:
    """Return r(x), by the fastest way there is; see `apply` for the arguments."""
    arguments = flat(x, numerator, denominator, gate, pairs, dim)
    kernel = kernels.pick(form.spec, *arguments, pairs)
    result: Tensor | None = None
    if kernel is not None:
        result = kernels.attempt(kernel, "forward", form.spec, *arguments, pairs)
    if result is None:
        return formula(x, numerator, denominator, gate, pairs, form, dim, _BLOCK)
    shape = x.shape if pairs is None else (*x.shape[:-1], pairs.shape[1])
    return result.reshape(shape).to(x.dtype)


def slopes(
    grad: Tensor,
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
    inputs: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None]:
    """Return the derivatives of sum(grad * r) along x (if `inputs`), both polynomials and gate."""
    arguments = flat(x, numerator, denominator, gate, pairs, dim)
    top = _rows(grad, None, numerator.shape[-1], -1 if pairs is not None else dim)
    top = (top.squeeze(-1) if pairs is not None else top).to(arguments[0].dtype)
    # With gradients on, the derivatives will be differentiated themselves.
    kernel = None if torch.is_grad_enabled() else kernels.pick(form.spec, *arguments, pairs, top)
    found: Any = None
    if kernel is not None:
        found = kernels.attempt(kernel, "backward", form.spec, *arguments, pairs, top, inputs)
    if found is None:
        return _slopes_by_hand(grad, x, numerator, denominator, gate, pairs, form, dim, inputs)
    along, tops, bottoms, gates = found
    return (
        None if along is None else along.reshape(x.shape).to(x.dtype),
        tops.reshape(numerator.shape).to(numerator.dtype),
        bottoms.reshape(denominator.shape).to(denominator.dtype),
        None if gate is None else gates.to(gate.dtype),
    )


def flat(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    dim: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return rows and coefficients as kernels take them."""
    dtype = compute_dtype(x, numerator, denominator, gate)
    # Kernels on a GPU read half precision by themselves.
    rows = dtype if x.device.type == "cpu" or dtype != torch.float32 else x.dtype
    heads = [c if c.dim() == 3 else c.unsqueeze(0) for c in (numerator, denominator)]
    return (
        _rows(x, pairs, numerator.shape[-1], dim).to(rows),
        heads[0].to(dtype),
        heads[1].to(dtype),
        None if gate is None else gate.to(dtype),
    )


def _slopes_by_hand(
    grad: Tensor,
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
    along_inputs: bool,
) -> tuple[Tensor | None, Tensor, Tensor, Tensor | None]:
    """Do what `slopes` does by torch's operations, which can be differentiated again."""
    dtype = compute_dtype(x, numerator, denominator, gate)
    coefficients = internal(numerator, denominator, gate, dtype)
    rows = _rows(x, pairs, numerator.shape[-1], dim)
    tops = _rows(grad, None, numerator.shape[-1], -1 if pairs is not None else dim)
    inputs = []
    sums: list[list[Tensor]] = []
    blocks = zip(_blocks(rows, tops, _BLOCK), _blocks(tops, tops, _BLOCK), strict=True)
    for block, top in blocks:
        variables = _select(block, pairs, dtype)
        result = gradients(form, variables, *coefficients, top.to(dtype), inputs=along_inputs)
        if result.variables:
            inputs.append(_gather(result.variables, block, pairs).to(x.dtype))
        sums.append([part for part in result[1:] if part is not None])
    parts = [total(list(each)) for each in zip(*sums, strict=True)]
    return (
        torch.cat(inputs).reshape(x.shape) if inputs else None,
        parts[0].reshape(numerator.shape).to(numerator.dtype),
        parts[1].reshape(denominator.shape).to(denominator.dtype),
        None if gate is None else parts[2].to(gate.dtype),
    )


def formula(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor | None,
    form: Form,
    dim: int,
    block: int | None = None,
) -> Tensor:
    """Return r(x) by torch's operations, in blocks of rows of about `block` numbers if given."""
    dtype = compute_dtype(x, numerator, denominator, gate)
    coefficients = internal(numerator, denominator, gate, dtype)
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


def internal(
    numerator: Tensor, denominator: Tensor, gate: Tensor | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return coefficients as (heads, k, units, 1) and the gate as (units, 1)."""
    top, bottom = (
        (rows if rows.dim() == 3 else rows.unsqueeze(0)).unsqueeze(-1).to(dtype)
        for rows in (numerator, denominator)
    )
    return top, bottom, None if gate is None else gate.unsqueeze(-1).to(dtype)
