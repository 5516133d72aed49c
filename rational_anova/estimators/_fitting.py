"""From a table and targets to the fitted model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular

from .._core.types import Array
from . import _columns as columns
from ._columns import Feature
from ._losses import Loss
from ._model import Additive, Part
from ._monotone import constrain
from ._recipe import Options, Recipe
from ._solve import Fit, Problem, solve
from ._terms import Rows, groups

LARGE, PART = 50_000, 15_000  # rows from which a part of them, so many, chooses the terms
DRAWS = 100  # from the posterior of the numerators, for bands


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


def additive(fit: Fit, features: list[Feature], scale: float, shift: float, seed: int) -> Additive:
    """Return the model that a fit found, for the target `shift + scale * t` of a fitted t."""
    design = fit.design
    random = np.random.default_rng(seed)
    theta, drawn = [], []
    for solution in fit.solutions:
        normal = random.standard_normal((len(solution.theta), DRAWS))
        away = solve_triangular(solution.factor, normal, lower=True, trans=1, check_finite=False)
        theta.append(solution.theta)
        drawn.append(solution.theta[:, None] + away * np.sqrt(solution.noise))
    unit = scale / design.scale
    numerators = np.stack(theta, 1) * unit[:, None]
    draws = np.stack(drawn, 1) * unit[:, None, None]
    if len(theta) > 1:  # only differences between classes matter: an effect's classes add up to 0
        numerators = numerators - numerators.mean(1, keepdims=True)
        draws = draws - draws.mean(1, keepdims=True)
    group = groups(fit.terms)
    parts = [
        Part(term, numerators[group == k], draws[group == k]) for k, term in enumerate(fit.terms)
    ]
    # The columns were fitted with their means taken off.
    return Additive(
        features,
        shift + numerators[0] - design.mean[1:] @ numerators[1:],
        parts,
        shift + draws[0] - np.tensordot(design.mean[1:], draws[1:], (0, 0)),
        fit.noise * scale**2 if len(fit.solutions) == 1 else 1.0,
        float(sum(s.edf.sum() for s in fit.solutions)),
        fit.history,
    )
