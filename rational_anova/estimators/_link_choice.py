"""Which link: by the error on rows that were not fitted, in the target's own units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._columns import Feature, folds
from ._fitting import fit_additive
from ._links import Link, possible, standard
from ._recipe import Options
from ._solve import Problem

ROWS = 6000  # that links are tried on
BETTER = 0.98  # error that another link must reach, relative to the identity's


def choose_link(problem: Problem, features: list[Feature], y: Array, seed: int) -> str:
    """Return the link whose model, fitted on one half of the rows, fits the other half best."""
    names = possible(y)
    if len(names) == 1 or problem.count < 50:
        return "identity"
    if len(y) > ROWS:
        some = np.random.default_rng(seed).permutation(len(y))[:ROWS]
        problem, y = problem.part(some), y[some]
    part = problem
    half = part.fold == 0
    if half.all() or not half.any():
        return "identity"
    errors = {}
    for name in names:
        link = Link(name)
        t = link.forward(y)
        total = 0.0
        for train in (half, ~half):
            weight = part.weight[train]
            column, scale, mean = standard(t[train], weight)
            fitted = replace(part.part(train), y=column)
            fitted.fold = folds(fitted.rows.values, 2, seed + 1)
            model = fit_additive(
                features,
                fitted,
                Options(pairs=20, pair_columns=800, refinements=0),
                seed,
                scale,
                mean,
            )
            back = link.smeared(model.decision(fitted.rows)[:, 0], y[train], weight)
            rest = part.rows[~train]
            predicted = back.mean(model.decision(rest)[:, 0])
            total += float(part.weight[~train] @ (y[~train] - predicted) ** 2)
        errors[name] = np.sqrt(total)
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] < BETTER * errors["identity"] else "identity"
