"""Equations of motion as problems of least squares, along smooth curves through the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ..._core.types import Array
from .._runs import Run, input_at
from .._smooth import CLEAN, Curve, smooth
from ._integral import Problem

_GAUSS = np.polynomial.legendre.leggauss(4)
_MOST_ROWS = 600  # that equations are compared on in the search
_FINEST = 1000  # steps that the range of rounded rows has at most
_LEAST = 1e-8  # noise relative to the spread: what integrators and rounding leave


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Runs with smooth curves through their states.

    Attributes:
        runs: the data.
        curves: one a run and state.
        order: 2 if states are positions whose velocities are states too.
        timed: whether time is an input, the last.
        exact: whether the rows are known to have no noise, whatever the curves make of them.
        sizes: of the noise of each cell, relative to the others of its state, (rows, states).
        level: of the noise by state, where the curves are solutions of a system and do not tell.
    """

    runs: Sequence[Run]
    curves: Sequence[Sequence[Curve]]
    order: int = 1
    timed: bool = False
    exact: bool = False
    sizes: Array | None = None
    level: Array | None = None

    @classmethod
    def of(
        cls, runs: Sequence[Run], order: int = 1, timed: bool = False, exact: bool = False,
        sizes: Array | None = None,
    ) -> Smoothed:  # fmt: skip
        """Curves through all runs."""
        cuts = np.cumsum([len(run.t) for run in runs])[:-1]
        parts = [None] * len(runs) if sizes is None else np.split(sizes, cuts)
        curves = [
            [smooth(run.t, x, exact, None if own is None else own[:, k])
             for k, x in enumerate(run.X.T)]
            for run, own in zip(runs, parts, strict=True)
        ]  # fmt: skip
        return cls(runs, curves, order, timed, exact, sizes)

    def along(self, nodes: Array, level: Array) -> Smoothed:
        """The same runs with the solution of a system as curves, of which rows are so far."""
        cuts = np.cumsum([len(run.t) for run in self.runs])[:-1]
        curves = [[smooth(run.t, x, exact=True) for x in own.T[: run.X.shape[1]]]
                  for run, own in zip(self.runs, np.split(nodes, cuts), strict=True)]  # fmt: skip
        return replace(self, curves=curves, level=np.maximum(level, self.floor))

    def part(self, runs: Sequence[int]) -> Smoothed:
        """Some of the runs, with curves of their own."""
        own = [self.runs[k] for k in runs]
        cuts = np.cumsum([len(run.t) for run in self.runs])[:-1]
        parts = None if self.sizes is None else np.split(self.sizes, cuts)
        sizes = None if parts is None else np.concatenate([parts[k] for k in runs])
        if self.level is None:
            return Smoothed.of(own, self.order, self.timed, self.exact, sizes)
        return replace(self, runs=own, curves=[self.curves[k] for k in runs], sizes=sizes)

    @property
    def noise(self) -> Array:
        """Standard deviation of the noise of each measured state."""
        if self.level is not None:
            return self.level
        squares = [[curve.noise**2 * len(run.t) for curve in curves]
                   for run, curves in zip(self.runs, self.curves, strict=True)]  # fmt: skip
        rows = sum(len(run.t) for run in self.runs)
        return np.maximum(np.sqrt(np.sum(squares, axis=0) / rows), self.floor)

    @property
    def clean(self) -> Array:
        """Whether rows have no noise to speak of, by state."""
        return (self.noise < CLEAN * self.spread) | self.exact

    @cached_property
    def spread(self) -> Array:
        """Standard deviation of each measured state."""
        found = np.nanstd(np.concatenate([run.X for run in self.runs]), axis=0)
        return np.where(found > 0, found, 1.0)

    @cached_property
    def floor(self) -> Array:
        """Noise below which nothing is told apart, by state: rounding of the rows, or float64."""
        rounded = [_rounding(x) for x in np.concatenate([run.X for run in self.runs]).T]
        return np.maximum(_LEAST * self.spread, rounded)

    def states(self, k: int, t: Array) -> Array:  # (times, states)
        """States of a run on its curves, velocities after positions."""
        curves = self.curves[k]
        parts = [curve(t) for curve in curves]
        parts += [curve.slope(t) for curve in curves] if self.order == 2 else []
        return np.stack(parts, axis=1)

    @property
    def nodes(self) -> Array:
        """States at all rows of all runs."""
        return np.concatenate([self.states(k, run.t) for k, run in enumerate(self.runs)])


