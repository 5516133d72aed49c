"""What explanations need of the training rows: spreads, shares and distributions, no rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ..model import Additive, Axes, Feature, Rows, Spread

FEW = 20  # distinct numbers up to which each one is kept
QUANTILES = 101
CELLS = 24  # of a pair's table of frequencies, along a number
MOST_LEVELS = 20  # along a category
LONG = 2.5  # ranges of the middle 98 % that the whole range may have without being cut
ROWS = 20_000  # from which the height of an effect is taken, at most


@dataclass(frozen=True)
class Observed:
    """How an input is distributed over the training rows.

    Args:
        points: of a number its distinct values if there are few, else quantiles at even levels
            from 0 to 1; of a category its codes.
        weight: share of each value or level; empty for quantiles.
        missing: share of the rows in which the number is missing.
    """

    points: Array
    weight: Array
    missing: float

    @property
    def shown(self) -> tuple[float, float]:
        """The range that pictures show: all, or the middle 98 % where the tails are long."""
        points = self.points if len(self.points) else np.zeros(1)
        low, high = float(points[0]), float(points[-1])
        if not len(self.weight) and high - low > LONG * (points[-2] - points[1]) > 0:
            low, high = float(points[1]), float(points[-2])
        return (low, high) if low < high else (low - 0.5, high + 0.5)


@dataclass(frozen=True)
class Measured:
    """Statistics of a model over its training rows.

    Args:
        axes: the inputs of each effect.
        std: standard deviation of each effect, (effects, outputs).
        share: of the variance of f, covariance of effect and f over it, (effects, outputs).
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

    def shares(self) -> Array:
        """Return the share of each effect in the variance of all outputs together."""
        whole = self.total.sum()
        return self.share @ self.total / whole if whole > 0 else np.zeros(len(self.axes))


def measure(model: Additive, rows: Rows, weight: Array) -> Measured:
    """Return what explanations need of the training rows.

    The share of an effect f_u is Cov(f_u, f)/Var(f). All shares add up to one. Where inputs are
    independent and the effects purified these are the Sobol indices; where they depend on one
    another a share may be a little negative.

    Args:
        model: purified.
        rows: of the training data.
        weight: of each row.
    """
    weight = weight / weight.sum()
    axes = model.axes
    moments = np.zeros((3, len(axes), model.outputs))  # of effects, their squares, times f
    sums = np.zeros((2, model.outputs))
    step = -(-len(rows) // ROWS)
    kept: list[Array] = []
    for piece, some in rows.chunks():
        w = weight[piece]
        values = np.stack(
            [sum((part.at(some) for part in model.effect(a)), np.zeros((len(some), model.outputs)))
             for a in axes]
            or [np.zeros((len(some), model.outputs))]
        )  # fmt: skip
        f = values.sum(0)
        sums += w @ f, w @ f**2
        if axes:
            products = values, values**2, values * f
            moments += np.stack([np.einsum("n,enk->ek", w, each) for each in products])
            kept.append(np.abs(values[:, -piece.start % step :: step]))
    total = np.maximum(sums[1] - sums[0] ** 2, 0)
    covariance = moments[2] - moments[0] * sums[0]
    share = np.divide(covariance, total, out=np.zeros_like(covariance), where=total > 0)
    none = np.zeros((0, model.outputs))
    features = model.features
    seen = [observed(feature, rows.values[:, i], weight) for i, feature in enumerate(features)]
    return Measured(
        axes,
        np.sqrt(np.maximum(moments[1] - moments[0] ** 2, 0)),
        share,
        np.quantile(np.concatenate(kept, 1), 0.99, axis=1) if kept else none,
        total,
        seen,
        {pair: _table(features, seen, pair, rows, weight) for pair in axes if len(pair) == 2},
    )


def observed(feature: Feature, x: Array, weight: Array) -> Observed:
    """Return how an input is distributed."""
    if feature.category:
        count = len(feature.levels)
        return Observed(
            np.arange(count, dtype=float), np.bincount(x.astype(int), weight, count)[:count], 0.0
        )
    spread = Spread.of(x, weight)
    missing = float(weight[np.isnan(x)].sum())
    if len(spread.levels) <= FEW:
        return Observed(spread.levels, spread.weights, missing)
    return Observed(spread.quantiles(np.linspace(0, 1, QUANTILES)), np.zeros(0), missing)


def cells(feature: Feature, seen: Observed, count: int = CELLS) -> Array:
    """Return the borders of a pair's cells along an input: levels, distinct values, or even."""
    if feature.category:
        return np.arange(min(len(feature.levels), MOST_LEVELS) + 1) - 0.5
    if not len(seen.weight):
        return np.linspace(*seen.shown, count + 1)
    if len(seen.points) < 2:
        return np.asarray(seen.shown)
    middle = (seen.points[1:] + seen.points[:-1]) / 2
    ends = 2 * seen.points[0] - middle[0], 2 * seen.points[-1] - middle[-1]
    return np.concatenate([ends[:1], middle, ends[1:]])


def _table(
    features: list[Feature], seen: list[Observed], pair: Axes, rows: Rows, weight: Array
) -> Array:
    x = rows.values[:, pair]
    there = ~np.isnan(x).any(1)
    borders = [cells(features[i], seen[i]) for i in pair]
    counts = np.histogram2d(x[there, 0], x[there, 1], borders, weights=weight[there])[0]
    return np.asarray(counts)
