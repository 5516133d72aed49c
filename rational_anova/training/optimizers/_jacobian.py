"""Gauss-Newton sums over the rows, in chunks; parameters as one vector, and their covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..._core.modules import untouched
from ...networks import RAN
from ...units import Rational1d, Rational2d
from .._losses import Loss
from ..data import Batch, Source, predict, prepare


class Vector:
    """All parameters of a model that require a gradient, in order, as one flat vector.

    Args:
        model: whose parameters.
    """

    def __init__(self, model: nn.Module) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("no parameter of the model requires a gradient: nothing to train")
        self.parameters = dict(named)
        self.spans: dict[str, slice] = {}
        done = 0
        for name, parameter in named:
            self.spans[name] = slice(done, done + parameter.numel())
            done += parameter.numel()
        self.size = done

    def get(self) -> Tensor:
        """Return a copy of the parameters, (size,)."""
        return torch.cat([p.detach().reshape(-1) for p in self.parameters.values()])

    @torch.no_grad()
    def set(self, values: Tensor) -> None:
        """Write the parameters back."""
        for name, parameter in self.parameters.items():
            parameter.copy_(values[self.spans[name]].view_as(parameter))

    def views(self, values: Tensor) -> dict[str, Tensor]:
        """Return the parts of a vector by name, in the shapes of the parameters, as views."""
        return {
            name: values[self.spans[name]].view(parameter.shape)
            for name, parameter in self.parameters.items()
        }

    def join(self, parts: dict[str, Tensor], lead: int) -> Tensor:
        """Lay (..., shape of the parameter) for each name side by side: (..., size).

        Args:
            parts: one tensor for each parameter.
            lead: how many axes stand before those of the parameter.
        """
        return torch.cat([parts[n].reshape(*parts[n].shape[:lead], -1) for n in self.spans], -1)


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
    """Return whether a RAN is what its formulas say: nothing replaced, hooked or tied."""
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
    data.processes.add_up(gradient, curvature, total, mass)
    return Normal(float(total / mass), gradient / mass, curvature / mass)


@torch.no_grad()
def evaluate(model: nn.Module, data: Source, loss: Loss, outputs: int, rows: int = _ROWS) -> float:
    """Return the mean loss over all rows, those of other processes included."""
    total = mass = 0.0
    for chunk in data.chunks(rows):
        x, y, weight = prepare(chunk, loss, outputs, model)
        values = loss.value(predict(model, x), y).double()
        total += float(values.sum() if weight is None else (values * weight).sum())
        mass += len(x) if weight is None else float(weight.sum())
    total, mass = data.processes.totals(total, mass)
    if not mass:
        raise ValueError("there are no rows to measure the loss on, or all have weight 0")
    return total / mass


@torch.no_grad()
def all_outputs(
    model: nn.Module, data: Source, loss: Loss, outputs: int, rows: int = _ROWS
) -> tuple[Tensor, Tensor]:
    """Return outputs and targets of all rows, those of other processes included, on the CPU."""
    parts = []
    for chunk in data.chunks(rows):
        x, y, _ = prepare(chunk, loss, outputs, model)
        parts.append((predict(model, x).cpu(), y.cpu()))
    every = [part for own in data.processes.of_all(parts) for part in own]
    return torch.cat([f for f, _ in every]), torch.cat([y for _, y in every])


def batch_loss(model: nn.Module, batch: Batch, loss: Loss, mass: float | None = None) -> Tensor:
    """Return the mean loss of a batch, ready to be differentiated.

    Of a part of a batch with a `mass` in all this is its share of that mean.
    """
    return loss.mean(predict(model, batch.x), batch.y, batch.weight, mass)


# A parameter with more than this share of itself in directions the data do not see is not known.
_UNSEEN = 1e-6


@dataclass
class Covariance:
    """Covariance of the parameters at the end of `lm`, from the curvature of the loss.

    Attributes:
        matrix: (size, size), the pseudo-inverse where the data do not determine all directions.
        spans: the place of each parameter in it, by name.
        shapes: of the parameters, by name.
        rank: how many directions the data determine.
        known: (size,), whether a parameter is determined at all.
        variance: of the residuals, for squares; else None.
    """

    matrix: Tensor
    spans: dict[str, slice]
    shapes: dict[str, torch.Size]
    rank: int
    known: Tensor
    variance: float | None

    @property
    def stderr(self) -> dict[str, Tensor]:
        """Standard error of each parameter, in its shape; inf where the data say nothing of it."""
        root = self.matrix.diagonal().clamp(min=0).sqrt()
        root = torch.where(self.known, root, torch.full_like(root, torch.inf))
        return {name: root[span].reshape(self.shapes[name]) for name, span in self.spans.items()}


def covariance(
    model: nn.Module, data: Source, loss: Loss, outputs: int, ridge: Tensor
) -> Covariance | None:
    """Return the covariance of the parameters; None for losses without a likelihood.

    For squares the variance of the residuals is estimated from them, with as many degrees of
    freedom taken off as directions are determined; weights count as inverse variances.
    """
    if not (loss.quadratic or loss.classes):
        return None
    vector = Vector(model)
    here = normal(model, vector, data, loss, outputs)
    curvature = here.curvature + torch.diag(ridge)
    scale = curvature.diagonal().clamp(min=torch.finfo(curvature.dtype).tiny).rsqrt()
    scale = torch.where(curvature.diagonal() > 0, scale, torch.ones_like(scale))
    values, vectors = torch.linalg.eigh(scale[:, None] * curvature * scale)
    most = float(values[-1])
    seen = values > vector.size * torch.finfo(values.dtype).eps * most
    rank = int(seen.sum())
    inverse = (vectors[:, seen] / values[seen]) @ vectors[:, seen].T
    unseen = vectors[:, ~seen].square().sum(1)
    rows, mass = _counts(data)
    # Weights of a likelihood count as repetitions; `binary` is a mean over the outputs.
    factor = 1 / (mass * (outputs if loss.classes == "binary" else 1))
    variance = None
    if loss.quadratic:
        freedom = max(rows * outputs - rank, 1)
        variance = here.loss * rows * outputs / freedom
        factor = 2 * here.loss / freedom
    return Covariance(
        factor * scale[:, None] * inverse * scale,
        dict(vector.spans),
        {name: p.shape for name, p in vector.parameters.items()},
        rank,
        unseen < _UNSEEN,
        variance,
    )


def _counts(data: Source) -> tuple[int, float]:
    """Return the number of rows that count, and the sum of their weights."""
    rows, mass = 0, 0.0
    for chunk in data.chunks(8192):
        rows += len(chunk.x) if chunk.weight is None else int((chunk.weight > 0).sum())
        mass += chunk.mass
    everywhere, mass = data.processes.totals(rows, mass)
    return int(everywhere), mass
