"""All numerators and penalties for given terms: one ridge, or ridges within Newton's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ._design import Design
from ._losses import Loss
from ._ridge import Solution, evidence_ridge
from ._terms import Rows, Term

Array = np.ndarray

START_PENALTY = 30.0
NEWTON = 6  # steps at most
SETTLED = 0.01  # mean change of the decision at which Newton's method stops


@dataclass
class Problem:
    """What is to be fitted; targets are (rows, outputs)."""

    rows: Rows
    y: Array
    weight: Array
    loss: Loss
    fold: Array  # 0 or 1 for each row, the same for rows that are equal

    @property
    def count(self) -> float:
        """How many rows there are, by weight."""
        return float(self.weight.sum())

    def part(self, rows: Array) -> Problem:
        """Return the problem on some of the rows."""
        return Problem(
            self.rows[rows], self.y[rows], self.weight[rows], self.loss, self.fold[rows]
        )


@dataclass
class Fit:
    """Terms and their numerators; `theta` belongs to the scaled columns of `design`."""

    terms: list[Term]
    design: Design
    solutions: list[Solution]  # one for each output
    f: Array
    edf_heads: float = 0.0
    history: list[tuple[str, int, int, float]] = field(default_factory=list)

    @property
    def theta(self) -> Array:
        """Numerators of the scaled columns, (columns, outputs)."""
        return np.stack([s.theta for s in self.solutions], 1)

    @property
    def edf(self) -> Array:
        """Effective degrees of freedom of each term, of the output that uses it most."""
        return np.max([s.edf for s in self.solutions], axis=0)

    @property
    def penalty(self) -> Array:
        """(terms, outputs)."""
        return np.stack([s.penalty for s in self.solutions], 1)

    @property
    def noise(self) -> float:
        """Variance of the targets about the fit (1 for classes)."""
        return self.solutions[0].noise

    def criterion(self, problem: Problem) -> float:
        """Return GCV for squared errors, AIC for classes; the heads' freedom counts, too."""
        edf = sum(s.edf.sum() for s in self.solutions) + self.edf_heads
        mean = problem.loss.mean(problem.y, self.f, problem.weight)
        if problem.loss.fixed_noise is None:
            return mean / max(1 - edf / problem.count, 0.05) ** 2
        return mean + 2 * edf / problem.count


def solve(
    problem: Problem, terms: Sequence[Term], updates: int, before: Fit | None = None,
    penalty: Array | None = None,
) -> Fit:  # fmt: skip
    """Return all numerators.

    Args:
        problem: rows, targets, loss.
        terms: of the model.
        updates: of the penalties.
        before: an earlier fit whose decision Newton's method starts from.
        penalty: (terms, outputs) to start from.
    """
    outputs = problem.y.shape[1]
    if penalty is None:
        penalty = np.full((len(terms), outputs), START_PENALTY)
    design = Design(terms, problem.rows, problem.weight)
    if problem.loss.fixed_noise is None:
        gram = design.gram(problem.weight, problem.y[:, 0])
        found = evidence_ridge(*gram, problem.count, design.group, penalty[:, 0], updates)
        return Fit(list(terms), design, [found], design.apply(found.theta)[:, None])
    return _newton(problem, list(terms), design, penalty, updates, before)


def _newton(
    problem: Problem, terms: list[Term], design: Design, penalty: Array, updates: int,
    before: Fit | None,
) -> Fit:  # fmt: skip
    loss, y = problem.loss, problem.y
    f = np.tile(loss.start(y, problem.weight), (len(y), 1)) if before is None else before.f.copy()
    solutions: list[Solution] = []
    value = loss.mean(y, f, problem.weight)
    for step in range(NEWTON):
        previous, solutions = f.copy(), []
        for k in range(y.shape[1]):
            r, h = loss.working(y, f, k)
            gram = design.gram(problem.weight * h, f[:, k] + r)
            count = updates if step == 0 else max(updates // 2, 1)
            found = evidence_ridge(
                *gram, problem.count, design.group, penalty[:, k], count, loss.fixed_noise
            )
            penalty[:, k] = found.penalty
            solutions.append(found)
            f[:, k] = design.apply(found.theta)
        new = loss.mean(y, f, problem.weight)
        moved = float(np.abs(f - previous).mean())
        if moved < SETTLED or (step > 1 and new > value * (1 - 1e-4)):
            break
        value = new
    return Fit(terms, design, solutions, f)
