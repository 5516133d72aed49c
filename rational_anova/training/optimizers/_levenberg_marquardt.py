"""Levenberg-Marquardt, and generalised Gauss-Newton for losses that are not squares."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ...units import RationalUnit
from .._losses import Loss
from ..data import ALONE, Batch, Diverged, Processes, Source
from ._group_lasso import GroupProblem, Penalty
from ._jacobian import Normal, Vector, evaluate, normal

# No step may bring the least denominator of a unit below this share of what it was.
_SHARE = 0.1


class Guard:
    """Watches, while the model runs, the least denominator of each unit that has no lower bound.

    Args:
        model: whose units.
        processes: that go through the data together.
    """

    def __init__(self, model: nn.Module, processes: Processes = ALONE) -> None:
        self.processes = processes
        self.units = {
            name: unit
            for name, unit in model.named_modules()
            if isinstance(unit, RationalUnit) and unit.form.kind.minimum <= 0
        }
        self.least: dict[str, Tensor] = {}
        self._handles: list[Any] = []

    def __enter__(self) -> Guard:
        self.least = {}
        for name, unit in self.units.items():
            self._handles.append(unit.register_forward_pre_hook(self._watch(name)))
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            self._handles.pop().remove()
        if self.processes.count > 1:
            for name, unit in self.units.items():
                nothing = torch.full((unit.units,), math.inf, dtype=unit.denominator.dtype)
                here = self.least.get(name, nothing.to(unit.denominator.device))
                self.least[name] = self.processes.least(here)

    def _watch(self, name: str) -> Any:
        def hook(unit: RationalUnit, inputs: tuple[Tensor, ...]) -> None:
            least = unit.denominator_min(inputs[0].detach())
            known = self.least.get(name)
            self.least[name] = least if known is None else torch.minimum(known, least)

        return hook

    def admissible(self, before: dict[str, Tensor]) -> bool:
        """Return whether no denominator has come near zero since `before`."""
        return all(
            bool(((least > 0) & (least >= _SHARE * before[name])).all())
            for name, least in self.least.items()
        )

    @torch.no_grad()
    def recede(self) -> int:
        """Halve the coefficients of denominators at or below zero; return how many there were.

        Without coefficients the denominator is one, so this comes to an end.
        """
        count = 0
        for name, least in self.least.items():
            low = ~(least > 0)
            unit = self.units[name]
            unit.denominator.mul_(torch.where(low, 0.5, 1.0).to(unit.denominator))
            count += int(low.sum())
        return count

    def crossed(self) -> list[str]:
        """Return the units whose denominator is zero or less somewhere on the data."""
        return [name for name, least in self.least.items() if bool((least <= 0).any())]


_DAMPING = 1e-2  # at the start
_RAISE = 4.0  # after a step that was taken back
# The damping's next factor, by the share of the foreseen gain that came true.
_NEXT, _DOUBT = ((0.75, 0.2), (0.25, 1.0)), 2.0
_LEAST, _MOST = 1e-15, 1e12
_MEMORY = 0.5  # of the largest curvature a parameter has had, from step to step
_FLOOR = 1e-8  # of D, as a share of its largest entry
_SMALL, _PATIENCE = 1e-9, 5  # so many steps in a row that gain less than this share end the fit
_EXACT = 1e-31  # of the mean square of the targets: nothing is left but rounding


class LevenbergMarquardt:
    """One step at a time on all the data.

    Args:
        model: in float64.
        data: all rows.
        loss: what to minimise.
        outputs: of the model.
        ridge: (size,), the factor of each parameter's square, halved.
        penalty: group lasso, or None.
    """

    full_batch = True

    def __init__(
        self,
        model: nn.Module,
        data: Source,
        loss: Loss,
        outputs: int,
        *,
        ridge: Tensor,
        penalty: Penalty | None,
    ) -> None:
        self.model, self.data, self.loss, self.outputs = model, data, loss, outputs
        self.vector = Vector(model)
        self.ridge, self.penalty = ridge, penalty
        self.problem = None if penalty is None else GroupProblem(penalty, self.vector)
        self.guard = Guard(model, data.processes)
        self.damping = _DAMPING
        self.idle = 0
        self.scale: Tensor | None = None
        self.converged = ""
        self._admissible_start = False
        self._target_square: float | None = None

    @property
    def rate(self) -> float:
        """The damping stands in the column of the learning rate."""
        return self.damping

    def step(self, batch: Batch | None = None, mass: float | None = None) -> float:
        """Take one step; return the mean loss after it."""
        self._start_admissible()
        v = self.vector.get()
        here = normal(self.model, self.vector, self.data, self.loss, self.outputs)
        self._require_finite(here)
        before, charged = self._objective(v, here.loss), self._charge()
        least = self._least() if self.guard.units else {}
        gradient = here.gradient + self.ridge * v
        curvature = here.curvature + torch.diag(self.ridge)
        scale = self._scale(here.curvature.diagonal())
        while self.damping <= _MOST:
            # Of one process, since another's processor may round otherwise.
            trial = self.data.processes.from_first(self._trial(v, gradient, curvature, scale))
            if trial is not None:
                self.vector.set(trial)
                loss = self._watched_loss()
                after = self._objective(trial, loss)
                if after < before and self.guard.admissible(least):
                    move = trial - v
                    foreseen = float(-gradient @ move - move @ curvature @ move / 2)
                    self._settle(before, after, foreseen + charged - self._charge())
                    return loss
            self.damping = max(self.damping * _RAISE, _LEAST)
        self.vector.set(v)
        self.converged = "no step lowers the loss"
        return here.loss

    def _scale(self, diagonal: Tensor) -> Tensor:
        """Return D: the largest curvature that each parameter has had, floored.

        A parameter that has no effect for a while, such as the denominator of a term whose
        numerator is zero, would otherwise run away in one step.
        """
        most = diagonal if self.scale is None else torch.maximum(_MEMORY * self.scale, diagonal)
        self.scale = most.clone()
        return most.clamp(min=max(_FLOOR * float(most.max()), torch.finfo(most.dtype).tiny))

    def _trial(
        self, v: Tensor, gradient: Tensor, curvature: Tensor, scale: Tensor
    ) -> Tensor | None:
        matrix = curvature + self.damping * torch.diag(scale)
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if failed:
            return None
        target = v - torch.cholesky_solve(gradient[:, None], factor)[:, 0]
        if not bool(torch.isfinite(target).all()):
            return None
        return target if self.problem is None else self.problem.solve(matrix, target)

    def _settle(self, before: float, after: float, foreseen: float) -> None:
        """Choose the next damping by how well the parabola foresaw the gain, and see if to stop."""
        share = (before - after) / foreseen if foreseen > 0 else 1.0
        factor = next((each for least, each in _NEXT if share > least), _DOUBT)
        self.damping = min(max(self.damping * factor, _LEAST), _MOST)
        self.idle = self.idle + 1 if before - after <= _SMALL * before else 0
        if self.idle >= _PATIENCE:
            self.converged = "steps no longer gain"
        if self.loss.quadratic and after <= _EXACT * self._spread():
            self.converged = "exact to rounding"

    def _spread(self) -> float:
        """Return the mean square of the targets."""
        if self._target_square is None:
            squares = [float(chunk.y.double().square().mean()) for chunk in self.data.chunks(8192)]
            total, chunks = self.data.processes.totals(sum(squares), len(squares))
            self._target_square = total / chunks
        return self._target_square

    def _objective(self, v: Tensor, loss: float) -> float:
        value = loss + float((self.ridge * v * v).sum()) / 2 + self._charge()
        return value if math.isfinite(value) else math.inf

    def _charge(self) -> float:
        """Return the penalty at the parameters that the model has now."""
        return 0.0 if self.penalty is None else self.penalty.value()

    def _watched_loss(self) -> float:
        if not self.guard.units:
            return evaluate(self.model, self.data, self.loss, self.outputs)
        with self.guard:
            return evaluate(self.model, self.data, self.loss, self.outputs)

    def _least(self) -> dict[str, Tensor]:
        self._watched_loss()
        return dict(self.guard.least)

    def _start_admissible(self) -> None:
        """Bring denominators that start below zero somewhere on the data back towards one."""
        while self.guard.units and not self._admissible_start:
            self._least()
            self._admissible_start = self.guard.recede() == 0

    def _require_finite(self, here: Normal) -> None:
        if math.isfinite(here.loss) and bool(torch.isfinite(here.gradient).all()):
            return
        raise Diverged(
            f"the loss is {here.loss} at the start of an lm step, or its gradient is not finite; "
            "scale the inputs to order one, or start from smaller coefficients"
        )

    def exchange(self) -> None:
        """Do nothing: there is no running mean."""

    def set_rate(self, factor: float) -> None:
        """Do nothing: the damping looks after the length of the steps."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must hold."""
        names = ("damping", "idle", "converged", "scale")
        state = {name: getattr(self, name) for name in names}
        return state if self.problem is None else {**state, "dual": self.problem.dual}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        for name in ("damping", "idle", "converged", "scale"):
            setattr(self, name, state[name])
        if self.problem is not None:
            self.problem.dual = state["dual"]
