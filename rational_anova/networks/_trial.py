"""A network, its data, and the verdict of the data on other coefficients.

Everything is measured in spreads of the targets, output by output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from scipy.stats import chi2
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ._linear import Linear, linearise, step

if TYPE_CHECKING:
    from ._ran import RAN

ERRORS = 2.0  # standard errors by which a snap may move a coefficient
_LEVEL = 0.95
_STEPS = 12  # of Levenberg and Marquardt after each snap
_WORK = 3e10  # multiplications in all such steps; after that the free coefficients stay
_DAMPING = 1e-12  # at first, over the scaled singular values
_FACTOR = 100.0
_GRAIN = 16 * torch.finfo(torch.float64).eps  # of a prediction, over its size


class Trial:
    """The state of a search: the coefficients, and what they did to the predictions.

    Args:
        model: a float64 network that may be changed.
        x: (rows, features).
        y: (rows, outputs), or None: then the predictions themselves are the target.
        precision: how far predictions may move, over the spread.
    """

    def __init__(self, model: RAN, x: Tensor, y: Tensor | None, precision: float) -> None:
        self.model, self.x, self.precision = model, x, precision
        self.theta = parameters_to_vector(model.parameters()).detach().clone()
        flags = [torch.full((p.numel(),), p.requires_grad) for p in model.parameters()]
        self.free = torch.cat(flags)
        self.measured = y is not None
        start = self.predict(self.theta)
        if not start.isfinite().all():
            raise ValueError("the network is not finite on X, so nothing can be compared there")
        self.target = start if y is None else y
        spread = self.target.std(0, correction=0)
        self.spread = torch.where(spread > 0, spread, torch.ones_like(spread))
        self.start = start
        self.guarded = [unit for unit in (model.main, model.pair) if unit and self._positive(unit)]
        self.work = 0.0
        self.fixed = 0
        self._alone: Tensor | None = None
        self.grain = _GRAIN * (1 + float((start / self.spread).abs().max()))
        self.rounding = start.numel() * self.grain**2
        self._polish()
        linear = self.linearise(self.theta)
        self.cost = self.first = self.squares(self.theta)
        variance = self.first / max(start.numel() - linear.rank, 1)
        self.error = max(variance**0.5, self.grain)

    @torch.no_grad()
    def predict(self, theta: Tensor) -> Tensor:
        """Return f(x) with other coefficients, which the model keeps."""
        vector_to_parameters(theta, self.model.parameters())
        result: Tensor = self.model(self.x)
        return result

    def moved(self, theta: Tensor) -> float:
        """Return the largest change of a prediction since the start."""
        return float(((self.predict(theta) - self.start) / self.spread).abs().max())

    def squares(self, theta: Tensor) -> float:
        """Return the sum of squared residuals; nan where the network is not finite."""
        return float(((self.predict(theta) - self.target) / self.spread).square().sum())

    def linearise(self, theta: Tensor) -> Linear:
        """Linearise in the free coefficients."""
        vector_to_parameters(theta, self.model.parameters())
        size = float(self.free.sum())
        self.work += size**2 * (self.target.numel() + 10 * size)  # QR, and an SVD
        return linearise(self.model, self.x, self.target, self.spread, self.free)

    def tolerance(self) -> Tensor:
        """Return how far each coefficient may move, 0 for those that are fixed."""
        if not self.free.any():
            return torch.zeros_like(self.theta)
        if self.work > _WORK and self._alone is not None:
            return torch.where(self.free, self._alone, 0.0)
        linear = self.linearise(self.theta)
        allowed = self.precision * self.target.numel() ** 0.5
        if self.measured:
            allowed = min(allowed, ERRORS * self.error)
        result = torch.zeros_like(self.theta)
        result[self.free] = allowed * linear.reach
        if self.work > _WORK:  # from now on nothing follows
            result[self.free] = allowed * linear.alone
            self._alone = result
        return result

    def settle(self, theta: Tensor) -> tuple[Tensor, str]:
        """Let the free coefficients follow until the data allow the point; else say why not."""
        reason, damping = self.verdict(theta), _DAMPING
        for _ in range(_STEPS):
            if not reason or self.work > _WORK or not self.free.any():
                break
            moved = theta.clone()
            moved[self.free] += step(self.linearise(theta), damping)
            if self.squares(moved) < self.squares(theta):
                theta, damping = moved, damping / _FACTOR
                reason = self.verdict(theta)
            else:
                damping = max(damping, _DAMPING) * _FACTOR
                if damping > 1:
                    break
        return theta, reason

    def verdict(self, theta: Tensor) -> str:
        """Say why the data do not allow a point; nothing if they do."""
        moved, squares = self.moved(theta), self.squares(theta)
        if not moved <= self.precision + self.grain:
            return f"would move predictions by {moved:.1e} of the spread"
        unit = self.error**2
        if self.measured and not squares <= self.cost + ERRORS**2 * unit + self.rounding:
            return f"is {((squares - self.cost) / unit) ** 0.5:.1f} standard errors away"
        most = self.first + chi2.ppf(_LEVEL, self.fixed + 1) * unit + self.rounding
        if self.measured and not squares <= most:
            return "together with the others would be seen in the residuals"
        if not all(self._positive(unit) for unit in self.guarded):
            return "would make a denominator zero or negative on X"
        return ""

    def _positive(self, unit: torch.nn.Module) -> bool:
        return bool((unit.denominator_min(self._inputs(unit)) > 0).all())  # type: ignore[operator]

    def _inputs(self, unit: torch.nn.Module) -> Tensor:
        return self.x[:, list(self.model.topology.mains)] if unit is self.model.main else self.x

    def _polish(self) -> None:
        """Take the fit to its minimum, as far as the precision allows."""
        if not self.measured:
            return
        best = self.theta
        for _ in range(_STEPS):
            moved = best.clone()
            moved[self.free] += step(self.linearise(best), _DAMPING)
            if not (self.squares(moved) < self.squares(best) and
                    self.moved(moved) <= self.precision / 2):  # fmt: skip
                break
            best = moved
        self.theta = best
