"""What a smooth curve of no given form says of the rows: the rival that every law must beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._core.types import Array
from ..fitting import LOG_NORMAL, NoiseShape, Rows, deviations

_LENGTHS = np.geomspace(0.03, 10, 22)  # of the range of an input
_RATIOS = np.geomspace(1e-10, 30, 45)  # variance of the noise over that of the curve
_MOST = 200  # rows


def smooth_deviance(rows: Rows, noise: NoiseShape) -> float:
    """Minus twice the log evidence of a Gaussian process, its three numbers charged for.

    Two kernels are tried, smooth and less so, of one length for all inputs; a line is always part
    of the curve. Up to 200 rows; infinite for none.
    """
    goal, spread, volume = _goal(rows, noise)
    best = min(_evidence(kernel, goal, spread) for kernel in _kernels(rows.X))
    return best + volume + 3 * float(np.log(len(goal)))


def smooth_groups_deviance(
    parts: Sequence[Rows], noise: NoiseShape, over: Callable[[], bool] = lambda: False
) -> float | None:
    """The same of one smooth curve for each group, all of one length, amplitude and noise.

    Beside the three numbers the level of each group but one is charged for. None if the time is
    over before all groups were looked at.
    """
    width = np.ptp(np.vstack([part.X for part in parts]), axis=0)
    volume, levels = 0.0, 0.0
    found: list[tuple[Array, Array]] = []  # by kernel: squares and log determinants, by ratio
    for part in parts:
        if over():
            return None
        goal, spread, added = _goal(part, noise)
        volume, levels = volume + added, levels + float(np.log(len(goal)))
        sums = [_by_ratio(kernel, goal, spread) for kernel in _kernels(part.X, width)]
        if found:
            sums = [(a + c, b + d) for (a, b), (c, d) in zip(found, sums, strict=True)]
        found = sums
    n = sum(len(part.y) for part in parts)
    best = min((n * np.log(2 * np.pi * squares / n) + logs).min() for squares, logs in found)
    charge = 3 * np.log(n) + levels * (1 - 1 / len(parts))
    return float(best + n + volume + charge)


def residual_gain(X: Array, miss: Array) -> float:
    """By how much a smooth curve explains what is left over, in minus twice the log evidence."""
    n = len(miss)
    alone = n * np.log(2 * np.pi * max(float(np.mean(miss**2)), 1e-300)) + n
    best = min(_evidence(kernel, miss, np.ones(n), trend=False) for kernel in _kernels(X))
    return float(alone - best - 3 * np.log(n))


def some_rows(rows: Rows) -> Rows:
    """As many rows as the evidence is worked out on."""
    n = len(rows.y)
    if n <= _MOST:
        return rows
    return rows.some(np.sort(np.random.default_rng(0).permutation(n)[:_MOST]))


def _goal(rows: Rows, noise: NoiseShape) -> tuple[Array, Array, float]:
    """What is described, its standard deviations, and what these add to the deviance."""
    if noise.model == LOG_NORMAL:
        goal = np.log(rows.y)
        return goal, np.ones(len(goal)), 2 * float(np.sum(goal))
    spread = deviations(rows, rows.y, noise)
    return rows.y, spread, 2 * float(np.sum(np.log(spread)))


def _kernels(X: Array, width: Array | None = None) -> list[Array]:
    """Correlations of rows at all lengths, of the range of the inputs, (rows, rows) each."""
    width = np.ptp(X, axis=0) if width is None else width
    Z = X / np.where(width > 0, width, 1.0)
    square = ((Z[:, None] - Z[None]) ** 2).sum(2)
    out = []
    for length in _LENGTHS:
        far = np.sqrt(square) / length
        out.append(np.exp(-0.5 * square / length**2))
        out.append((1 + np.sqrt(5) * far + 5 / 3 * far**2) * np.exp(-np.sqrt(5) * far))
    return out


def _evidence(kernel: Array, goal: Array, spread: Array, trend: bool = True) -> float:
    """The least of minus twice the log evidence over amplitude and noise."""
    n = len(goal)
    squares, logs = _by_ratio(kernel, goal, spread, trend)
    return float((n * np.log(2 * np.pi * squares / n) + logs + n).min())


def _by_ratio(kernel: Array, goal: Array, spread: Array, trend: bool = True) -> tuple[Array, Array]:
    """Squares over their variance, and the log determinant, for each ratio of noise to curve."""
    centred = (goal - goal.mean() if trend else goal) / spread
    values, vectors = np.linalg.eigh(kernel / np.outer(spread, spread))
    image = (vectors.T @ centred) ** 2
    values = np.maximum(values, 0.0)
    total = values[None, :] / float(values.mean()) + _RATIOS[:, None]
    return (image / total).sum(1), np.log(total).sum(1)
