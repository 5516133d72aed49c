"""How well the data determine each parameter."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ._data import Source
from ._jacobian import normal
from ._losses import Loss
from ._vector import Vector

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
        mass += len(chunk.x) if chunk.weight is None else float(chunk.weight.sum())
    return rows, mass
