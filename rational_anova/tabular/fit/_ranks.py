"""Losses whose constants are profiled out: cutpoints of ordered classes, the hazard of all.

For given decisions the best constants are found anew wherever the loss is asked for, so decisions
are known up to a constant, and the fit needs no other parameters than those of the effects.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded
from scipy.special import expit

from ..._core.types import Array
from ._losses import LEAST_WEIGHT, Loss

ROUNDS = 25  # of Newton's method for the cutpoints, at most
LEAST = 1e-12  # of a probability


class Ordinal(Loss):
    """Ordered classes: P(class <= k) = 1/(1 + exp(f - cut_k)).

    y has the position of the class, and the weight of the row.

    Args:
        classes: how many there are.
    """

    fixed_noise = 1.0

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def start(self, y: Array, weight: Array) -> Array:
        return np.zeros(1)

    def cuts(self, y: Array, f: Array, weight: Array) -> Array:
        """Return the best cutpoints for decisions, rising."""
        k, f = y[:, 0].astype(int), f[:, 0]
        count = np.bincount(k, weight, self.classes) + 0.5
        below = np.cumsum(count)[:-1] / count.sum()
        cuts = np.log(below / (1 - below)) + np.average(f, weights=weight)
        value = self._loss(k, f, cuts, weight)
        for _ in range(ROUNDS):
            step = self._step(k, f, cuts, weight)
            part = 1.0
            while part > 1e-3:
                new = cuts + part * step
                after = self._loss(k, f, new, weight) if (np.diff(new) > 0).all() else np.inf
                if after <= value:
                    break
                part /= 2
            else:
                break
            cuts, gained, value = new, value - after, after
            if gained < 1e-9 * abs(value) + 1e-12:
                break
        return np.asarray(cuts)

    def _loss(self, k: Array, f: Array, cuts: Array, weight: Array) -> float:
        return -2 * float(np.average(np.log(_probability(k, f, cuts)), weights=weight))

    def _step(self, k: Array, f: Array, cuts: Array, weight: Array) -> Array:
        """Return Fisher's step of the cutpoints; their information has three diagonals."""
        upper, lower = _edges(k, f, cuts)
        p = np.maximum(upper - lower, LEAST)
        slope = np.zeros(len(cuts) + 2)
        rise = weight * upper * (1 - upper) / p
        fall = weight * lower * (1 - lower) / p
        slope += np.bincount(k + 1, rise, len(slope)) - np.bincount(k, fall, len(slope))
        below = expit(cuts - f[:, None])
        density = below * (1 - below)
        inverse = 1 / np.maximum(class_shares(f, cuts), LEAST)
        main = weight @ (density**2 * (inverse[:, :-1] + inverse[:, 1:]))
        beside = -(weight @ (density[:, :-1] * density[:, 1:] * inverse[:, 1:-1]))
        if len(cuts) == 1:
            return np.asarray(slope[1:-1] / (main + 1e-9))
        bands = np.zeros((2, len(cuts)))
        bands[1] = main * (1 + 1e-9) + 1e-9
        bands[0, 1:] = beside
        return np.asarray(solveh_banded(bands, slope[1:-1]))

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        cuts = self.cuts(y, f, y[:, 1])
        k, f = y[:, 0].astype(int), f[:, 0]
        upper, lower = _edges(k, f, cuts)
        shares = class_shares(f, cuts)
        below = np.cumsum(shares, 1)
        own = (1 - 2 * below + shares) ** 2  # squares of the slopes that each class would have
        h = np.maximum((shares * own).sum(1), LEAST_WEIGHT)
        return (upper + lower - 1) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        cuts = self.cuts(y, f, weight)
        return self._loss(y[:, 0].astype(int), f[:, 0], cuts, weight)

    def varied(self, y: Array) -> bool:
        return len(np.unique(y[:, 0])) == self.classes


def _edges(k: Array, f: Array, cuts: Array) -> tuple[Array, Array]:
    """Return the probability of a class up to that of the row, and of one below it."""
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    return expit(ends[k + 1] - f), expit(ends[k] - f)


def _probability(k: Array, f: Array, cuts: Array) -> Array:
    upper, lower = _edges(k, f, cuts)
    return np.maximum(upper - lower, LEAST)


def class_shares(f: Array, cuts: Array) -> Array:
    """Return the probability of each ordered class, (rows, classes)."""
    below = expit(cuts - f[:, None])
    ends = np.concatenate([np.zeros((len(f), 1)), below, np.ones((len(f), 1))], 1)
    return np.diff(ends, axis=1)


def likeliest(cuts: Array) -> list[tuple[float, int]]:
    """Return which class is the most probable one up to which decision, rising; the last has none.

    With larger decisions it is a higher class; some are never the most probable one.
    """
    grid = np.linspace(cuts[0] - 40, cuts[-1] + 40, 8001)
    best = class_shares(grid, cuts).argmax(1)
    found = []
    for at in np.flatnonzero(np.diff(best)):
        low, high, k = grid[at], grid[at + 1], best[at]
        for _ in range(60):  # bisection: the class before is the best one up to the border
            middle = (low + high) / 2
            same = class_shares(np.array([middle]), cuts).argmax() == k
            low, high = (middle, high) if same else (low, middle)
        found.append((float(high), int(k)))
    return [*found, (np.inf, int(best[-1]))]


class Cox(Loss):
    """Proportional hazards, by the partial likelihood (Breslow's for ties).

    y has the time, whether the event was seen (1) or not yet (0), and the weight of the row.
    """

    fixed_noise = 1.0

    def start(self, y: Array, weight: Array) -> Array:
        return np.zeros(1)

    def working(self, y: Array, f: Array, output: int) -> tuple[Array, Array]:
        time, event, weight = y.T
        f = f[:, 0] - f[:, 0].max()
        times, hazard = baseline(time, event, weight, f)
        total = np.cumsum(np.concatenate([[0.0], hazard]))
        expected = np.exp(f) * total[np.searchsorted(times, time, side="right")]
        # The risk sets share their rows: an exact curvature would be a little smaller.
        h = np.maximum(expected, LEAST_WEIGHT * max(float(expected.mean()), 1e-300))
        return (event - expected) / h, h

    def mean(self, y: Array, f: Array, weight: Array) -> float:
        time, event = y[:, 0], y[:, 1]
        f = f[:, 0] - float(f.max())
        order = np.argsort(-time, kind="stable")
        last = np.searchsorted(-time[order], -time, side="right") - 1  # ties are at risk, too
        # Against f = 0, for which an event counts as two: the unit is arbitrary, the zero is not.
        risk = np.cumsum((weight * np.exp(f))[order]) / np.cumsum(weight[order])
        seen = event > 0
        logs = f[seen] - np.log(np.maximum(risk[last[seen]], 1e-300))
        return 2 * float(weight[seen] @ (1 - logs)) / float(weight.sum())

    def telling(self, y: Array, weight: Array) -> float:
        return float(weight[y[:, 1] > 0].sum())

    def varied(self, y: Array) -> bool:
        return bool(y[:, 1].any()) and bool(np.ptp(y[:, 0]) > 0)


def baseline(time: Array, event: Array, weight: Array, f: Array) -> tuple[Array, Array]:
    """Return the times of events, rising, and what the hazard of f = 0 adds at each."""
    times, place = np.unique(time[event > 0], return_inverse=True)
    events = np.bincount(place, weight[event > 0], len(times))
    order = np.argsort(time, kind="stable")
    risk = np.cumsum((weight * np.exp(f))[order][::-1])[::-1]
    return times, events / risk[np.searchsorted(time[order], times, side="left")]
