"""Numbers and starts of a system from its trajectories: multiple shooting.

Every row is a node with a state of its own, which begins on the smooth curves. All steps from node
to node are integrated at once, with their sensitivities; linearised, the condition that each step
ends on the next node leaves the starts and the numbers, which are solved by least squares. As the
nodes begin near the truth, this ends where a simulation from the start would lose its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK45

from .._core.least_squares import lstsq
from .._core.types import Array
from ._runs import Run, input_at
from ._system import System

_STEEP = 1.0  # step times slope that DOP853 is exact with to 1e-9, and RK45 to a thousandth
_MOST_STEPS = 40  # from a node to the next; beyond, a system is too stiff to be looked at
_STEPS = 25  # of Gauss and Newton
_HALVED = 5
_WILD = 1e12  # slopes of a step that no least squares can use
_CLOSED = 1e-6  # gaps between steps and nodes, relative to the noise, that do not matter


@dataclass(frozen=True, eq=False)
class Rows:
    """Runs side by side, as steps from node to node.

    Attributes:
        runs: that it is of.
        X: measured states at all nodes, nan where there is none, (nodes, states).
        first: where each run begins among the nodes.
        begin: node at which each step begins; it ends at the next.
        t: time at the begin of each step.
        h: its length.
        timed: whether time is an input, the last.
        method: integrator whose coefficients are used, of order 8 or 5.
        sizes: of the noise of each cell, relative to the others of its state, (nodes, states).
    """

    runs: Sequence[Run]
    X: Array
    first: Array
    begin: Array
    t: Array
    h: Array
    timed: bool = False
    method: Any = DOP853
    sizes: Array | float = 1.0
    _inputs: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls, runs: Sequence[Run], timed: bool = False, precise: bool = True,
        sizes: Array | None = None,
    ) -> Rows:  # fmt: skip
        """Steps of runs; precise to rounding, or to what noisy rows can tell."""
        lengths = [len(run.t) for run in runs]
        first = np.cumsum([0, *lengths[:-1]])
        begin = np.concatenate([f + np.arange(n - 1) for f, n in zip(first, lengths, strict=True)])
        t = np.concatenate([run.t[:-1] for run in runs])
        h = np.concatenate([np.diff(run.t) for run in runs])
        X, method = np.concatenate([run.X for run in runs]), DOP853 if precise else RK45
        return cls(runs, X, first, begin, t, h, timed, method, 1.0 if sizes is None else sizes)

    def inputs(self, steps: int) -> Array:
        """Inputs at all stages of all steps, (steps, stages, places, inputs)."""
        if steps not in self._inputs:
            at = (np.arange(steps)[:, None] + self.method.C[None, : self.method.n_stages]) / steps
            times = self.t + at[..., None] * self.h
            self._inputs[steps] = self._at(times)
        return self._inputs[steps]

    def _at(self, times: Array) -> Array:
        of = np.repeat(np.arange(len(self.runs)), [len(run.t) - 1 for run in self.runs])
        parts = [input_at(run, times[..., of == k], self.timed) for k, run in enumerate(self.runs)]
        return np.concatenate(parts, axis=-2)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """A system on the runs, with its numbers where they explain the rows best.

    Attributes:
        theta: the numbers.
        nodes: states at the rows, (nodes, states).
        squares: sums of squares that are left, by measured state; inf if it failed. Where noise has
            several sizes, what is left of a cell is divided by its own.
        counts: measured cells, by state.
        covariance: of starts and numbers, for noise of 1 in units of `sigma`.
    """

    theta: Array
    nodes: Array
    squares: Array
    counts: Array
    covariance: Array

    @property
    def noise(self) -> Array:
        """Root mean square that is left, by measured state."""
        return np.sqrt(self.squares / np.maximum(self.counts, 1))


def shot(
    system: System,
    rows: Rows,
    theta: Array,
    nodes: Array,
    sigma: Array,
    gain: float = 1e-8,
    hopeless: Callable[[int, Array], bool] | None = None,
) -> Trajectories:
    """Fit numbers and starts to all rows.

    Args:
        system: with `len(sigma)` measured states, which come first, and hidden ones after them.
        rows: the data.
        theta: numbers to begin with.
        nodes: states to begin with, (nodes, states).
        sigma: standard deviations of measured states.
        gain: relative gain of a step below which it is the last.
        hopeless: whether to give up, of the steps done and of what the next one promises to leave.
    """
    fit = _Shooting(system, rows, sigma)
    now = fit.linearised(theta, nodes)
    for count in range(_STEPS):
        if now is None:
            break
        step = fit.step(now)
        if step is None:
            break
        if hopeless is not None and hopeless(count, step.promised):
            return fit.outcome(None)
        new = fit.accepted(now, step)
        if new is None:
            break
        settled = new.gap < _CLOSED and abs(now.cost - new.cost) < gain * new.cost
        now = new
        if settled:
            break
    return fit.outcome(now)


@dataclass(frozen=True, eq=False)
class _Linear:
    """Steps from all nodes, their sensitivities, and what they come to."""

    theta: Array
    nodes: Array
    ends: Array
    slopes: Array
    cost: float
    gap: float


@dataclass(frozen=True, eq=False)
class _Step:
    """Changes of numbers and nodes, and the sums of squares that they promise, by state."""

    theta: Array
    nodes: Array
    promised: Array


class _Shooting:
    def __init__(self, system: System, rows: Rows, sigma: Array) -> None:
        self.system, self.rows, self.sigma = system, rows, sigma
        self.deviations = np.broadcast_to(sigma * rows.sizes, rows.X.shape)  # of each cell
        self.spread = np.ones(len(system.states))  # in whose units slopes are too large or not
        self.spread[: len(sigma)] = np.maximum(np.nanstd(rows.X, axis=0), sigma)
        self.measured = len(sigma)
        self.known = np.isfinite(rows.X)
        self.steps = 0

    def linearised(self, theta: Array, nodes: Array) -> _Linear | None:
        """All steps from these nodes; None if one has no end."""
        if not self.steps:
            self.steps = self._needed(theta, nodes)
        if self.steps > _MOST_STEPS:
            return None
        with np.errstate(all="ignore"):
            ends, slopes = self._flow(theta, nodes[self.rows.begin])
        if not (np.isfinite(ends).all() and self._tame(slopes, np.r_[self.spread, np.abs(theta)])):
            return None
        left = np.where(self.known, self.rows.X - nodes[:, : self.measured], 0.0) / self.deviations
        gaps = ends - nodes[self.rows.begin + 1]
        scale = np.ones(gaps.shape[1])
        scale[: self.measured] = self.sigma
        with np.errstate(all="ignore"):
            gap = float(np.sqrt(np.mean((gaps / scale) ** 2)))
        return _Linear(theta, nodes, ends, slopes, float(np.sum(left**2)), gap)

    def _tame(self, slopes: Array, units: Array) -> bool:
        """Whether slopes of states are of a size that least squares can use, in any units."""
        relative = np.abs(slopes) * units / self.spread[:, None]
        return bool(relative.max(initial=0.0) < _WILD)

    def _needed(self, theta: Array, nodes: Array) -> int:
        """How many steps of the integrator a step from node to node needs."""
        if self.system.discrete:
            return 1
        x, size = nodes[self.rows.begin], len(self.system.states)
        slopes = self.system.slopes(x, self.rows.inputs(1)[0, 0], theta)[:, :, :size]
        if not np.isfinite(slopes).all():
            return _MOST_STEPS + 1
        steep = np.abs(slopes).sum(axis=2).max(axis=1) * self.rows.h
        return max(1, int(np.ceil(float(np.max(steep)) / _STEEP)))

    def _flow(self, theta: Array, x: Array) -> tuple[Array, Array]:
        """States after a step from x, and their slopes in x and theta."""
        size, width = x.shape[1], x.shape[1] + len(theta)
        if self.system.discrete:
            u = self.rows.inputs(1)[0, 0]
            return self.system.rates(x, u, theta), self.system.slopes(x, u, theta)
        W = np.zeros((len(x), size, width))
        W[:, :, :size] = np.eye(size)
        h, method = (self.rows.h / self.steps)[:, None], self.rows.method
        for u in self.rows.inputs(self.steps):
            K, KW = np.empty((len(u), *x.shape)), np.empty((len(u), *W.shape))
            for s in range(len(u)):
                weights = method.A[s, :s]
                at = x + h * np.tensordot(weights, K[:s], 1)
                moved = W + h[..., None] * np.tensordot(weights, KW[:s], 1)
                K[s] = self.system.rates(at, u[s], theta)
                slopes = self.system.slopes(at, u[s], theta)
                KW[s] = slopes[:, :, :size] @ moved
                KW[s][:, :, size:] += slopes[:, :, size:]
            x = x + h * np.tensordot(method.B, K, 1)
            W = W + h[..., None] * np.tensordot(method.B, KW, 1)
        return x, W

    def condensed(self, now: _Linear) -> tuple[Array, Array]:
        """Changes of all nodes that close the gaps: a part by starts and numbers, and the rest."""
        rows, size, numbers = self.rows, now.nodes.shape[1], len(now.theta)
        starts = size * len(rows.first)
        by = np.zeros((len(now.nodes), size, starts + numbers))
        rest = np.zeros((len(now.nodes), size))
        for k, node in enumerate(rows.first):
            by[node, :, size * k : size * (k + 1)] = np.eye(size)
        gaps = now.ends - now.nodes[rows.begin + 1]
        with np.errstate(all="ignore"):
            self._chained(now, gaps, by, rest, starts)
        return by, rest

    def _chained(self, now: _Linear, gaps: Array, by: Array, rest: Array, starts: int) -> None:
        """Changes of each node from those of the one before."""
        size = now.nodes.shape[1]
        for k, node in enumerate(self.rows.begin):
            A = now.slopes[k, :, :size]
            by[node + 1] = A @ by[node]
            by[node + 1][:, starts:] += now.slopes[k, :, size:]
            rest[node + 1] = A @ rest[node] + gaps[k]

    def step(self, now: _Linear) -> _Step | None:
        """Changes of the numbers and of the nodes, by least squares; None if errors explode."""
        by, rest = self.condensed(now)
        units = np.r_[np.tile(self.spread, len(self.rows.first)), np.abs(now.theta)]
        if not (self._tame(by, units) and np.isfinite(rest).all()):
            return None
        scaled = by[:, : self.measured] / self.deviations[..., None]
        J = scaled[self.known]
        wanted = (self.rows.X - (now.nodes + rest)[:, : self.measured]) / self.deviations
        norms = np.linalg.norm(J, axis=0)
        norms[norms == 0] = 1.0
        z = lstsq(J / norms, wanted[self.known], 1e-11) / norms
        left = np.where(self.known, wanted - scaled @ z, 0.0)
        promised = np.sum((left * self.sigma) ** 2, axis=0)
        return _Step(z[len(z) - len(now.theta) :], by @ z + rest, promised)

    def accepted(self, now: _Linear, step: _Step) -> _Linear | None:
        """The longest part of a step that closes gaps, or explains more where they are closed."""
        part = 1.0
        for _ in range(_HALVED):
            new = self.linearised(now.theta + part * step.theta, now.nodes + part * step.nodes)
            if new is not None:
                closes = new.gap < 0.9 * now.gap and new.gap > _CLOSED
                better = new.gap <= max(_CLOSED, now.gap) and new.cost < now.cost
                if closes or better or (new.gap <= _CLOSED < now.gap):
                    return new
            part /= 2
        return None

    def outcome(self, now: _Linear | None) -> Trajectories:
        counts = self.known.sum(axis=0)
        if now is None or now.gap > 1e-2:
            failed = np.full(self.measured, np.inf)
            nothing = np.empty((0, 0))
            return Trajectories(np.empty(0), nothing, failed, counts, nothing)
        by, rest = self.condensed(now)
        nodes = now.nodes + rest
        J = (by[:, : self.measured] / self.deviations[..., None])[self.known]
        left = np.where(self.known, self.rows.X - nodes[:, : self.measured], 0.0) / self.rows.sizes
        norms = np.linalg.norm(J, axis=0)
        unknown = np.flatnonzero(norms == 0)
        norms[unknown] = 1.0
        inverse = np.linalg.pinv(J / norms) / norms[:, None] if J.size else np.empty((0, 0))
        covariance = inverse @ inverse.T
        covariance[unknown, unknown] = np.inf
        return Trajectories(now.theta, nodes, np.sum(left**2, axis=0), counts, covariance)


def predicted_variance(
    system: System, rows: Rows, fit: Trajectories, nodes: Array, sigma: Array
) -> Array:
    """Variance of the measured states at all nodes, from the errors of a fit, (nodes, states).

    Args:
        system: the equations.
        rows: where it is predicted.
        fit: whose numbers and starts have errors.
        nodes: the trajectory that they lead to.
        sigma: noise of the measured states.
    """
    shooting = _Shooting(system, rows, sigma)
    now = shooting.linearised(fit.theta, nodes)
    if now is None:
        return np.full((len(nodes), len(sigma)), np.inf)
    by = shooting.condensed(now)[0][:, : len(sigma)]
    return np.asarray(np.einsum("nij,jk,nik->ni", by, fit.covariance, by))
