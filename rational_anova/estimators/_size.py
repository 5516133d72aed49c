"""How large a model small tables bear: by the loss on rows that were not fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._columns import Feature, folds
from ._fitting import fit_additive
from ._recipe import Options
from ._solve import Problem

SMALL = 1500  # rows below which the size is chosen
FOLDS = 3
PAIRS = 20  # at most, while sizes are compared
WORTH = 0.985  # loss that a larger model must reach, relative to a smaller one's


def choose_size(problem: Problem, features: list[Feature], options: Options, seed: int) -> Options:
    """Return the options, for a small table with a smaller model where that predicts better.

    The evidence chooses among terms, but with few rows it is itself a noisy judge of hundreds of
    them: a nearly linear model, main effects, and all are compared on held-out rows.
    """
    if len(problem.rows) >= SMALL or problem.count < 40:
        return options
    quiet = replace(options, refinements=0, report=None)
    lean, mains = replace(quiet, lean=True, pairs=0), replace(quiet, pairs=0)
    full = replace(quiet, pairs=min(options.pairs, PAIRS))
    part = folds(problem.rows.values, FOLDS, seed + 1)
    held = [part == k for k in range(FOLDS)]
    if not all(rows.any() and _fair(problem, ~rows) for rows in held):
        return options

    def loss(size: Options) -> float:
        total = 0.0
        for rows in held:
            train, test = problem.part(~rows), problem.part(rows)
            decision = fit_additive(features, train, size, seed).decision(test.rows)
            total += problem.loss.mean(test.y, decision, test.weight) * test.count
        return total

    best, least = lean, loss(lean)
    for size in (mains, full) if options.pairs and len(features) > 1 else (mains,):
        value = loss(size)
        if value < WORTH * least:
            best, least = size, value
    return replace(options, lean=best.lean, pairs=0 if best is not full else options.pairs)


def _fair(problem: Problem, rows: np.ndarray) -> bool:
    """Say whether all outputs still vary on some rows: a class may be missing there."""
    return bool((problem.y[rows].max(0) > problem.y[rows].min(0)).all())
