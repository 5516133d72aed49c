"""Floating-point operations of one forward pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..functional import Form
from ..units import RationalUnit


@dataclass(frozen=True)
class FlopCount:
    """Operations of one forward pass.

    Attributes:
        products: in matrix products, convolutions and attention, two for each multiply-add.
        units: in rational units. Other pointwise work (norms, GELU) is not counted.
    """

    products: int
    units: int

    @property
    def total(self) -> int:
        """Products and units together."""
        return self.products + self.units


def count_flops(model: nn.Module, inputs: Tensor | Sequence[int]) -> FlopCount:
    """Count the operations of `model` on `inputs`.

    Products are those that `torch.utils.flop_counter` sees; rational units, which it cannot see,
    are counted by formula. The model's state is left as it was.

    Args:
        model: any module of one argument.
        inputs: a tensor, or the shape of one, the batch included.

    Example:
        >>> count_flops(nn.Linear(784, 10), (1, 784))
        FlopCount(products=15680, units=0)
    """
    parameter = next(model.parameters(), torch.empty(0))
    x = (
        inputs
        if isinstance(inputs, Tensor)
        else torch.zeros(tuple(inputs), dtype=parameter.dtype, device=parameter.device)
    )
    if any(isinstance(module, nn.RNNBase) for module in model.modules()):
        warnings.warn(
            "recurrent layers run as one fused operation that cannot be counted: their work is "
            "missing from the result",
            RuntimeWarning,
            stacklevel=2,
        )
    spent = 0

    def record(unit: nn.Module, _: Any, output: Tensor) -> None:
        nonlocal spent
        assert isinstance(unit, RationalUnit)
        spent += output.numel() * unit_flops(unit.form, unit.heads, unit.gate is not None)

    hooks = [
        module.register_forward_hook(record)
        for module in model.modules()
        if isinstance(module, RationalUnit)
    ]
    training = {module: module.training for module in model.modules()}
    fused = torch.backends.mha.get_fastpath_enabled()
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    try:
        for weight in learned:  # the counter asks views of them for gradients, and there are none
            weight.requires_grad_(False)
        model.eval()  # batch statistics must not change by being counted
        # The counter cannot see into fused attention: take it apart.
        torch.backends.mha.set_fastpath_enabled(False)
        apart = sdpa_kernel(SDPBackend.MATH)
        with torch.no_grad(), apart, FlopCounterMode(display=False) as counter:
            model(x.detach())
    finally:
        for weight in learned:
            weight.requires_grad_(True)
        for module, mode in training.items():
            module.training = mode
        for hook in hooks:
            hook.remove()
        torch.backends.mha.set_fastpath_enabled(fused)
    return FlopCount(counter.get_total_flops(), spent)


def unit_flops(form: Form, heads: int = 1, gated: bool = True) -> int:
    """Return the operations of one unit on one input.

    A polynomial of k terms by Horner's rule takes a product and a sum for each term but the
    constant; then come psi, the sums in d, the quotient, and base and gate.
    """
    head = 2 * (len(form.numerator) - 1) + 1  # p, and the quotient
    for powers in form.denominator:
        constant = any(not sum(row) for row in powers)
        horner = 2 * len(powers) - (2 if constant else 1)
        head += horner + form.kind.flops + 1  # q, psi(q), and its sum into d
    total = heads * head + heads - 1
    base = 0 if form.base.is_zero else form.base.flops
    if form.reach is not None:
        total += 2 + (0 if form.base.is_zero else 3)  # two bounds; which side, and what goes on
    if not gated:
        return total + (base if form.reach is not None else 0)
    if form.base.is_zero:
        return total + 1
    mean = form.variables if form.variables > 1 else 0
    return total + mean + base + 3
