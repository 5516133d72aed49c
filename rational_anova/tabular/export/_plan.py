"""What every export writes: the effects as columns of functions and their numerators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from ..._core.types import Array
from ..fit import Link
from ..model import MISSING, Additive, Axes, Basis, Codes, Constant, Feature, Heads, Levels, Missing


@dataclass(frozen=True)
class Columns:
    """The functions of a basis at one input.

    Args:
        axis: which input.
        feature: that input.
        basis: the functions.
    """

    axis: int
    feature: Feature
    basis: Basis

    def __post_init__(self) -> None:
        known = (
            isinstance(self.basis, Heads | Missing | Codes)
            or self.constant
            or self.feature.category
        )
        if not known:
            raise TypeError(
                f"the effect of {self.feature.name!r} has functions of the kind "
                f"{type(self.basis).__name__}, which no export can write"
            )

    @property
    def constant(self) -> bool:
        """Whether there is one function, which is 1 everywhere."""
        return isinstance(self.basis, Constant)

    @property
    def heads(self) -> Heads | None:
        """The quotients of a number; None for functions that differ at gaps alone."""
        if self.feature.category or self.constant:
            return None
        return self.basis if isinstance(self.basis, Heads) else None

    def at(self, values: Sequence[float]) -> Array:
        """Return the functions at numbers or codes, (values, size)."""
        return self.basis.at(np.asarray(values, float))

    @property
    def gap(self) -> Array:
        """The functions of a number where it is missing, (size,)."""
        return self.at([np.nan])[0]

    @property
    def flat(self) -> Array:
        """Functions that are not heads where the number is not missing, (size,)."""
        special = self.feature.special
        return self.at([max(special) + 1 if special else 0.0])[0]

    @property
    def codes(self) -> dict[float, Array]:
        """The functions of a number at its special values."""
        return {code: self.at([code])[0] for code in self.feature.special}

    @property
    def table(self) -> Array:
        """The functions of a category at each level, and at last at unseen ones."""
        return self.at(range(len(self.feature.levels) + 1))


@dataclass(frozen=True)
class Piece:
    """Numerators on the columns of one input, or on products of the columns of two.

    Args:
        columns: of each input.
        numerators: (size, outputs) or (size, size, outputs).
    """

    columns: tuple[Columns, ...]
    numerators: Array


@dataclass(frozen=True)
class Plan:
    """A fitted model as exports see it.

    Args:
        features: the inputs.
        intercept: (outputs,).
        effects: the pieces of each effect, by its inputs.
        classes: None for a regression.
        link: of a regression.
        names_of_outputs: of several targets or quantiles; empty for one.
        levels: of quantiles, which must not cross.
        cuts: of ordered classes, on the scale of f.
    """

    features: list[Feature]
    intercept: Array
    effects: dict[Axes, list[Piece]]
    classes: list[Any] | None
    link: Link
    names_of_outputs: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    cuts: tuple[float, ...] = ()

    @property
    def used(self) -> list[int]:
        """The inputs that have an effect."""
        return sorted({i for axes in self.effects for i in axes})

    @property
    def names(self) -> list[str]:
        """A name for each input, no name twice."""
        found: list[str] = []
        for feature in self.features:
            name = feature.name
            while name in found:  # a column may be called as a date's part is
                name += "_"
            found.append(name)
        return found

    def folded(self) -> Plan:
        """Return the plan with one number a level for each category, whatever it was made of."""
        effects = dict(self.effects)
        for axes, pieces in self.effects.items():
            columns = pieces[0].columns[0]
            if len(axes) == 1 and columns.feature.category:
                total = sum(piece.columns[0].table @ piece.numerators for piece in pieces)
                levels = replace(columns, basis=Levels(len(columns.feature.levels) + 1))
                effects[axes] = [Piece((levels,), np.asarray(total))]
        return replace(self, effects=effects)

    def column(self, axis: int) -> str:
        """Return the name of the table's column in which an input is found."""
        at = self.features[axis].column
        return next(f.name for f in self.features if f.column == at)  # a date's day comes first

    def title(self, axes: Axes) -> str:
        """Return the name of an effect."""
        return " x ".join(self.features[i].name for i in axes)

    def combination(self, output: Any) -> Array:
        """Return the weights of the outputs that make the decision for a class."""
        if len(self.intercept) == 1 and (output is None or self.cuts):
            return np.ones(1)
        k = self.place(output)
        if len(self.intercept) == 1:  # f is for the second of two classes
            return np.array([2.0 * k - 1])
        return np.eye(len(self.intercept))[k]

    def place(self, output: Any) -> int:
        """Return the position of a class, or of one of several targets."""
        if self.names_of_outputs:
            if str(output) not in self.names_of_outputs:
                known = list(self.names_of_outputs)
                raise ValueError(f"output must be one of {known}, got {output!r}")
            return self.names_of_outputs.index(str(output))
        if self.classes is None:
            raise ValueError(f"output={output!r} names a class, but this model predicts a number")
        if output not in self.classes:
            raise ValueError(f"output must be one of the classes {self.classes}, got {output!r}")
        return self.classes.index(output)


def gap_code(feature: Feature) -> int:
    """Return the code of a category that is missing."""
    return feature.levels.index(MISSING) if MISSING in feature.levels else len(feature.levels)


def plain(value: Any, what: str) -> Any:
    """Return a level or class as text, number or bool of Python."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float):
        raise TypeError(
            f"{what} has the level {value!r} of type {type(value).__name__}; only text, numbers "
            "and booleans can be exported: turn the column into text before the fit"
        )
    return value


def texts(feature: Feature) -> dict[str, int]:
    """Return the codes of a category's levels as texts."""
    found: dict[str, int] = {}
    for k, level in enumerate(feature.levels):
        text = str(plain(level, feature.name))
        if text in found:
            raise ValueError(
                f"column {feature.name!r} has two levels that read {text!r} as text, by which "
                "exports tell them apart; turn the column into text before the fit"
            )
        found[text] = k
    return found


def plan(
    model: Additive, classes: Array | None, link: Link, names: Sequence[str] = (),
    levels: Sequence[float] = (), cuts: Sequence[float] = (),
) -> Plan:  # fmt: skip
    """Return what there is to write of a model."""
    effects = {axes: _effect(model, axes) for axes in model.axes}
    found = None if classes is None else [plain(c, "the target") for c in classes]
    return Plan(
        model.features, model.intercept, effects, found, link, tuple(names), tuple(levels),
        tuple(cuts),
    )  # fmt: skip


def _effect(model: Additive, axes: Axes) -> list[Piece]:
    pieces = []
    for part in model.effect(axes):
        columns = tuple(
            Columns(i, model.features[i], basis)
            for i, basis in zip(axes, part.term.bases, strict=True)
        )
        shape = (*(basis.size for basis in part.term.bases), model.outputs)
        pieces.append(Piece(columns, part.numerators.reshape(shape)))
    return pieces


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

    def cases(
        self, axis: int, gap: float, codes: dict[float, float],
        borders: tuple[float, float] | None, inside: E,
    ) -> E:  # fmt: skip
        """Return a function of a number: at gaps, special values, beyond its range, and inside."""
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
    codes = {
        code: sum(float(columns.codes[code] @ weight) for columns, weight in weighted)
        for code in feature.special
    }
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
    return language.cases(axis, gap, codes, borders, language.total(terms))


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
