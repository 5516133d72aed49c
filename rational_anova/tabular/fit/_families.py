"""Losses of counts, amounts and shares: exponential families, by the variance of the target.

The deviance is that of a generalised linear model; steps are Fisher's, whose weights are
(d mean / d f)^2 / V(mean).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, gammaln, logit, xlogy

from ..._core.types import Array
from ._losses import Loss

FLOOR = 1e-3  # of a mean under the identity link, in units of the targets' mean
FAR = 30.0  # log of the mean, in units of the targets' mean, at most
LIGHT = 1e-6  # weight of a row at least, in units of the mean weight
POWERS = (1.01, 1.99)  # between which Tweedie's power is looked for
START_POWER = 1.5
ROWS = 1500  # that the power is estimated on, at most, of positive ones
LOG_SIZES = (np.log(1e-4), np.log(1e3))  # of the negative binomial's extra variance


class Family(Loss):
    """A loss by its variance function; abstract. y has the target.

    Args:
        link: `log`, `identity` or `logit`.
    """

    def __init__(self, link: str) -> None:
        self.link = link

    def variance(self, mean: Array) -> Array:
        """Return V(mean), the target's variance over the dispersion."""
        raise NotImplementedError

    def deviance(self, y: Array, mean: Array) -> Array:
        """Return the deviance of each row."""
        raise NotImplementedError

    def means(self, f: Array) -> tuple[Array, Array]:
        """Return the means of decisions, and their slopes."""
        if self.link == "log":
            mean = np.exp(np.clip(f, -FAR, FAR))
            return mean, mean
        if self.link == "logit":
            mean = np.clip(expit(f), 1e-12, 1 - 1e-12)
            return mean, mean * (1 - mean)
        return np.maximum(f, FLOOR), np.ones_like(f)

    def start(self, y: Array, weight: Array) -> Array:
        mean = np.average(y[:, :1], axis=0, weights=weight)
        ways: dict[str, Callable[[Array], Array]] = {"log": np.log, "logit": logit}
        return np.asarray(ways[self.link](mean)) if self.link in ways else mean

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        mean, slope = self.means(f[:, 0])
        h = slope**2 / self.variance(mean)
        h = np.maximum(h, LIGHT * h.mean())
        return (y[:, 0] - mean) * slope / self.variance(mean) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        each = self.deviance(y[:, 0], self.means(f[:, 0])[0])
        return float(np.average(each, weights=weight))

    def telling(self, y: Array, weight: Array) -> float:
        return float(weight[y[:, 0] > 0].sum())


class Tweedie(Family):
    """Variance mean^power: 1 is Poisson's, 2 is gamma's, between them sums of gammas and zeros.

    Args:
        power: from 1 to 2.
        link: `log` or `identity`.
        free: whether `tuned` sets the power, by profile likelihood.
    """

    def __init__(self, power: float, link: str = "log", free: bool = False) -> None:
        super().__init__(link)
        self.power, self.free = power, free

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean**self.power)

    def deviance(self, y: Array, mean: Array) -> Array:
        p = self.power
        if p == 1:
            return np.asarray(2 * (xlogy(y, y / mean) - y + mean))
        if p == 2:
            return np.asarray(2 * (y / mean - 1 - np.log(y / mean)))
        own = y ** (2 - p) / ((1 - p) * (2 - p))
        return np.asarray(2 * (own - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p)))

    def tuned(self, y: Array, f: Array, weight: Array) -> Loss:
        power = tweedie_power(y[:, 0], self.means(f[:, 0])[0], weight)
        return Tweedie(power, self.link, free=True)

    def numbers(self) -> dict[str, Any]:
        return {} if self.power in (1, 2) else {"power": round(self.power, 4)}


