"""What a fit needs of a loss; squared errors, log odds of classes, and known offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax

from ..._core.types import Array

LEAST_WEIGHT = 1e-3  # of a row in the logistic loss, so that certain rows stay finite


class Loss:
    """A loss of decisions f, (rows, outputs); abstract.

    Targets y are (rows, columns): the target itself, and after it what else is known of a row.

    Attributes:
        outputs: how many decisions there are for a row.
        fixed_noise: variance of the working targets about the fit; None where it is estimated.
        quadratic: whether one ridge is the whole fit.
        sums_to_zero: whether only differences between the decisions matter.
        free: whether `tuned` has numbers of the loss itself to set.
    """

    outputs = 1
    fixed_noise: float | None = None
    quadratic = False
    sums_to_zero = False
    free = False

    def start(self, y: Array, weight: Array) -> Array:
        """Return the best constant, or one near it, (outputs,)."""
        raise NotImplementedError

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        """Return residual r and weight h of a row: the loss is about h (r - step)^2 / 2."""
        raise NotImplementedError

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        """Return twice the mean loss: squared errors, or the deviance."""
        raise NotImplementedError

    def varied(self, y: Array) -> bool:
        """Return whether all targets still vary: a class may be missing in some rows."""
        own = y[:, : self.outputs]
        return bool((own.max(0) > own.min(0)).all())

    def telling(self, y: Array, weight: Array) -> float:
        """Return how many rows tell something: rows without a claim or an event tell little."""
        return float(weight.sum())

    def tuned(self, y: Array, f: Array, weight: Array) -> Loss:
        """Return the loss with its own numbers set by the fitted decisions f."""
        return self

    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the loss itself by name, for people."""
        return {}


class Squared(Loss):
    """Squared error; y has a column for each output.

    Args:
        outputs: how many numbers are predicted.
    """

    quadratic = True

    def __init__(self, outputs: int = 1) -> None:
        self.outputs = outputs

    def start(self, y: Array, weight: Array) -> Array:
        return np.asarray(np.average(y, axis=0, weights=weight))

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        return y[:, output] - f[:, output], np.ones(len(y))

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return float(np.average(((y - f) ** 2).sum(1), weights=weight))


class Logistic(Loss):
    """The logistic loss; y is one column of zeros and ones."""

    fixed_noise = 1.0

    def start(self, y: Array, weight: Array) -> Array:
        p = np.average(y, axis=0, weights=weight)
        return np.asarray(np.log(p / (1 - p)))

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        p = expit(f[:, output])
        h = np.clip(p * (1 - p), LEAST_WEIGHT, None)
        return (y[:, output] - p) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return 2 * float(np.average(np.logaddexp(0, np.where(y > 0, -f, f))[:, 0], weights=weight))


class Softmax(Loss):
    """The multinomial loss; y has an indicator for each class.

    Args:
        outputs: how many classes there are.
    """

    fixed_noise = 1.0
    sums_to_zero = True

    def __init__(self, outputs: int) -> None:
        self.outputs = outputs

    def start(self, y: Array, weight: Array) -> Array:
        logs = np.log(np.average(y, axis=0, weights=weight))
        return np.asarray(logs - logs.mean())

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        p = softmax(f, axis=1)[:, output]
        h = np.clip(p * (1 - p), LEAST_WEIGHT, None)
        return (y[:, output] - p) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return -2 * float(np.average((y * log_softmax(f, axis=1)).sum(1), weights=weight))


class Offset(Loss):
    """A loss of decisions to which something known is added: the last columns of y.

    Args:
        loss: of the sum.
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.outputs, self.fixed_noise = loss.outputs, loss.fixed_noise
        self.sums_to_zero, self.free = loss.sums_to_zero, loss.free

    def _split(self, y: Array, f: Array) -> tuple[Array, Array]:
        return y[:, : -self.outputs], f + y[:, -self.outputs :]

    def start(self, y: Array, weight: Array) -> Array:
        own, offset = y[:, : -self.outputs], y[:, -self.outputs :]
        return self.loss.start(own, weight) - np.average(offset, axis=0, weights=weight)

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        return self.loss.working(*self._split(y, f), output)

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        return self.loss.mean(*self._split(y, f), weight)

    def varied(self, y: Array) -> bool:
        return self.loss.varied(y[:, : -self.outputs])

    def telling(self, y: Array, weight: Array) -> float:
        return self.loss.telling(y[:, : -self.outputs], weight)

    def tuned(self, y: Array, f: Array, weight: Array) -> Loss:
        return Offset(self.loss.tuned(*self._split(y, f), weight))

    def numbers(self) -> dict[str, Any]:
        return self.loss.numbers()
