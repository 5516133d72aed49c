"""Purification over the training rows, as `anova` defines it: projections move to main effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._core.types import Array
from ...anova import directions, project
from ._additive import (
    Additive,
    Axes,
    Part,
    Sum,
    intercept_with_draws,
    with_draws,
)
from ._bases import Basis, Codes, Constant, Heads, Levels, Missing, Spread, place
from ._terms import Rows, Term, columns

HEADS = 32  # of a basis for what pairs say about one number, at most
SAMPLED = 4000  # rows from which it is known how other rows would differ
LEVELS = 64  # told apart in what pairs say about a category


@dataclass(frozen=True)
class Space:
    """Functions of one input: its main effect (one for each output), then those of bases.

    Args:
        bases: whose functions are used.
        mains: the parts of the main effect.
        turn: from the functions of the bases to orthonormal ones.
    """

    bases: list[Basis]
    mains: list[Part]
    turn: Array


def space_of(model: Additive, i: int, rows: Rows, weight: Array) -> Space:
    """Return the space of an input."""
    mains = model.effect((i,))
    bases = function_bases(model, i, rows, weight)
    gram: Any = 0.0
    for piece, some in rows.chunks():
        functions = [np.ones((len(some), 1)), *(some.basis(i, basis) for basis in bases)]
        phi = np.concatenate(functions, 1) * np.sqrt(weight[piece])[:, None]
        gram = gram + phi.T @ phi
    return Space(bases, mains, directions(gram))


def function_bases(model: Additive, i: int, rows: Rows, weight: Array) -> list[Basis]:
    """Return bases for functions of an input: its levels, or heads and what a gap adds."""
    feature, mains = model.features[i], model.effect((i,))
    own = [basis for part in mains if not isinstance(basis := part.term.bases[0], Constant)]
    if feature.category:
        levels = min(len(feature.levels), LEVELS)
        return [Levels(levels), *(basis for basis in own if isinstance(basis, Heads))]
    # The main effect's own heads, if it has some: then nothing new comes into the model.
    heads = [b for b in own if isinstance(b, Heads) and b.odd and len(b.centre) <= HEADS]
    best = max(heads, key=lambda b: b.size, default=None)
    if best is None:
        x = feature.seen(rows.values[:, i])
        best = place(Spread.of(x, weight), HEADS // 2, odd=True)
        best = best and replace(best, special=feature.codes).filled(x, weight)
    found: list[Basis] = [] if best is None else [best]
    if feature.codes is not None:
        found.append(Codes(feature.codes))
    return [*found, Missing()] if feature.gaps else found


class Products:
    """Weighted sums over the rows of products of functions.

    Args:
        model: as fitted.
        spaces: by input.
        rows: of the training data.
        weight: of each row; their sum is one.

    Attributes:
        means: of the columns of each part that is of one input, by its position.
        own: of the functions of each space with one another; the first function is a one.
        cross: of the functions of a pair's spaces.
        moments: of the functions of a pair's spaces with the columns of the pair.
    """

    def __init__(
        self, model: Additive, spaces: dict[int, Space], rows: Rows, weight: Array
    ) -> None:
        self.model, self.spaces = model, spaces
        effects = {pair: model.effect(pair) for pair in model.axes if len(pair) == 2}
        mains = [k for k, part in enumerate(model.parts) if len(part.term.axes) == 1]
        self.means: dict[int, Any] = dict.fromkeys(mains, 0.0)
        self.own: dict[int, Any] = dict.fromkeys(spaces, 0.0)
        self.cross: dict[Axes, Any] = dict.fromkeys(effects, 0.0)
        self.moments: dict[Axes, Any] = dict.fromkeys(effects, 0.0)
        for piece, some in rows.chunks():
            functions = self.functions(some, weight[piece], True)
            weighted = {i: (f * weight[piece][:, None]).T for i, f in functions.items()}
            for i, f in functions.items():
                self.own[i] = self.own[i] + weighted[i] @ f
            for pair, parts in effects.items():
                i, j = pair
                # Both spaces begin with a one, which is needed but once.
                self.cross[pair] = self.cross[pair] + weighted[i] @ functions[j][:, 1:]
                phi = np.concatenate([columns(part.term, some) for part in parts], 1)
                found = np.concatenate([weighted[i] @ phi, weighted[j][1:] @ phi])
                self.moments[pair] = self.moments[pair] + found

    def functions(self, rows: Rows, weight: Array, first: bool = False) -> dict[int, Array]:
        """Return a one, the main effects and the orthonormal directions of each space.

        The first time the means of the columns of the main effects are summed up.
        """
        effects = {i: np.zeros((len(rows), self.model.outputs)) for i in self.spaces}
        known: dict[int, Array] = {}
        for k in self.means:
            part = self.model.parts[k]
            phi = columns(part.term, rows)
            if first:
                self.means[k] = self.means[k] + weight @ phi
            if part.term.axes[0] in effects:
                effects[part.term.axes[0]] += phi @ part.numerators
                known[id(part.term.bases[0])] = phi
        result = {}
        for i, space in self.spaces.items():
            result[i] = np.concatenate([np.ones((len(rows), 1)), effects[i]], 1)
            if space.bases:
                some = [known[id(b)] if id(b) in known else rows.basis(i, b) for b in space.bases]
                turned = np.concatenate(some, 1) @ space.turn
                result[i] = np.concatenate([result[i], turned], 1)
        return result


def purify(model: Additive, rows: Rows, weight: Array, seed: int | None = None) -> Additive:
    """Return the same function with pairs orthogonal to main effects, and all means zero.

    What moves from a pair is its projection, by weighted least squares, on functions of either
    input: heads (or levels) and the main effect itself. So a pair is orthogonal to whatever its
    main effects become. The posterior's draws go through the same linear map.

    Args:
        model: as fitted.
        rows: of the training data, without `target_encoded`.
        weight: of each row.
        seed: of what the draws get beside: the projections and means of other rows of the same
            source, which differ from those of these rows; None for nothing.

    Returns:
        The model; its decisions are those of `model` but for rounding.
    """
    if not model.parts:
        return model
    purifier = _Purifier(model, rows, weight / weight.sum())
    if seed is not None:
        purifier.sample(float(weight.sum()), seed)
    return purifier.run()


class _Purifier:
    def __init__(self, model: Additive, rows: Rows, weight: Array) -> None:
        self.model, self.rows, self.weight = model, rows, weight
        # Moments of what is left of each pair, and means of main effects, as they differ in draws.
        self.away: dict[Axes, Array] = {}
        self.pairs = [axes for axes in model.axes if len(axes) == 2]
        inputs = sorted({i for pair in self.pairs for i in pair})
        self.spaces = {i: space_of(model, i, rows, weight) for i in inputs}
        self.products = Products(model, self.spaces, rows, weight)

    def sample(self, count: float, seed: int) -> None:
        """Draw how the moments of a pair, and the means of main effects, differ on other rows.

        A moment is the mean over the rows of a function times what is left of the pair, which is
        zero: it varies as the mean of so many rows does. That is a sandwich estimate.
        """
        random = np.random.default_rng(seed)
        draws = self.model.intercept_draws.shape[1]
        some = slice(None, None, -(-len(self.rows) // SAMPLED))
        rows, weight = self.rows[some], self.weight[some] / self.weight[some].sum()
        functions = self.products.functions(rows, weight)
        mains: dict[Axes, Array] = {}
        for i in sorted({i for axes in self.model.axes for i in axes}):
            parts = self.model.effect((i,))
            none = np.zeros((len(rows), self.model.outputs))
            mains[(i,)] = sum((part.at(rows) for part in parts), none)
        for pair in self.pairs:
            level, *sides = self._projection(pair, 1)
            values = sum(part.at(rows) for part in self.model.effect(pair)) - level[:, 0]
            for i, found in zip(pair, sides, strict=True):
                moved = np.tensordot(functions[i][:, 1:], found[:, :, 0], 1)
                values, mains[(i,)] = values - moved, mains[(i,)] + moved
            both = np.concatenate([functions[pair[0]], functions[pair[1]][:, 1:]], 1)
            drawn = np.zeros((both.shape[1], self.model.outputs, 1 + draws))
            for k in range(self.model.outputs):
                phi = both * (values[:, k] * np.sqrt(weight / count))[:, None]
                values_, vectors = np.linalg.eigh(phi.T @ phi)
                root = vectors * np.sqrt(np.maximum(values_, 0))
                drawn[:, k, 1:] = root @ random.standard_normal((len(root), draws))
            self.away[pair] = drawn
        for axes, values in mains.items():
            std = np.sqrt(weight @ (values - weight @ values) ** 2 / count)
            drawn = np.zeros((1, self.model.outputs, 1 + draws))
            drawn[0, :, 1:] = std[:, None] * random.standard_normal((len(std), draws))
            self.away[axes] = drawn

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
            total.add(Term(pair, (Constant(), Constant())), -level[None])
            intercept = intercept + level
        for axes, mean in means.items():
            if axes in self.away:
                mean = mean + self.away[axes][0]
            total.add(Term(axes, (Constant(),)), -mean[None])
            intercept = intercept + mean
        return replace(
            model, intercept=intercept[:, 0], parts=total.parts(), intercept_draws=intercept[:, 1:]
        )

    def _projection(self, pair: Axes, columns: int | None = None) -> tuple[Array, Array, Array]:
        """Return that of a pair: a constant, and coefficients of the functions of both spaces.

        Coefficients are (functions, outputs, 1 + draws). An output has none on the main effects
        of the others, so that its main effects stay in a space of its own.
        """
        outputs = self.model.outputs
        first, second = (self.products.own[i] for i in pair)
        across = self.products.cross[pair]
        gram = np.block([[first, across], [across.T, second[1:, 1:]]])
        numerators = np.concatenate([with_draws(part) for part in self.model.effect(pair)])
        numerators = numerators[:, :, :columns]
        result = np.zeros((len(gram), *numerators.shape[1:]))
        split = len(first)
        for k in range(outputs):
            sides = [
                np.concatenate([[start + k], np.arange(start + outputs, end)])
                for start, end in ((1, split), (split, len(gram)))
            ]
            used = np.concatenate([[0], *sides])
            moment = self.products.moments[pair][used] @ numerators[:, k]
            if pair in self.away:
                moment = moment + self.away[pair][used, k]
            result[used, k] = project(gram[np.ix_(used, used)], moment, len(sides[0]))
        return result[0], result[1:split], result[split:]

    def _move(self, pair: Axes, side: int, found: Array, total: Sum) -> Array:
        """Take a function of one input from a pair, give it to the main effect; return its mean."""
        i, outputs = pair[side], self.model.outputs
        space, other = self.spaces[i], Constant()
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
