"""What explanations need of the training rows: spreads, shares and distributions, no rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ...anova import Input, Moments, Observed, cells, together
from ..model import Additive, Axes, Feature, Rows, Spread

LOSS = 0.002  # of the variance of f, by which few effects may fall short of all
FEW = 20  # distinct numbers up to which each one is kept
QUANTILES = 101
LEVEL = 0.99  # of the rows that lie below the height of an effect
ROWS = 20_000  # from which the height of an effect is taken, at most


@dataclass(frozen=True)
class Measured:
    """Statistics of a model over its training rows.

    Args:
        axes: the inputs of each effect.
        std: standard deviation of each effect, (effects, outputs).
        share: of the variance of f, (effects, outputs).
        covariance: the covariance share, (effects, outputs).
        left: share of the variance that is left with so many effects, the largest first.
        height: what 99 % of the rows have less of, in absolute value, (effects, outputs).
        total: variance of f, (outputs,).
        inputs: the distribution of each input.
        tables: of each pair, the share of the rows in each of its `cells`.
    """

    axes: list[Axes]
    std: Array
    share: Array
    height: Array
    total: Array
    inputs: list[Observed]
    tables: dict[Axes, Array]
    covariance: Array | None = None
    left: Array | None = None

    def few(self) -> int:
        """Return how many effects keep all but `LOSS` of the variance of f."""
        if self.left is None:  # a file of before
            return len(self.axes)
        over = np.flatnonzero(self.left > LOSS)
        return int(over[-1]) + 1 if len(over) else 0

    def shares(self) -> Array:
        """Return the share of each effect in the variance of all outputs together."""
        return together(self.share, self.total)


def measure(model: Additive, rows: Rows, weight: Array) -> Measured:
    """Return what explanations need of the rows; shares are as `anova` defines them.

    Args:
        model: purified.
        rows: of the training data, or of others.
        weight: of each row.
    """
    weight = weight / weight.sum()
    axes = model.axes
    moments = Moments(len(axes), model.outputs)
    step = -(-len(rows) // ROWS)
    kept: list[Array] = []
    for piece, some in rows.chunks() if axes else ():
        none = np.zeros((len(some), model.outputs))
        values = np.stack([sum((part.at(some) for part in model.effect(a)), none) for a in axes])
        moments.add(values, weight[piece])
        kept.append(np.abs(values[:, -piece.start % step :: step]))
    height = np.zeros((0, model.outputs))
    if kept:
        height = np.quantile(np.concatenate(kept, 1), LEVEL, axis=1)
    features = model.features
    seen = [observed(feature, rows.values[:, i], weight) for i, feature in enumerate(features)]
    tables: dict[Axes, Array] = {}
    for pair in axes:
        if len(pair) == 2:
            tables[pair] = _table(features, seen, pair, rows, weight)
    return Measured(
        axes, moments.std, moments.share, height, moments.total, seen, tables,
        moments.covariance, moments.left,
    )  # fmt: skip


def as_input(feature: Feature, seen: Observed) -> Input:
    """Return an input as effects and pictures know it."""
    codes = feature.special
    return Input(feature.name, seen, feature.levels, feature.gaps, feature.part, codes)


def observed(feature: Feature, x: Array, weight: Array) -> Observed:
    """Return how an input is distributed."""
    if feature.category:
        count = len(feature.levels)
        return Observed(
            np.arange(count, dtype=float), np.bincount(x.astype(int), weight, count)[:count], 0.0
        )
    missing = float(weight[np.isnan(x)].sum())
    x = feature.seen(x)
    spread = Spread.of(x, weight)
    if len(spread.levels) <= FEW:
        return Observed(spread.levels, spread.weights, missing)
    return Observed(spread.quantiles(np.linspace(0, 1, QUANTILES)), np.zeros(0), missing)


def _table(
    features: list[Feature], seen: list[Observed], pair: Axes, rows: Rows, weight: Array
) -> Array:
    x = np.stack([features[i].seen(rows.values[:, i]) for i in pair], 1)
    there = ~np.isnan(x).any(1)
    borders = [cells(as_input(features[i], seen[i])) for i in pair]
    counts = np.histogram2d(x[there, 0], x[there, 1], borders, weights=weight[there])[0]
    return np.asarray(counts)
