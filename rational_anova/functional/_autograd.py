"""`apply`, behind every unit: it saves its input, and recomputes the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .. import kernels
from ._form import Form
from ._operator import operator
from ._paths import formula, slopes, value


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
    arguments = (x, numerator, denominator, gate, pairs)
    # Forward mode goes through plain operations: a rule of our own is silently zero in the second
    # of two levels.
    if forward_ad._current_level >= 0 or _off():
        return formula(*arguments, form, dim)
    if torch.compiler.is_compiling():
        # Others must be able to read an exported graph, and on a GPU the compiler fuses plain
        # operations into a kernel of its own. For transforms the operator has no rules.
        if torch.compiler.is_exporting() or x.device.type != "cpu" or _transformed():
            return formula(*arguments, form, dim)
        return operator(*arguments, form, dim)
    if torch.jit.is_tracing():
        return formula(*arguments, form, dim)
    result: Tensor = call(RationalFunction, *arguments, form, dim)
    return result


def _constant(function: Callable[[], bool]) -> Callable[[], bool]:
    """Tell the compiler to take the result for a constant.

    That is all `torch.compiler.assume_constant_result` does, but it imports the compiler for it,
    which takes longer than torch itself.
    """
    vars(function)["_dynamo_marked_constant"] = True
    return function


@_constant
def _off() -> bool:
    return kernels.asked() == "off"


@_constant
def _transformed() -> bool:
    """Return whether a transform of torch.func is active."""
    return torch._C._are_functorch_transforms_active()


def call(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Apply an autograd function, past what torch does for its transforms if none is active.

    `Function.apply` binds the arguments to the signature of `forward` anew at every call, which
    takes longer than a small unit.
    """
    if torch._C._are_functorch_transforms_active():
        return function.apply(*arguments)
    bare: Any = super(torch.autograd.Function, function)
    return bare.apply(*arguments)


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
        return value(x, numerator, denominator, gate, pairs, form, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the inputs of `forward`."""
        *tensors, ctx.form, ctx.dim = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the derivatives with respect to x, both polynomials and the gate."""
        x, numerator, denominator, gate, pairs = ctx.saved_tensors
        inputs = ctx.needs_input_grad[0]
        along = slopes(grad, x, numerator, denominator, gate, pairs, ctx.form, ctx.dim, inputs)
        return (*along, None, None, None)
