"""The functions of one column that sums are made of: a table, one line a family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
import sympy as sp

from ..._core.types import Array
from ...symbols import Program, program

X, B, C = sp.symbols("x b c", real=True)
_A = sp.Abs(X)


@dataclass(frozen=True)
class Scale:
    """How large the values of a column are.

    Attributes:
        low, high: the ends.
        large: the largest size.
        small: a size that nine tenths exceed.
        zero: whether zero is among the values.
        places: values all over the range.
        count: of the rows.
    """

    low: float
    high: float
    large: float
    small: float
    zero: bool
    places: tuple[float, ...]
    count: int

    @classmethod
    def of(cls, x: Array) -> Scale:
        """Measure a column."""
        size = np.abs(x[x != 0])
        large = float(size.max(initial=0.0)) or 1.0
        small = max(float(np.quantile(size, 0.1)), 1e-3 * large) if len(size) else 1.0
        places = tuple(np.quantile(x, np.linspace(0.05, 0.95, 7)).tolist())
        return cls(
            float(x.min()), float(x.max()), large, small, bool((x == 0).any()), places, len(x)
        )

    @property
    def span(self) -> float:
        """The length of the range."""
        return self.high - self.low or 1.0


@dataclass(frozen=True)
class Grid:
    """Which values of an inner number are tried, and which are sensible.

    Args:
        kind: "rate" (the number times x is of the order of one), "wave" (a frequency), "place" (a
            value of x), "steep" (a rate as seen from such a place), "phase" (an angle), "chirp" (a
            frequency, or its growth, of few periods), "size" (any number, of the order of one).
        degree: the power of x that the number goes with: 2 for b in b*x**2, -1 in x/b.
        signed: whether it may be negative.
    """

    kind: str
    degree: float = 1
    signed: bool = False

    def starts(self, scale: Scale, count: int) -> Array:
        """Return numbers to try, about so many."""
        if self.kind == "place":
            return np.array(scale.places)
        if self.kind == "chirp":
            turns = np.linspace(
                -_CHIRP if self.signed else 0.0, _CHIRP, count if self.signed else count // 2
            )
            return turns / scale.span**self.degree
        if self.kind == "phase":  # half a turn more is a sign
            return np.pi * np.arange(_PHASES) / _PHASES
        if self.kind == "wave":
            most = min(np.pi * scale.count / 6, 80.0)
            slow, quick = np.geomspace(0.5, 3, count // 4), np.linspace(3.5, most, 2 * count)
            return np.r_[slow, quick] ** np.sign(self.degree) / scale.span**self.degree
        if self.kind == "steep":
            rates = np.array([3.0, 10.0, 30.0, 100.0]) / scale.span
        elif self.kind == "size":
            rates = np.geomspace(1 / _SIZE, _SIZE, count)
        else:
            rates = np.geomspace(0.05 / scale.large, 8 / scale.small, count)
        if self.signed:
            slow = rates[rates * scale.large < 6][::2] if self.kind == "rate" else rates
            rates = np.r_[-slow, rates]
        return np.asarray(np.sign(rates) * np.abs(rates) ** self.degree)

    def sensible(self, scale: Scale, number: float) -> bool:
        """Return whether a number lies where the function is not the limit of another."""
        if self.kind == "place":
            return scale.low <= number <= scale.high
        if self.kind == "phase":
            return abs(number) < 4 * np.pi
        if self.kind == "chirp":
            return abs(number) * scale.span**self.degree < 5 * _CHIRP
        if number == 0 or (number < 0 and self.kind in ("rate", "steep") and not self.signed):
            return False
        size = np.float64(abs(number))  # which overflows without an error
        if self.kind == "size":
            return bool(1e-2 / _SIZE < size < 1e2 * _SIZE)
        if self.kind == "wave":
            turns = (size * scale.span**self.degree) ** np.sign(self.degree) / scale.span
            return bool(0.05 / scale.large < turns < 1e3 / scale.span)
        rate = size ** (1 / self.degree)
        if self.kind == "steep":
            return bool(rate * scale.span > 0.5)
        return bool(0.05 / scale.large < rate < 30 / scale.small)


RATE, BOTH, WAVE = Grid("rate"), Grid("rate", signed=True), Grid("wave")
STEEP, PLACE = Grid("steep"), Grid("place")
CHIRP = (Grid("chirp"), Grid("chirp", 2, signed=True))
_CHIRP = 40.0  # radians, for a frequency and for its growth
_PHASES = 6  # angles that are tried
_SIZE = 100.0  # numbers are tried up to this, and down to its inverse


@dataclass(frozen=True)
class Atom:
    """A function of a column x, which may have inner numbers b and c.

    Args:
        formula: in x, b and c.
        grids: which inner numbers are tried, one for each.
        sign: "" if x may be any, "positive" if it must be, "mixed" if it makes sense only for
            columns that change their sign, "nonnegative" if zero may be among the rows, "nonzero"
            if it may not.
        outer: powers of x that it is also tried with.
    """

    formula: sp.Expr
    grids: tuple[Grid, ...] = ()
    sign: str = ""
    outer: tuple[int, ...] = (0,)

    @cached_property
    def numbers(self) -> tuple[sp.Symbol, ...]:
        """Its inner numbers."""
        return tuple(s for s in (B, C) if s in self.formula.free_symbols)

    def suits(self, scale: Scale) -> bool:
        """Return whether a column may have it."""
        return {
            "": True,
            "positive": scale.low > 0,
            "nonnegative": scale.low >= 0,
            "mixed": scale.low < 0 < scale.high,
            "nonzero": not scale.zero,
        }[self.sign]

    def times(self, power: int) -> Atom:
        """Return it with a power of x before it."""
        sign = {"nonnegative": "positive", "": "nonzero"}.get(self.sign, self.sign)
        return Atom(X**power * self.formula, self.grids, sign if power < 0 else self.sign)

    def starts(self, scale: Scale, count: int) -> Array:
        """Return inner numbers to try, (starts, numbers): all of one with all of the other."""
        each = count if len(self.grids) < 2 or self.grids == CHIRP else count // 2
        values = [grid.starts(scale, each) for grid in self.grids]
        return np.array(list(product(*values)))

    def sensible(self, scale: Scale, numbers: Sequence[float]) -> bool:
        """Return whether inner numbers lie where the function is not the limit of another."""
        return all(g.sensible(scale, n) for g, n in zip(self.grids, numbers, strict=True))

    @property
    def value(self) -> Program:
        """Its values, of x, b and c."""
        return _value(self.formula)

    @property
    def slopes(self) -> Program:
        """Its slopes in the inner numbers, of x, b and c."""
        return _slopes(self.formula, self.numbers)


@lru_cache(1024)
def _value(formula: sp.Expr) -> Program:
    return program((X, B, C), [formula])


@lru_cache(1024)
def _slopes(formula: sp.Expr, numbers: tuple[sp.Symbol, ...]) -> Program:
    return program((X, B, C), [formula], numbers)


def _rational(numerator: int, denominator: int) -> sp.Expr:
    return X ** sp.Rational(numerator, denominator)


POWERS = (
    *(Atom(X**k) for k in (1, 2, 3, 4)),
    *(Atom(X**-k, sign="nonzero") for k in (1, 2, 3)),
    *(Atom(_rational(*pq), sign="nonnegative") for pq in ((1, 2), (1, 3), (2, 3), (3, 2))),
    Atom(_rational(-1, 2), sign="positive"),
    *(Atom(_A ** sp.Rational(*pq), sign="mixed") for pq in ((1, 1), (1, 2), (1, 3), (3, 2))),
    Atom(X * _A, sign="mixed"),
)
FIXED = (
    Atom(sp.log(X), sign="positive", outer=(0, 1)),
    Atom(sp.log(X + 1), sign="nonnegative", outer=(0, 1)),
    Atom(sp.sin(X), outer=(0, 1)),
    Atom(sp.cos(X), outer=(0, 1)),
    Atom(sp.exp(-X), outer=(0, 1)),
    Atom(sp.exp(X), outer=(0, 1)),
    Atom(sp.sin(sp.sqrt(X)), sign="nonnegative"),
    Atom(sp.cos(sp.sqrt(X)), sign="nonnegative"),
    Atom(sp.sin(sp.log(X)), sign="positive"),
    Atom(sp.cos(sp.log(X)), sign="positive"),
    Atom(sp.sin(sp.log(X + 1)), sign="nonnegative"),
    Atom(sp.cos(sp.log(X + 1)), sign="nonnegative"),
    Atom(sp.exp(-_A), sign="mixed", outer=(0, 1)),
    Atom(sp.log(_A + 1), sign="mixed", outer=(0, 1)),
    Atom(sp.tanh(X)),
    Atom(sp.atan(X)),
    Atom(sp.exp(-(X**2)), outer=(0, 1)),
)
RATED = (
    Atom(sp.exp(-B * X), (BOTH,), outer=(0, 1, 2)),
    Atom(sp.sin(B * X), (WAVE,), outer=(0, 1)),
    Atom(sp.cos(B * X), (WAVE,), outer=(0, 1)),
    Atom(sp.log(1 + B * X), (RATE,), "nonnegative", outer=(0, 1)),
    Atom(sp.log(1 + B * _A), (RATE,), "mixed"),
    Atom(1 / (1 + B * X), (RATE,), "nonnegative", outer=(0, 2)),
    Atom(1 / (1 + B * X**2), (Grid("rate", 2),), outer=(0, 1, 3)),
    Atom(1 / (1 + B * X**3), (Grid("rate", 3),), "nonnegative", outer=(0, 1, 2)),
    Atom(1 / (1 + B * X**4), (Grid("rate", 4),), outer=(0, 1, 2, 3)),
    Atom(sp.tanh(B * X), (RATE,), outer=(0, 1)),
    Atom(sp.exp(-B * X**2), (Grid("rate", 2),), outer=(0, 1)),
    Atom(sp.exp(-B * _A), (RATE,), "mixed", outer=(0, 1)),
    Atom(sp.sqrt(1 + B * X), (RATE,), "nonnegative"),
    Atom(sp.sqrt(1 + B * X**2), (Grid("rate", 2),)),
    Atom(sp.atan(B * X), (RATE,)),
    Atom(1 / (1 + sp.exp(-B * (X - C))), (STEEP, PLACE), outer=(0, 1)),
    *(Atom(f(B * X + C * X**2), CHIRP) for f in (sp.sin, sp.cos)),
    *(Atom(sp.exp(-B * X) * f(C * X), (RATE, WAVE)) for f in (sp.sin, sp.cos)),
)


def of_one(atoms: Sequence[Atom] = ()) -> tuple[Atom, ...]:
    """Return all atoms of one column, with the powers before them; a user's first."""
    every = (*atoms, *POWERS, *FIXED, *RATED)
    return _once(a.times(k) if k else a for a in every for k in a.outer)


def of_two(atoms: Sequence[Atom] = ()) -> tuple[Atom, ...]:
    """Return those that are multiplied with one of another column; a user's first."""
    table = (a for a in (*POWERS, *FIXED, *RATED) if len(a.grids) < 2)
    return _once((*atoms, *table))


def _once(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Each function once, the first way to try it."""
    found: dict[sp.Expr, Atom] = {}
    for atom in atoms:
        found.setdefault(atom.formula, atom)
    return tuple(found.values())
