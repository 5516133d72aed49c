"""Numerators and penalties from sums over all rows: one pass, or one for each step of Newton."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ..fit import Fit, Loss, Solution, evidence_ridge
from ..model import Term
from ._panel import Panel
from ._sums import Sums

UPDATES = 3  # of the penalties, which a part of the rows has chosen
NEWTON = 12  # steps at most
SETTLED = 0.01  # change of the decision (root mean square) at which Newton's method stops
SLACK = 1e-3  # by which a step may raise the loss: penalties change on the way
# All classes step at once, each as if the others stayed. Together they would go up to twice too
# far; at two thirds, what is left of an error is a third of it at most.
TOGETHER = 2 / 3


@dataclass(frozen=True)
class Scaling:
    """Mean and scale of the columns over all rows; stands for the `design` of a fit."""

    mean: Array
    scale: Array
    group: Array
    main: Array


@dataclass(frozen=True)
class Statistics:
    """All that the numerators of a model come from: sums over the rows.

    Args:
        panel: the columns that were summed.
        theta: coefficients that the sums are expanded about, (columns, outputs).
        grams: products of the columns, and of the working residual last, for each output.
        plain: sums of the columns and of their squares, where weights of the loss differ.
        value: sum of the loss.
        count: how many rows there are, by weight.
    """

    panel: Panel
    theta: Array
    grams: Array
    plain: Array
    value: float
    count: float

    @classmethod
    def of(cls, sums: Sums, panel: Panel, theta: Array) -> Statistics:
        """Return statistics of what `OfColumns` has summed."""
        grams, plain, rest = sums
        return cls(panel, theta, grams, plain, float(rest[0]), float(rest[1]))

    def system(self, output: int) -> tuple[Array, Array, float]:
        """Return Phi'W Phi, Phi'W t and t'W t of an output, of the panel's columns."""
        whole, theta = self.grams[output], self.theta[:, output]
        gram, rest, square = whole[:-1, :-1], whole[:-1, -1], whole[-1, -1]
        fitted = gram @ theta
        return gram, fitted + rest, float(square + 2 * theta @ rest + theta @ fitted)

    def scaling(self) -> Scaling:
        """Return the mean and scale of the columns over the rows."""
        panel = self.panel
        sums = self.plain
        if not sums.shape[1]:
            sums = np.stack([self.grams[0][0, :-1], self.grams[0].diagonal()[:-1]])
        mean, square = sums / self.count
        scale = np.sqrt(np.maximum(square - mean**2, 0))
        mean, scale = panel.mean + panel.scale * mean, panel.scale * scale + 1e-9
        mean[0], scale[0] = 0, 1
        return Scaling(mean, scale, panel.group, panel.main)

    def solve(self, penalty: Array, updates: int, loss: Loss) -> tuple[Scaling, list[Solution]]:
        """Return the ridge of each output, its coefficients being those of scaled columns."""
        scaling = self.scaling()
        factor = self.panel.scale / scaling.scale
        shift = (self.panel.mean - scaling.mean) / scaling.scale
        found = []
        for k in range(len(self.grams)):
            gram, moment, square = self.system(k)
            gram, moment = _rescaled(gram, moment, factor, shift)
            found.append(
                evidence_ridge(
                    gram, moment, square, self.count, scaling.group, penalty[:, k], scaling.main,
                    updates, loss.fixed_noise,
                )
            )  # fmt: skip
        return scaling, found

    def back(self, theta: Array, scaling: Scaling) -> Array:
        """Return coefficients of the panel's columns for those of scaled columns."""
        result = theta * (self.panel.scale / scaling.scale)[:, None]
        result[0] += ((self.panel.mean - scaling.mean) / scaling.scale) @ theta
        return result


def _rescaled(gram: Array, moment: Array, factor: Array, shift: Array) -> tuple[Array, Array]:
    """Return the products of columns `factor * z + shift`; the first column is a one."""
    first = factor * gram[0]
    result = gram * np.outer(factor, factor)
    result += np.outer(shift, first) + np.outer(first, shift) + gram[0, 0] * np.outer(shift, shift)
    return result, factor * moment + shift * moment[0]


def solve_all(
    run: Callable[[Panel, Array], Statistics], panel: Panel, theta: Array, penalty: Array,
    loss: Loss, terms: list[Term],
) -> tuple[Fit, Statistics]:  # fmt: skip
    """Return the fit of given terms to all rows, and the sums that it came from.

    Args:
        run: makes a pass over the rows, about a decision.
        panel: the columns.
        theta: where to start, (columns, outputs).
        penalty: (terms, outputs).
        loss: for which the model is fitted.
        terms: of the model.
    """
    outputs = theta.shape[1]
    part = 1.0 if outputs == 1 else TOGETHER
    before: tuple[float, Array] | None = None
    for step in range(NEWTON):
        found = run(panel, theta)
        value = found.value / found.count
        if before is not None and value > before[0] + SLACK * abs(before[0]):
            theta = (theta + before[1]) / 2  # the step was too long
            continue
        scaling, solutions = found.solve(penalty, UPDATES if before is None else 1, loss)
        penalty = np.stack([s.penalty for s in solutions], 1)
        new = found.back(np.stack([s.theta for s in solutions], 1), scaling)
        if loss.fixed_noise is None or _moved(found, new - theta) < SETTLED or step == NEWTON - 1:
            break
        before = value, theta
        theta = theta + part * (new - theta)
    fit = Fit(terms, scaling, solutions, np.zeros((0, outputs)), loss)  # type: ignore[arg-type]
    return fit, found


def _moved(found: Statistics, step: Array) -> float:
    """Return how far a step moves the decision."""
    total = 0.0
    for k in range(step.shape[1]):
        gram = found.grams[k][:-1, :-1]
        total += float(step[:, k] @ gram @ step[:, k]) / float(gram[0, 0])
    return float(np.sqrt(max(total, 0.0)))
