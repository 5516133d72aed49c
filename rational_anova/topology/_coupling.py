"""Pairs chosen by a fitted model: the size of its mixed second derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor, nn
from torch.func import grad, jvp, vmap

from .._core.checks import integer
from ._pairs import Index, largest, resolve_size, sample

if TYPE_CHECKING:  # pandas waits until there is a table
    from ..tables import Numbers

Model: TypeAlias = Callable[[Tensor], Tensor]

ROWS = 512  # enough for the order of the pairs; the time grows with it
_BATCH = 32  # rows at once
_NUMBERS = 2**20  # of a block of second derivatives


def coupling(
    model: Model,
    X: Numbers,
    *,
    scale: bool = True,
    rows: int | None = ROWS,
    output: int | None = None,
    seed: int | Tensor = 0,
) -> Tensor:  # (d, d)
    """C_ij = mean over rows of |d2 f / dx_i dx_j|, the paper's gradient coupling.

    Symmetric, with a zero diagonal; in float64 on the CPU. The derivatives are exact, taken in
    the model's dtype and on its device, in evaluation mode (its own mode comes back afterwards).

    Args:
        model: fitted function on tensors, (n, features) to (n,) or (n, outputs), row by row, for
            instance an `nn.Module`; smooth, so no ReLU network.
        X: table of shape (rows, features), at least two rows, finite.
        scale: whether C_ij is per standard deviation of x_i and x_j, which cancels their units;
            a constant column then couples with none.
        rows: how many rows of X to average over, drawn without replacement; all when None.
        output: the output to differentiate; None adds up |.| over all outputs.
        seed: for drawing the rows, an integer, zero or more.

    >>> X = torch.tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]], dtype=torch.float64)
    >>> coupling(lambda x: x[:, 0] * x[:, 1] + 5 * x[:, 2] ** 2, X, scale=False)[0]
    tensor([0., 1., 0.], dtype=torch.float64)
    """
    from ..tables import read_matrix

    table = torch.from_numpy(read_matrix(X))
    count = len(table) if rows is None else min(integer(rows, "rows", 1), len(table))
    chosen = table[torch.from_numpy(sample(len(table), count, seed))].to(_like(model, X))
    with _evaluating(model):
        functions = _outputs(model, chosen, output)
        total = torch.zeros(table.shape[1], table.shape[1], dtype=torch.float64)
        for function in functions:
            total += _sum_of_sizes(function, chosen)
    matrix = _checked(total / count)
    if scale:
        spread = table.std(0, correction=0) * (table.amax(0) > table.amin(0))
        matrix = matrix * spread[:, None] * spread
    return ((matrix + matrix.T) / 2).fill_diagonal_(0.0)


def coupled_pairs(matrix: Tensor, size: int | str) -> Index:  # (K, 2)
    """The pairs with the largest entries of a coupling `matrix`, in index order."""
    count, most = resolve_size(size, len(matrix)), float(matrix.max())
    if count and most == 0:
        raise ValueError(
            "the model couples no two inputs: all its mixed second derivatives are zero, so there "
            "is nothing to rank pairs by; give a model with interactions, or take Topology.none"
        )
    return largest((matrix / (most or 1.0)).numpy(), count)


def _like(model: Model, X: Numbers) -> Tensor:
    """A tensor of the dtype and on the device to compute in: the model's, else those of `X`."""
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, nn.Module) else []
    for tensor in [*tensors, X]:
        if isinstance(tensor, Tensor) and tensor.is_floating_point():
            return tensor
    return torch.empty(0, dtype=torch.float64)


@contextmanager
def _evaluating(model: Model) -> Iterator[None]:
    """No dropout, no batch statistics, no gradients of parameters; then each mode as it was."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    modes = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        with torch.no_grad():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def _outputs(model: Model, x: Tensor, output: int | None) -> list[Model]:
    """The outputs to differentiate, each as a function (n, d) to ()."""
    value = model(x[:1])
    shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
    if not isinstance(value, Tensor) or value.dim() not in (1, 2) or len(value) != 1:
        raise ValueError(
            f"model must map (n, features) to (n,) or (n, outputs), got {shape} for one row"
        )
    width = value.numel()
    if output is not None and integer(output, "output") >= width:
        raise ValueError(f"output must be below {width}, the number of outputs, got {output}")

    def total(x: Tensor, column: int) -> Tensor:
        # The rows do not act on each other, so the gradient of the sum holds that of every row.
        return model(x).reshape(len(x), -1)[:, column].sum()

    chosen = range(width) if output is None else [output]
    return [partial(total, column=column) for column in chosen]


def _sum_of_sizes(function: Model, x: Tensor) -> Tensor:  # (d, d)
    """Sum over the rows of `x` of the absolute second derivatives, in blocks of both."""
    gradient, features = grad(function), x.shape[1]
    directions = torch.eye(features, dtype=x.dtype, device=x.device)
    total = torch.zeros(features, features, dtype=torch.float64)
    for part in x.split(_BATCH):

        def along(direction: Tensor, part: Tensor = part) -> Tensor:  # (d,) -> (n, d)
            result: Tensor = jvp(gradient, (part,), (direction.expand_as(part),))[1]
            return result

        step = max(1, _NUMBERS // part.numel())
        for start in range(0, features, step):
            block = vmap(along)(directions[start : start + step])
            total[start : start + step] += block.abs().sum(1).to("cpu", torch.float64)
    return total


def _checked(matrix: Tensor) -> Tensor:
    bad = (~matrix.isfinite()).nonzero()
    if len(bad):
        i, j = bad[0].tolist()
        raise ValueError(
            f"the second derivative of the model by x_{i} and x_{j} is not finite on these rows; "
            "check its parameters, or compute in float64"
        )
    if not matrix.any():
        raise ValueError(
            "all second derivatives of the model are zero: it is linear or piecewise linear, as a "
            "ReLU network is; fit one with smooth activations (GELU, SiLU, tanh or rational)"
        )
    return matrix
