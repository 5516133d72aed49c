"""Purification: what a pair says about one input alone moves to the main effect of that input.

Afterwards every effect has mean zero over the training rows, and every pair is orthogonal there
to both main effects of its inputs. The sum of all effects stays what it was.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._bases import Basis
from ._model import Additive, Axes
from ._parts import Sum, constant, intercept_with_draws, with_draws
from ._projection import project
from ._spaces import Products, space_of
from ._terms import Rows, Term


def purify(model: Additive, rows: Rows, weight: Array) -> Additive:
    """Return the same function with pairs orthogonal to main effects, and all means zero.

    What moves from a pair is its projection, by weighted least squares, on functions of either
    input: heads (or levels) and the main effect itself. So a pair is orthogonal to whatever its
    main effects become. The posterior's draws go through the same linear map.

    Args:
        model: as fitted.
        rows: of the training data, without `coded`.
        weight: of each row.

    Returns:
        The model; its decisions are those of `model` but for rounding.
    """
    return _Purifier(model, rows, weight / weight.sum()).run() if model.parts else model


class _Purifier:
    def __init__(self, model: Additive, rows: Rows, weight: Array) -> None:
        self.model = model
        self.pairs = [axes for axes in model.axes if len(axes) == 2]
        inputs = sorted({i for pair in self.pairs for i in pair})
        self.spaces = {i: space_of(model, i, rows, weight) for i in inputs}
        self.products = Products(model, self.spaces, rows, weight)
        self.ones = [constant(feature) for feature in model.features]

    def run(self) -> Additive:
        model = self.model
        total = Sum()
        intercept = intercept_with_draws(model)
        means: dict[Axes, Array] = {}
        for k, part in enumerate(model.parts):
            total.add(part.term, with_draws(part))
            if len(part.term.axes) == 1:
                mean = np.tensordot(self.products.means[k], with_draws(part), (0, 0))
                means[part.term.axes] = means.get(part.term.axes, 0) + mean
        for pair in self.pairs:
            level, *sides = self._projection(pair)
            for side, found in enumerate(sides):
                mean = self._move(pair, side, found, total)
                means[(pair[side],)] = means.get((pair[side],), 0) + mean
            total.add(Term(pair, (self.ones[pair[0]], self.ones[pair[1]])), -level[None])
            intercept = intercept + level
        for axes, mean in means.items():
            total.add(Term(axes, (self.ones[axes[0]],)), -mean[None])
            intercept = intercept + mean
        return replace(
            model, intercept=intercept[:, 0], parts=total.parts(), intercept_draws=intercept[:, 1:]
        )

    def _projection(self, pair: Axes) -> tuple[Array, Array, Array]:
        """Return that of a pair: a constant, and coefficients of the functions of both spaces.

        Coefficients are (functions, outputs, 1 + draws). An output has none on the main effects
        of the others, so that its main effects stay in a space of its own.
        """
        outputs = self.model.outputs
        first, second = (self.products.own[i] for i in pair)
        across = self.products.cross[pair]
        gram = np.block([[first, across], [across.T, second[1:, 1:]]])
        numerators = np.concatenate([with_draws(part) for part in self.model.effect(pair)])
        result = np.zeros((len(gram), *numerators.shape[1:]))
        split = len(first)
        for k in range(outputs):
            sides = [
                np.concatenate([[start + k], np.arange(start + outputs, end)])
                for start, end in ((1, split), (split, len(gram)))
            ]
            used = np.concatenate([[0], *sides])
            moment = self.products.moments[pair][used] @ numerators[:, k]
            result[used, k] = project(gram[np.ix_(used, used)], moment, len(sides[0]))
        return result[0], result[1:split], result[split:]

    def _move(self, pair: Axes, side: int, found: Array, total: Sum) -> Array:
        """Take a function of one input from a pair, give it to the main effect; return its mean."""
        i, outputs = pair[side], self.model.outputs
        space, other = self.spaces[i], self.ones[pair[1 - side]]
        pieces: list[tuple[Basis, Array]] = [
            (part.term.bases[0], np.einsum("ak,kls->als", part.numerators, found[:outputs]))
            for part in space.mains
        ]
        turned = np.tensordot(space.turn, found[outputs:], (1, 0))
        at = 0
        for basis in space.bases:
            pieces.append((basis, turned[at : at + basis.size]))
            at += basis.size
        for basis, numerators in pieces:
            total.add(Term((i,), (basis,)), numerators)
            bases = (basis, other) if side == 0 else (other, basis)
            total.add(Term(pair, bases), -numerators)
        return np.tensordot(self.products.own[i][0, 1:], found, (0, 0))
