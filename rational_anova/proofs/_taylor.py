"""Bounds of polynomials and of their derivatives on small boxes, by Taylor's formula.

On the box c + t with |t| <= r, the polynomial is sum of a_k t^k with exact k, and each t^k lies in
[-r^k, r^k], or in [0, r^k] where all powers are even. The error of the rounded a_k is bounded
beforehand by the same sum over absolute values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import comb, factorial, prod

import numpy as np

from .._core.types import Array
from ._intervals import Interval, down, up

Index = tuple[int, ...]
Powers = tuple[Index, ...]  # of the monomials of a polynomial, one number for each variable
_TINY = 1e-290


@dataclass(frozen=True)
class _Plan:
    """Tables that belong to the powers of a polynomial alone."""

    powers: np.ndarray  # (terms, variables)
    orders: np.ndarray  # (orders, variables): all k below some power
    factor: Array  # (terms, orders): binomials, 0 where k is not below the power
    shift: np.ndarray  # (variables, terms, orders): power - k, at least 0
    highest: int
    share: float


@functools.lru_cache(maxsize=256)
def _plan(powers: Powers) -> _Plan:
    rows = np.array(powers, dtype=np.int64)
    box = np.stack(np.meshgrid(*(np.arange(top + 1) for top in rows.max(0)), indexing="ij"), -1)
    every = box.reshape(-1, rows.shape[1])
    used = (rows[:, None] >= every[None]).all(-1).any(0)
    orders = every[used]
    factor = np.array([[prod(map(comb, row, k)) for k in orders] for row in rows], dtype=np.float64)
    shift = np.maximum(rows[:, None] - orders[None], 0).transpose(2, 0, 1)
    highest = int(rows.max(initial=0))
    share = (4 * len(rows) + 8 * highest + 32) * 2.0**-52
    return _Plan(rows, orders, factor, shift, highest, share)


@dataclass(frozen=True)
class Expansion:
    """A polynomial around the centres of cells."""

    plan: _Plan
    middle: Array  # (cells, orders)
    error: Array  # (cells, orders)
    radius: Array  # (cells, variables, powers)
    lost: Array  # (cells,): bound of what underflows, for any order

    @classmethod
    def around(cls, powers: Powers, rows: Array, centre: Array, radius: Array) -> Expansion:
        """Expand.

        Args:
            powers: of the polynomial.
            rows: coefficients for each cell, (cells, terms).
            centre: (cells, variables).
            radius: (cells, variables).
        """
        plan = _plan(powers)
        tables = _raise(centre, plan.highest)  # (cells, variables, powers)
        design = plan.factor[None]
        for v in range(centre.shape[1]):
            design = design * tables[:, v, plan.shift[v]]
        middle = np.matmul(rows[:, None], design)[:, 0]
        error = np.matmul(np.abs(rows)[:, None], np.abs(design))[:, 0] * plan.share
        # A power that underflows is off by less than 5e-324, times all that it is multiplied with.
        reach = np.maximum(1.0, np.maximum(np.abs(centre), radius)).prod(1) ** plan.highest
        lost = _TINY * (1 + np.abs(rows).sum(1) * plan.factor.max(initial=1.0)) * reach
        return cls(plan, middle, error + lost[:, None], _raise(radius, plan.highest), lost)

    def derivative(self, index: Index) -> Interval:
        """Return a derivative over the cells and at their centres, (2, cells)."""
        orders = self.plan.orders - np.array(index)
        kept = (orders >= 0).all(1)
        cells = len(self.middle)
        if not kept.any():
            return Interval(np.zeros((2, cells)), np.zeros((2, cells)))
        left, before = orders[kept], self.plan.orders[kept]
        factor = np.array(
            [prod(factorial(a) // factorial(b) for a, b in zip(x, y, strict=True))
             for x, y in zip(before, left, strict=True)], dtype=np.float64)  # fmt: skip
        a, e = self.middle[:, kept] * factor, self.error[:, kept] * factor
        size = np.ones_like(a)
        for v in range(left.shape[1]):
            size = size * self.radius[:, v, left[:, v]]
        first = (left == 0).all(1)
        even = (left % 2 == 0).all(1) & ~first
        odd = ~first & ~even
        wide = np.abs(a[:, odd] * size[:, odd]).sum(1)
        least = np.minimum(a[:, even], 0) * size[:, even]
        most = np.maximum(a[:, even], 0) * size[:, even]
        spare = (e * size).sum(1) + self.plan.share * np.abs(a * size).sum(1)
        middle = a[:, first].sum(1)
        lost = self.lost * (1 + factor.max(initial=1.0) * len(factor))
        slack = 2 * spare + lost
        thin = 2 * e[:, first].sum(1) + self.plan.share * np.abs(middle) + lost
        low = np.stack([middle - wide + least.sum(1) - slack, middle - thin])
        high = np.stack([middle + wide + most.sum(1) + slack, middle + thin])
        return Interval(down(low), up(high))


def _raise(x: Array, highest: int) -> Array:
    ones = np.ones((*x.shape, 1))
    steps = np.broadcast_to(x[..., None], (*x.shape, highest))
    return np.cumprod(np.concatenate([ones, steps], -1), -1)
