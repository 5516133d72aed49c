"""Purification: what a pair says about one input alone belongs to the main effect of that input.

A sum of main effects and pairs can be written in many ways, since a pair may hold any function of
one of its inputs. The one way that is shown is the purified one: all effects have mean zero, and a
pair is orthogonal to every function of either input. Means and products are taken over the same
rows as shares (see `_shares`), and there the two computations differ:

- `Independent`, for a `RAN`: inputs are independent, each distributed as in the data. What a pair
  says about one input is then its mean over the other, taken over equally likely values.
- `project`, for estimators: the training rows themselves, whose inputs may depend on one another.
  What a pair says about either input is its projection, by least squares over the rows, on the
  functions of either, from exact moments. Means over the other input would not do there. Where the
  rows hardly tell a function of one input from one of the other, that part of the pair stays in it.

For independent inputs both give the same effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .._core.types import Array

Term = Callable[[Array], Array]  # from (rows, inputs of the term) to (rows, outputs)
Axes = tuple[int, ...]

LEVEL = 0.99  # of the values of an effect that lie below its height


class Independent:
    """The purified effects of a sum of terms whose inputs are independent.

    Args:
        terms: functions of one input or two, by the positions of these.
        points: equally likely values of each input, (values, inputs).

    Attributes:
        axes: the inputs of each effect, main effects first; an input of a pair has one, too.
        variances: of each effect, by its inputs, (outputs,).
        heights: what 99 % of the values of each effect lie below, in absolute value, (outputs,).
        intercept: the mean of the sum, (outputs,).
    """

    def __init__(self, terms: Mapping[Axes, Term], points: Array) -> None:
        self.terms, self.points = dict(terms), points
        self.pairs = [axes for axes in self.terms if len(axes) == 2]
        inputs = sorted({n for axes in self.terms for n in axes})
        self.axes: list[Axes] = [*((n,) for n in inputs), *self.pairs]
        self.variances: dict[Axes, Array] = {}
        self.heights: dict[Axes, Array] = {}
        self.intercept = 0.0
        self._means: dict[Axes, Array] = {}
        mains = {n: self._own((n,), points[:, [n]]) for n in inputs}
        for pair in self.pairs:
            grid = self._grid(pair, *(points[:, n] for n in pair))
            sides = grid.mean(1), grid.mean(0)
            mean = grid.mean((0, 1))
            for n, side in zip(pair, sides, strict=True):
                mains[n] = mains[n] + side
            pure = grid - sides[0][:, None] - sides[1][None] + mean
            self._measure(pair, pure.reshape(-1, pure.shape[-1]), mean)
            self.intercept = self.intercept - mean  # each of its two main effects has it
        for n, values in mains.items():
            mean = values.mean(0)
            self._measure((n,), values - mean, mean)
            self.intercept = self.intercept + mean

    def at(self, axes: Axes, rows: Array) -> Array:
        """Return an effect at values (rows, inputs of the effect), as (rows, outputs)."""
        if len(axes) == 2:
            away = sum(self._side(axes, side, rows[:, side]) for side in (0, 1))
            return self.terms[axes](rows) - away + self._means[axes]
        total = self._own(axes, rows)
        for pair in self.pairs:
            if axes[0] in pair:
                total = total + self._side(pair, pair.index(axes[0]), rows[:, 0])
        return total - self._means[axes]

    def _own(self, axes: Axes, rows: Array) -> Array:
        """Return a main term; nothing for an input that is in pairs alone."""
        if axes in self.terms:
            return self.terms[axes](rows)
        return np.zeros((len(rows), 1))

    def _side(self, pair: Axes, side: int, at: Array) -> Array:
        """Return the mean of a pair over one input at values of the other, (values, outputs)."""
        values, back = np.unique(at, return_inverse=True)
        others = self.points[:, pair[1 - side]]
        both = (values, others) if side == 0 else (others, values)
        return self._grid(pair, *both).mean(1 - side)[back]

    def _grid(self, pair: Axes, u: Array, v: Array) -> Array:
        rows = np.stack([np.repeat(u, len(v)), np.tile(v, len(u))], 1)
        return self.terms[pair](rows).reshape(len(u), len(v), -1)

    def _measure(self, axes: Axes, values: Array, mean: Array) -> None:
        self._means[axes] = mean
        self.variances[axes] = values.var(0)
        self.heights[axes] = np.quantile(np.abs(values), LEVEL, axis=0)


# Directions with less of the largest variance are left out. The space is then a little smaller,
# and what remains is orthogonal to it all the same.
LEAST = 1e-9
MOST = 32  # directions of one input, those of the largest variance
APART = 1e-6  # of its variance that a direction must have apart from the main effect
# A direction is a sum of a function of one input and one of the other, each of variance one; for
# independent inputs its variance is one. Where it is less than this, the data can hardly tell the
# two functions apart: taking it from a pair would put a large effect and its opposite into them.
ALIKE = 0.02


def directions(gram: Array) -> Array:
    """Return a map from functions to orthonormal ones, from the products of a one and them."""
    mean = gram[0, 1:] / gram[0, 0]
    covariance = gram[1:, 1:] / gram[0, 0] - np.outer(mean, mean)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = scale > 1e-7 * (1 + np.abs(mean))
    inverse = np.where(used, 1 / np.where(used, scale, 1), 0)
    found = _whitened(covariance * np.outer(inverse, inverse), LEAST)
    return inverse[:, None] * found[:, -MOST:]


def project(gram: Array, moment: Array, first: int) -> Array:
    """Return the coefficients of a projection, as far as the rows tell the two inputs apart.

    Sums of a function of the first input and one of the second that nearly vanish on the rows are
    left out (see `ALIKE`): the coefficients stay within 1/sqrt(ALIKE) of what is projected, and
    what is left over is orthogonal to all other functions.

    Args:
        gram: products of the functions: a one; `first` functions of the first input; those of the
            second. Of each input the main effect comes first.
        moment: their products with what is projected, (functions, any).
        first: how many functions are of the first input.
    """
    total = gram[0, 0]
    mean = gram[0, 1:] / total
    covariance = gram[1:, 1:] - total * np.outer(mean, mean)
    right = moment[1:] - np.outer(mean, moment[0])
    parts = (slice(0, first), slice(first, len(mean)))
    turns = [_main_first(covariance[part, part]) for part in parts]
    turn = np.zeros((len(mean), sum(t.shape[1] for t in turns)))
    turn[parts[0], : turns[0].shape[1]] = turns[0]
    turn[parts[1], turns[0].shape[1] :] = turns[1]
    values, vectors = np.linalg.eigh(turn.T @ covariance @ turn)
    turn = turn @ (vectors / np.sqrt(np.where(values > ALIKE, values, np.inf)))
    result = turn @ (turn.T @ right)
    for _ in range(2):  # until what is left over is orthogonal to rounding
        result += turn @ (turn.T @ (right - covariance @ result))
    constant = moment[0] / total - mean @ result
    return np.concatenate([constant[None], result])


def _main_first(gram: Array) -> Array:
    """Return a map to orthonormal functions of which the first is the first, if it is not zero."""
    size = len(gram)
    start = np.zeros((size, 1))
    rest = np.eye(size)[:, 1:]
    if gram[0, 0] > 1e-20 * max(gram.trace(), 1e-300):
        start[0] = 1 / np.sqrt(gram[0, 0])
        rest[0] = -gram[0, 1:] / gram[0, 0]
    else:
        start = start[:, :0]
    return np.concatenate([start, rest @ _whitened(rest.T @ gram @ rest, APART)], 1)


def _whitened(gram: Array, least: float) -> Array:
    """Return the directions of a matrix of products, each of length one; those of none left out."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > least * max(float(values.max(initial=0)), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept])
