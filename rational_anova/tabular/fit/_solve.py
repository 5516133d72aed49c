"""All numerators and penalties for given terms: one ridge, or ridges within Newton's method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..._core.types import Array
from ..model import Rows, Term
from ._design import Design
from ._losses import Loss
from ._ridge import Solution, evidence_ridge

START_PENALTY, START_SHARE = 30.0, 0.05
NEWTON = 10  # steps at most
SLACK = 1e-3  # by which a step may raise the loss: penalties change on the way
SETTLED = 0.01  # mean change of the decision at which Newton's method stops
ENOUGH = 5e-4  # share of the penalised loss that a step must gain for another to follow


def start_penalty(terms: Sequence[Term]) -> Array:
    """Return penalties to start from: the more columns there are, the less each may do."""
    return np.array([max(START_PENALTY, START_SHARE * len(terms) * t.size) for t in terms])


@dataclass
class Problem:
    """What is to be fitted; `y` has the targets, and what else the loss knows of a row."""

    rows: Rows
    y: Array
    weight: Array
    loss: Loss
    fold: Array  # 0 or 1 for each row, the same for rows that are equal
    pool: float = 0.0  # how far main effects share their penalty: see `evidence_ridge`

    @property
    def count(self) -> float:
        """How many rows there are, by weight."""
        return float(self.weight.sum())

    @property
    def telling(self) -> float:
        """How many rows tell something, by weight."""
        return self.loss.telling(self.y, self.weight)

    @property
    def outputs(self) -> int:
        """How many decisions there are for a row."""
        return self.loss.outputs

    def part(self, rows: Array) -> Problem:
        """Return the problem on some of the rows."""
        return replace(
            self,
            rows=self.rows[rows],
            y=self.y[rows],
            weight=self.weight[rows],
            fold=self.fold[rows],
        )


@dataclass
class Fit:
    """Terms and their numerators; `theta` belongs to the scaled columns of `design`."""

    terms: list[Term]
    design: Design
    solutions: list[Solution]  # one for each output
    f: Array
    loss: Loss
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
    def cost(self) -> Array:
        """The penalty that each output pays."""
        return np.array([s.cost(self.design.group) for s in self.solutions])

    @property
    def noise(self) -> float:
        """Variance of the targets about the fit (1 for classes), the mean of all outputs."""
        return float(np.mean([s.noise for s in self.solutions]))

    def criterion(self, problem: Problem) -> float:
        """Return GCV where the noise is estimated, else AIC; the heads' freedom counts, too."""
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
    if penalty is None:
        penalty = np.repeat(start_penalty(terms)[:, None], problem.outputs, 1)
    design = Design(terms, problem.rows, problem.weight)
    if not problem.loss.quadratic:
        return _newton(problem, list(terms), design, penalty, updates, before)
    found = [
        evidence_ridge(
            *design.gram(problem.weight, problem.y[:, k]),
            problem.count,
            design.group,
            penalty[:, k],
            design.main,
            updates,
            pool=problem.pool,
        )
        for k in range(problem.outputs)
    ]
    f = np.stack([design.apply(each.theta) for each in found], 1)
    return Fit(list(terms), design, found, f, problem.loss)


def _newton(
    problem: Problem, terms: list[Term], design: Design, penalty: Array, updates: int,
    before: Fit | None,
) -> Fit:  # fmt: skip
    loss, y, outputs = problem.loss, problem.y, problem.outputs
    f = np.tile(loss.start(y, problem.weight), (len(y), 1)) if before is None else before.f.copy()
    cost = np.zeros(outputs) if before is None else before.cost
    value = loss.mean(y, f, problem.weight)
    solutions: list[Solution | None] = [None] * outputs
    whole = False
    for step in range(NEWTON):
        previous, before_step = f.copy(), value + cost.sum() / problem.count
        whole = True
        for k in range(outputs):
            r, h = loss.working(y, f, k)
            gram = design.gram(problem.weight * h, f[:, k] + r)
            count = updates if step == 0 else 1
            found = evidence_ridge(
                *gram, problem.count, design.group, penalty[:, k], design.main, count,
                loss.fixed_noise, problem.pool,
            )  # fmt: skip
            penalty[:, k], solutions[k] = found.penalty, found
            # A whole step where it lowers the penalised loss, a shorter one where it does not.
            old, new, after = f[:, k].copy(), design.apply(found.theta), found.cost(design.group)
            part = 1.0
            while True:
                f[:, k] = old + part * (new - old)
                change = loss.mean(y, f, problem.weight) - value
                change += part * (after - cost[k]) / problem.count
                if change < SLACK * abs(value) or part < 0.1:
                    break
                part /= 2
            value = loss.mean(y, f, problem.weight)
            cost[k] += part * (after - cost[k])
            whole = whole and part == 1
        gained = before_step - value - cost.sum() / problem.count
        moved = float(np.abs(f - previous).mean())
        if whole and (moved < SETTLED or (step > 0 and gained < ENOUGH * before_step)):
            break
    found_all = [s for s in solutions if s is not None]
    if not whole:
        f = np.stack([design.apply(s.theta) for s in found_all], 1)
    return Fit(terms, design, found_all, f, loss)
