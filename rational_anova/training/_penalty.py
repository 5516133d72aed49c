"""Group lasso on terms: penalty * sum over terms of sqrt(group size) * |group|."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ._terms import Bank, banks, named, shrink
from ._vector import Vector

_ADMM_STEPS, _ADMM_CLOSE = 200, 1e-9


class Penalty:
    """The penalty of one model, with its proximal steps.

    Args:
        model: a network with terms.
        strength: the factor in front of the sum.
    """

    def __init__(self, model: nn.Module, strength: float) -> None:
        self.model = model
        self.banks = banks(model)
        self.strength = strength
        if not self.banks:
            raise ValueError(
                f"penalty={strength:g} needs a model with terms to drop (RAN, DeepRAN, Rational1d, "
                f"Rational2d), got {type(model).__name__}"
            )

    def weight(self, size: int) -> float:
        """Return what a group of `size` coefficients pays for each unit of its norm."""
        return self.strength * size**0.5

    def value(self, values: Mapping[str, Tensor] | None = None) -> float:
        """Return the penalty at the given parameters, or at those of the model."""
        held = named(self.model) if values is None else values
        total = 0.0
        for bank in self.banks:
            groups = bank.read(held)
            total += self.weight(groups.shape[1]) * float(groups.norm(dim=1).sum())
        return total

    @torch.no_grad()
    def step(self, metric: Mapping[str, Tensor], rate: float) -> None:
        """Take the proximal step that belongs to a gradient step in a diagonal metric.

        Adam moves by rate * m / metric; shrinking in the same metric makes the points where both
        rest exactly those of the penalised loss.
        """
        values = named(self.model)
        for bank in self.banks:
            groups = bank.read(values)
            scale = bank.read(metric, plain=True) / rate
            bank.write(values, shrink(groups, scale, self.weight(groups.shape[1])))

    @torch.no_grad()
    def solve(
        self,
        vector: Vector,
        matrix: Tensor,  # (size, size), positive definite
        target: Tensor,  # (size,): where the quadratic alone has its minimum
    ) -> Tensor:
        """Return the minimum of (v - target)^T matrix (v - target) / 2 + penalty, by ADMM.

        The result is exactly zero in the groups that are dropped.
        """
        rho = torch.zeros_like(target)  # one for each group, of the order of its curvature
        curvature = vector.views(matrix.diagonal().clone())
        for bank in self.banks:
            own = bank.read(curvature, plain=True)
            bank.write(vector.views(rho), own.mean(1, keepdim=True).expand_as(own), plain=True)
        factor = torch.linalg.cholesky(matrix + torch.diag(rho))
        right = matrix @ target
        copy, dual = target.clone(), torch.zeros_like(target)
        held = rho > 0
        for _ in range(_ADMM_STEPS):
            free = torch.cholesky_solve((right + rho * (copy - dual))[:, None], factor)[:, 0]
            last, copy = copy, free + torch.where(held, dual, torch.zeros_like(dual))
            for bank in self.banks:
                self._soften(bank, vector.views(copy), vector.views(rho))
            dual = torch.where(held, dual + free - copy, dual)
            if float((copy - last).norm()) <= _ADMM_CLOSE * float(copy.norm()):
                break
        return copy

    def _soften(self, bank: Bank, values: Mapping[str, Tensor], rho: Mapping[str, Tensor]) -> None:
        """Shrink groups in a metric that is one number for each."""
        groups = bank.read(values)
        metric = bank.read(rho, plain=True)[:, :1]
        length = groups.norm(dim=1, keepdim=True)
        cut = self.weight(groups.shape[1]) / metric
        share = torch.where(length > cut, 1 - cut / length, torch.zeros_like(length))
        bank.write(values, share * groups)
