"""A composition of named functions in layers: its values, its slopes, its formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from .._core.least_squares import levenberg_marquardt
from .._core.types import Array
from ._library import Form

_FLOOR = 1e-16


@dataclass(frozen=True)
class Term:
    """A function on its place.

    Attributes:
        nodes: those of the layer before that it reads.
        target: the node that it is added to.
        form: the function.
    """

    nodes: tuple[int, ...]
    target: int
    form: Form


@dataclass(frozen=True)
class Composed:
    """Layers of terms. Its numbers are those of the terms in order, and of each node a shift.

    Attributes:
        layers: of each the terms.
        widths: numbers of nodes, from the inputs to the outputs.
        theta: the numbers.
    """

    layers: tuple[tuple[Term, ...], ...]
    widths: tuple[int, ...]
    theta: Array

    def at(self, X: Array, theta: Array | None = None) -> Array:
        """Return the outputs on rows, (rows, outputs)."""
        return self._run(X, self.theta if theta is None else theta, False)[0]

    def jacobian(self, X: Array, theta: Array) -> Array:
        """Return the slopes along the numbers, (rows, outputs, numbers)."""
        return self._run(X, theta, True)[1]

    def _run(self, X: Array, theta: Array, slopes: bool) -> tuple[Array, Array]:
        rows, size, done = len(X), len(theta) if slopes else 0, 0
        nodes, along = X, np.zeros((rows, X.shape[1], size))
        for layer, width in zip(self.layers, self.widths[1:], strict=True):
            after, after_along = np.zeros((rows, width)), np.zeros((rows, width, size))
            for term in layer:
                count = len(term.form.numbers)
                read, own = [nodes[:, n] for n in term.nodes], theta[done : done + count]
                after[:, term.target] += term.form.at(read, own)
                if slopes:
                    found = term.form.slopes_at(read, own)
                    for n, slope in zip(term.nodes, found, strict=False):
                        after_along[:, term.target] += slope[:, None] * along[:, n]
                    for k, slope in enumerate(found[len(term.nodes) :]):
                        after_along[:, term.target, done + k] += slope
                done += count
            after += theta[done : done + width]
            if slopes:
                after_along[:, range(width), range(done, done + width)] += 1
            done += width
            nodes, along = after, after_along
        return nodes, along

    def refitted(self, X: Array, y: Array, steps: int) -> tuple[Composed, float]:
        """Fit all numbers together; return it with its error over the spread of y.

        Args:
            X: (rows, inputs).
            y: (rows, outputs).
            steps: of Levenberg-Marquardt, at most.
        """
        spread = y.std(0)
        spread = np.where(spread > 0, spread, 1.0)
        theta, error = levenberg_marquardt(
            lambda v: ((self.at(X, v) - y) / spread).ravel(),
            lambda v: (self.jacobian(X, v) / spread[:, None]).reshape(-1, len(v)),
            self.theta,
            steps,
            _FLOOR,
        )
        return Composed(self.layers, self.widths, theta), error

    def written(self, symbols: Sequence[sp.Symbol]) -> list[sp.Expr]:
        """Return the formula of each output."""
        nodes: list[sp.Expr] = list(symbols)
        done = 0
        for layer, width in zip(self.layers, self.widths[1:], strict=True):
            after: list[sp.Expr] = [sp.Integer(0)] * width
            for term in layer:
                count = len(term.form.numbers)
                numbers = self.theta[done : done + count]
                read = [nodes[n] for n in term.nodes]
                after[term.target] += term.form.written(read, numbers)
                done += count
            for n in range(width):
                after[n] += sp.Float(self.theta[done + n], 17)
            done += width
            nodes = after
        return nodes

    @property
    def cost(self) -> float:
        """How much there is to write."""
        return sum(term.form.cost for layer in self.layers for term in layer)
