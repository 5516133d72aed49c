"""Small or crowded tables: several models of the same rows, each with its share in the sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from .._core.types import Array
from ._columns import Feature, folds
from ._fitting import fit_additive
from ._model import Additive
from ._parts import Sum, intercept_with_draws, with_draws
from ._recipe import SMALL, Options
from ._solve import Problem

Mixture = list[tuple[float, Options]]

FOLDS = 3
PAIRS = 20  # at most, while shares are found
STEP = 0.05  # of shares: coarse, so that rounding errors of a fit do not show in them
EVEN = 0.05  # how much shares lean to being equal
CROWDED = 100  # rows for each input, below which a table is crowded
RICH, FEW = 11, 1000  # rows for each input from which, and rows up to which, heads may be many


def choose_mixture(
    problem: Problem, features: list[Feature], options: Options, seed: int
) -> Mixture:
    """Return models and their shares; one model alone where there are rows enough.

    The evidence sets the penalties, but with few rows it is itself a noisy judge of hundreds of
    them. So below SMALL rows a nearly linear model, main effects, pairs, and more heads get the
    shares that fit held-out rows best. In a larger table of many inputs, penalties that are shared
    and penalties that are not have one half each.
    """
    rows = problem.count
    alone: Mixture = [(1.0, options)]
    if rows >= SMALL:
        if rows > CROWDED * len(features):
            return alone
        return [(0.5, replace(options, pool=pool)) for pool in (1.0, 0.0)]
    part = folds(problem.rows.values, FOLDS, seed + 1)
    held = [part == k for k in range(FOLDS)]
    if rows < 40 or not all(k.any() and _fair(problem, ~k) for k in held):
        return alone
    sizes = _sizes(options, RICH * len(features) <= rows < FEW)
    decisions = np.zeros((len(sizes), *problem.y.shape))
    for k in held:
        train, test = problem.part(~k), problem.part(k)
        for found, size in zip(decisions, sizes, strict=True):
            quick = replace(size, pairs=min(size.pairs, PAIRS), refinements=0, report=None)
            found[k] = fit_additive(features, train, quick, seed).decision(test.rows)
    shares = _shares(problem, decisions)
    return [(x, size) for x, size in zip(shares, sizes, strict=True) if x > 0]


def fit_mixture(
    mixture: Mixture, features: list[Feature], problem: Problem, seed: int,
    scale: float = 1.0, shift: float = 0.0, signs: dict[int, int] | None = None,
) -> Additive:  # fmt: skip
    """Return the sum of all models of a mixture, each fitted to all rows: one model again."""
    models = [
        fit_additive(features, problem, options, seed, scale, shift, signs)
        for _, options in mixture
    ]
    if len(models) == 1:
        return models[0]
    shares = [share for share, _ in mixture]
    # The models see the same rows, so they err together: draws that know nothing of each other
    # would cancel.
    wide = 1 / np.sqrt(np.square(shares).sum())
    total = Sum()
    intercept = np.zeros((problem.y.shape[1], 1 + models[0].intercept_draws.shape[1]))
    for share, model in zip(shares, models, strict=True):
        for part in model.parts:
            total.add(part.term, share * _widened(with_draws(part), wide))
        intercept += share * _widened(intercept_with_draws(model), wide)
    return Additive(
        features,
        intercept[:, 0],
        total.parts(),
        intercept[:, 1:],
        float(np.dot(shares, [m.noise for m in models])),
        float(np.dot(shares, [m.edf for m in models])),
        [line for model in models for line in model.history],
    )


def _sizes(options: Options, rich: bool) -> list[Options]:
    pooled = replace(options, pool=1.0)
    sizes = [replace(pooled, lean=True, pairs=0), replace(pooled, pairs=0)]
    sizes.append(replace(options, pool=0.0, pairs=0))
    if options.pairs:
        sizes.append(pooled)
    if rich:
        sizes.append(replace(pooled, rich=True))
    return sizes


def _shares(problem: Problem, decisions: Array) -> Array:
    count = len(decisions)

    def loss(shares: Array) -> float:
        f = np.tensordot(shares, decisions, 1)
        mean = problem.loss.mean(problem.y, f, problem.weight)
        return mean * (1 + EVEN * float(shares @ shares))

    whole = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    start = np.full(count, 1 / count)
    found = minimize(
        loss, start, method="SLSQP", bounds=[(0, 1)] * count, constraints=[whole],
        options={"ftol": 1e-10},
    ).x  # fmt: skip
    found = np.round(found / STEP)
    return np.asarray(found / found.sum())


def _widened(numerators: Array, wide: float) -> Array:
    """Return numerators and draws, with the draws further from the numerators."""
    middle = numerators[..., :1]
    return np.asarray(np.concatenate([middle, middle + wide * (numerators[..., 1:] - middle)], -1))


def _fair(problem: Problem, rows: Array) -> bool:
    """Say whether all outputs still vary on some rows: a class may be missing there."""
    return bool((problem.y[rows].max(0) > problem.y[rows].min(0)).all())
