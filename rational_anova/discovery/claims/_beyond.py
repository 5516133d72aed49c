"""What a formula does between the rows and just outside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import sympy as sp
from scipy.spatial import KDTree

from ..._core.types import Array
from ...symbols import Program, program
from ..fitting import Fit, Rows

_FINE = 1501  # points along an input
_WILD = 2.0  # times the range of the target, past its ends: no row bears witness to it
_OUTSIDE = 0.25  # of the range of an input, on either side
_FAR = 10.0
_NEIGHBOURED, _NEAREST = 500, 3  # rows, and how many neighbours of each, in several columns


def wild(fit: Fit, rows: Rows) -> bool:
    """Return whether a formula runs away between the rows: a pole, or a peak that none has seen."""
    low, high = float(rows.y.min()), float(rows.y.max())
    reach = _WILD * (high - low)
    alone = sum(fit.form.expression.has(s) for s in fit.form.inputs) <= 1
    for line in _lines(fit, rows, 0.0) if alone else [_between(rows.X)]:
        with np.errstate(all="ignore"):
            said = fit.predict(line)
        if not np.isfinite(said).all() or said.max() > high + reach or said.min() < low - reach:
            return True
        # of several inputs rows on both sides would have seen a pole; sin(u)**2/u**2 has none
        if alone and _crosses_zero_below(fit, line):
            return True
    return False


def _crosses_zero_below(fit: Fit, line: Array) -> bool:
    """Return whether a denominator changes its sign along a line: a pole, however narrow."""
    function, count = _denominators(fit.form.expression, fit.form.inputs, fit.form.parameters)
    if not count:
        return False
    found = function(*line.T, *fit.values)
    for base, power in zip(found[:count], found[count:], strict=True):
        if np.all(power < 0) and np.min(base) < 0 < np.max(base):
            return True
    return False


@lru_cache(1024)
def _denominators(
    expression: sp.Expr, inputs: tuple[sp.Symbol, ...], parameters: tuple[sp.Symbol, ...]
) -> tuple[Program, int]:
    """Bases of powers of sums of the inputs, then their exponents, and how many these are."""
    powers = [
        p
        for p in expression.atoms(sp.Pow)
        if p.base.has(*inputs) and not p.base.is_Symbol and not p.exp.has(*inputs)
    ]
    parts = [*(p.base for p in powers), *(p.exp for p in powers)]
    return program((*inputs, *parameters), parts), len(powers)


def oddities(fit: Fit, rows: Rows, names: Sequence[str]) -> Iterator[str]:
    """Sentences on what is odd within a quarter of the range outside of the rows."""
    used = [k for k, s in enumerate(fit.form.inputs) if fit.form.expression.has(s)]
    span = float(np.ptp(rows.y)) or 1.0
    for column, line in zip(used, _lines(fit, rows, _OUTSIDE), strict=True):
        x = line[:, column]
        inside = (x >= rows.X[:, column].min()) & (x <= rows.X[:, column].max())
        with np.errstate(all="ignore"):
            said = fit.predict(line)
        far = ~np.isfinite(said) | (np.abs(said - rows.y.mean()) > _FAR * span)
        if far[~inside].any():
            place = x[far & ~inside][np.argmin(np.abs(x[far & ~inside] - np.median(x)))]
            yield f"Just outside the data it diverges, near {names[column]} = {place:.3g}."
            continue
        turn = _turn(x, said, _inner(x, rows.X[:, column]))
        if turn is not None:
            yield f"It has a turning point at the end of the data, at {names[column]} = {turn:.3g}."


def _inner(x: Array, seen: Array) -> Array:
    """Points among the rows but the first and the last: no turn is seen by one row alone."""
    places = np.unique(seen)
    low, high = (places[1], places[-2]) if len(places) > 4 else (places[0], places[-1])
    return np.asarray((x >= low) & (x <= high))


def _turn(x: Array, said: Array, inside: Array) -> float | None:
    """Where a curve that rises or falls all over the rows turns at their end, if it does."""
    slope = np.diff(said)
    within = inside[1:] & inside[:-1]
    if not within.any() or not ((slope[within] >= 0).all() or (slope[within] <= 0).all()):
        return None
    way = np.sign(slope[within].sum())
    depth = np.ptp(said[inside])
    for side in (x > x[inside].max(), x < x[inside].min()):
        values = said[side] if side[-1] else said[side][::-1]
        if len(values) < 2:
            continue
        moved = way * (values - values[0]) * (1 if side[-1] else -1)
        # a turn that takes back a twentieth of all there is to see
        if moved.max() - moved[-1] > 0.05 * depth and moved[-1] < moved.max():
            where = x[side] if side[-1] else x[side][::-1]
            return float(where[np.argmax(moved)])
    return None


def _between(X: Array) -> Array:
    """Points between each of some rows and its neighbours: inputs that go together stay so."""
    rows = X if len(X) <= _NEIGHBOURED else X[np.linspace(0, len(X) - 1, _NEIGHBOURED).astype(int)]
    width = np.ptp(rows, axis=0)
    tree = KDTree(rows / np.where(width > 0, width, 1.0))
    near = tree.query(tree.data, k=min(_NEAREST + 1, len(rows)))[1][:, 1:]
    steps = np.linspace(0, 1, 9)[1:-1]
    away = rows[near] - rows[:, None]  # (rows, neighbours, columns)
    points = rows[:, None, None] + away[:, :, None] * steps[:, None]
    return np.asarray(points.reshape(-1, X.shape[1]))


def _lines(fit: Fit, rows: Rows, outside: float) -> Iterator[Array]:
    """Points along each input that matters, the others at their median."""
    middle = np.median(rows.X, axis=0)
    for column, symbol in enumerate(fit.form.inputs):
        if not fit.form.expression.has(symbol):
            continue
        x = rows.X[:, column]
        low, high = float(x.min()), float(x.max())
        margin = outside * (high - low)
        # what is positive by nature may well have a pole at zero
        bottom = max(low - margin, 0.75 * low) if low >= 0 else low - margin
        grid = np.linspace(bottom, high + margin, _FINE)
        if not outside:
            # between rows that lie close together a pole would be missed by even steps
            places = np.unique(x)
            steps = np.linspace(0, 1, 9)[1:-1]
            grid = np.r_[grid, (places[:-1, None] + np.diff(places)[:, None] * steps).ravel()]
        line = np.tile(middle, (len(grid), 1))
        line[:, column] = np.sort(grid)
        yield line
