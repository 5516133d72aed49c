"""Variable projection: the search behind `fit_function`.

For a given q the best p solves a linear problem, so the search moves q alone (Golub and Pereyra,
1973, with Kaufman's shorter derivative), by Levenberg-Marquardt steps from many starts at once. A
close fit can be worthless outside the range (where psi(q) vanishes, p is alone), so the error there
counts too, with a weight that changes during the search. Every stop on the way is a candidate, and
the best compromise between range and tail wins (`Samples.scores`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .._core.types import Array
from ..functional import Form, Powers
from ._samples import Samples

# Weight of the tail at each stop: half of the starts climb first, which explores; half descend.
_CLIMB = (1e-5, 1e-4, 1e-3, 1e-2, 3e-3, 1e-3, 3e-4, 0.0)
_DESCEND = (1.0, 1e-1, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 0.0)
_STARTS, _STEPS = 40, 12  # steps at each stop
_FINALISTS, _POLISH = 4, 40  # steps of each finalist
_SIZE = 1e-4  # of two equal fits take the one with the smaller q, which trains more quickly
_RIDGE = 1e-9  # keeps q finite where the target asks for an infinite one (ReLU by softplus)
_POSITIVE = 1e-2  # least d of a `polynomial` denominator, in the range and in the tail
_RANK = 1e-7  # directions of coefficient space weaker than this are lost in float32
_HUGE = 1e70  # powers of x beyond this, or below its inverse, would overflow in products


class Basis(NamedTuple):
    """Polynomials orthonormal over the range, as combinations of monomials."""

    powers: Powers
    matrix: Array  # (rank, monomials)

    def at(self, x: Array) -> Array:  # (variables, points) to (rank, points)
        """Return the polynomials at the points."""
        return self.matrix @ _monomials(x, self.powers)


def basis(samples: Samples, powers: Powers) -> Basis:
    """Return an orthonormal basis of the polynomials with the given powers."""
    everywhere = _monomials(samples.x, powers)
    inside = everywhere[:, : samples.count]
    size = np.abs(inside).max(1, keepdims=True)
    if not (size.min() > 1 / _HUGE and np.abs(everywhere).max() < _HUGE):
        raise ValueError(
            f"powers up to {max(map(sum, powers))} of the interval ({samples.low}, {samples.high}) "
            "are too large or too small; use lower degrees or an interval nearer to (-1, 1)"
        )
    scaled = inside / size / np.sqrt(samples.count)
    directions, strength, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = strength > _RANK * strength[0]
    return Basis(powers, (directions[:, kept] / strength[kept] / size).T)


def _monomials(x: Array, powers: Powers) -> Array:
    return np.stack([np.prod(x.T**row, axis=1) for row in powers])


class _State(NamedTuple):
    """Where each start is; the first axis of every array counts the starts."""

    theta: Array  # coordinates of the polynomials q
    cost: Array
    residual: Array
    jacobian: Array  # (starts, coordinates, points)
    top: Array  # coordinates of p, the best for this theta


class Search:
    """Variable projection on one set of samples, for a batch of starts."""

    def __init__(self, form: Form, bases: list[Basis], samples: Samples, dense: Samples) -> None:
        self.form, self.bases, self.samples, self.dense = form, bases, samples, dense
        self.p, *self.qs = (basis.at(samples.x) for basis in bases)
        self.dense_p, *self.dense_qs = (basis.at(dense.x) for basis in bases)
        self.cuts = np.cumsum([len(q) for q in self.qs])

    def denominator(self, theta: Array, qs: list[Array]) -> tuple[Array, list[Tensor]]:
        """Return d and its polynomials q where the bases `qs` have been evaluated."""
        parts = np.split(theta, self.cuts[:-1], axis=1)
        inner = [torch.from_numpy(_dot(*pair)) for pair in zip(parts, qs, strict=True)]
        d = np.sum([self.form.kind.value(q).numpy() for q in inner], axis=0)
        return 1 + self.form.eps + d, inner

    def scores(self, state: _State) -> Array:
        """Rank the starts on the dense grid, which no spike between rough points escapes."""
        values = _dot(state.top, self.dense_p) / self.denominator(state.theta, self.dense_qs)[0]
        size = np.sqrt(np.square(state.theta).mean(1))
        return self.dense.scores(values) * (1 + _SIZE * size)

    def evaluate(self, theta: Array, weight: Array) -> _State:
        """Find the best p for each theta, and how the residual changes with theta."""
        d, inner = self.denominator(theta, self.qs)
        guarded = d if self.form.kind.minimum > 0 else self.denominator(theta, self.dense_qs)[0]
        target = weight * self.samples.y
        rows, change = _gram_schmidt(self.p * (weight / d)[:, None])
        share = rows @ target[..., None]
        fitted = (share.transpose(0, 2, 1) @ rows)[:, 0]
        slopes = [self.form.kind.slope(q).numpy()[:, None] for q in inner]
        growth = [slope * basis for slope, basis in zip(slopes, self.qs, strict=True)]
        jacobian = np.concatenate(growth, 1) * (-fitted / d)[:, None]
        jacobian -= jacobian @ rows.transpose(0, 2, 1) @ rows
        cost = np.square(fitted - target).sum(1) + np.square(_RIDGE * theta).sum(1)
        cost = np.where((guarded.min(1) >= _POSITIVE) & np.isfinite(cost), cost, np.inf)
        return _State(
            theta, cost, fitted - target, jacobian, (share.transpose(0, 2, 1) @ change)[:, 0]
        )

    def descend(self, theta: Array, tail: Array, steps: int) -> _State:
        """Take Levenberg-Marquardt steps from each start, with its weight of the tail."""
        inside = np.full((len(tail), self.samples.count), self.samples.count**-0.5)
        outside = self.samples.peak / self.samples.tolerance * self.samples.tolerance.size**-0.5
        weight = np.concatenate([inside, tail[:, None] * outside], 1) / self.samples.peak
        state = self.evaluate(theta, weight)
        for _ in range(100):  # towards q = 0, where every denominator is positive
            if np.isfinite(state.cost).all():
                break
            theta = np.where(np.isinf(state.cost)[:, None], theta / 2, theta)
            state = self.evaluate(theta, weight)
        damping = np.full(len(theta), 1e-2)
        for _ in range(steps):
            trial = self.evaluate(state.theta - _step(state, damping), weight)
            better = trial.cost < state.cost
            damping = np.where(better, np.maximum(damping / 5, 1e-10), damping * 4)
            pairs = zip(trial, state, strict=True)
            state = _State(*(np.where(better[_over(new)], new, old) for new, old in pairs))
        return state


def _over(array: Array) -> tuple[slice | None, ...]:
    return (slice(None), *[None] * (array.ndim - 1))


def _dot(coordinates: Array, basis: Array) -> Array:
    # Not `@`: the threads of the linear algebra library stall when others compete with them.
    return np.einsum("sk,kn->sn", coordinates, basis)


def _step(state: _State, damping: Array) -> Array:
    hessian = state.jacobian @ state.jacobian.transpose(0, 2, 1)
    gradient = (state.jacobian @ state.residual[..., None])[..., 0] + _RIDGE**2 * state.theta
    diagonal = np.einsum("skk->sk", hessian)  # a view
    scale = diagonal + 1e-3 * diagonal.mean(1, keepdims=True)
    diagonal += damping[:, None] * scale + _RIDGE**2
    return np.linalg.solve(hessian, gradient[..., None])[..., 0]


def _gram_schmidt(rows: Array) -> tuple[Array, Array]:
    """Return orthonormal rows and the matrix that makes them from `rows`, for each start.

    Projecting twice is enough against rounding. LAPACK's QR is no faster on such slim matrices,
    and was seen a hundred times slower when its threads competed with others.
    """
    starts, count, points = rows.shape
    eye = np.broadcast_to(np.eye(count), (starts, count, count))
    both = np.concatenate([rows, eye], 2)
    for j in range(count):
        row, done = both[:, j : j + 1], both[:, :j]
        for _ in range(2):
            row = row - row[..., :points] @ done[..., :points].transpose(0, 2, 1) @ done
            row = row / np.sqrt(np.square(row[..., :points]).sum(2, keepdims=True))
        both[:, j : j + 1] = row
    return both[..., :points], both[..., points:]


def candidates(search: Search) -> tuple[Array, Array]:
    """Return the best stop of each of the best starts: theta and the weight of the tail."""
    random = np.random.default_rng(0)
    theta = random.standard_normal((_STARTS, search.cuts[-1]))
    theta *= 10 ** random.uniform(-0.5, 1.5, (_STARTS, 1))
    scores, thetas, tails = [], [], []
    for pair in zip(_CLIMB, _DESCEND, strict=True):
        tails.append(np.resize(pair, _STARTS))
        state = search.descend(theta, tails[-1], _STEPS)
        theta = state.theta
        thetas.append(theta)
        scores.append(search.scores(state))
    stop = np.argmin(scores, axis=0)
    best = np.argsort(np.min(scores, axis=0), kind="stable")[:_FINALISTS]
    return np.array(thetas)[stop[best], best], np.array(tails)[stop[best], best]


def polish(search: Search, theta: Array, tail: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the coefficients of the best stops, improved and as they are, and those of q = 0."""
    for start, steps in ((theta, _POLISH), (theta, 0), (0 * theta[:1], 0)):
        state = search.descend(start, tail[: len(start)], steps)
        for top, row in zip(state.top, state.theta, strict=True):
            parts = [top, *np.split(row, search.cuts[:-1])]
            p, *qs = (part @ basis.matrix for part, basis in zip(parts, search.bases, strict=True))
            yield p, np.concatenate(qs)
