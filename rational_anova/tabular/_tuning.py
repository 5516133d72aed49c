"""Numbers of a loss that quick fits set: Tweedie's power, Huber's border, spreads of quantiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._fitting import PART, additive
from .fit import Huber, Loss, Options, Problem, Quantiles, Recipe, Tweedie
from .model import Feature

TIMES = 3  # that a loss is set by a quick fit, at most
PAIRS, PAIR_COLUMNS = 20, 800
FAR = 8.0  # borders from a first fit at which targets of Huber's loss end
LEAST_SPREAD = 0.05  # of the mean spread


def _quick(options: Options) -> Options:
    pairs = min(PAIRS, options.pairs)
    return Options(pairs, PAIR_COLUMNS, refinements=0, allowed=options.allowed)


def _part(problem: Problem, seed: int) -> Problem:
    if len(problem.rows) <= PART:
        return problem
    some = np.random.default_rng(seed).choice(len(problem.rows), PART, replace=False)
    return problem.part(some)


def tuned(problem: Problem, features: list[Feature], options: Options, seed: int) -> Loss:
    """Return the loss with its own numbers set; the loss itself if it has none."""
    loss, part = problem.loss, _part(problem, seed)
    for _ in range(TIMES if loss.free else 0):
        fit = Recipe(replace(part, loss=loss), features, _quick(options)).run()
        loss = loss.tuned(part.y, fit.f, part.weight)
    return loss


def huber_problem(
    problem: Problem, features: list[Feature], options: Options, seed: int
) -> Problem:  # fmt: skip
    """Return the problem of Huber's loss with its border, and far targets drawn near.

    How far a target lies beyond the border does not pull f; but it would rule the mean loss, by
    which it is known when a fit has settled.
    """
    y = problem.y
    middle = np.tile(np.median(y, axis=0), (len(y), 1))
    loss = Huber().tuned(y, middle, problem.weight)
    for _ in range(TIMES):
        far = FAR * loss.border
        near = replace(problem, y=np.clip(y, middle - far, middle + far), loss=loss)
        fit = Recipe(_part(near, seed), features, _quick(options)).run()
        middle = additive(fit, features, 1.0, 0.0, seed).decision(problem.rows)
        loss = loss.tuned(y, middle, problem.weight)
    far = FAR * loss.border
    return replace(problem, y=np.clip(y, middle - far, middle + far), loss=loss)


def quantile_problem(
    problem: Problem, features: list[Feature], levels: tuple[float, ...], options: Options,
    seed: int,
) -> Problem:  # fmt: skip
    """Return the problem of quantiles, from that of the mean.

    Quick fits find the mean of the target and the spread about it; the loss of each row is then in
    units of its spread, so that rows with little noise say more.
    """

    def fitted(on: Problem, wish: Options) -> Array:
        fit = Recipe(_part(on, seed), features, wish).run()
        return additive(fit, features, 1.0, 0.0, seed).decision(problem.rows)[:, 0]

    quick = _quick(options)
    away = problem.y[:, 0] - fitted(problem, quick)
    size = float(np.average(np.abs(away), weights=problem.weight)) or 1e-12
    far = (np.abs(away) / size)[:, None] + 1e-3
    spread = np.exp(fitted(replace(problem, y=far, loss=Tweedie(2.0)), replace(quick, pairs=0)))
    spread = size * np.maximum(spread, LEAST_SPREAD)
    loss = Quantiles.of(levels, away / spread, problem.weight)
    return replace(problem, y=np.stack([problem.y[:, 0], spread], 1), loss=loss)