class NegativeBinomial(Family):
    """Counts of variance mean + extra mean^2.

    Args:
        extra: the second number, set by `tuned`.
        link: `log` or `identity`.
    """

    fixed_noise = 1.0
    free = True

    def __init__(self, extra: float = 1.0, link: str = "log") -> None:
        super().__init__(link)
        self.extra = extra

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean + self.extra * mean**2)

    def deviance(self, y: Array, mean: Array) -> Array:
        a = self.extra
        rest = (y + 1 / a) * np.log1p(a * (y - mean) / (1 + a * mean))
        return np.asarray(2 * (xlogy(y, y / mean) - rest))

    def tuned(self, y: Array, f: Array, weight: Array) -> Loss:
        y, mean = y[:, 0], self.means(f[:, 0])[0]

        def unlikely(log: float) -> float:
            size = np.exp(-log)
            each = gammaln(y + size) - gammaln(size) + size * np.log(size / (size + mean))
            return -float(weight @ (each + xlogy(y, mean / (size + mean))))

        found = minimize_scalar(unlikely, bounds=LOG_SIZES, method="bounded").x
        return NegativeBinomial(float(np.exp(found)), self.link)

    def numbers(self) -> dict[str, Any]:
        return {"extra variance": float(f"{self.extra:.4g}")}


class Binomial(Family):
    """Shares from 0 to 1, of as many trials as the row's weight; a dispersion is estimated.

    Args:
        link: `logit` or `identity`.
    """

    def __init__(self, link: str = "logit") -> None:
        super().__init__(link)

    def means(self, f: Array) -> tuple[Array, Array]:
        mean, slope = super().means(f)
        return np.minimum(mean, 1 - FLOOR if self.link == "identity" else 1.0), slope

    def variance(self, mean: Array) -> Array:
        return np.asarray(mean * (1 - mean))

    def deviance(self, y: Array, mean: Array) -> Array:
        return np.asarray(2 * (xlogy(y, y / mean) + xlogy(1 - y, (1 - y) / (1 - mean))))


def tweedie_power(y: Array, mean: Array, weight: Array) -> float:
    """Return the power, between 1 and 2, of the largest likelihood, over the dispersion, too."""
    some = np.flatnonzero(y > 0)
    some = some[:: -(-len(some) // ROWS)]
    zero = y == 0
    scale = float(weight[y > 0].sum() / weight[some].sum())

    def unlikely(at: Array) -> float:
        power = POWERS[0] + (POWERS[1] - POWERS[0]) * float(expit(at[0]))
        phi = float(np.exp(np.clip(at[1], -20, 20)))
        none = -(weight[zero] @ mean[zero] ** (2 - power)) / (phi * (2 - power))
        own = weight[some] @ _log_density(y[some], mean[some], power, phi)
        return -float(none + scale * own)

    spread = np.average((y - mean) ** 2 / mean**START_POWER, weights=weight)
    begin = np.array([0.0, np.log(spread)])
    found = minimize(unlikely, begin, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-2})
    return float(POWERS[0] + (POWERS[1] - POWERS[0]) * expit(found.x[0]))


def _log_density(y: Array, mean: Array, power: float, phi: float) -> Array:
    """Return Tweedie's log density at positive y, by its series about the largest term."""
    alpha = (2 - power) / (power - 1)
    log_z = alpha * np.log(y / (power - 1)) - (1 + alpha) * np.log(phi) - np.log(2 - power)
    most = y ** (2 - power) / (phi * (2 - power))  # about here the terms are largest
    reach = 6 * np.sqrt(np.maximum(most, 1) / alpha) + 6
    steps = np.linspace(-1, 1, 121)
    j = np.maximum(np.round(most[:, None] + reach[:, None] * steps), 1.0)
    fresh = np.concatenate([np.ones((len(j), 1), bool), np.diff(j, axis=1) > 0], 1)
    # Where terms are many, each one shown stands for those to the next.
    width = np.where(fresh, np.maximum(2 * reach[:, None] / 120, 1.0), 0.0)
    logs = j * log_z[:, None] - gammaln(j + 1) - gammaln(alpha * j)
    top = logs.max(1, keepdims=True)
    series = top[:, 0] + np.log((width * np.exp(logs - top)).sum(1))
    kernel = y * mean ** (1 - power) / (1 - power) - mean ** (2 - power) / (2 - power)
    return np.asarray(series - np.log(y) + kernel / phi)
