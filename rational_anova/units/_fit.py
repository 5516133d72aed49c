"""Fit a unit to a given function: least squares on a range, with an eye on what happens outside.

The function is sampled on a grid over the range and on rings outside it; variable projection finds
the denominators, the numerators follow by linear least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .._core import checks as check
from .._core.types import Array
from ..functional import Form, Powers

_REACH = 10.0  # how far out the tail is watched, in half-widths of the range
_FINE = 0.1  # what a tail error as large as the tolerance adds to the error in the range
_RESOLUTION = 1e-7  # float32: below this, relative to the peak of f, the tail decides


@dataclass(frozen=True)
class FitError:
    """The error of a fitted unit on a stated range, and just outside it.

    Args:
        low: lower end of the range, on every axis.
        high: upper end.
        rmse: root mean square error over a dense uniform grid on the range.
        maximum: largest absolute error there, end points included.
        tail: largest |p/d - f| / (1 + |x|) outside, out to ten times the range about its centre;
            |x| is the largest coordinate. Where f is not finite, its value at the nearest point
            of the range stands in.
    """

    low: float
    high: float
    rmse: float
    maximum: float
    tail: float


class Samples:
    """The target on a grid over the range, followed by rings around it."""

    def __init__(
        self,
        variables: int,
        function: Callable[..., Tensor],
        low: float,
        high: float,
        per_axis: int,
        rings: int,
    ) -> None:
        axes = np.meshgrid(*[np.linspace(-1.0, 1.0, per_axis)] * variables)
        inside = np.stack([axis.ravel() for axis in axes])
        edge = inside[:, np.abs(inside).max(0) == 1]
        scales = np.geomspace(1.0, _REACH, rings + 1)[1:]
        outside = (edge[:, None, :] * scales[:, None]).reshape(variables, -1)
        self.low, self.high, self.count = low, high, inside.shape[1]
        self.x = 0.5 * (low + high) + 0.5 * (high - low) * np.concatenate([inside, outside], 1)
        nearest = self.x.clip(low, high)
        self.x[:, : self.count] = nearest[:, : self.count]
        value, instead = _call(function, self.x), _call(function, nearest)
        if not np.isfinite(instead).all():
            where = nearest[:, ~np.isfinite(instead)][:, 0].tolist()
            raise ValueError(
                f"function must be finite on the interval ({low}, {high}), ends included, but is "
                f"not at {where}; choose an interval without that point"
            )
        self.y = np.where(np.isfinite(value), value, instead)
        self.peak = float(np.abs(self.y[: self.count]).max()) or 1.0
        # Outside, an error is held against linear growth, or against f where f grows faster.
        growth = self.peak * np.abs(outside).max(0)
        self.tolerance = np.maximum(growth, np.abs(self.y[self.count :]))

    def scores(self, values: Array) -> Array:  # p/d, (starts, points) to (starts,)
        """Rank fits: root mean square error in the range, times a fine for the tail.

        With `tail` the largest error outside over its tolerance, the fine is 1 + tail^2 / 10: a
        tail as wrong as zero would be costs 10 %, ten times that a factor of 11.
        """
        error = np.abs(values - self.y)
        rmse = np.sqrt(np.square(error[:, : self.count] / self.peak).mean(1))
        tail = (error[:, self.count :] / self.tolerance).max(1)
        return np.nan_to_num((rmse + _RESOLUTION) * (1 + _FINE * tail**2), nan=np.inf)

    def judge(self, form: Form, numerator: Array, denominator: Array) -> tuple[float, FitError]:
        """Return score and error of p/d, evaluated as the units evaluate it."""
        variables = [torch.from_numpy(x).reshape(1, 1, -1) for x in self.x]
        top, bottom = (torch.from_numpy(c).reshape(1, -1, 1, 1) for c in (numerator, denominator))
        values = form.value(variables, top, bottom, None).numpy().reshape(1, -1)
        positive = bool((form.denominators(variables, bottom[0])[0] > 0).all())
        inside, outside = np.split(np.abs(values[0] - self.y), [self.count])
        error = FitError(
            self.low,
            self.high,
            rmse=float(np.sqrt(np.square(inside).mean())),
            maximum=float(inside.max()),
            tail=float((outside / (1 + np.abs(self.x[:, self.count :]).max(0))).max()),
        )
        return float(self.scores(values)[0]) if positive else np.inf, error


def _call(function: Callable[..., Tensor], x: Array) -> Array:
    with torch.no_grad():
        value = function(*torch.from_numpy(x.copy()))
    if not isinstance(value, Tensor) or value.is_complex():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"function must return a real torch.Tensor, got {kind}")
    if value.shape != x.shape[1:]:
        raise ValueError(
            f"function must return one value for each point: called with {len(x)} tensor(s) of "
            f"shape {x.shape[1:]}, it returned shape {tuple(value.shape)}"
        )
    return value.to("cpu", torch.float64).numpy().copy()


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


class Projection:
    """Variable projection on one set of samples, for a batch of starts.

    `scipy.optimize.least_squares` ends at the same errors, but takes one start at a time.
    """

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


def candidates(search: Projection) -> tuple[Array, Array]:
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


def polish(search: Projection, theta: Array, tail: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the coefficients of the best stops, improved and as they are, and those of q = 0."""
    for start, steps in ((theta, _POLISH), (theta, 0), (0 * theta[:1], 0)):
        state = search.descend(start, tail[: len(start)], steps)
        for top, row in zip(state.top, state.theta, strict=True):
            parts = [top, *np.split(row, search.cuts[:-1])]
            p, *qs = (part @ basis.matrix for part, basis in zip(parts, search.bases, strict=True))
            yield p, np.concatenate(qs)


