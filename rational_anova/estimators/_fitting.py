"""From a table and targets to the fitted model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from . import _columns as columns
from ._columns import Feature
from ._losses import Loss
from ._model import Additive, additive
from ._recipe import MANY_LEVELS, Options, Recipe
from ._solve import Problem
from ._terms import Rows

Array = np.ndarray


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
    fold = columns.folds(values, y, 2 * columns.CODE_FOLDS, seed)
    coded = {
        i: columns.coded(feature, values[:, i], y, weight, fold // 2)
        for i, feature in enumerate(features)
        if feature.category and len(feature.levels) >= MANY_LEVELS
    }
    return Problem(Rows(values, coded), y, weight, loss, fold % 2)


def fit_additive(
    features: list[Feature], problem: Problem, options: Options, seed: int,
    scale: float = 1.0, shift: float = 0.0,
) -> Additive:  # fmt: skip
    """Return the model that the recipe finds."""
    fit = Recipe(problem, features, options).run()
    return additive(fit, features, scale, shift, seed)
