"""Losses that far targets do not rule: Huber's, and those of quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..._core.types import Array
from ._losses import Loss

HUBER = 1.345  # standard deviations: 95 % efficient where the noise is normal
LEAST_SHARE = 0.05  # of rows within the border, so that steps stay finite
MAD = 1.4826  # standard deviations of normal noise in a median absolute deviation
SMOOTHING = (0.5, 0.03, 0.15)  # of quantiles: 0.5 rows^(-1/4) of the local spread, and its limits


class Huber(Loss):
    """Squared errors up to a border, absolute ones beyond it; y is standardised.

    Args:
        border: set by `tuned`.
    """

    def __init__(self, border: float = HUBER) -> None:
        self.border = border

    def start(self, y: Array, weight: Array) -> Array:
        return np.median(y[weight > 0, :1], axis=0)

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        r = y[:, 0] - f[:, 0]
        # One curvature for all rows, the mean one: then the noise is that of the estimate, too.
        share = max(float(np.mean(np.abs(r) <= self.border)), LEAST_SHARE)
        return np.clip(r, -self.border, self.border) / share, np.full(len(r), share)

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        r = np.abs(y[:, 0] - f[:, 0])
        each = np.where(r <= self.border, r**2, self.border * (2 * r - self.border))
        return float(np.average(each, weights=weight))

    def tuned(self, y: Array, f: Array, weight: Array) -> Huber:
        r = y[:, 0] - f[:, 0]
        return Huber(max(HUBER * MAD * float(np.median(np.abs(r[weight > 0]))), 1e-6))


class Quantiles(Loss):
    """Quantiles, each with a decision of its own; y has the target and the local spread.

    The loss of a row is the pinball loss over the row's spread, rounded a little at its kink, so
    that it has a curvature: the density of targets at the quantile. In units in which the
    working target has a variance of one.

    Args:
        levels: between 0 and 1.
        smoothing: width of the rounded kink, in spreads.
        density: at each quantile, of targets over their spread.
    """

    fixed_noise = 1.0

    def __init__(self, levels: tuple[float, ...], smoothing: float, density: Array) -> None:
        self.levels, self.smoothing = levels, smoothing
        self.outputs = len(levels)
        self.density = density
        self.unit = density / (np.array(levels) * (1 - np.array(levels)))

    @classmethod
    def of(cls, levels: tuple[float, ...], away: Array, weight: Array) -> Quantiles:
        """Return the loss for distances from the middle, in local spreads."""
        factor, least, most = SMOOTHING
        smoothing = float(np.clip(factor * weight.sum() ** -0.25, least, most))
        order = np.argsort(away)
        at = np.cumsum(weight[order]) / weight.sum()
        places = away[order][np.minimum(np.searchsorted(at, levels), len(at) - 1)]
        rises = expit((away[:, None] - places) / smoothing)
        density = np.average(rises * (1 - rises) / smoothing, axis=0, weights=weight)
        return cls(levels, smoothing, np.maximum(density, 1e-3))

    def start(self, y: Array, weight: Array) -> Array:
        order = np.argsort(y[:, 0])
        at = np.cumsum(weight[order]) / weight.sum()
        return y[order, 0][np.minimum(np.searchsorted(at, self.levels), len(at) - 1)]

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        spread, density = y[:, 1], self.density[output]
        below = expit((f[:, output] - y[:, 0]) / (spread * self.smoothing))
        r = (self.levels[output] - below) * spread / density
        return r, self.unit[output] * density / spread**2

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        u = (y[:, :1] - f) / y[:, 1:2]
        b = self.smoothing
        each = np.array(self.levels) * u + b * np.logaddexp(0, -u / b)
        return 2 * float(np.average((each * self.unit).sum(1), weights=weight))

    def varied(self, y: Array) -> bool:
        return bool(np.ptp(y[:, 0]) > 0)

    def numbers(self) -> dict[str, Any]:
        return {"quantiles": ", ".join(f"{level:g}" for level in self.levels)}


def uncrossed(values: Array, levels: tuple[float, ...]) -> Array:
    """Return quantiles, (rows, levels), of which none crosses one nearer to the middle.

    Where two would cross, the one further from the middle level gives way.
    """
    middle = middle_of(levels)
    found = values.copy()
    found[:, middle:] = np.maximum.accumulate(values[:, middle:], 1)
    found[:, : middle + 1] = np.minimum.accumulate(values[:, middle::-1], 1)[:, ::-1]
    return found


def middle_of(levels: tuple[float, ...]) -> int:
    """Return the position of the level nearest to one half."""
    return int(np.argmin(np.abs(np.array(levels) - 0.5)))
