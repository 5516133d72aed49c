"""The fitted model: an intercept and effects of one or two inputs, sums of rational units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.types import Array
from ._columns import Feature
from ._terms import Rows, Term, value

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A term with its numerators.

    Args:
        term: the functions.
        numerators: (size, outputs).
        draws: numerators drawn from their posterior, (size, outputs, draws).
    """

    term: Term
    numerators: Array
    draws: Array

    def at(self, rows: Rows) -> Array:
        """Return the part at rows, (rows, outputs)."""
        return value(self.term, rows, self.numerators)

    def drawn(self, rows: Rows) -> Array:
        """Return the part at rows for each draw, (rows, outputs, draws)."""
        size, outputs, count = self.draws.shape
        flat = value(self.term, rows, self.draws.reshape(size, outputs * count))
        return flat.reshape(len(rows), outputs, count)


@dataclass(frozen=True)
class Additive:
    """f(x) = intercept + the sum of all parts; parts with the same axes make one effect.

    Args:
        features: the inputs.
        intercept: (outputs,).
        parts: terms with numerators.
        intercept_draws: (outputs, draws), those of the intercept that go with the parts' draws.
        noise: variance of the target about f, in units of f squared (1 for classes).
        edf: effective degrees of freedom.
        history: (stage, terms, columns, edf) of the fit.
    """

    features: list[Feature]
    intercept: Array
    parts: list[Part]
    intercept_draws: Array
    noise: float
    edf: float
    history: list[tuple[str, int, int, float]]

    @property
    def outputs(self) -> int:
        """How many decisions there are for a row: 1, or the number of classes."""
        return len(self.intercept)

    @property
    def axes(self) -> list[Axes]:
        """The inputs of each effect, mains first."""
        return sorted({part.term.axes for part in self.parts}, key=lambda a: (len(a), a))

    def effect(self, axes: Axes) -> list[Part]:
        """Return the parts that make an effect."""
        return [part for part in self.parts if part.term.axes == axes]

    @cached_property
    def _short(self) -> Additive:
        """The same sum with fewer parts: purified effects share functions."""
        from ._parts import compact  # which is made of models itself

        return compact(self)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_short"}

    def decision(self, rows: Rows) -> Array:
        """Return f at rows, (rows, outputs)."""
        short = self._short
        result = np.tile(short.intercept, (len(rows), 1))
        for piece, some in rows.chunks():
            for part in short.parts:
                result[piece] += part.at(some)
        return result

    def spread(self, rows: Rows) -> Array:
        """Return the posterior's standard deviation of f at rows, (rows, outputs)."""
        short = self._short
        result = np.empty((len(rows), self.outputs))
        for piece, some in rows.chunks(1024):
            total = np.repeat(short.intercept_draws[None], len(some), 0)
            for part in short.parts:
                total += part.drawn(some)
            result[piece] = total.std(2)
        return result