def problems(data: Smoothed, variables: Sequence[sp.Symbol]) -> list[Problem]:
    """One problem for each measured state: its rate of change, or its acceleration."""
    grids = [_Grid.of(run.t) for run in data.runs]
    values = np.concatenate([
        np.c_[data.states(k, grid.places), input_at(run, grid.places, data.timed)]
        for k, (run, grid) in enumerate(zip(data.runs, grids, strict=True))
    ])  # fmt: skip
    return [
        _problem(data, grids, values, variables, state, float(floor))
        for state, floor in enumerate(np.where(data.clean, data.floor, data.noise))
    ]


def _problem(
    data: Smoothed, grids: Sequence[_Grid], values: Array, variables: Sequence[sp.Symbol],
    state: int, floor: float,
) -> Problem:  # fmt: skip
    """The rows of a state, with its starts (and first velocities) projected out."""
    known = [np.isfinite(run.X[:, state]) for run in data.runs]
    kept = _thinned(np.concatenate(known))
    weight = 1 / (1.0 if data.sizes is None else data.sizes[kept, state, None])
    starts = _starts([run.t for run in data.runs], data.order)[kept]
    Q = np.linalg.qr(starts * weight)[0]

    def projected(columns: Array) -> Array:
        return np.asarray(columns - Q @ (Q.T @ columns))

    def transform(places: Array) -> Array:
        cuts = np.cumsum([len(grid.places) for grid in grids])[:-1]
        parts = zip(grids, np.split(places, cuts), strict=True)
        rows = [grid.integrated(part, data.order) for grid, part in parts]
        return projected(np.concatenate(rows)[kept] * weight)

    y = np.concatenate([run.X[:, [state]] for run in data.runs])[kept] * weight
    return Problem(projected(y)[:, 0], transform, variables, values, floor)


def _rounding(x: Array) -> float:
    """Standard deviation of the rounding of a column, 0 if its values are not steps of a ruler."""
    values = np.unique(x[np.isfinite(x)])
    if len(values) < 2:
        return 0.0
    step = float(np.diff(values).min())
    steps = (values - values[0]) / step
    coarse = steps[-1] < _FINEST and np.abs(steps - np.round(steps)).max() < 1e-6
    return step / np.sqrt(12) if coarse else 0.0


def _thinned(known: Array) -> Array:
    """Rows that are looked at: all that are known, or some of them, evenly."""
    rows = np.flatnonzero(known)
    if len(rows) <= _MOST_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)]


def _starts(times: Sequence[Array], order: int) -> Array:
    """Columns of what the start of each run adds to its rows: a constant, and a line in time."""
    blocks = [np.vander((t - t[0]) / (t[-1] - t[0]), order) for t in times]
    out = np.zeros((sum(map(len, times)), order * len(times)))
    at = 0
    for k, block in enumerate(blocks):
        out[at : at + len(block), order * k : order * (k + 1)] = block
        at += len(block)
    return out


@dataclass(frozen=True, eq=False)
class _Grid:
    """Places of quadrature between the rows of a run.

    Attributes:
        places: times, (steps * nodes,).
        weights: of each place, (steps, nodes).
        t: of the rows.
    """

    places: Array
    weights: Array
    t: Array

    @classmethod
    def of(cls, t: Array) -> _Grid:
        nodes, weights = _GAUSS
        half = np.diff(t)[:, None] / 2
        return cls((t[:-1, None] + half * (nodes + 1)).ravel(), half * weights, t)

    def integrated(self, values: Array, order: int) -> Array:
        """Integrals from the first row to each, of values at the places, (rows, terms)."""
        pieces = values.reshape(*self.weights.shape, -1)
        once = _summed(np.einsum("sn,snk->sk", self.weights, pieces))
        if order == 1:
            return once
        # of the integral over a step: what is there already, and what it gains on the way
        rest = self.t[1:, None] - self.places.reshape(self.weights.shape)
        gained = np.einsum("sn,snk->sk", self.weights * rest, pieces)
        return _summed(once[:-1] * np.diff(self.t)[:, None] + gained)


def _summed(steps: Array) -> Array:
    return np.concatenate([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])
