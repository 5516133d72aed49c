"""Effects as expressions of single numbers, in any language that has sums and cases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np

from ..._core.types import Array
from .._model import Axes
from ._plan import Columns, Piece, Plan

E = TypeVar("E")


class Language(Generic[E]):
    """What an expression is written with; abstract."""

    def number(self, value: float) -> E:
        """Return a constant."""
        raise NotImplementedError

    def total(self, terms: list[E]) -> E:
        """Return a sum of one term or more."""
        raise NotImplementedError

    def product(self, first: E, second: E) -> E:
        """Return a product."""
        raise NotImplementedError

    def head(self, axis: int, centre: float, width: float, constant: float, linear: float) -> E:
        """Return (constant + linear u)/(1 + u^2), u = (x - centre)/width."""
        raise NotImplementedError

    def cases(self, axis: int, gap: float, borders: tuple[float, float] | None, inside: E) -> E:
        """Return a function of a number: its value at gaps, beyond its range, and inside."""
        raise NotImplementedError

    def levels(self, axis: int, values: Array) -> E:
        """Return a function of a category from its value at each code."""
        raise NotImplementedError


Weighted = tuple[Columns, Array]  # columns, and the weight of each


def curve(language: Language[E], weighted: list[Weighted]) -> E:
    """Return the weighted sum of functions of one input."""
    axis, feature = weighted[0][0].axis, weighted[0][0].feature
    if feature.category:
        values = sum(columns.table @ weight for columns, weight in weighted)
        return language.levels(axis, np.asarray(values))
    gap = sum(float(columns.gap @ weight) for columns, weight in weighted)
    terms: list[E] = []
    flat = 0.0
    for columns, weight in weighted:
        heads = columns.heads
        if heads is None:
            flat += float(columns.flat @ weight)
            continue
        count = len(heads.centre)
        linear = weight[count:] if heads.odd else np.zeros(count)
        for c, w, a, b in zip(heads.centre, heads.width, weight[:count], linear, strict=True):
            if a or b:
                terms.append(language.head(axis, float(c), float(w), float(a), float(b)))
    borders = None
    if terms and feature.clip is not None:
        ends = [columns.at(feature.clip) @ weight for columns, weight in weighted]
        borders = float(sum(e[0] for e in ends)), float(sum(e[1] for e in ends))
    if flat or not terms:
        terms.append(language.number(flat))
    return language.cases(axis, gap, borders, language.total(terms))


def effect(language: Language[E], pieces: list[Piece], combination: Array) -> list[E]:
    """Return the summands of an effect."""
    if len(pieces[0].columns) == 1:
        return [curve(language, [(p.columns[0], p.numerators @ combination) for p in pieces])]
    return [term for piece in pieces for term in _pair(language, piece, combination)]


def _pair(language: Language[E], piece: Piece, combination: Array) -> Iterable[E]:
    """Yield the sum over the first input's functions, each times a curve of the second."""
    (first, second), numerators = piece.columns, piece.numerators @ combination
    # Cases of many levels are written once for each function of the outer input.
    if second.feature.category and not first.feature.category:
        first, second, numerators = second, first, numerators.T
    for k, row in enumerate(numerators):
        if not row.any():
            continue
        inner = curve(language, [(second, row)])
        if first.constant:
            yield inner
        else:
            one = np.zeros(len(numerators))
            one[k] = 1
            yield language.product(curve(language, [(first, one)]), inner)


def decision(language: Language[E], plan: Plan, combination: Array, only: Axes | None = None) -> E:
    """Return f, or one effect of it."""
    if only is not None:
        return language.total(effect(language, plan.effects[only], combination))
    terms = [language.number(float(plan.intercept @ combination))]
    for pieces in plan.effects.values():
        terms += effect(language, pieces, combination)
    return language.total(terms)
