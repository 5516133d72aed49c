"""What speaks for a law: rows it has not seen, the outer part of the data, chance; its noise."""

from __future__ import annotations

import numpy as np

from ..._core.types import Array
from .._thresholds import CHANCE, NOISE_EVIDENCE, NOISE_ROWS, NOISE_SHARES, SHAPE
from ..law import Evidence
from ..search import Data, Template


def error_on(template: Template, data: Data, spread: float = 0.0) -> float:
    """Error on rows relative to a spread, their own by default; infinite without a value."""
    with np.errstate(all="ignore"):
        miss = template.predict(data) - data.y
    e = float(np.sqrt(np.mean(miss**2))) / (spread or float(np.std(data.y)) or 1.0)
    return e if np.isfinite(e) else np.inf


def extrapolated(template: Template, data: Data) -> float | None:
    """Error on the outer half of the rows of a fit to the inner half; None for few rows."""
    used = [i for i, s in enumerate(data.symbols) if template.expression.has(s)]
    if not used or len(data.y) < max(20, 4 * len(template.parameters)):
        return None
    low, high = data.X[:, used].min(0), data.X[:, used].max(0)
    out = (np.abs(data.X[:, used] - (low + high) / 2) / ((high - low) / 2)).max(1)
    inner = out <= np.median(out)
    if inner.sum() < 10 or (~inner).sum() < 5:
        return None
    fitted = template.refined(data.rows(np.flatnonzero(inner)))
    e = error_on(fitted, data.rows(np.flatnonzero(~inner)), float(np.std(data.y)))
    return e if np.isfinite(e) else None


def beats_chance(template: Template, rows: int, candidates: int) -> bool:
    """Return whether the fit is better than the best of so many formulas would be on noise."""
    fit = rows * np.log(max(template.error, 1e-13) ** 2)
    search = 2 * np.log(max(candidates, 1))
    return bool(fit + template.numbers + template.written + search < -CHANCE)


def leaves_a_shape(template: Template, data: Data) -> bool:
    """Return whether rows that are neighbours in some column, used or not, are missed alike.

    What a law leaves over is noise, and noise does not know its neighbours. A fit that is no law
    leaves steps, teeth or bends, even where no smooth function of the columns would see them.
    """
    with np.errstate(all="ignore"):
        left = data.y - template.predict(data)
    left = left - left.mean()
    power = float(left @ left)
    if not np.isfinite(power) or power == 0:
        return False
    order = np.argsort(data.X, axis=0, kind="stable")
    alike = np.sum(left[order[1:]] * left[order[:-1]], axis=0) / power
    return bool((alike * np.sqrt(len(left)) > SHAPE).any())


def weak_but_real(template: Template, data: Data, evidence: Evidence) -> bool:
    """Return whether a law that leaves much over is more than a few outliers hit by chance.

    Rows that it has not seen must be predicted too, and the typical row must gain, not only the
    extreme ones.
    """
    if evidence.held_out is not None and evidence.held_out > 0.5 * (1 + evidence.error):
        return False
    with np.errstate(all="ignore"):
        left = np.median(np.abs(data.y - template.predict(data)))
    whole = np.median(np.abs(data.y - np.median(data.y)))
    gain = len(data.y) * np.log(left**2 / whole**2) if left > 0 and whole > 0 else -np.inf
    search = 2 * np.log(max(evidence.candidates, 1))
    fit = len(data.y) * np.log(evidence.error**2) + template.numbers + template.written + search
    return bool(gain < -CHANCE / 2 and fit < -2 * CHANCE)


def row_weights(fitted: Array, residual: Array) -> Array | None:
    """One over the standard deviation of each row, mean square 1; None if all are alike.

    The standard deviation is taken to be that of a constant part and of a part in proportion to
    the fitted value: to the measured one it may not be, since a low value is not a precise one.
    """
    n, size = len(fitted), np.abs(fitted)
    if n < NOISE_ROWS or not np.isfinite(residual).all() or not residual.any():
        return None

    def likelihood(deviation: Array) -> float:
        scaled = np.mean((residual / deviation) ** 2)
        return float(-n / 2 * np.log(scaled) - np.sum(np.log(deviation)))

    typical = float(np.median(size)) or 1.0
    tried = []
    for share in NOISE_SHARES:
        deviation = np.hypot(np.maximum(size, 1e-3 * typical), share * typical)
        tried.append((likelihood(deviation), share, deviation))
    best, _, deviation = max(tried, key=lambda t: t[0])
    if best - likelihood(np.ones(n)) < NOISE_EVIDENCE:
        return None
    weights: Array = 1 / deviation
    return weights / np.sqrt(np.mean(weights**2))
