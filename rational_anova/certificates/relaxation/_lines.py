"""Lines and planes below and above functions on boxes, proved by bounds on cells.

Slopes are chosen in floating point, the offsets are proved: f(x) - a x is bounded on each cell, by
f(c) - a c + (f'(X) - a)(X - c) and by f(X) - a X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ...proofs import Cells, Interval, up
from ._graph import Jets, Look

_PIECES = {1: 32, 2: 8}  # of each side of the box of a function
_ULP = 2.0**-52


@dataclass(frozen=True)
class Table:
    """Functions on the cells of their boxes; arrays (functions, cells)."""

    centre: Array  # (functions, cells, variables)
    radius: Array
    jets: Jets  # of all cells in a row

    def part(self, partial: int | None) -> tuple[Interval, list[Interval]]:
        """Return values and slopes, (2, functions, cells), of the functions or a derivative."""
        variables = self.centre.shape[2]
        if partial is None:
            value, slopes = self.jets.value, self.jets.slopes
        else:
            value = self.jets.slopes[partial]
            pairs = [(min(partial, v), max(partial, v)) for v in range(variables)]
            slopes = [self.jets.curvatures[pair] for pair in pairs]
        return self._shaped(value), [self._shaped(slope) for slope in slopes]

    def _shaped(self, x: Interval) -> Interval:
        shape = 2, *self.centre.shape[:2]
        return Interval(x.low.reshape(shape), x.high.reshape(shape))


@dataclass(frozen=True)
class Lines:
    """Planes below and above each function, and its range."""

    low_slope: Array  # (functions, variables)
    low: Array  # (functions,)
    high_slope: Array
    high: Array
    range: Interval


def tabulate(look: Look, index: np.ndarray, box: Interval, kinks: tuple[float, ...]) -> Table:
    """Look at functions `index` on cells of their boxes (functions, variables)."""
    functions, variables = box.low.shape
    cells = Cells.grid(box.low, box.high, _PIECES[variables])
    count = len(cells) // functions
    low, high = cells.low, cells.high
    if kinks:
        low, high = _at_kinks(low[:, 0], high[:, 0], functions, kinks)
    centre = 0.5 * low + 0.5 * high
    radius = up(np.maximum(high - centre, centre - low))
    shape = functions, count, variables
    jets = look(np.repeat(index, count), low, high)
    return Table(centre.reshape(shape), radius.reshape(shape), jets)


def _at_kinks(
    low: Array, high: Array, functions: int, kinks: tuple[float, ...]
) -> tuple[Array, Array]:
    """Move borders of cells to kinks, so that no cell holds one inside, nor at its ends.

    Functions are continuous: what holds on the open cells holds at their borders.
    """
    low, high = low.reshape(functions, -1).copy(), high.reshape(functions, -1).copy()
    rows = np.arange(functions)
    for kink in kinks:
        inside = (low[:, 0] < kink) & (kink < high[:, -1])
        near = np.abs(low[:, 1:] - kink).argmin(1) + 1
        at = rows[inside], near[inside]
        low[at] = high[at[0], at[1] - 1] = kink
        low[low == kink], high[high == kink] = np.nextafter(kink, 1e9), np.nextafter(kink, -1e9)
    high = np.maximum(low, high)
    return low.reshape(-1, 1), high.reshape(-1, 1)


def lines(table: Table, partial: int | None, box: Interval) -> Lines:
    """Return planes below and above functions on their boxes (functions, variables)."""
    value, slopes = table.part(partial)
    low, high = value[0].known().low.min(1), value[0].known().high.max(1)
    middle = 0.5 * value.low[1] + 0.5 * value.high[1]
    above = _slopes(table, middle, slopes, box)
    below = -_slopes(table, -middle, [-slope for slope in slopes], box)
    top, bottom = (
        _offset(table, value, slopes, above),
        -_offset(table, -value, [-slope for slope in slopes], -below),
    )
    centre = 0.5 * box.low + 0.5 * box.high
    flat = ~((top + (above * centre).sum(1)) < high)
    above[flat], top = 0.0, np.where(flat, high, top)
    flat = ~((bottom + (below * centre).sum(1)) > low)
    below[flat], bottom = 0.0, np.where(flat, low, bottom)
    return Lines(below, bottom, above, top, Interval(low, high))


def _offset(table: Table, value: Interval, slopes: list[Interval], a: Array) -> Array:
    """Return b with f(x) <= a x + b on the box, (functions,)."""
    c, r = table.centre, table.radius
    wide, near = value[0].high.copy(), value[1].high.copy()
    size = np.abs(near)
    for v, slope in enumerate(slopes):
        along = a[:, None, v]
        near += -along * c[:, :, v]
        reach = np.maximum(np.abs(slope[0].low - along), np.abs(slope[0].high - along))
        near += reach * r[:, :, v]
        wide += -along * c[:, :, v] + np.abs(along) * r[:, :, v]
        size += np.abs(along * c[:, :, v]) + (reach + np.abs(along)) * r[:, :, v]
    best = np.fmin(near, wide) + 32 * _ULP * (np.abs(value[0].high) + size) + 1e-300
    best = np.where(np.isnan(best), np.fmin(wide, np.inf), best)
    return np.where(np.isnan(best), np.inf, best).max(1)


def _slopes(table: Table, f: Array, slopes: list[Interval], box: Interval) -> Array:
    """Choose slopes of planes above functions that are low at the centre of the box."""
    t = table.centre - (0.5 * box.low + 0.5 * box.high)[:, None]
    f = f + sum(
        0.5 * np.abs(slope.high[1] - slope.low[1]) * table.radius[:, :, v]
        for v, slope in enumerate(slopes)
    )
    if t.shape[2] == 1:
        middle = 0.5 * slopes[0].low[1] + 0.5 * slopes[0].high[1]
        ends = [f[:, :1] - middle[:, :1] * table.radius[:, :1, 0],
                f[:, -1:] + middle[:, -1:] * table.radius[:, -1:, 0]]  # fmt: skip
        places = [t[:, :1, 0] - table.radius[:, :1, 0], t[:, -1:, 0] + table.radius[:, -1:, 0]]
        x = np.concatenate([places[0], t[:, :, 0], places[1]], 1)
        y = np.concatenate([ends[0], f, ends[1]], 1)
        return np.nan_to_num(_chord(x, y), posinf=0.0, neginf=0.0)[:, None]
    spread = (t * t).sum(1)
    a = np.where(spread > 0, (t * f[:, :, None]).sum(1) / spread, 0.0)
    side = _PIECES[2]
    for _ in range(2):  # each variable in turn, over the best of the other
        for v in range(2):
            rest = f - a[:, None, 1 - v] * t[:, :, 1 - v]
            grid, place = (part.reshape(-1, side, side) for part in (rest, t[:, :, v]))
            x, y = place.min(v + 1), grid.max(v + 1)  # the first variable runs fastest
            a[:, v] = np.nan_to_num(_chord(x, y), posinf=0.0, neginf=0.0)
    return np.nan_to_num(a, posinf=0.0, neginf=0.0)


def _chord(x: Array, y: Array) -> Array:
    """Return the slope of the highest chord over zero: that of the concave hull there."""
    half = x.shape[1] // 2
    left, right = (x[:, :half, None], y[:, :half, None]), (x[:, None, half:], y[:, None, half:])
    rise = (right[1] - left[1]) / (right[0] - left[0])
    height = np.nan_to_num(left[1] - rise * left[0], nan=-np.inf).reshape(len(x), -1)
    best = height.argmax(1)
    return np.asarray(rise.reshape(len(x), -1)[np.arange(len(x)), best])
