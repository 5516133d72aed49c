"""Losses as the fit sees them: a start, and a working response with weights."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._core.types import Array

LEAST_WEIGHT = 1e-3  # of a row in the logistic loss, so that certain rows stay finite


class Loss(Protocol):
    """What the fit needs of a loss; targets and decisions are (rows, outputs)."""

    fixed_noise: float | None

    def start(self, y: Array, weight: Array) -> Array:
        """Return the best constant, (outputs,)."""
        ...

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        """Return residual r and weight h of a row: the loss is about h (r - step)^2 / 2."""
        ...

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        """Return twice the mean loss: squared errors, or the deviance."""
        ...


class Squared:
    """Squared error."""

    fixed_noise: float | None = None

    def start(self, y: Array, weight: Array) -> Array:
        return np.asarray(np.average(y, axis=0, weights=weight))

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        return y[:, output] - f[:, output], np.ones(len(y))

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return float(np.average(((y - f) ** 2).sum(1), weights=weight))


class Logistic:
    """The logistic loss; y is one column of zeros and ones."""

    fixed_noise: float | None = 1.0

    def start(self, y: Array, weight: Array) -> Array:
        p = np.average(y, axis=0, weights=weight)
        return np.asarray(np.log(p / (1 - p)))

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        p = 1 / (1 + np.exp(-np.clip(f[:, output], -500, 500)))
        h = np.clip(p * (1 - p), LEAST_WEIGHT, None)
        return (y[:, output] - p) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return 2 * float(np.average(np.logaddexp(0, np.where(y > 0, -f, f))[:, 0], weights=weight))


class Softmax:
    """The multinomial loss; y has an indicator for each class."""

    fixed_noise: float | None = 1.0

    def start(self, y: Array, weight: Array) -> Array:
        logs = np.log(np.average(y, axis=0, weights=weight))
        return np.asarray(logs - logs.mean())

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        p = softmax(f)[:, output]
        h = np.clip(p * (1 - p), LEAST_WEIGHT, None)
        return (y[:, output] - p) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        logs = f - f.max(1, keepdims=True)
        logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
        return -2 * float(np.average((y * logs).sum(1), weights=weight))


def softmax(f: Array) -> Array:
    """Return probabilities for decisions (rows, classes)."""
    e = np.exp(f - f.max(1, keepdims=True))
    return np.asarray(e / e.sum(1, keepdims=True))
