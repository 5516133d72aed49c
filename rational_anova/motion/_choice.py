"""Which terms each equation has, decided by the trajectories of the whole system."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import TypeVar

import numpy as np
import sympy as sp

from .._core.least_squares import lstsq
from .._core.types import Array
from ._shooting import Rows, Trajectories, shot
from ._system import System
from .known import Key, Named
from .search import Equation, Smoothed, Stepped, Term

T = TypeVar("T")
_SWEEPS = 3
_TOGETHER, _RANKS = 24, 6  # systems that two equations change in at once; how far down each looks
_GAIN, _GAIN_CLEAN = 1e-4, 1e-8  # of the last step: nothing that a score of such rows could show
# score a cell that a system may be behind by what its first, second, ... step promises
_SLACK = (np.inf, 2.0, 0.5, 0.15)
_SLACK_CLEAN = (np.inf, 20.0, 10.0, 5.0, 2.0)  # rows without noise: each step may double the digits


@dataclass(frozen=True)
class Side:
    """A right-hand side: what is given of it, and terms with fitted numbers.

    Attributes:
        terms: those given first, then those of the search.
        numbers: the factor of each.
        inner: the inner numbers of each.
        fixed: a part without fitted numbers.
        held: how many of the terms are given, and stay.
    """

    terms: tuple[Term, ...]
    numbers: tuple[float, ...]
    inner: tuple[tuple[float, ...], ...]
    fixed: sp.Expr = sp.S.Zero
    held: int = 0

    @classmethod
    def of(cls, equation: Equation, y: Array, fixed: sp.Expr, held: int) -> Side:
        """The side of an equation in integral form."""
        numbers = lstsq(equation.columns, y)
        return cls(equation.terms, tuple(numbers.tolist()), equation.inner, fixed, held)

    @property
    def key(self) -> frozenset[sp.Expr]:
        """What it is made of."""
        return frozenset(term.key for term in self.terms)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return sum(1 + len(term.inner) for term in self.terms)

    @property
    def price(self) -> float:
        """Minus the logarithm of its prior probability."""
        return sum(term.price for term in self.terms)

    def without(self, place: int) -> Side:
        """The side less one term."""
        return replace(
            self,
            terms=_dropped(self.terms, place),
            numbers=_dropped(self.numbers, place),
            inner=_dropped(self.inner, place),
        )


def key_of(sides: Sequence[Side]) -> Key:
    """What a system is made of."""
    return tuple(side.key for side in sides)


def listed(sides: Sequence[Side]) -> list[tuple[Term, bool]]:
    """Terms of all sides, and whether each was given: their numbers stand in this order."""
    return [(term, k < side.held) for side in sides for k, term in enumerate(side.terms)]


def _dropped(parts: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*parts[:place], *parts[place + 1 :])


@dataclass(frozen=True, eq=False)
class Fitted:
    """A system on the runs.

    Attributes:
        sides: its right-hand sides, with the numbers of the fit.
        system: the same as formulas with parameters.
        trajectories: the fit.
        score: minus twice the logarithm of its posterior probability, but for a constant.
    """

    sides: tuple[Side, ...]
    system: System
    trajectories: Trajectories
    score: float


@dataclass(eq=False)
class Choice:
    """Systems fitted to the same runs, each once.

    Attributes:
        data: the runs and their curves.
        rows: the same as steps from node to node.
        states: symbols of all states.
        inputs: symbols of inputs.
        discrete: whether systems are maps.
        limit: when to end the search.
        groups: symbols of inputs that are 1 in the runs of a group and 0 elsewhere, if each has
            numbers of its own.
        named: systems that textbooks have a name for, by what they are made of.
        seen: systems that were fitted.
    """

    data: Smoothed | Stepped
    rows: Rows
    states: tuple[sp.Symbol, ...]
    inputs: tuple[sp.Symbol, ...]
    discrete: bool = False
    limit: float = np.inf
    groups: tuple[sp.Symbol, ...] = ()
    named: Mapping[Key, Named] = field(default_factory=dict)
    seen: dict[Key, Fitted] = field(default_factory=dict)

    def fitted(self, sides: Sequence[Side], beat: float = np.inf) -> Fitted:
        """A system with its numbers fitted to the trajectories, unless it cannot beat a score."""
        key = key_of(sides)
        if key not in self.seen:
            self.seen[key] = self._fitted(tuple(sides), beat)
        return self.seen[key]

    def _fitted(self, sides: tuple[Side, ...], beat: float) -> Fitted:
        system, theta = assembled(sides, self.states, self.inputs, self.discrete, self.groups)

        clean = bool(self.data.clean.any())
        slacks = _SLACK_CLEAN if clean else _SLACK

        def hopeless(count: int, squares: Array) -> bool:
            slack = slacks[min(count, len(slacks) - 1)] * self.rows.X.size
            return self._score(sides, squares) > beat + slack

        gain = _GAIN_CLEAN if clean else _GAIN
        found = shot(system, self.rows, theta, self.data.nodes, self.data.noise, gain, hopeless)
        if not np.isfinite(found.squares).all():
            return Fitted(sides, system, found, np.inf)
        score = self._score(sides, found.squares)
        count = max(len(self.groups), 1)
        return Fitted(with_numbers(sides, found.theta, count), system, found, score)

    def _score(self, sides: Sequence[Side], squares: Array) -> float:
        counts = np.isfinite(self.rows.X).sum(axis=0)
        deviance = counts @ np.log(np.maximum(squares / counts, self.data.floor**2))
        numbers = np.array([side.size for side in sides[len(sides) - len(counts) :]])
        numbers = numbers * max(len(self.groups), 1)
        starts = len(self.rows.first) * len(sides) // len(counts)
        # with few rows a number explains more by chance than BIC allows for (McQuarrie and Tsai)
        few = counts / np.maximum(counts - numbers - starts - 1, 1)
        cost = np.log(counts.sum()) * float(few @ numbers)
        return float(deviance + cost + 2 * self._price(sides))

    def _price(self, sides: Sequence[Side]) -> float:
        """Minus the logarithm of the prior probability: of its terms, or of its name."""
        named = self.named.get(key_of(sides))
        own = sum(side.price for side in sides)
        return own if named is None else min(own, named.price)

    def best(
        self, candidates: Sequence[Sequence[Side]], systems: Iterable[Sequence[Side]] = (),
        now: Fitted | None = None,
    ) -> Fitted:  # fmt: skip
        """The most probable system: equations exchanged one at a time, terms dropped.

        Args:
            candidates: right-hand sides for each state.
            systems: whole systems that are in the race too.
            now: the best so far.
        """
        for system in chain(_together(candidates), _beside(candidates), systems):
            now = self.fitted(system) if now is None else self._better(now, system)
        assert now is not None
        for _ in range(_SWEEPS):
            before = now
            for k, sides in enumerate(candidates):
                for side in sides:
                    now = self._better(now, [*now.sides[:k], side, *now.sides[k + 1 :]])
            now = self.pruned(now)
            if now is before:
                break
        return now

    def pruned(self, now: Fitted) -> Fitted:
        """The system less terms that the trajectories do not need."""
        while True:
            before = now
            for k, side in enumerate(before.sides):
                for place in range(side.held, len(side.terms)):
                    less = side.without(place)
                    now = self._better(now, [*before.sides[:k], less, *before.sides[k + 1 :]])
            if now is before:
                return now

    def _better(self, now: Fitted, sides: Sequence[Side]) -> Fitted:
        if time.monotonic() > self.limit:
            return now
        other = self.fitted(sides, now.score)
        return other if other.score < now.score else now


def _together(candidates: Sequence[Sequence[Side]]) -> Iterator[list[Side]]:
    """Systems to begin with: the best equations, and the best of at most so many terms."""
    yield [sides[0] for sides in candidates]
    for length in range(1, max(len(side.terms) for sides in candidates for side in sides)):
        short = [[s for s in sides if len(s.terms) <= length] for sides in candidates]
        if all(short):
            yield [sides[0] for sides in short]


def _beside(candidates: Sequence[Sequence[Side]]) -> Iterator[list[Side]]:
    """Systems of good equations, the best first: some are seen only where two change at once."""
    ranks = product(*(range(min(len(sides), _RANKS)) for sides in candidates))
    for places in sorted(ranks, key=lambda places: (sum(places), max(places)))[:_TOGETHER]:
        yield [sides[place] for sides, place in zip(candidates, places, strict=True)]


def assembled(
    sides: Sequence[Side],
    states: tuple[sp.Symbol, ...],
    inputs: tuple[sp.Symbol, ...],
    discrete: bool = False,
    groups: tuple[sp.Symbol, ...] = (),
) -> tuple[System, Array]:
    """The system of some sides, and its numbers in order: the factor of a term, its inner ones.

    With groups, each number is as many, one a group, beside each other.
    """
    right: list[sp.Expr] = []
    parameters: list[sp.Symbol] = []
    theta: list[float] = []

    def number(value: float) -> sp.Expr:
        own = sp.symbols(f"c{len(theta)}:{len(theta) + max(len(groups), 1)}")
        parameters.extend(own)
        theta.extend([value] * len(own))
        return sp.Add(*map(sp.Mul, groups, own)) if groups else own[0]

    for side in sides:
        total = side.fixed
        for term, factor, inner in zip(side.terms, side.numbers, side.inner, strict=True):
            own = number(factor)
            renamed = dict(zip(term.inner, map(number, inner), strict=True))
            total = total + own * term.expression.xreplace(renamed)
        right.append(sp.sympify(total))
    system = System(states, inputs, tuple(parameters), tuple(right), discrete)
    return system, np.array(theta, dtype=float)


def with_numbers(sides: Sequence[Side], theta: Array, groups: int = 1) -> tuple[Side, ...]:
    """The sides with these numbers, in the order of `assembled`; means over groups."""
    values = iter(theta.reshape(-1, groups).mean(axis=1).tolist())
    out = []
    for side in sides:
        numbers, inner = [], []
        for term in side.terms:
            numbers.append(next(values))
            inner.append(tuple(next(values) for _ in term.inner))
        out.append(replace(side, numbers=tuple(numbers), inner=tuple(inner)))
    return tuple(out)
