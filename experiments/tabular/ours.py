"""Our estimators, with their defaults, as the comparison calls them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import rational_anova as ra

DEPTHS = {"ran": "shallow", "ran_deep": "deep"}


def ours(
    model: str, X: pd.DataFrame, y: np.ndarray, task: str, seed: int
) -> tuple[Callable[[pd.DataFrame], np.ndarray], str]:
    """Fit `ran` or `ran_deep`; return a function from rows to predictions, and a remark."""
    kind = ra.RANRegressor if task == "regression" else ra.RANClassifier
    fitted = kind(depth=DEPTHS[model], random_state=seed).fit(X, y)
    note = f"{len(fitted.model_.axes)} effects"
    if model == "ran_deep":
        note += f", effects explain {fitted.variance_explained_:.1%}"
    if task == "regression":
        return fitted.predict, f"{note}, {fitted.link_.name}"
    return fitted.predict_proba, note
