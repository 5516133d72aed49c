"""Branch and bound over many units at once: each is cut where its bounds are not yet sharp."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._cells import Bank, Bounds, branched

_START = {1: 8, 2: 3}  # pieces of each side at first
_ROUNDS = 48
_MANY = 8  # variables
_THIN = 1e-9  # of the numbers themselves: in so thin a box rounding is all that is left to cut
_AT_ONCE = 1 << 21  # numbers in the tables of a piece of work
_SIGN = 1e-4  # of the largest slope: how closely the sign of a slope is looked at


@dataclass(frozen=True)
class Extremes:
    """Upper bounds of several functions of each unit, and the largest values that were met.

    The columns are f, -f, then s and -s for each input's slope s, the norm of the gradient, and -d.
    """

    bound: Array  # (units, columns)
    attained: Array  # (units, columns)
    place: Array  # (units, columns, variables)
    cells: Array  # (units,): boxes that were looked at


# Of numbers of units and of boxes (cells, variables): upper bounds of the columns over the cells,
# what is met at their centres, each (cells, columns), and how much each side matters.
Look = Callable[[np.ndarray, Array, Array], tuple[Array, Array, Array | None]]


def extremes(look: Look, low: Array, high: Array, tolerance: float, budget: int) -> Extremes:
    """Bound functions on boxes low to high, (units, variables), until bounds are sharp or spent.

    Args:
        look: bounds on cells.
        low: lower corners.
        high: upper corners.
        tolerance: wanted distance of bounds, relative to the size of what is bounded.
        budget: greatest number of cells a function.
    """
    units, variables = low.shape
    state = _State(units, variables, tolerance)
    state.see(look, *_corners(low, high))
    thin = np.asarray((high - low <= _THIN * np.maximum(np.abs(low), np.abs(high))).all(1))
    unit, lower, upper = _grid(low, high, 1 if thin.all() else _START.get(variables, 1))
    parent = np.full((len(unit), state.columns), np.inf)
    for _ in range(_ROUNDS):
        seen, weight = state.see(look, unit, lower, upper)
        ceiling = np.minimum(seen, parent)
        is_open = state.close(unit, ceiling)
        spent = state.cells[unit] >= budget
        keep = is_open & ~spent & ~thin[unit] & (upper > lower).any(1)
        state.keep(unit[~keep], ceiling[~keep])
        if not keep.any():
            return state.result()
        unit, lower, upper, ceiling = unit[keep], lower[keep], upper[keep], ceiling[keep]
        share = _shares(lower, upper, (high - low)[unit]) if weight is None else weight[keep]
        unit, lower, upper, parent = _split(unit, lower, upper, ceiling, share)
    state.keep(unit, parent)
    return state.result()


class _State:
    def __init__(self, units: int, variables: int, tolerance: float) -> None:
        self.columns = 2 + 2 * variables + 2
        self.variables, self.tolerance = variables, tolerance
        self.best = np.full((units, self.columns), -np.inf)
        self.done = np.full((units, self.columns), -np.inf)
        self.place = np.full((units, self.columns, variables), np.nan)
        self.cells = np.zeros(units)

    def see(
        self, look: Look, unit: np.ndarray, low: Array, high: Array
    ) -> tuple[Array, Array | None]:
        """Bound cells and remember the best values at their centres; return the bounds."""
        ceiling, value, weight = look(unit, low, high)
        self._remember(unit, value, 0.5 * low + 0.5 * high)
        np.add.at(self.cells, unit, 1.0)
        return ceiling, weight

    def _remember(self, unit: np.ndarray, value: Array, centre: Array) -> None:
        for column in range(self.columns):
            order = np.argsort(value[:, column], kind="stable")
            # in this order the largest of each unit comes last
            named, where = np.unique(unit[order][::-1], return_index=True)
            last = order[::-1][where]
            better = value[last, column] > self.best[named, column]
            self.best[named[better], column] = value[last[better], column]
            self.place[named[better], column] = centre[last[better]]

    def close(self, unit: np.ndarray, ceiling: Array) -> np.ndarray:
        """Return which cells can still hold more than is allowed; the other columns are done."""
        allowed = (self.best + self._slack())[unit]
        is_open = ceiling > allowed
        self.keep(unit, np.where(is_open, -np.inf, ceiling))
        result: np.ndarray = is_open.any(1)
        return result

    def keep(self, unit: np.ndarray, ceiling: Array) -> None:
        """Count bounds of cells that are not cut any further."""
        np.maximum.at(self.done, unit, ceiling)

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

    def result(self) -> Extremes:
        bounds = np.maximum(self.done, self.best)
        return Extremes(bounds, self.best, self.place, self.cells)


def looking(bank: Bank) -> Look:
    """Look at units of a bank, in pieces of work."""
    terms = max(bank.numerator.shape[2], bank.denominator.shape[2])
    step = max(1, _AT_ONCE // (terms * terms))

    def look(unit: np.ndarray, low: Array, high: Array) -> tuple[Array, Array, None]:
        parts = [
            _columns(branched(bank, unit[n : n + step], low[n : n + step], high[n : n + step]))
            for n in range(0, len(unit), step)
        ]
        ceilings, values = zip(*parts, strict=True)
        return np.concatenate(ceilings), np.concatenate(values), None

    return look


def _columns(bounds: Bounds) -> tuple[Array, Array]:
    """Return upper bounds over the cells and lower bounds at the centres, (cells, columns)."""
    met = np.zeros_like(bounds.steepest)
    signed = [bounds.value, -bounds.value]
    for slope in bounds.slopes:
        signed += [slope, -slope]
        met = np.hypot(met, slope.least[1]) * (1 - 2.0**-50)
    both = [(part.high[0], part.low[1]) for part in signed]
    both += [(bounds.steepest, met), (-bounds.denominator.low[0], -bounds.denominator.high[1])]
    above, below = zip(*both, strict=True)
    return np.stack(above, 1), np.nan_to_num(np.stack(below, 1), nan=-np.inf)


def _corners(low: Array, high: Array) -> tuple[np.ndarray, Array, Array]:
    units, variables = low.shape
    if variables > _MANY:  # two of them will do
        both = np.concatenate([low, high])
        return np.tile(np.arange(units), 2), both, both
    choice = np.array(np.meshgrid(*[[0, 1]] * variables)).reshape(variables, -1).T  # (corners, v)
    points = np.where(choice[None], high[:, None], low[:, None]).reshape(-1, variables)
    return np.repeat(np.arange(units), len(choice)), points, points


def _grid(low: Array, high: Array, pieces: int) -> tuple[np.ndarray, Array, Array]:
    units, variables = low.shape
    share = np.arange(pieces + 1) / pieces
    cuts = low[..., None] + (high - low)[..., None] * share  # (units, variables, pieces + 1)
    cuts[..., 0], cuts[..., -1] = low, high
    cuts = np.clip(cuts, low[..., None], high[..., None])
    at = np.array(np.meshgrid(*[np.arange(pieces)] * variables)).reshape(variables, -1)  # (v, n)
    rows = np.arange(variables)[:, None]
    lower = cuts[:, rows, at].transpose(0, 2, 1).reshape(-1, variables)
    upper = cuts[:, rows, at + 1].transpose(0, 2, 1).reshape(-1, variables)
    return np.repeat(np.arange(units), at.shape[1]), lower, upper


def _shares(low: Array, high: Array, sides: Array) -> Array:
    """Measure the sides of cells by those of the whole box."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num((high - low) / sides, nan=0.0)


def _split(
    unit: np.ndarray, low: Array, high: Array, parent: Array, weight: Array
) -> tuple[np.ndarray, Array, Array, Array]:
    """Halve each cell along the side of the largest weight, (cells, variables)."""
    axis = weight.argmax(1)
    rows = np.arange(len(unit))
    middle = 0.5 * low[rows, axis] + 0.5 * high[rows, axis]
    left, right = high.copy(), low.copy()
    left[rows, axis] = right[rows, axis] = middle
    return (
        np.concatenate([unit, unit]),
        np.concatenate([low, right]),
        np.concatenate([left, high]),
        np.concatenate([parent, parent]),
    )
