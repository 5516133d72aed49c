"""The fitted model: an intercept and effects of one or two inputs, sums of rational units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .._core.types import Array
from ._columns import Feature
from ._solve import Fit
from ._terms import Rows, Term, groups, value

Axes = tuple[int, ...]

DRAWS = 100  # from the posterior of the numerators, for bands


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


def additive(fit: Fit, features: list[Feature], scale: float, shift: float, seed: int) -> Additive:
    """Return the model that a fit found, for the target `shift + scale * t` of a fitted t."""
    design = fit.design
    random = np.random.default_rng(seed)
    theta, drawn = [], []
    for solution in fit.solutions:
        normal = random.standard_normal((len(solution.theta), DRAWS))
        away = solve_triangular(solution.factor, normal, lower=True, trans=1, check_finite=False)
        theta.append(solution.theta)
        drawn.append(solution.theta[:, None] + away * np.sqrt(solution.noise))
    unit = scale / design.scale
    numerators = np.stack(theta, 1) * unit[:, None]
    draws = np.stack(drawn, 1) * unit[:, None, None]
    if len(theta) > 1:  # only differences between classes matter: an effect's classes add up to 0
        numerators = numerators - numerators.mean(1, keepdims=True)
        draws = draws - draws.mean(1, keepdims=True)
    group = groups(fit.terms)
    parts = [
        Part(term, numerators[group == k], draws[group == k]) for k, term in enumerate(fit.terms)
    ]
    # The columns were fitted with their means taken off.
    return Additive(
        features,
        shift + numerators[0] - design.mean[1:] @ numerators[1:],
        parts,
        shift + draws[0] - np.tensordot(design.mean[1:], draws[1:], (0, 0)),
        fit.noise * scale**2 if len(fit.solutions) == 1 else 1.0,
        float(sum(s.edf.sum() for s in fit.solutions)),
        fit.history,
    )
