"""Units at many points: the largest and least of all that a certificate bounds, and where."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import minimize

import rational_anova as ra

AT_ONCE = 20_000


class Sampled:
    """The values of a module in float64, and the best points so far for each unit and each goal."""

    def __init__(self, unit: torch.nn.Module, box: np.ndarray, variables: int) -> None:
        self.unit, self.variables = unit.double(), variables
        self.low, self.high = (box[:, k].reshape(-1, variables) for k in (0, 1))
        units, goals = len(self.low), 2 + 2 * variables + 1
        self.best = np.full((units, goals), -np.inf)
        self.place = np.repeat(self.low[:, None], goals, 1)  # (units, goals, variables)

    def goals(self, x: np.ndarray) -> np.ndarray:
        """Return f, -f, each slope and its negative, and the gradient's norm, on a last axis."""
        flat = torch.tensor(x.reshape(len(x), -1), requires_grad=True)
        with ra.kernels.using("torch"):  # no time for kernels of hundreds of forms
            value = self.unit(flat)
            slope = torch.autograd.grad(value.sum(), flat)[0].numpy().reshape(x.shape)
        f = value.detach().numpy()
        parts = [f, -f]
        for v in range(self.variables):
            parts += [slope[..., v], -slope[..., v]]
        parts += [np.linalg.norm(slope, axis=-1)]
        return np.nan_to_num(np.stack(parts, -1), nan=-np.inf)

    def look(self, x: np.ndarray) -> None:
        """Evaluate points (rows, units, variables) and keep the best."""
        for start in range(0, len(x), AT_ONCE):
            part = np.clip(x[start : start + AT_ONCE], self.low, self.high)
            found = self.goals(part)
            for goal in range(found.shape[-1]):
                row = found[..., goal].argmax(0)
                units = np.arange(len(row))
                value = found[row, units, goal]
                better = value > self.best[units, goal]
                self.best[better, goal] = value[better]
                self.place[better, goal] = part[row, units][better]

    def everywhere(self, points: int, rng: np.random.Generator) -> None:
        """Look at corners, beside them, on a grid and at random points."""
        units, v = self.low.shape
        side = round((points / 2) ** (1 / v))
        steps = np.linspace(0, 1, side)
        steps = np.concatenate([steps, [np.nextafter(0, 1), np.nextafter(1, 0), 1e-9, 1 - 1e-9]])
        grid = np.stack(np.meshgrid(*[steps] * v), -1).reshape(-1, 1, v)
        share = np.concatenate([np.broadcast_to(grid, (len(grid), units, v)),
                                rng.random((points - points // 2, units, v))])  # fmt: skip
        self.look(self.low + (self.high - self.low) * share)
        self.look(np.zeros((1, units, v)))  # where q is zero, so that `abs` has a kink

    def zoom(self, rng: np.random.Generator) -> None:
        """Search beside the best points, closer and closer."""
        reach = (self.high - self.low) / 200
        for _ in range(6):
            for goal in range(self.best.shape[1]):
                step = rng.uniform(-1, 1, (100, *self.low.shape)) * reach
                self.look(self.place[:, goal] + step)
            reach = reach / 20

    def climb(self, n: int) -> None:
        """Improve the slopes of one unit by SciPy."""
        for goal in range(2, self.best.shape[1]):

            def f(x: np.ndarray, goal: int = goal) -> float:
                rows = np.repeat(self.low[None], 1, 0)
                rows[0, n] = x
                return -float(self.goals(rows)[0, n, goal])

            ends = list(zip(self.low[n], self.high[n], strict=True))
            found = minimize(f, self.place[n, goal], method="Nelder-Mead", bounds=ends,
                             options={"maxiter": 60})  # fmt: skip
            rows = np.repeat(self.low[None], 1, 0)
            rows[0, n] = found.x
            self.look(rows)
