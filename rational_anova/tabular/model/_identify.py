"""One split of a sum into curves, where the data allow many.

Where inputs depend on one another there are curves g_i of small sum and large size: codes that
stand in several columns at once, or measures of one thing. Adding them to the main effects changes
what each effect shows, and nothing that the data could tell of. The rule: of all splits that the
data cannot tell from the fitted one, that with the least variance of the effects in total is shown.
The data cannot tell them apart if the decisions agree on the training rows

- to within a tenth of their standard error (root mean square over the rows);
- or to within 0.2 of it, where the loss rises by no more than half of what the saved degrees of
  freedom are worth (AIC), or where an effect spreads wider than the decision itself;
- and in no case may the loss rise by more than half a percent: where rows tell classes apart, as
  in a table without noise, standard errors of log odds are large and say nothing of probabilities.

An input takes part with its main effect and a few broad functions: with many, curves would share
what the rows cannot tell apart by chance, and new rows would be predicted worse.

Directions are the eigenvectors of the products of the curves' functions over the rows: curves of
all inputs together, of total variance one. The variance of their sum, the eigenvalue, is one where
inputs are independent, and near zero where the data do not tell the curves apart. Below a limit a
direction is kept in part, the less the smaller its eigenvalue; the limit is the largest one that
keeps to the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ..._core.types import Array
from ...anova import directions
from ._additive import Additive, Sum, with_draws
from ._bases import Basis, Constant
from ._purify import function_bases
from ._terms import Rows, Term, columns

AGREE = 0.2  # standard errors (root mean square over the rows) by which decisions may differ
LIMITS = np.geomspace(0.5, 1e-4, 24)  # of eigenvalues, tried in this order
APART = 1e-3  # of its variance that a function must have apart from those before it
WIDEST = 1.05  # of the spread of the decision: one effect may be nearly all of it
EACH, ALL = 3, 600  # functions of an input, and of all of them
ROWS_EACH = 8  # rows for each function
JUDGED = 4000  # rows on which the decision is judged, at most
# Standard errors by which decisions may differ whatever the loss says: in general, and where an
# effect spreads wider than the decision.
ALWAYS, WIDE = 0.1, 0.2
RISE = 0.005  # of the loss, at most


Judge = Callable[[Array, slice], float]  # twice the mean loss of decisions at some of the rows


def identify(
    model: Additive, rows: Rows, weight: Array, judge: Judge, held: Collection[int] = ()
) -> Additive:
    """Return a model whose main effects share what the data cannot tell apart.

    Args:
        model: purified.
        rows: of the training data, without `target_encoded`.
        weight: of each row.
        judge: tells the loss of decisions at some of the rows.
        held: inputs whose effects stay as they are.

    Returns:
        The model. What the draws of its effects lost by it is in `shared`.
    """
    inputs = [axes[0] for axes in model.axes if len(axes) == 1 and axes[0] not in held]
    if len(inputs) < 2:
        return model
    return _Curves(model, inputs, rows, weight).split(judge)


class _Curves:
    """Orthonormal functions of each input, its main effects first, and their products."""

    def __init__(self, model: Additive, inputs: list[int], rows: Rows, weight: Array) -> None:
        self.model, self.inputs, self.rows = model, inputs, rows
        self.count = count = float(weight.sum())
        weight = self.weight = weight / count
        room = int(min(EACH, ALL / len(inputs), count / (ROWS_EACH * len(inputs))))
        self.mains = [model.effect((i,)) for i in inputs]
        self.bases: list[list[Basis]] = [function_bases(model, i, rows, weight) for i in inputs]
        gram: list[Any] = [0.0] * len(inputs)
        for piece, some in rows.chunks():
            root = np.sqrt(weight[piece])[:, None]
            for n in range(len(inputs)):
                phi = self._functions(n, some) * root
                gram[n] = gram[n] + phi.T @ phi
        self.turns = [_turn(each, model.outputs, max(room, 1)) for each in gram]
        self.size = sum(turn.shape[1] for turn in self.turns)
        ends = np.cumsum([turn.shape[1] for turn in self.turns]).tolist()
        self.blocks = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]

    def _functions(self, n: int, rows: Rows) -> Array:
        """Return a one, the main effects of an input, and the functions of its bases."""
        i, none = self.inputs[n], np.zeros((len(rows), self.model.outputs))
        main = sum((part.at(rows) for part in self.mains[n]), none)
        parts = [rows.basis(i, basis) for basis in self.bases[n]]
        return np.concatenate([np.ones((len(rows), 1)), main, *parts], 1)

    def split(self, judge: Judge) -> Additive:
        """Return the model with the split that the rule chooses."""
        gram, mean, parts = self._products()
        values, vectors = np.linalg.eigh(gram)
        values, along = np.maximum(values, 0), np.tensordot(vectors.T, parts, 1)
        lost = self._lost(judge, values, vectors, along, mean)
        if not lost.any():
            return self.model
        return self._moved(-np.tensordot(vectors, lost[:, None, None] * along, 1), mean)

    def _lost(
        self, judge: Judge, values: Array, vectors: Array, along: Array, mean: Array
    ) -> Array:
        """Return what is taken of each direction, from 0 to 1."""
        some = slice(None, None, -(-len(self.rows) // JUDGED))
        rows, model = self.rows[some], self.model
        f, variance = model.decision(rows), (model.spread(rows) ** 2).sum(1).mean()
        turned = [self._functions(n, rows)[:, 1:] @ turn for n, turn in enumerate(self.turns)]
        phi = (np.concatenate(turned, 1) - mean) @ vectors
        before = judge(f, some)
        # What each direction takes of the degrees of freedom.
        worth = values * along[:, :, 1:].var(2).sum(1)
        spread = f.std(0)

        def wide(lost: Array) -> bool:
            left = vectors @ ((1 - lost)[:, None] * along[:, :, 0])
            sizes = [np.sqrt((left[block] ** 2).sum(0)) for block in self.blocks]
            return bool((np.max(sizes, axis=0) > WIDEST * spread).any())

        def smaller(limit: float) -> Array:
            return np.asarray(np.maximum(1 - values / (limit * LIMITS[1] / LIMITS[0]), 0))

        for limit in LIMITS:
            lost = np.maximum(1 - values / limit, 0)
            away = -phi @ (lost[:, None] * along[:, :, 0])
            change = float((away**2).sum(1).mean() / max(variance, 1e-300))
            if change > AGREE**2:
                continue
            rise = judge(f + away, some) - before
            if rise > RISE * abs(before):
                continue
            if change <= WIDE**2 and (change <= ALWAYS**2 or wide(smaller(limit))):
                return np.asarray(lost)
            if rise <= lost @ worth:
                return np.asarray(lost)
        return np.zeros(self.size)

    def _products(self) -> tuple[Array, Array, Array]:
        """Return moments over the rows.

        These are: covariances of the orthonormal functions of all inputs, and their means; the
        coefficients of the main effects and their draws, (functions, outputs, 1 + draws).
        """
        size = self.size
        gram, mean = np.zeros((size, size)), np.zeros(size)
        cross: list[list[Any]] = [[0.0] * len(mains) for mains in self.mains]
        for piece, some in self.rows.chunks():
            weight = self.weight[piece]
            functions = [self._functions(n, some)[:, 1:] for n in range(len(self.inputs))]
            turned = [f @ turn for f, turn in zip(functions, self.turns, strict=True)]
            phi = np.concatenate(turned, 1)
            weighted = (phi * weight[:, None]).T
            gram += weighted @ phi
            mean += weight @ phi
            for n, mains in enumerate(self.mains):
                for k, part in enumerate(mains):
                    block = weighted[self.blocks[n]]
                    cross[n][k] = cross[n][k] + block @ columns(part.term, some)
        gram -= np.outer(mean, mean)
        found = [
            sum(np.tensordot(c, with_draws(p), 1) for c, p in zip(cs, ps, strict=True))
            for cs, ps in zip(cross, self.mains, strict=True)
        ]
        return (gram + gram.T) / 2, mean, np.concatenate(found)

    def _moved(self, moved: Array, mean: Array) -> Additive:
        """Add curves, of mean zero, to the main effects."""
        model, outputs = self.model, self.model.outputs
        total, shared = Sum(), Sum()
        for part in model.parts:
            total.add(part.term, with_draws(part))
        for n, i in enumerate(self.inputs):
            own = moved[self.blocks[n]]
            turned = np.tensordot(self.turns[n], own, 1)
            level = -np.tensordot(mean[self.blocks[n]], own, 1)
            pieces: list[tuple[Basis, Array]] = [(Constant(), level[None])]
            for part in self.mains[n]:
                numerators = np.tensordot(part.numerators, turned[:outputs], 1)
                pieces.append((part.term.bases[0], numerators))
            at = outputs
            for basis in self.bases[n]:
                pieces.append((basis, turned[at : at + basis.size]))
                at += basis.size
            for basis, numerators in pieces:
                total.add(Term((i,), (basis,)), numerators)
                shared.add(Term((i,), (basis,)), numerators[:, :, :1] - numerators)
        return replace(model, parts=total.parts(), shared=shared.parts())


def _turn(gram: Array, outputs: int, room: int) -> Array:
    """Return a map to orthonormal functions: the main effects, then those of largest variance."""
    mean = gram[0, 1:] / gram[0, 0]
    covariance = gram[1:, 1:] / gram[0, 0] - np.outer(mean, mean)
    main = np.zeros((len(covariance), 0))
    own = directions(gram[: outputs + 1, : outputs + 1])
    if own.shape[1]:
        main = np.concatenate([own, np.zeros((len(covariance) - outputs, own.shape[1]))])
    others = [0, *range(outputs + 1, len(gram))]
    rest = directions(gram[np.ix_(others, others)]) if len(others) > 1 else main[:, :0]
    if not rest.shape[1]:
        return main
    rest = np.concatenate([np.zeros((outputs, rest.shape[1])), rest])[:, ::-1]
    found = main
    for one in rest.T[:room]:
        one = one - found @ (found.T @ covariance @ one)
        size = float(one @ covariance @ one)
        if size > APART:
            found = np.concatenate([found, one[:, None] / np.sqrt(size)], 1)
    return found
