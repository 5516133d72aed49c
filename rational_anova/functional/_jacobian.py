"""Rows of d(output)/d(coefficients), written where they will be used.

Gauss-Newton needs J^T J. J is kept transposed, one coefficient a line and one row of x a column:
each line then is written, and multiplied, in one stride.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .. import kernels
from ._derivatives import by_row, gradients
from ._form import Form
from ._paths import internal, unit_inputs

# Kernels write whole blocks of rows; this is a multiple of every size that a block can have.
_ROOM = 64


def jacobian_buffer(rows: int, outputs: int, columns: int, like: Tensor) -> Tensor:
    """Return an empty (outputs, columns, rows and some room) for `write_jacobian`."""
    return like.new_empty(outputs, columns, -(-rows // _ROOM) * _ROOM)


def write_jacobian(
    form: Form,
    x: Tensor,  # (rows, features)
    numerator: Tensor,  # (heads, m, units)
    denominator: Tensor,  # (heads, n, units)
    gate: Tensor | None,  # (units,)
    pairs: Tensor | None,  # (2, units)
    buffer: Tensor,
    columns: Sequence[int],
    weights: Tensor | None = None,
) -> Tensor:
    """Write derivatives along the coefficients into a buffer, and return the values of the units.

    Args:
        form: what the units compute.
        x: one unit for each feature, or pairs of features; of one dtype with the coefficients.
        numerator: coefficients of p.
        denominator: coefficients of q.
        gate: one number for each unit, or None.
        pairs: features of units of two variables, or None.
        buffer: of `jacobian_buffer`. Line c of output o then holds, row by row, the derivative of
            that output along one coefficient.
        columns: the first lines of p, of q and of the gate; those that follow are in the order of
            the flattened coefficients.
        weights: (outputs, units), the weight of each unit in each output; None for a plain sum.

    Returns:
        (rows, units).
    """
    rows, units = len(x), numerator.shape[-1]
    if pairs is None and x.shape != (rows, units):
        raise ValueError(
            f"x must be (rows, {units}), a feature for each unit, got {tuple(x.shape)}"
        )
    if buffer.shape[-1] < rows or buffer.shape[-1] % _ROOM or not buffer.is_contiguous():
        raise ValueError(
            "the buffer must be one of jacobian_buffer(), which has room for whole blocks of rows, "
            f"got shape {tuple(buffer.shape)} for {rows} rows"
        )
    weights = None if weights is None else weights.to(buffer.dtype)
    coefficients = (numerator, denominator, gate)
    kernel = kernels.pick(form.spec, x, *coefficients, pairs, buffer, weights)
    if kernel is not None and hasattr(kernel, "jacobian"):
        values: Tensor = kernel.jacobian(
            form.spec, x, *coefficients, pairs, buffer, columns, weights
        )
        return values
    variables = unit_inputs(x, pairs, units, -1, x.dtype)
    inner = internal(*coefficients, x.dtype)
    found = gradients(
        form, variables, *inner, torch.ones_like(variables[0]), inputs=False, reduce=by_row
    )
    for start, part in zip(columns, found[1:], strict=True):
        if part is None:
            continue
        count = part.shape[:-3].numel()  # rows of coefficients
        lines = part.squeeze(-1).transpose(-1, -2).reshape(count, units, len(x))
        if weights is not None:
            lines = lines * weights[:, None, :, None]
        span = slice(start, start + count * units)
        buffer[:, span, : len(x)] = lines.reshape(len(buffer), count * units, len(x))
    return form.value(variables, *inner).squeeze(-1)
