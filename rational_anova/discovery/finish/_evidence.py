"""Whether a formula in several columns may be called a law."""

from __future__ import annotations

import numpy as np

from .._thresholds import CHANCE, COMPACT, FREE_NUMBERS, ROUGH_LAW, SHAPE, WEAK_LAW
from ..law import Evidence, operations
from ..search import Data, Template


def holds(template: Template, data: Data, evidence: Evidence) -> bool:
    """Return whether a formula in several columns may be called a law.

    Args:
        template: fitted to the rows of the search.
        data: these rows.
        evidence: errors, the surrogate's among them.
    """
    n, k = len(data.y), len(template.parameters)
    if not np.isfinite(template.error):
        return False
    compact = operations(template.law) <= COMPACT and k <= FREE_NUMBERS and k < n / 3
    if (evidence.stopped and k > 3) or (template.error > ROUGH_LAW and k > 3):
        return False  # of many numbers that do not fit well, or of a search cut short
    if not compact or not beats_chance(template, n, evidence.candidates):
        return False
    if evidence.error > ROUGH_LAW and leaves_a_shape(template, data):
        return False
    if evidence.error > WEAK_LAW and not weak_but_real(template, data, evidence):
        return False
    # a free smooth function may not do much better
    return bool(evidence.error <= 1.3 * evidence.surrogate + 1e-9)


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