# Points on each axis and rings outside, for one and two variables: to search, to polish, to check.
_GRIDS = {1: ((251, 32), (2001, 64), (10001, 1000)), 2: ((21, 4), (41, 6), (101, 16))}


@dataclass(frozen=True)
class Fit:
    """Coefficients of p and of q, in the order of `Form`, and what they achieve."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    error: FitError


def fit_function(
    form: Form, function: Callable[..., Tensor], interval: tuple[float, float] = (-8.0, 8.0)
) -> Fit:
    """Find p and q that bring p/d nearest to a function in the mean square over a range.

    The same arguments give the same fit: the random starts come from a generator of its own.
    A `polynomial` denominator is kept positive in the range and out to ten times the range.

    Args:
        form: powers of p and q, and the denominator made from q. Base and gate play no part.
        function: takes one float64 tensor of shape (n,) for each variable and returns a tensor of
            that shape. It must be finite on the range, and is also asked ten times further out.
        interval: the range (low, high), the same for every variable.

    Example:
        >>> form = Form.make(1, (0, 2), "sos", "zero", None)
        >>> fit_function(form, lambda x: 1 / (1 + x**2), (-2.0, 2.0)).error.rmse < 1e-12
        True
    """
    low, high = check.interval(interval, "interval")
    rough, fine, dense = (
        Samples(form.variables, function, low, high, *grid) for grid in _GRIDS[form.variables]
    )
    bases = [basis(fine, powers) for powers in (form.numerator, *form.denominator)]
    with np.errstate(all="ignore"):  # a step that overflows is a step that is not taken
        search, final = (Projection(form, bases, samples, dense) for samples in (rough, fine))
        finalists = polish(final, *candidates(search))
        scored = [(*dense.judge(form, *each), *each) for each in finalists]
    _, error, numerator, denominator = min(scored, key=lambda entry: entry[0])
    return Fit(tuple(numerator.tolist()), tuple(denominator.tolist()), error)


def measure(
    form: Form,
    numerator: Sequence[float],
    denominator: Sequence[float],
    function: Callable[..., Tensor],
    interval: tuple[float, float],
) -> FitError:
    """Return how far p/d with the given coefficients is from a function over a range."""
    dense = Samples(form.variables, function, *interval, *_GRIDS[form.variables][-1])
    return dense.judge(form, np.asarray(numerator), np.asarray(denominator))[1]
