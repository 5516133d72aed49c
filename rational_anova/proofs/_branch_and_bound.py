"""Branch and bound: what bounds cannot settle on a box they may settle on its halves.

Boxes of many problems are cut side by side. A search says which cells are still open; cutting them,
the budget of each problem, and the cells that are left open at the end are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.types import Array

_MANY = 8  # variables


@dataclass(frozen=True)
class Cells:
    """Boxes low to high, (cells, variables), each a part of the box of one problem.

    Args:
        problem: number of the problem of each cell, (cells,).
        low: lower corners.
        high: upper corners.
        carried: (cells, n): what is handed on to both halves of a cell.
    """

    problem: np.ndarray
    low: Array
    high: Array
    carried: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> Cells:
        """Return one cell for each problem, with corners (problems, variables)."""
        return cls(np.arange(len(low)), low, high, np.zeros((len(low), 0)))

    @classmethod
    def grid(cls, low: Array, high: Array, pieces: int) -> Cells:
        """Cut each side of each problem's box into some pieces."""
        problems, variables = low.shape
        share = np.arange(pieces + 1) / pieces
        cuts = low[..., None] + (high - low)[..., None] * share  # (problems, variables, pieces + 1)
        cuts[..., 0], cuts[..., -1] = low, high
        cuts = np.clip(cuts, low[..., None], high[..., None])
        at = np.array(np.meshgrid(*[np.arange(pieces)] * variables)).reshape(variables, -1)
        rows = np.arange(variables)[:, None]
        lower = cuts[:, rows, at].transpose(0, 2, 1).reshape(-1, variables)
        upper = cuts[:, rows, at + 1].transpose(0, 2, 1).reshape(-1, variables)
        owner = np.repeat(np.arange(problems), at.shape[1])
        return cls(owner, lower, upper, np.zeros((len(owner), 0)))

    @classmethod
    def corners(cls, low: Array, high: Array) -> Cells:
        """Return the corners of each problem's box as cells; two of them if they are many."""
        problems, variables = low.shape
        if variables > _MANY:
            both = np.concatenate([low, high])
            return cls(np.tile(np.arange(problems), 2), both, both, np.zeros((len(both), 0)))
        choice = np.array(np.meshgrid(*[[0, 1]] * variables)).reshape(variables, 2**variables).T
        points = np.where(choice[None], high[:, None], low[:, None])
        points = points.reshape(problems * len(choice), variables)
        owner = np.repeat(np.arange(problems), len(choice))
        return cls(owner, points, points, np.zeros((len(points), 0)))

    def __len__(self) -> int:
        return len(self.problem)

    def __getitem__(self, index: Any) -> Cells:
        return Cells(self.problem[index], self.low[index], self.high[index], self.carried[index])

    @property
    def middle(self) -> Array:
        """Centres, (cells, variables)."""
        return 0.5 * self.low + 0.5 * self.high

    @property
    def wide(self) -> Array:
        """Sides that have a number between their ends, (cells, variables)."""
        result: Array = (self.low < self.middle) & (self.middle < self.high)
        return result

    def halves(self, weight: Array) -> Cells:
        """Cut each cell in two across the side of the largest weight, (cells, variables)."""
        rows, middle = np.arange(len(self)), self.middle
        side = np.where(self.wide, weight, -np.inf).argmax(1)
        first, second = self.high.copy(), self.low.copy()
        first[rows, side] = second[rows, side] = middle[rows, side]
        return Cells(
            np.concatenate([self.problem, self.problem]),
            np.concatenate([self.low, second]),
            np.concatenate([first, self.high]),
            np.concatenate([self.carried, self.carried]),
        )


class Budget:
    """How many cells may be looked at.

    Args:
        most: cells for each problem.
        problems: how many there are.
        beyond: whether the last halves may go beyond `most`, as long as it is not reached.
    """

    def __init__(self, most: float, problems: int = 1, beyond: bool = False) -> None:
        self.most, self.beyond = most, beyond
        self.looked = np.zeros(problems, dtype=np.int64)

    def take(self, cells: Cells) -> None:
        """Count cells that are looked at."""
        self.looked += np.bincount(cells.problem, minlength=len(self.looked))

    def allows(self, cells: Cells) -> Array:
        """Return which of the open cells may be cut, (cells,)."""
        if self.beyond:
            good = self.looked < self.most
        else:
            halves = 2 * np.bincount(cells.problem, minlength=len(self.looked))
            good = self.looked + halves <= self.most
        return np.asarray(good[cells.problem])


# Of cells: which are open; how much each side matters, (cells, variables), or None for the sides'
# shares of the box; and what the halves are to carry, or None for what the cells do.
Look = Callable[[Cells], tuple[Array, Array | None, Array | None]]


def branch(cells: Cells, look: Look, budget: Budget, rounds: int) -> Cells:
    """Halve cells as long as they are open; return those that are open at the end.

    Args:
        cells: to begin with.
        look: bounds them, remembers what it wants to know, and says which are open.
        budget: what it may cost; a cell too thin to be cut is left open as well.
        rounds: greatest number of halvings of a cell.
    """
    sides = _sides(cells, len(budget.looked))
    left = [cells[:0]]
    for _ in range(rounds):
        budget.take(cells)
        is_open, weight, carried = look(cells)
        if carried is not None:
            cells = Cells(cells.problem, cells.low, cells.high, carried)
        if weight is None:
            weight = _shares(cells, sides)
        cells, weight = cells[is_open], weight[is_open]
        cut = budget.allows(cells) & cells.wide.any(1)
        left.append(cells[~cut])
        cells = cells[cut].halves(weight[cut])
        if not len(cells):
            break
    left = [part for part in (*left, cells) if len(part)] or left[:1]
    names = ("problem", "low", "high", "carried")
    return Cells(*(np.concatenate([getattr(part, name) for part in left]) for name in names))


def _sides(cells: Cells, problems: int) -> Array:
    """Return the sides of each problem's box, (problems, variables)."""
    low = np.full((problems, cells.low.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, cells.problem, cells.low)
    np.maximum.at(high, cells.problem, cells.high)
    return high - low


def _shares(cells: Cells, sides: Array) -> Array:
    """Measure the sides of cells by those of the whole box."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (cells.high - cells.low) / sides[cells.problem]
    return np.nan_to_num(share, nan=0.0)
