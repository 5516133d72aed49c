"""Pairs that send what they compute to both of their features, in one pass over the batch.

By torch's operations, each message is written once and read many times; a kernel adds it up while
it has it, and needs no memory for messages that nobody asks for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .. import kernels
from ._autograd import apply, call
from ._form import Form
from ._paths import flat, slopes


class Sent(NamedTuple):
    """What comes of messages: x with them added, they themselves, what a readout reads."""

    features: Tensor  # (..., features)
    messages: Tensor | None  # (..., K)
    read: Tensor | None  # (..., outputs)


def send(
    x: Tensor,  # (..., features)
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor,  # (2, K)
    form: Form,
    readout: Tensor | None = None,  # (outputs, K)
    keep: bool = True,
) -> Sent:
    """Add r of each pair to both of its features.

    Args:
        x: input.
        numerator: coefficients of p.
        denominator: coefficients of q.
        gate: one number for each pair, or None.
        pairs: of features.
        form: what the units compute.
        readout: weights with which the messages are added up to outputs, or None.
        keep: whether the messages themselves are wanted.
    """
    arguments = (x, numerator, denominator, gate, pairs)
    looked_into = torch.compiler.is_compiling() or torch.jit.is_tracing()
    if looked_into or forward_ad._current_level >= 0 or not _served(*arguments, readout, form):
        return spread(x, apply(*arguments, form, -1), pairs, readout, keep)
    features, messages, read = call(SendFunction, *arguments, readout, form, keep)
    return Sent(features, messages if keep else None, None if readout is None else read)


def spread(
    x: Tensor, messages: Tensor, pairs: Tensor, readout: Tensor | None = None, keep: bool = True
) -> Sent:
    """Do with messages (..., K) what `send` does, by torch's operations."""
    features = x
    for end in pairs.unbind(0):
        features = features.index_add(-1, end, messages)
    read = None if readout is None else torch.nn.functional.linear(messages, readout)
    return Sent(features, messages if keep else None, read)


def _served(
    x: Tensor,
    numerator: Tensor,
    denominator: Tensor,
    gate: Tensor | None,
    pairs: Tensor,
    readout: Tensor | None,
    form: Form,
) -> bool:
    """Return whether a kernel sends messages; all must have the dtype that it computes in."""
    rows = flat(x, numerator, denominator, gate, pairs, -1)
    kernel = kernels.pick(form.spec, *rows, pairs, readout)
    return (
        kernel is not None
        and hasattr(kernel, "send")
        and all(t is None or t.dtype == rows[0].dtype for t in (x, readout))
    )


class SendFunction(torch.autograd.Function):
    """`send` by a kernel; what is not wanted comes as an empty tensor."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor,
        numerator: Tensor,
        denominator: Tensor,
        gate: Tensor | None,
        pairs: Tensor,
        readout: Tensor | None,
        form: Form,
        keep: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return features, messages and what is read of them."""
        rows = flat(x, numerator, denominator, gate, pairs, -1)
        kernel: Any = kernels.pick(form.spec, *rows, pairs, readout)
        features, messages, read = kernel.send(form.spec, *rows, pairs, readout, keep)
        lead = x.shape[:-1]
        return (
            features.reshape(x.shape),
            x.new_empty(0) if messages is None else messages.reshape(*lead, messages.shape[-1]),
            x.new_empty(0) if read is None else read.reshape(*lead, read.shape[-1]),
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep the inputs of `forward`."""
        *tensors, ctx.form, ctx.keep = inputs
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the derivatives with respect to x, both polynomials, gate and readout."""
        x, numerator, denominator, gate, pairs, readout = ctx.saved_tensors
        wanted = (True, ctx.keep, readout is not None)
        held = [grad if want else None for grad, want in zip(grads, wanted, strict=True)]
        if all(grad is None for grad in held):
            return (None,) * 8
        rows = flat(x, numerator, denominator, gate, pairs, -1)
        tops = [None if grad is None else _flat_rows(grad).to(rows[0].dtype) for grad in held]
        kernel: Any = None
        if not torch.is_grad_enabled():  # else the derivatives will be differentiated themselves
            kernel = kernels.pick(ctx.form.spec, *rows, pairs, readout, *tops)
        inputs = ctx.needs_input_grad[0]
        if kernel is None:
            found = _by_hand(ctx, held, inputs)
        else:
            found = kernel.send_backward(ctx.form.spec, *rows, pairs, readout, tops, inputs)
        along, above, below, gates, weights = (
            None if part is None else part.reshape(like.shape)
            for part, like in zip(found, (x, numerator, denominator, gate, readout), strict=True)
        )
        return along, above, below, gates, None, weights, None, None


def _flat_rows(tensor: Tensor) -> Tensor:
    """Return (..., n) as (rows, n); flatten and reshape(-1) know neither vmap nor empty batches."""
    return tensor.reshape(tensor.shape[:-1].numel(), tensor.shape[-1])


def _by_hand(ctx: Any, grads: list[Tensor | None], inputs: bool) -> tuple[Tensor | None, ...]:
    """Do it by torch's operations, which can be differentiated again."""
    x, numerator, denominator, gate, pairs, readout = ctx.saved_tensors
    features, own, read = grads
    weights = None
    if features is not None:
        heard = features.index_select(-1, pairs[0]) + features.index_select(-1, pairs[1])
        own = heard if own is None else own + heard
    if read is not None:
        back = read @ readout
        own = back if own is None else own + back
        messages = apply(x, numerator, denominator, gate, pairs, ctx.form, -1)
        weights = _flat_rows(read).T @ _flat_rows(messages)
    assert own is not None
    along, *rest = slopes(own, x, numerator, denominator, gate, pairs, ctx.form, -1, inputs)
    if features is not None and along is not None:
        along = along + features
    return (along, *rest, weights)
