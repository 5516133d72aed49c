"""Maps, x[k + 1] = f(x[k]): the same problems, without integrals and smooth curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from ..._core.types import Array
from .._runs import Run
from ._integral import Problem

_LEAST = 1e-8  # noise relative to the spread, as of curves
_GUESS = 1e-3  # noise relative to the spread that states are weighed by


@dataclass(frozen=True, eq=False)
class Stepped:
    """Runs of a map; what `Smoothed` is for differential equations."""

    runs: Sequence[Run]

    @cached_property
    def nodes(self) -> Array:
        """States at all rows; between neighbours where one is missing."""
        return np.concatenate([_filled(run) for run in self.runs])

    @property
    def noise(self) -> Array:
        """What states are weighed by: nothing is known of their noise before the fit."""
        return _GUESS / _LEAST * self.floor

    @property
    def floor(self) -> Array:
        """Noise below which nothing is told apart, by state."""
        spread = np.std(self.nodes, axis=0)
        return np.asarray(_LEAST * np.where(spread > 0, spread, 1.0))

    @property
    def clean(self) -> Array:
        """Whether rows may have no noise: as nobody knows, equations of all lengths are kept."""
        return np.ones(self.nodes.shape[1], dtype=bool)


def map_problems(data: Stepped, variables: Sequence[sp.Symbol]) -> list[Problem]:
    """One problem for each state: its next value."""
    sizes = np.cumsum([len(run.t) for run in data.runs])
    begin = np.setdiff1d(np.arange(sizes[-1]), sizes - 1)
    inputs = np.concatenate([run.U for run in data.runs])
    values = np.c_[data.nodes, inputs][begin]
    return [
        Problem(y, lambda places: places, variables, values, float(floor))
        for y, floor in zip(data.nodes[begin + 1].T, data.floor, strict=True)
    ]


def _filled(run: Run) -> Array:
    out = run.X.copy()
    for x in out.T:
        known = np.isfinite(x)
        x[~known] = np.interp(run.t[~known], run.t[known], x[known])
    return out
