"""Noise that grows with the target, as of instruments with a relative error and of rounded tables.

Rows are then weighed by how well they are known: otherwise a few large ones decide everything.
"""

from __future__ import annotations

import numpy as np

from ..._core.types import Array

ROWS = 30  # of fewer rows nobody can tell
EVIDENCE = 12.0  # log likelihood that growing noise must gain over noise of one size
SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of constant noise beside the growing one


def row_weights(fitted: Array, residual: Array) -> Array | None:
    """One over the standard deviation of each row, mean square 1; None if all are alike.

    The standard deviation is taken to be that of a constant part and of a part in proportion to
    the fitted value: to the measured one it may not be, since a low value is not a precise one.
    """
    n, size = len(fitted), np.abs(fitted)
    if n < ROWS or not np.isfinite(residual).all() or not residual.any():
        return None

    def likelihood(deviation: Array) -> float:
        scaled = np.mean((residual / deviation) ** 2)
        return float(-n / 2 * np.log(scaled) - np.sum(np.log(deviation)))

    typical = float(np.median(size)) or 1.0
    tried = []
    for share in SHARES:
        deviation = np.hypot(np.maximum(size, 1e-3 * typical), share * typical)
        tried.append((likelihood(deviation), share, deviation))
    best, _, deviation = max(tried, key=lambda t: t[0])
    if best - likelihood(np.ones(n)) < EVIDENCE:
        return None
    weights: Array = 1 / deviation
    return weights / np.sqrt(np.mean(weights**2))
