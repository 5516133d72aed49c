"""The network as a linear function of its coefficients near a point: steps and uncertainties."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ._ran import RAN

_NUMBERS = 2**24  # in a Jacobian; of more rows an even selection is taken
_UNSEEN = 1e-6  # share of a coefficient in directions that the data do not see


class Linear(NamedTuple):
    """A singular value decomposition of the scaled Jacobian, and the residuals in it.

    Attributes:
        step: the damped Gauss-Newton step needs these: right vectors, values, projected residual.
        reach: how far each coefficient moves if all others follow and the predictions move by one
            root of the sum of squares; inf where the data say nothing of it.
        alone: the same if the others stay.
        rank: how many directions the data see.
    """

    step: tuple[Tensor, Tensor, Tensor]
    reach: Tensor
    alone: Tensor
    rank: int


@torch.no_grad()
def linearise(
    model: RAN,
    x: Tensor,  # (rows, features)
    target: Tensor,  # (rows, outputs)
    spread: Tensor,  # (outputs,)
    free: Tensor,  # (size,) of bool
) -> Linear:
    """Linearise f/spread in the free coefficients."""
    stride = max(1, -(-len(x) * len(spread) * len(free) // _NUMBERS))
    value, jacobian = model.jacobian_matrix(x[::stride])
    rows = (jacobian / spread[:, None]).reshape(-1, len(free))[:, free]
    residual = ((value - target[::stride]) / spread).reshape(-1, 1)
    norms = rows.norm(dim=0)
    scale = torch.where(norms > 0, norms, torch.ones_like(norms))
    triangle = torch.linalg.qr(torch.cat([rows / scale, residual], 1), mode="r").R
    left, values, right = torch.linalg.svd(triangle[:, :-1], full_matrices=False)
    # The whole square of right vectors, since those without a value are what is not seen.
    seen = values > max(rows.shape) * torch.finfo(values.dtype).eps * values.amax()
    vectors = right[seen].T
    unseen = (1 - vectors.square().sum(1)).clamp(min=0)
    inverse = (vectors / values[seen]).norm(dim=1)
    # An even selection of the rows holds as much of the sum of squares as it has rows.
    whole = stride**-0.5
    reach = torch.where(unseen > _UNSEEN, torch.full_like(inverse, torch.inf), inverse / scale)
    alone = torch.where(norms > 0, 1 / scale, torch.full_like(norms, torch.inf))
    projected = left.T @ triangle[:, -1]
    return Linear(
        (right.T / scale[:, None], values, projected), whole * reach, whole * alone, int(seen.sum())
    )


def step(linear: Linear, damping: float) -> Tensor:
    """Return the damped Gauss-Newton step of the free coefficients."""
    vectors, values, projected = linear.step
    return -vectors @ (values / (values.square() + damping**2) * projected)
