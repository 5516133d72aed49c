"""The deep part as the last stage of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._deep import Deep
from ._deep_fit import fit_deep
from ._losses import LEAST_WEIGHT, Logistic, Softmax, Squared, softmax
from ._mixture import Mixture, fit_mixture
from ._model import Additive
from ._solve import Problem
from ._terms import Rows

NAMES = {Squared: "squared", Logistic: "logistic", Softmax: "softmax"}
MOST_PULL = 0.9  # of a row on its own decision
MOST_STEP = 2.0  # of log odds


def deepen(
    model: Additive, problem: Problem, mixture: Mixture, seed: int,
    scale: float = 1.0, shift: float = 0.0,
) -> Deep:  # fmt: skip
    """Return the deep part for a shallow model of a problem.

    Args:
        model: the shallow model.
        problem: to which it was fitted.
        mixture: with which it was fitted.
        seed: of the fit.
        scale: as in `fit_mixture`.
        shift: as in `fit_mixture`.
    """
    loss = NAMES[type(problem.loss)]
    y = shift + scale * problem.y
    quiet = [(share, replace(options, report=None)) for share, options in mixture]

    def refit(keep: Array) -> Array:
        some = fit_mixture(quiet, model.features, problem.part(keep), seed, scale, shift)
        return some.decision(problem.rows)

    offset = left_out(model, problem.rows, y, problem.weight, loss)
    return fit_deep(
        model.features,
        problem.rows,
        y,
        problem.weight,
        offset,
        loss,
        seed,
        refit,
        mixture[0][1].report,
    )


def left_out(model: Additive, rows: Rows, y: Array, weight: Array, loss: str) -> Array:
    """Return the decisions at training rows as they would be without the row itself, nearly.

    The pull of a row on its own decision is the posterior's variance there over that of its noise.
    """
    f = model.decision(rows)
    if loss == "squared":
        residual, precision = y - f, np.full(f.shape, 1 / max(model.noise, 1e-300))
    else:
        p = softmax(f) if loss == "softmax" else 1 / (1 + np.exp(-np.clip(f, -500, 500)))
        precision = np.maximum(p * (1 - p), LEAST_WEIGHT)
        residual = (y - p) / precision
    pull = np.minimum(model.spread(rows) ** 2 * precision * weight[:, None], MOST_PULL)
    step = pull / (1 - pull) * residual
    # One step of Newton goes too far where a class was thought impossible.
    return np.asarray(f - (step if loss == "squared" else np.clip(step, -MOST_STEP, MOST_STEP)))
