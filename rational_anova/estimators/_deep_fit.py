"""How the deep part is fitted.

Networks are fitted to the targets themselves, with the shallow decision among their inputs: fitted
to what the effects leave over, they gained little on the tables that were tried, since that is
noise for the most part. Each network holds out another part of the rows; predictions there, beside
those of effects that were fitted without them, say how much of the networks is mixed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from .._core.types import Array
from ._columns import Feature, folds
from ._deep import Deep
from ._deep_blend import Blend, choose, variance
from ._deep_inputs import Inputs
from ._deep_network import LOSSES, Data, train
from ._terms import Rows

# From the rows to use (booleans) to the decisions, at all rows, of effects fitted to those alone.
Refit = Callable[[Array], Array]
Report = Callable[[str], None]

FOLDS = 5
LEAST_ROWS = 100  # below which there is no deep part
REFIT_ROWS = 5000  # rows times refits, about; one refit at least


def fit_deep(
    features: list[Feature],
    rows: Rows,
    y: Array,
    weight: Array,
    offset: Array,
    loss: str,
    seed: int,
    refit: Refit | None = None,
    report: Report | None = None,
) -> Deep:
    """Return the deep part for targets and shallow decisions, both (rows, outputs).

    Args:
        features: the inputs.
        rows: of training, with `coded` if there is any.
        y: targets on the scale of the decisions; indicators for classes.
        weight: of the rows, positive.
        offset: shallow decisions without each row's own pull, see
            `_deep_stage.left_out`.
        loss: `squared`, `logistic` or `softmax`.
        seed: of folds and networks.
        refit: fits the effects again to some of the rows; without it `offset` must do to compare.
        report: called with the name of each stage.
    """
    say = report or (lambda stage: None)
    squared = loss == "squared"
    middle = np.average(y, axis=0, weights=weight) if squared else np.zeros(y.shape[1])
    scale = float(np.sqrt(weight @ (y - middle) ** 2 / weight.sum())[0]) if squared else 1.0
    nothing = Deep(None, [], middle, scale or 1.0, Blend(0.0, 1.0))
    fold = folds(rows.values, FOLDS, seed)
    if len(rows) < LEAST_ROWS or len(np.unique(fold)) < FOLDS or not scale:
        return nothing
    inputs = Inputs.of(features, rows, weight, offset)
    x = inputs.at(rows, offset)
    target, weights = (torch.tensor(v, dtype=torch.float32) for v in ((y - middle) / scale, weight))
    data = Data(x, target, weights, LOSSES[loss])
    deep = replace(nothing, inputs=inputs, networks=[], blend=Blend(1.0, 1.0))
    count = min(max(round(REFIT_ROWS / len(rows)), 1), FOLDS)
    again = [k for k in range(count if refit else 0) if squared or _every_class(y[fold != k])]
    shallow, own = offset.copy(), np.empty_like(offset)
    for k in range(FOLDS):
        say(f"network {k + 1} of {FOLDS + 1}")
        held = fold == k
        deep.networks.append(train(data, torch.tensor(held), seed + k))
        seen = x[torch.tensor(held)]
        if refit and k in again:
            # Effects that saw a row look better at it than they are; so would the networks.
            shallow[held] = refit(~held)[held]
            seen = inputs.at(rows[held], shallow[held])
        own[held] = deep.of(deep.networks[-1], seen)
    # One more for the last part: two that differ by chance say what the mean of all will gain.
    say(f"network {FOLDS + 1} of {FOLDS + 1}")
    deep.networks.append(train(data, torch.tensor(held), seed + FOLDS))
    spare = variance(loss, own[held], deep.of(deep.networks[-1], seen), weight[held])
    used = np.isin(fold, again or range(FOLDS))
    averaging = spare * FOLDS / (FOLDS + 1)
    blend = choose(loss, y[used], weight[used], shallow[used], own[used], averaging)
    say(f"networks' weight {blend.weight:.2f}")
    if not blend.weight:
        return nothing
    deep = replace(deep, blend=blend, held_=blend.mixed(shallow, own))
    total = offset + deep.decision(rows, offset)
    return replace(deep, share_=share(offset, total, weight))


def share(shallow: Array, total: Array, weight: Array) -> float:
    """Return how much of the variance of the whole decision the effects explain, from 0 to 1.

    It is what a multiple of the shallow decision explains: Cov(shallow, total)^2 / (Var Var).
    """
    a, b = (f - np.average(f, axis=0, weights=weight) for f in (shallow, total))
    own, whole, common = (float(weight @ (p * q).sum(1)) for p, q in ((a, a), (b, b), (a, b)))
    return common**2 / (own * whole) if own * whole else float(not whole)


def _every_class(y: Array) -> bool:
    """Say whether all classes are there, of an indicator (two classes) or one for each."""
    return bool(y.any(0).all() and not y.all(0).any())
