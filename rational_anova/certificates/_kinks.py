"""Cells that a kink runs through: a unit is one smooth function on each side of it.

The slopes of a unit jump at the zeros of q for `abs`, and at zero for the base `relu`. In a cell
that holds such a place, intervals would join all that the slopes can do on both sides, input by
input. Each side alone is smooth, and its slopes belong together: the sides are bounded one by one.
"""

from __future__ import annotations

import itertools

import numpy as np

from .._core.types import Array
from ._cells import Bank, Bounds, around, bound, indices, mean_of, polynomial
from ._interval import Interval, hull

_MOST = 3  # kinks of a unit, beyond which the sides are too many


def branched(bank: Bank, unit: np.ndarray, low: Array, high: Array) -> Bounds:
    """Bound units as `bound` does, and sides of kinks apart where a cell holds some."""
    plain = bound(bank, unit, low, high)
    kinks = _kinks(bank)
    if not 0 < sum(kinks) <= _MOST:
        return plain
    through = np.flatnonzero(_through(bank, unit, low, high))
    if not len(through):
        return plain
    choices = [(-1, 1) if kink else (1,) for kink in kinks]
    parts = [
        bound(bank, unit[through], low[through], high[through], sides)
        for sides in itertools.product(*choices)
    ]
    value = _improved(plain.value, [part.value for part in parts], through)
    slopes = [
        _improved(slope, [part.slopes[v] for part in parts], through)
        for v, slope in enumerate(plain.slopes)
    ]
    steepest = plain.steepest.copy()
    most = np.max([part.steepest for part in parts], 0)
    steepest[through] = np.fmin(steepest[through], most)
    return Bounds(value, slopes, plain.denominator, steepest)


def _kinks(bank: Bank) -> list[bool]:
    """Say of each head, and of the base, whether it has a kink."""
    base = bank.gate is not None and bank.form.base.name == "relu"
    return [bank.form.kind.name == "abs"] * bank.heads + [base]


def _through(bank: Bank, unit: np.ndarray, low: Array, high: Array) -> np.ndarray:
    """Return which cells may hold a kink."""
    centre, radius = around(low, high)
    zero = indices(low.shape[1])[0]
    spans = []
    if bank.form.kind.name == "abs":
        (powers,) = bank.form.denominator
        for head in range(bank.heads):
            spans.append(polynomial(powers, bank.denominator[unit, head], centre, radius)[zero])
    if _kinks(bank)[-1]:
        spans.append(mean_of(centre, radius))
    away = [(span.low[0] > 0) | (span.high[0] < 0) for span in spans]
    result: np.ndarray = ~np.all(away, 0)
    return result


def _improved(plain: Interval, parts: list[Interval], through: np.ndarray) -> Interval:
    """Meet bounds over cells with the hull of those of the sides; centres stay as they are."""
    low, high = plain.low.copy(), plain.high.copy()
    both = plain[0, through].meet(hull([part[0] for part in parts]))
    low[0, through], high[0, through] = both.low, both.high
    return Interval(low, high)
