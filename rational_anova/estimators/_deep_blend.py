"""How much of the networks is mixed with the shallow decision: what held-out rows ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._losses import Logistic, Loss, Softmax, Squared, softmax

MEASURES: dict[str, type[Loss]] = {"squared": Squared, "logistic": Logistic, "softmax": Softmax}
WEIGHTS = np.linspace(0, 1, 21)
TEMPERS = np.linspace(0.6, 1, 9)  # factors of log odds; networks are too sure of themselves
# Before the rows speak: rather the networks, and log odds as they are.
USUAL_WEIGHT, WEIGHT_SPREAD, TEMPER_SPREAD = 0.7, 0.2, 0.15
MOST_AVERAGING = 0.15  # of a network's loss that averaging is believed to take away
LEAST = 0.05  # a mixture must be worth this many units of log likelihood, or the networks go


@dataclass(frozen=True)
class Blend:
    """temper * ((1 - weight) * shallow + weight * deep)."""

    weight: float
    temper: float

    def mixed(self, shallow: Array, deep: Array) -> Array:
        """Return the mixture of two decisions."""
        return np.asarray(self.temper * ((1 - self.weight) * shallow + self.weight * deep))


def choose(
    loss: str, y: Array, weight: Array, shallow: Array, deep: Array, averaging: float = 0.0
) -> Blend:
    """Return the likeliest mixture at rows that neither of the two was fitted to.

    Args:
        loss: `squared`, `logistic` or `softmax`.
        y: targets, (rows, outputs).
        weight: of the rows.
        shallow: decisions, (rows, outputs).
        deep: decisions of one network, (rows, outputs).
        averaging: by how much the mean of all networks lowers the mean loss (squared errors, or
            the deviance) against one of them.
    """
    measure, rows = MEASURES[loss](), float(weight.sum())
    averaging = min(averaging, MOST_AVERAGING * measure.mean(y, deep, weight))

    def cost(blend: Blend) -> float:
        """Return minus the log likelihood, up to a constant, for a noise that fits."""
        mean = measure.mean(y, blend.mixed(shallow, deep), weight)
        mean -= (blend.weight * blend.temper) ** 2 * averaging
        return rows / 2 * (float(np.log(max(mean, 1e-300))) if loss == "squared" else mean)

    def prior(blend: Blend) -> float:
        far = ((blend.weight - USUAL_WEIGHT) / WEIGHT_SPREAD) ** 2
        return (far + (np.log(blend.temper) / TEMPER_SPREAD) ** 2) / 2

    tempers = [1.0] if loss == "squared" else TEMPERS
    every = [Blend(float(w), float(t)) for w in WEIGHTS for t in tempers]
    costs = [cost(blend) for blend in every]
    best = int(np.argmin([c + prior(b) for c, b in zip(costs, every, strict=True)]))
    alone = Blend(0.0, 1.0)
    return every[best] if costs[best] + LEAST < cost(alone) else alone


def variance(loss: str, one: Array, other: Array, weight: Array) -> float:
    """Return what a network's variance adds to the mean loss, from two that differ by chance."""
    square = (one - other) ** 2 / 2
    if loss == "logistic":
        p = 1 / (1 + np.exp(-np.clip((one + other) / 2, -500, 500)))
        square *= p * (1 - p)
    elif loss == "softmax":
        p = softmax((one + other) / 2)
        mean = (p * (one - other)).sum(1, keepdims=True)
        square = p * (one - other - mean) ** 2 / 2
    return float(np.average(square.sum(1), weights=weight))
