"""A quadratic problem under slopes of one sign: points are added until the slopes are proved."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag, cho_solve, solve_triangular

from ..._core.types import Array
from ..fit import _factor
from ..model import Heads
from ._proof import HeadSum, examine

POINTS = 300  # where the slope is held to begin with
FEW_LEVELS = 32  # that a stair may have
WIDE = 16.0  # range, in widths of wide heads, from which they do not reach the ends
# Widths off a centre, far ones for heads that are much narrower than those around them.
_WITHIN = np.array([0, 0.2, 0.4, 0.6, 0.8, 1, 1.3, 1.7, 2.2, 3, *(5 * 2.0 ** np.arange(24))])


class Held:
    """The heads of one input, and points at which their slope must not have the wrong sign.

    Coefficients `theta` belong to the scaled columns.

    Args:
        heads: of all terms of the input.
        columns: of the design, in the order of the heads.
        scale: of these columns.
        sign: +1 to rise, -1 to fall.
        low: least number in the rows.
        high: greatest one.
    """

    def __init__(
        self, heads: list[Heads], columns: Array, scale: Array, sign: int, low: float, high: float
    ) -> None:
        # In units of the range, so that no power of a number overflows.
        unit = float(2.0 ** -np.ceil(np.log2(high - low)))
        self.heads = [replace(h, centre=h.centre * unit, width=h.width * unit) for h in heads]
        self.columns, self.scale = columns, scale
        self.sign, self.low, self.high = sign, low * unit, high * unit
        self.dense = self._near(np.concatenate([-_WITHIN[:0:-1], _WITHIN]))
        self.slopes = self._slopes(self.dense)
        some = self._near(np.array([-64.0, -8.0, -1.0, 0.0, 1.0, 8.0, 64.0]))
        self.points = some[:: max(len(some) // POINTS, 1)]
        self.unit = 1.0
        steady = self._steady(self.dense)
        area = np.sum(np.diff(self.dense) * (steady[1:] + steady[:-1]) / 2)
        self.unit = float(area) or 1.0

    def _near(self, steps: Array) -> Array:
        """Return points at some widths off each centre, and evenly spaced ones."""
        widest = max(float(h.width.max()) for h in self.heads)
        near = [np.linspace(self.low, self.high, 33)]
        for heads in self.heads:
            away = heads.width[:, None] * steps
            near.append((heads.centre[:, None] + away)[np.abs(away) <= 2 * widest])
        points = np.concatenate(near)
        return np.unique(np.clip(points, self.low, self.high))

    def _slopes(self, points: Array) -> Array:
        """Return the slopes of the scaled columns at points, times the sign."""
        parts = []
        for heads in self.heads:
            u = (points[:, None] - heads.centre) / heads.width
            d = heads.width * (1 + u * u) ** 2
            parts += [-2 * u / d, (1 - u * u) / d] if heads.odd else [-2 * u / d]
        return self.sign * np.concatenate(parts, 1) / self.scale

    def _steady(self, points: Array) -> Array:
        """Return slopes of a rise by one in all, larger where the widest heads are denser."""
        widest = max(self.heads, key=lambda h: float(np.median(h.width)))
        u = (points[:, None] - widest.centre) / widest.width
        return np.asarray((1 / (widest.width * (1 + u * u))).max(1) / self.unit)

    def rows(self) -> tuple[Array, Array]:
        """Return slopes of the columns at the points, and those of a steady rise by one."""
        return self._slopes(self.points), self._steady(self.points)

    # -- curves

    def curve(self, theta: Array) -> HeadSum:
        """Return the curve of coefficients, times the sign."""
        numerators = np.split(theta / self.scale, np.cumsum([h.size for h in self.heads])[:-1])
        return HeadSum.of(list(zip(self.heads, numerators, strict=True)), self.sign)

    def dips(self, theta: Array) -> Array:
        """Return points where the slope has the wrong sign and is worse than next to them."""
        slope = np.concatenate([[np.inf], self.slopes @ theta, [np.inf]])
        inner = slope[1:-1]
        return self.dense[(inner < 0) & (inner <= slope[:-2]) & (inner <= slope[2:])]

    def failures(self, theta: Array) -> Array | None:
        """Return None if the curve is proved, or else the worst points near where that failed."""
        found = examine(self.curve(theta), self.low, self.high)
        if found.proved:
            return None
        failed = np.concatenate([found.wrong, found.open])
        known = np.union1d(self.dense, self.points)
        at = np.unique(np.clip(np.searchsorted(known, failed), 1, len(known) - 1))
        near = known[at - 1] + (known[at] - known[at - 1]) * np.linspace(0, 1, 33)[:, None]
        slope = (self._slopes(near.ravel()) @ theta).reshape(near.shape)
        return np.append(near[slope.argmin(0), np.arange(len(at))], failed)

    def hold(self, points: Array) -> bool:
        """Add points where the slope is held; whether there were new ones."""
        before = len(self.points)
        self.points = np.union1d(self.points, points)
        return len(self.points) > before


def reaching(heads: list[Heads], low: float, high: float) -> Heads | None:
    """Return heads wider and wider up to the range of the rows; None where heads are wide enough.

    All heads fall to 0 far away from their centre. Without wide ones no sum of them could rise over
    the whole of a range with long tails.
    """
    widest = max(heads, key=lambda h: float(np.median(h.width)))
    width = float(np.median(widest.width))
    if high - low <= WIDE * width:
        return None
    steps = int(np.ceil(np.log((high - low) / width) / np.log(3.0)))
    widths = width * ((high - low) / width) ** (np.arange(1, steps + 1) / steps)
    return Heads(np.full(steps, np.median(widest.centre)), widths, odd=True)


def stairs(levels: Array) -> Heads | None:
    """Return heads for a stair between any two neighbours of few levels; None where they are many.

    Heads as wide as the gaps can be anything at the levels, but not without turning in between.
    """
    if not 2 < len(levels) <= FEW_LEVELS:
        return None
    return Heads((levels[1:] + levels[:-1]) / 2, np.diff(levels) / 4, odd=True)


# Least slopes, in units of a steady rise by one: a round of adding points for each.
MARGINS = tuple(10.0 ** -(7 - step / 3) for step in range(16))
ROUNDS = 6  # in which points are added until a steady rise is proved
BLENDS = (0.001, 0.01, 0.1, 0.3, 1.0)  # shares of a steady rise, where rounds do not suffice
FAR = 1e12  # forces beyond it show that there is no solution
STEPS = 60  # of the interior method
GAP = 1e-12  # between the problem and its dual at which it stops


class Cone:
    """Coefficients near the best ones whose curves have slopes of the right signs.

    Args:
        inputs: that are to rise or fall.
        theta: the best coefficients without constraints.
        factor: lower Cholesky factor of the quadratic form that they minimise.
    """

    def __init__(self, inputs: list[Held], theta: Array, factor: Array) -> None:
        self.inputs, self.theta = inputs, theta
        self.own = np.concatenate([h.columns for h in inputs])
        self.rest = np.setdiff1d(np.arange(len(theta)), self.own)
        lower = np.tril(factor)[np.concatenate([self.rest, self.own])]
        # With the constrained columns last, their block is the factor of the Schur complement: all
        # other coefficients are at their best for whatever the constrained ones are.
        self.factor = np.tril(_factor(lower @ lower.T, np.diag_indices(len(theta))))
        self.block = self.factor[len(self.rest) :, len(self.rest) :]

    def proved(self) -> Array:
        """Return the best coefficients whose curves are proved."""
        own = self.theta[self.own]
        for margin in MARGINS:
            found = self._nearest(margin)
            if found is None:
                break
            own = found
            if not self._cut(own) and self._all_proved(own):
                return self._complete(own)
        return self._complete(self._blended(own))

    def sampled(self) -> Array:
        """Return the best coefficients whose curves are right at all points that were tried."""
        own = self.theta[self.own]
        for _ in range(3):
            found = self._nearest(MARGINS[0])
            if found is None:
                break
            own = found
            if not self._cut(own):
                break
        return self._complete(own)

    def _nearest(self, margin: float) -> Array | None:
        """Return the best constrained coefficients with slopes of the right sign at the points.

        Args:
            margin: the least slope, in units of a steady rise by one.
        """
        rows, steady = zip(*(h.rows() for h in self.inputs), strict=True)
        system = solve_triangular(self.block, block_diag(*rows).T, lower=True, check_finite=False)
        goal = self.block.T @ self.theta[self.own]
        found = nearest(system, margin * np.concatenate(steady), goal)
        return None if found is None else _back(self.block, found)

    def _complete(self, own: Array) -> Array:
        """Return all coefficients for the constrained ones."""
        n = len(self.rest)
        result = self.theta.copy()
        result[self.own] = own
        change = self.factor[n:, :n].T @ (own - self.theta[self.own])
        result[self.rest] -= _back(self.factor[:n, :n], change)
        return result

    # -- inputs one by one

    def _parts(self, own: Array) -> list[Array]:
        return np.split(own, np.cumsum([len(h.columns) for h in self.inputs])[:-1])

    def _cut(self, own: Array) -> bool:
        """Hold slopes where they are worst; whether there was anything to do."""
        parts = zip(self.inputs, self._parts(own), strict=True)
        return any([held.hold(held.dips(theta)) for held, theta in parts])

    def _all_proved(self, own: Array) -> bool:
        done = True
        for held, theta in zip(self.inputs, self._parts(own), strict=True):
            points = held.failures(theta)
            if points is not None:
                held.hold(points)
                done = False
        return done

    def _blended(self, own: Array) -> Array:
        """Return curves mixed with a steady rise until they are proved; constants at last."""
        result = []
        for held, theta in zip(self.inputs, self._parts(own), strict=True):
            for _ in range(ROUNDS):  # the rise itself must be proved
                rows, steady = held.rows()
                rise = nearest(rows.T, steady, np.zeros(rows.shape[1]))
                points = None if rise is None else held.failures(rise)
                if points is None:
                    break
                held.hold(points)
            shares = (0.0,) if rise is None else (0.0, *BLENDS)
            mixed = [(1 - s) * theta + (0.0 if rise is None else s * rise) for s in shares]
            good = next((m for m in mixed if held.failures(m) is None), None)
            if good is None:
                warnings.warn(
                    "no curve of an input in `monotone` could be proved; its effect is constant",
                    UserWarning,
                    stacklevel=2,
                )
            result.append(0 * theta if good is None else good)
        return np.concatenate(result)


def _back(lower: Array, right: Array) -> Array:
    return np.asarray(solve_triangular(lower, right, lower=True, trans=1, check_finite=False))


def nearest(system: Array, least: Array, goal: Array) -> Array | None:
    """Return the v nearest to a goal with system' v >= least; None where none is found.

    Mehrotra's interior method: constraints that almost repeat each other do it no harm, and all
    are met with something to spare. On 48 problems of five fits the solver Clarabel, asked for
    1e-12 as well, took 15 times as long and broke constraints in 12 of them, by 3e-13 at most.

    Args:
        system: (unknowns, constraints).
        least: (constraints,).
        goal: (unknowns,).
    """
    length = np.linalg.norm(system, axis=0)
    system, least = system[:, length > 0] / length[length > 0], least[length > 0]
    least = least / length[length > 0]
    size = max(float(np.linalg.norm(goal)), float(np.abs(least).max(initial=0.0)), 1e-300)
    goal, least = goal / size, least / size
    v, count = goal.copy(), len(least)
    if (system.T @ v >= least).all():
        return goal * size
    slack = np.maximum(system.T @ v - least, 0.1)
    force = np.full(count, 0.1)
    for _ in range(STEPS):
        if not np.isfinite(force).all() or force.max() > FAR:
            return None  # the forces grow without end where nothing meets the constraints
        first = v - goal - system @ force
        second = system.T @ v - least - slack
        gap = float(slack @ force) / count
        if gap < GAP and np.abs(first).max() < 1e-6 and np.abs(second).max() < GAP:
            return v * size
        matrix = (system * (force / slack)) @ system.T
        matrix[np.diag_indices(len(v))] += 1
        factor = _factor(matrix, np.diag_indices(len(v)))
        third, shorter = slack * force, 0.0
        for last in (False, True):
            right = -first - system @ ((third + force * second) / slack)
            dv = cho_solve((factor, True), right, check_finite=False)
            ds = system.T @ dv + second
            df = -(third + force * ds) / slack
            shorter = min(_longest(slack, ds), _longest(force, df))
            if not last:  # how far the straight step gets says how much to keep off the border
                after = float((slack + shorter * ds) @ (force + shorter * df)) / count
                third = slack * force + ds * df - gap * (after / gap) ** 3
        shorter *= 0.995
        v, slack, force = v + shorter * dv, slack + shorter * ds, force + shorter * df
    return v * size if (system.T @ v >= least).all() else None


def _longest(x: Array, step: Array) -> float:
    """Return the longest part of a step, up to all of it, that keeps x positive."""
    down = step < 0
    return float(min(1.0, (-x[down] / step[down]).min(initial=np.inf)))
