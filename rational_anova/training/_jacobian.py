"""Gauss-Newton sums over the rows, in chunks: memory does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .._modules import untouched
from ..networks import RAN
from ..units import Rational1d, Rational2d
from ._check import predict, prepare
from ._data import Batch, Source
from ._losses import Loss
from ._vector import Vector

# Numbers in the Jacobian of a chunk: enough rows for fast products, few enough to stay small.
_NUMBERS = 2**21
_ROWS = 8192  # at most, since the model has activations, too


class Normal(NamedTuple):
    """At one point: mean loss, its gradient and its Gauss-Newton curvature."""

    loss: float
    gradient: Tensor  # (size,)
    curvature: Tensor  # (size, size)


def chunk_rows(size: int, outputs: int) -> int:
    """Return how many rows of a Jacobian to hold at once."""
    return min(_ROWS, max(32, _NUMBERS // max(1, size * outputs)))


def jacobian_rows(model: nn.Module, vector: Vector) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Return a function from x to the outputs (rows, C) and their Jacobian (rows, C, size).

    The shallow network has its derivatives by hand; any other model goes through `torch.func`, all
    rows of a chunk at once.
    """
    if isinstance(model, RAN) and _plain(model):
        network = model  # a name of its own type for the closure
        whole = vector.size == sum(p.numel() for p in model.parameters())

        def by_hand(x: Tensor) -> tuple[Tensor, Tensor]:
            if whole:
                return network.jacobian_matrix(x)
            value, parts = network.jacobian(x)
            return value, vector.join(parts, 2)

        return by_hand

    def single(parameters: dict[str, Tensor], row: Tensor) -> tuple[Tensor, Tensor]:
        result = torch.func.functional_call(model, parameters, (row.unsqueeze(0),)).reshape(-1)
        return result, result

    derivative = torch.func.vmap(torch.func.jacrev(single, has_aux=True), (None, 0))

    def by_transform(x: Tensor) -> tuple[Tensor, Tensor]:
        held = {name: p.detach() for name, p in vector.parameters.items()}
        parts, value = derivative(held, x)
        return value, vector.join(parts, 2)

    return by_transform


def _plain(model: RAN) -> bool:
    """Say whether a RAN is what its formulas say: nothing replaced, hooked or tied."""
    parameters = [p for _, p in model.named_parameters(remove_duplicate=False)]
    parts = ((model.main, Rational1d), (model.pair, Rational2d), (model.head, nn.Linear))
    return (
        untouched(model, RAN)
        and len({id(p) for p in parameters}) == len(parameters)
        # The guard of `polynomial` watches what the units are given.
        and all(part is None or untouched(part, kind, watched=True) for part, kind in parts)
    )


@torch.no_grad()
def normal(model: nn.Module, vector: Vector, data: Source, loss: Loss, outputs: int) -> Normal:
    """Add up loss, gradient and curvature over all rows."""
    rows = jacobian_rows(model, vector)
    like = next(iter(vector.parameters.values()))
    gradient = like.new_zeros(vector.size)
    curvature = like.new_zeros(vector.size, vector.size)
    total, mass = like.new_zeros(()), like.new_zeros(())
    for chunk in data.chunks(chunk_rows(vector.size, outputs)):
        x, y, weight = prepare(chunk, loss, outputs, model)
        with torch.enable_grad():
            value, jacobian = (part.detach() for part in rows(x))
        slope, root, values = loss.slope(value, y), loss.root(value, y), loss.value(value, y)
        if weight is not None:
            slope, values = slope * weight[:, None], values * weight
            root = root * weight.sqrt().reshape(-1, *[1] * (root.dim() - 1))
        gradient += torch.einsum("nc,ncp->p", slope, jacobian)
        scaled = root @ jacobian if root.dim() == 3 else root.unsqueeze(-1) * jacobian
        flat = scaled.reshape(-1, vector.size)
        curvature.addmm_(flat.T, flat)
        total += values.sum()
        mass += len(x) if weight is None else weight.sum()
    return Normal(float(total / mass), gradient / mass, curvature / mass)


@torch.no_grad()
def evaluate(model: nn.Module, data: Source, loss: Loss, outputs: int, rows: int = _ROWS) -> float:
    """Return the mean loss over all rows."""
    total = mass = 0.0
    for chunk in data.chunks(rows):
        x, y, weight = prepare(chunk, loss, outputs, model)
        values = loss.value(predict(model, x), y).double()
        total += float(values.sum() if weight is None else (values * weight).sum())
        mass += len(x) if weight is None else float(weight.sum())
    if not mass:
        raise ValueError("there are no rows to measure the loss on, or all have weight 0")
    return total / mass


def batch_loss(model: nn.Module, batch: Batch, loss: Loss) -> Tensor:
    """Return the mean loss of a batch, ready to be differentiated."""
    return loss.mean(predict(model, batch.x), batch.y, batch.weight)
