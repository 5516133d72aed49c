"""Sharp bounds of a function, its slopes and its denominators, for many functions at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._branch_and_bound import Budget, Cells, branch

_START = {1: 8, 2: 3}  # pieces of each side at first
_ROUNDS = 48
_THIN = 1e-9  # of the numbers themselves: in so thin a box rounding is all that is left to cut
_SIGN = 1e-4  # of the largest slope: how closely the sign of a slope is looked at


@dataclass(frozen=True)
class Extremes:
    """Upper bounds of several columns of each function, and the largest values that were met.

    The columns are f, -f, then s and -s for each input's slope s, the norm of the gradient, and -d.
    """

    bound: Array  # (functions, columns)
    attained: Array  # (functions, columns)
    place: Array  # (functions, columns, variables)
    cells: Array  # (functions,): boxes that were looked at


# Of numbers of functions and of boxes (cells, variables): upper bounds of the columns over the
# cells, what is met at their centres, each (cells, columns), and how much each side matters.
Columns = Callable[[np.ndarray, Array, Array], tuple[Array, Array, Array | None]]


def extremes(columns: Columns, low: Array, high: Array, tolerance: float, budget: int) -> Extremes:
    """Bound functions on boxes low to high, (functions, variables), until sharp or spent.

    Args:
        columns: bounds on cells.
        low: lower corners.
        high: upper corners.
        tolerance: wanted distance of bounds, relative to the size of what is bounded.
        budget: greatest number of cells a function.
    """
    thin = np.asarray((high - low <= _THIN * np.maximum(np.abs(low), np.abs(high))).all(1))
    spent = Budget(budget, len(low), beyond=True)
    search = _Search(columns, thin, low.shape[1], tolerance)
    corners = Cells.corners(low, high)
    spent.take(corners)
    search.see(corners)
    cells = Cells.grid(low, high, 1 if thin.all() else _START.get(low.shape[1], 1))
    left = branch(search.above(cells), search, spent, _ROUNDS)
    search.keep(left.problem, left.carried)
    return Extremes(
        np.maximum(search.done, search.best), search.best, search.place, spent.looked.astype(float)
    )


class _Search:
    """The best values that were met, and bounds of the cells that are not cut any further."""

    def __init__(self, columns: Columns, thin: Array, variables: int, tolerance: float) -> None:
        self.columns, self.thin = columns, thin
        self.variables, self.tolerance = variables, tolerance
        shape = len(thin), 2 + 2 * variables + 2
        self.best, self.done = np.full(shape, -np.inf), np.full(shape, -np.inf)
        self.place = np.full((*shape, variables), np.nan)

    def above(self, cells: Cells) -> Cells:
        """Return cells that carry bounds of all columns, none as yet."""
        none = np.full((len(cells), self.best.shape[1]), np.inf)
        return Cells(cells.problem, cells.low, cells.high, none)

    def __call__(self, cells: Cells) -> tuple[Array, Array | None, Array]:
        """Return which cells can hold more than is allowed, the sides' weights, and the bounds."""
        seen, weight = self.see(cells)
        ceiling = np.minimum(seen, cells.carried)
        is_open = self._close(cells.problem, ceiling)
        thin = self.thin[cells.problem] & is_open
        self.keep(cells.problem[thin], ceiling[thin])
        return is_open & ~thin, weight, ceiling

    def see(self, cells: Cells) -> tuple[Array, Array | None]:
        """Bound cells and remember the best values at their centres."""
        ceiling, value, weight = self.columns(cells.problem, cells.low, cells.high)
        self._remember(cells.problem, value, cells.middle)
        return ceiling, weight

    def _remember(self, owner: np.ndarray, value: Array, centre: Array) -> None:
        for column in range(value.shape[1]):
            order = np.argsort(value[:, column], kind="stable")
            # in this order the largest of each function comes last
            named, where = np.unique(owner[order][::-1], return_index=True)
            last = order[::-1][where]
            better = value[last, column] > self.best[named, column]
            self.best[named[better], column] = value[last[better], column]
            self.place[named[better], column] = centre[last[better]]

    def _close(self, owner: np.ndarray, ceiling: Array) -> Array:
        """Return which cells can still hold more than is allowed; the other columns are done."""
        allowed = (self.best + self._slack())[owner]
        is_open = ceiling > allowed
        self.keep(owner, np.where(is_open, -np.inf, ceiling))
        result: Array = is_open.any(1)
        return result

    def keep(self, owner: np.ndarray, ceiling: Array) -> None:
        """Count bounds of cells that are not cut any further."""
        np.maximum.at(self.done, owner, ceiling)

    def _slack(self) -> Array:
        b, n = self.best, 2 + 2 * self.variables
        size = np.maximum(np.abs(b[:, 0]), np.abs(b[:, 1]))
        spread = np.maximum(b[:, 0] + b[:, 1], 1e-12 * (1 + size))
        steep = np.abs(b[:, n])
        floor = 1e-11 * (steep + size) + 1e-13
        slack = np.empty_like(b)
        slack[:, :2] = (self.tolerance * spread + 1e-13 * size)[:, None]
        near = np.maximum(0.5 * np.abs(b[:, 2:n]), _SIGN * steep[:, None])
        slack[:, 2:n] = np.minimum((self.tolerance * steep)[:, None], near)
        slack[:, n] = self.tolerance * steep
        slack[:, n + 1] = self.tolerance * np.abs(b[:, n + 1])
        slack[:, 2 : n + 1] += floor[:, None]
        return np.nan_to_num(slack, nan=0.0, posinf=0.0)
