"""The fitted model: an intercept and effects of one or two inputs, sums of rational units."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._core.types import Array
from ...kernels import Program
from ._bases import Basis, Codes, Constant, Heads, Levels
from ._columns import Feature
from ._program import program
from ._terms import Rows, Term, value
from ._threads import in_order, one_thread

Axes = tuple[int, ...]
FUSED = 1 << 14  # rows of a piece that one thread takes to the kernel


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
        noise: variance of the target about f, in units of f squared (1 for classes); one for each
            output where they differ.
        edf: effective degrees of freedom.
        history: (stage, terms, columns, edf) of the fit.
        shared: parts whose draws are what `identify` took from those of main effects; their
            numerators are zero.
    """

    features: list[Feature]
    intercept: Array
    parts: list[Part]
    intercept_draws: Array
    noise: float | Array
    edf: float
    history: list[tuple[str, int, int, float]]
    shared: list[Part] = field(default_factory=list)

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

    def shared_effect(self, axes: Axes) -> list[Part]:
        """Return the parts whose draws an effect shares with others."""
        return [part for part in self.shared if part.term.axes == axes]

    @cached_property
    def _short(self) -> Additive:
        """The same sum with fewer parts: purified effects share functions."""

        return compact(self)

    @cached_property
    def _program(self) -> Program:
        """The same sum as a kernel reads it."""
        short = self._short
        return program(short.parts, short.intercept)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_short", "_program")}

    def decision(self, rows: Rows, single: bool = False) -> Array:
        """Return f at rows, (rows, outputs); `single`: its functions in single precision."""
        if not rows.target_encoded:
            pieces = [rows.values[k : k + FUSED] for k in range(0, len(rows), FUSED)]
            found = list(in_order(lambda x: self._program.at(x, single), pieces))
            if found and all(one is not None for one in found):
                return np.concatenate([one for one in found if one is not None])
        short = self._short
        result = np.tile(short.intercept, (len(rows), 1))
        with one_thread():
            for piece, some in rows.chunks():
                for part in short.parts:
                    result[piece] += part.at(some)
        return result

    def spread(self, rows: Rows) -> Array:
        """Return the posterior's standard deviation of f at rows, (rows, outputs)."""
        short = self._short
        result = np.empty((len(rows), self.outputs))
        with one_thread():
            for piece, some in rows.chunks(1024):
                total = np.repeat(short.intercept_draws[None], len(some), 0)
                for part in short.parts:
                    total += part.drawn(some)
                result[piece] = total.std(2)
        return result


def lifted(model: Additive, lift: float | Array) -> Additive:
    """Return the model with a constant added to its decisions."""
    lift = np.broadcast_to(lift, model.outputs)
    return replace(
        model, intercept=model.intercept + lift,
        intercept_draws=model.intercept_draws + lift[:, None],
    )  # fmt: skip


ROUNDING = 1e-13  # of what was summed, below which a numerator is a rounding error


def basis_key(basis: Basis) -> Hashable:
    """Return what two bases have in common if they are the same functions."""
    if isinstance(basis, Heads):
        arrays = (basis.centre, basis.width, basis.fill, basis.values, basis.special)
        return "heads", basis.odd, *(None if a is None else a.tobytes() for a in arrays)
    if isinstance(basis, Codes):
        return "codes", basis.values.tobytes()
    return type(basis).__name__, basis.size if isinstance(basis, Levels) else 0


def with_draws(part: Part) -> Array:
    """Return numerators and their draws as one, (size, outputs, 1 + draws)."""
    return np.concatenate([part.numerators[:, :, None], part.draws], 2)


def intercept_with_draws(model: Additive) -> Array:
    """Return the intercept and its draws as one, (outputs, 1 + draws)."""
    return np.concatenate([model.intercept[:, None], model.intercept_draws], 1)


class Sum:
    """Parts that are added up; those with the same functions become one."""

    def __init__(self) -> None:
        self._terms: dict[Hashable, Term] = {}
        self._totals: dict[Hashable, Array] = {}
        self._sizes: dict[Hashable, float] = {}

    def add(self, term: Term, numerators: Array) -> None:
        """Add a term with numerators and draws, (size, outputs, 1 + draws)."""
        name = (term.axes, *map(basis_key, term.bases))
        self._terms.setdefault(name, term)
        self._totals[name] = self._totals.get(name, 0) + numerators
        size = float(np.abs(numerators).max(initial=0))
        self._sizes[name] = max(self._sizes.get(name, 0.0), size)

    def parts(self) -> list[Part]:
        """Return the parts that are not zero."""
        found = []
        for name, total in self._totals.items():
            if np.abs(total).max(initial=0) > ROUNDING * self._sizes[name]:
                found.append(Part(self._terms[name], total[:, :, 0], total[:, :, 1:]))
        return found


def compact(model: Additive) -> Additive:
    """Return the same function in fewer parts, for predictions; its effects are not purified.

    What a purified pair has of one input alone goes back to the main effect, where it cancels; so
    do the draws that effects share.
    """
    total = Sum()
    intercept = intercept_with_draws(model)
    for part in (*model.parts, *model.shared):
        term, numerators = part.term, with_draws(part)
        axes: Axes = term.axes
        kept = [k for k, basis in enumerate(term.bases) if not isinstance(basis, Constant)]
        if not kept:
            intercept = intercept + numerators[0]
        else:
            bases = tuple(term.bases[k] for k in kept)
            total.add(Term(tuple(axes[k] for k in kept), bases), numerators)
    return replace(
        model, intercept=intercept[:, 0], parts=total.parts(), intercept_draws=intercept[:, 1:],
        shared=[],
    )  # fmt: skip
