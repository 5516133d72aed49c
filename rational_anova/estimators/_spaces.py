"""Functions of one input that pairs are made orthogonal to, and their products over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.types import Array
from ._bases import Basis, Heads, Levels, Missing
from ._model import Additive, Axes, Part
from ._parts import is_constant
from ._placing import Spread, place
from ._projection import directions
from ._terms import Rows, columns

HEADS = 32  # of a basis for what pairs say about one number, at most
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
    bases = _bases(model, i, mains, rows, weight)
    gram: Any = 0.0
    for piece, some in rows.chunks():
        functions = [np.ones((len(some), 1)), *(some.basis(i, basis) for basis in bases)]
        phi = np.concatenate(functions, 1) * np.sqrt(weight[piece])[:, None]
        gram = gram + phi.T @ phi
    return Space(bases, mains, directions(gram))


def _bases(model: Additive, i: int, mains: list[Part], rows: Rows, weight: Array) -> list[Basis]:
    feature = model.features[i]
    own = [basis for part in mains if not is_constant(basis := part.term.bases[0])]
    if feature.category:
        levels = min(len(feature.levels), LEVELS)
        return [Levels(levels), *(basis for basis in own if isinstance(basis, Heads))]
    # The main effect's own heads, if it has some: then nothing new comes into the model.
    heads = [b for b in own if isinstance(b, Heads) and b.odd and len(b.centre) <= HEADS]
    best = max(heads, key=lambda b: b.size, default=None)
    if best is None:
        x = rows.values[:, i]
        best = place(Spread.of(x, weight), HEADS // 2, odd=True)
        best = best and best.filled(x, weight)
    found: list[Basis] = [] if best is None else [best]
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
            functions = self._functions(some, weight[piece])
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

    def _functions(self, rows: Rows, weight: Array) -> dict[int, Array]:
        """Return a one, the main effects and the orthonormal directions of each space."""
        effects = {i: np.zeros((len(rows), self.model.outputs)) for i in self.spaces}
        known: dict[int, Array] = {}
        for k in self.means:
            part = self.model.parts[k]
            phi = columns(part.term, rows)
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
