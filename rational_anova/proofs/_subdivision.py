"""Proofs on boxes: bounds that do not suffice on a box may suffice on its halves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import sympy as sp

from .._core.types import Array
from ._arithmetic import Interval, add, multiply
from ._expressions import Condition, Unknown, enclose

_ROUNDS = 80  # halvings of one box
_MANY = 8  # variables


def shown(
    condition: Condition,
    symbols: Sequence[sp.Symbol],
    box: Sequence[tuple[float, float]],
    boxes: int = 60_000,
) -> bool | None:
    """Return True if a condition is proven on a box, False if refuted, None if neither.

    The box is cut in halves, each across the side that matters most, until the bounds on every
    piece suffice, or there have been more than so many `boxes`.
    """
    used = [(s, ends) for s, ends in zip(symbols, box, strict=True) if condition.argument.has(s)]
    real = {s: sp.Symbol(s.name, real=True) for s, _ in used}
    bounds = Bounds(condition.argument.xreplace(real), list(real.values()))
    low = np.array([[ends[0] for _, ends in used]], dtype=float)
    high = np.array([[ends[1] for _, ends in used]], dtype=float)
    total, above, below = 0, False, False
    points = _corners(low[0], high[0])
    try:
        for _ in range(_ROUNDS):
            total += len(low)
            points = np.concatenate([points, low + (high - low) / 2])
            least, most = bounds.natural(points, points)
            if condition.broken(least, most).any():
                return False
            above, below = above or bool((least > 0).any()), below or bool((most < 0).any())
            if condition.nonzero and above and below:
                return False  # it changes its sign, so that it is zero in between
            points = points[:0]
            least, most, weight = bounds.tight(low, high)
            left = ~condition.met(least, most)
            if not left.any():
                return True
            if total + 2 * left.sum() > boxes or not (high > low).any():
                return None
            low, high = halves(low[left], high[left], weight[left])
    except Unknown:
        pass
    return None


def _corners(low: Array, high: Array) -> Array:
    """The corners of a box, two of them if they are many."""
    if len(low) > _MANY:
        return np.stack([low, high])
    corners = list(itertools.product(*zip(low, high, strict=True)))
    return np.array(corners, dtype=float).reshape(len(corners), len(low))


class Bounds:
    """Bounds of one expression on boxes, given as arrays (boxes, variables)."""

    def __init__(self, expr: sp.Expr, variables: Sequence[sp.Symbol]) -> None:
        self.expr, self.variables = expr, tuple(variables)
        self.slopes: list[sp.Expr] | None = [expr.diff(v) for v in self.variables]

    def natural(self, low: Array, high: Array) -> Interval:
        """Bounds by putting in the intervals."""
        least, most = enclose(self.expr, self._ranges(low, high))
        return np.broadcast_to(least, len(low)), np.broadcast_to(most, len(low))

    def tight(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """The better of natural bounds and those by the slopes, and how much each side matters."""
        least, most = self.natural(low, high)
        weight = high - low
        if self.slopes is None:
            return least, most, weight
        middle = low + (high - low) / 2
        try:
            total = self.natural(middle, middle)
            ranges = self._ranges(low, high)
            with np.errstate(all="ignore"):
                for n, slope in enumerate(self.slopes):
                    steepest = enclose(slope, ranges)
                    step = add((low[:, n], high[:, n]), (-middle[:, n], -middle[:, n]))
                    total = add(total, multiply(steepest, step))
                    size = np.maximum(np.abs(steepest[0]), np.abs(steepest[1]))
                    weight[:, n] *= np.clip(np.nan_to_num(size, nan=1e150), 1e-150, 1e150)
        except Unknown:  # no bounds of the slopes, of those of Max for instance
            self.slopes = None
            return least, most, high - low
        return np.maximum(least, total[0]), np.minimum(most, total[1]), weight

    def _ranges(self, low: Array, high: Array) -> dict[sp.Symbol, Interval]:
        return {v: (low[:, n], high[:, n]) for n, v in enumerate(self.variables)}


def halves(low: Array, high: Array, weight: Array) -> tuple[Array, Array]:
    """Cut every box in two across the side of the largest weight."""
    rows, side = np.arange(len(low)), np.argmax(np.where(high > low, weight, -1.0), axis=1)
    middle = low + (high - low) / 2
    first, second = high.copy(), low.copy()
    first[rows, side] = second[rows, side] = middle[rows, side]
    return np.concatenate([low, second]), np.concatenate([first, high])
