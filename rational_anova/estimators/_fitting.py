"""From a table and targets to the fitted model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from .._core.types import Array
from . import _columns as columns
from ._columns import Feature
from ._losses import Loss
from ._model import Additive, additive
from ._monotone import constrain
from ._recipe import Options, Recipe
from ._solve import Fit, Problem, solve
from ._terms import Rows

LARGE, PART = 50_000, 15_000  # rows from which a part of them, so many, chooses the terms


def learn_features(frame: pd.DataFrame, y: Array, weight: Array) -> list[Feature]:
    """Return the inputs that a table makes, with what they take from its rows."""
    found = columns.features_of(frame)
    return [columns.learn(f, frame.iloc[:, f.column], y, weight) for f in found]


def problem_of(
    features: list[Feature], frame: pd.DataFrame, y: Array, weight: Array, loss: Loss, seed: int
) -> Problem:
    """Return the rows and targets as the fit sees them; rows of no weight are left out."""
    used = weight > 0
    values = columns.read(features, frame).values[used]
    y, weight = y[used], weight[used]
    fold = columns.folds(values, 2 * columns.CODE_FOLDS, seed)
    coded = {
        i: columns.coded(feature, values[:, i], y, weight, fold // 2)
        for i, feature in enumerate(features)
        if feature.crowded
    }
    return Problem(Rows(values, coded), y, weight, loss, fold % 2)


def fit_additive(
    features: list[Feature], problem: Problem, options: Options, seed: int,
    scale: float = 1.0, shift: float = 0.0, signs: dict[int, int] | None = None,
) -> Additive:  # fmt: skip
    """Return the model that the recipe finds, monotone in the inputs that have a sign."""
    fit = run_recipe(problem, features, options, seed)
    if signs:
        fit = constrain(problem, fit, signs)
    return additive(fit, features, scale, shift, seed)


def run_recipe(problem: Problem, features: list[Feature], options: Options, seed: int) -> Fit:
    """Return the fitted terms; of very many rows a part chooses them, all fit the numerators."""
    if len(problem.rows) <= LARGE:
        return Recipe(problem, features, options).run()
    some = np.random.default_rng(seed).choice(len(problem.rows), PART, replace=False)
    found = Recipe(problem.part(some), features, options).run()
    if options.report is not None:
        options.report("all rows")
    f = additive(found, features, 1.0, 0.0, seed).decision(problem.rows)
    fit = solve(problem, found.terms, 1, replace(found, f=f), found.penalty)
    line = ("all rows", len(fit.terms), len(fit.theta), float(fit.edf.sum()))
    return replace(fit, edf_heads=found.edf_heads, history=[*found.history, line])
