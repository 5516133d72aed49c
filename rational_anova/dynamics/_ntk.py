"""`ntk`: the empirical neural tangent kernel of any model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .. import _validation as check
from ..networks import RAN
from ._closed import closed_form, closed_kernel
from ._kernel import Kernel, Parts
from ._products import product
from ._state import State, Weights

METHODS = ("auto", "formula", "func")


def ntk(
    model: nn.Module,
    x_o: Any,
    x_u: Any,
    *,
    split: bool = True,
    method: str = "auto",
) -> Kernel:
    r"""Return K(x_o, x_u), the product of the derivatives of outputs by weights (paper Eq. 14).

    For a `RAN` it comes with the exact split into read-out, main effects and pairs (Eq. 15 to 17).
    Any other module works: gradients at x_u are directions in which outputs at x_o are
    differentiated, some at a time, so memory stays bounded however many weights there are.
    Weights that do not require gradients do not move, and do not count. Everything is computed in
    the precision of the model; `model.double()` gives more.

    Args:
        model: the network.
        x_o: (rows_o, features), points that are looked at.
        x_u: (rows_u, features), points of updates.
        split: whether the parts are wanted; large RANs with many points are lighter without.
        method: `formula` (for a RAN), `func` (by torch.func, for all), `auto`: formula if it holds.

    Returns:
        A `Kernel`; `kernel.total` is (rows_o, rows_u, outputs, outputs).

    Example:
        >>> from rational_anova import RAN, MLP
        >>> x = torch.linspace(-1, 1, 12).reshape(4, 3)
        >>> kernel = ntk(RAN(3, topology="all"), x, x[:2])
        >>> kernel.total.shape, list(kernel.main), list(kernel.pair)
        (torch.Size([4, 2, 1, 1]), [0, 1, 2], [(0, 1), (0, 2), (1, 2)])
        >>> whole = kernel.head + kernel.main.sum() + kernel.pair.sum()
        >>> torch.allclose(whole, kernel.total)
        True
        >>> ntk(MLP(3, 2, hidden=(8,)), x, x[:2]).total.shape
        torch.Size([4, 2, 2, 2])
    """
    check.choice(method, METHODS, "method")
    state = State.of(model)
    here, there = state.points(x_o, "x_o"), state.points(x_u, "x_u")
    formula = closed_form(model)
    if method == "formula" and not formula:
        raise ValueError(
            f"there is no formula for a {type(model).__name__}, or it has hooks or "
            "parametrizations; use method='func'"
        )
    if formula and split and method != "func":
        assert isinstance(model, RAN)
        return closed_kernel(model, here, there)
    if split and isinstance(model, RAN):
        return _split(state, model, here, there)
    return Kernel(_total(state, here, there))


def _total(state: State, x_o: Tensor, x_u: Tensor) -> Tensor:
    """Return the kernel; gradients are taken on the side with fewer rows."""
    outputs = state.values(x_o[:1]).shape[1]
    if len(x_u) <= len(x_o):
        return product(state, x_o, x_u, outputs)[0]
    return product(state, x_u, x_o, outputs)[0].transpose(0, 1).transpose(2, 3)


def _split(state: State, model: RAN, x_o: Tensor, x_u: Tensor) -> Kernel:
    """Return the kernel by groups of weights, for a RAN that someone changed, and as a check."""
    mains, pairs = list(model.topology.mains), list(model.topology.pairs)
    masks = [_mask(state, "head.", None)]
    masks += [_mask(state, "main.", n) for n in range(len(mains))]
    masks += [_mask(state, "pair.", n) for n in range(len(pairs))]
    parts = product(state, x_o, x_u, model.out_features, masks)
    at = 1 + len(mains)
    main, pair = Parts(mains, parts[1:at]), Parts(pairs, parts[at:])
    return Kernel(_total(state, x_o, x_u), parts[0], main, pair)


def _mask(state: State, prefix: str, unit: int | None) -> Weights:
    """Return ones where the weights of a unit stand (its last axis counts units), else zeros."""
    masks = {}
    for name, values in state.weights.items():
        masks[name] = torch.zeros_like(values)
        if name.startswith(prefix):
            masks[name][... if unit is None else (..., unit)] = 1
    return masks
