"""Group lasso on terms: penalty * sum over terms of sqrt(group size) * |group|."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn

from ...units import Rational2d
from .._losses import Loss
from .._terms import banks, named, open_gates, shrink
from ..data import Source, prepare
from ._jacobian import Vector, batch_loss

_STEPS, _CLOSE = 500, 1e-8

_ROWS = 8192
PENALIZED = ("all", "pairs")


class Penalty:
    """The penalty of one model, with its proximal steps.

    Args:
        model: a network with terms.
        strength: the factor in front of the sum.
        which: `all` terms, or the `pairs` alone.
        frozen: names of parameters that do not move, beside those that require no gradient.
    """

    def __init__(
        self,
        model: nn.Module,
        strength: float,
        which: str = "all",
        frozen: Collection[str] = (),
    ) -> None:
        self.model = model
        trainable = {name for name, p in model.named_parameters() if p.requires_grad}
        self.banks = []
        for bank in banks(model):
            parts = tuple(p for p in bank.parts if p.name in trainable and p.name not in frozen)
            wanted = which == "all" or isinstance(bank.unit, Rational2d)
            if wanted and parts and parts[0] == bank.parts[0]:  # else its numerator is frozen
                self.banks.append(bank._replace(parts=parts))
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

    def largest(self, data: Source, loss: Loss, outputs: int) -> float:
        """Return the least strength that keeps all terms away once their numerators are zero."""
        empty = copy.deepcopy(self.model)
        values = dict(empty.named_parameters())
        tops = [(bank, bank.parts[0]) for bank in self.banks]  # the first part is the numerator
        with open_gates(empty):
            for _, top in tops:
                with torch.no_grad():
                    top.write(values[top.name], torch.zeros_like(top.read(values[top.name])))
            mass = 0.0
            for chunk in data.chunks(_ROWS):
                batch = prepare(chunk, loss, outputs, empty)
                share = float(len(batch.x) if batch.weight is None else batch.weight.sum())
                if share:
                    mass += share
                    (batch_loss(empty, batch, loss) * share).backward()
        strongest = 0.0
        for bank, top in tops:
            gradient = values[top.name].grad
            if gradient is not None:
                pull = top.read(gradient, plain=True).norm(dim=1).max() / mass
                width = bank.read(named(empty)).shape[1]
                strongest = max(strongest, float(pull) / self.weight(width) * self.strength)
        return strongest

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


class GroupProblem:
    """Quadratic problems with a group lasso on top, as the steps of `lm` pose them.

    Solved by the alternating direction method of multipliers, on flat vectors; a problem starts
    from the multipliers of the one before, which is near it.

    Args:
        penalty: the group lasso.
        vector: the parameters as one vector.
    """

    def __init__(self, penalty: Penalty, vector: Vector) -> None:
        like = vector.get()
        group, target = torch.full_like(like, -1), torch.zeros_like(like)
        weights: list[float] = []
        for bank in penalty.banks:
            rows = bank.read(vector.views(group), plain=True)
            first = len(weights)
            ids = torch.arange(first, first + len(rows)).to(rows)[:, None].expand_as(rows)
            bank.write(vector.views(group), ids, plain=True)
            bank.write(vector.views(target), torch.zeros_like(rows))
            weights += [penalty.weight(rows.shape[1])] * len(rows)
        self.held = group >= 0
        # Coordinates without a penalty form one group more, which costs nothing.
        self.group = torch.where(self.held, group, float(len(weights))).long()
        self.target = target
        self.weight = torch.tensor([*weights, 0.0], dtype=like.dtype, device=like.device)
        self.size = torch.zeros_like(self.weight).index_add_(0, self.group, torch.ones_like(like))
        self.dual = torch.zeros_like(like)  # of the constraint, in units of the gradient

    @torch.no_grad()
    def solve(
        self,
        matrix: Tensor,  # (size, size), positive definite
        goal: Tensor,  # (size,): where the quadratic alone has its minimum
    ) -> Tensor:
        """Return the minimum of (v - goal)^T matrix (v - goal) / 2 + penalty.

        The result is exactly zero in the groups that are dropped.
        """
        mean = torch.zeros_like(self.weight).index_add_(0, self.group, matrix.diagonal())
        rho = torch.where(self.held, (mean / self.size)[self.group], 0.0)
        cut = self.weight / (mean / self.size)
        factor = torch.linalg.cholesky(matrix + torch.diag(rho))
        right = matrix @ goal
        scale = torch.where(self.held, rho, 1.0)
        dual = self.dual / scale
        copy = self._soften(goal + dual, cut)
        for _ in range(_STEPS):
            free = torch.cholesky_solve((right + rho * (copy - dual))[:, None], factor)[:, 0]
            last, copy = copy, self._soften(free + dual, cut)
            dual = dual + free - copy
            gap = max(float((copy - last).norm()), float((free - copy).norm()))
            if gap <= _CLOSE * float(copy.norm()):
                break
        self.dual = dual * scale
        return copy

    def _soften(self, v: Tensor, cut: Tensor) -> Tensor:
        """Shrink each group towards its target by its cut."""
        away = v - self.target
        length = torch.zeros_like(cut).index_add_(0, self.group, away.square()).sqrt()
        share = torch.where(length > cut, 1 - cut / length, 0.0)
        share[-1] = 1.0
        return torch.where(self.held, self.target + share[self.group] * away, v)
