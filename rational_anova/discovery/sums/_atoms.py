"""The functions of one column that sums are made of: a table, one line a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

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
class Atom:
    """A function of a column x, which may have inner numbers b and c.

    Args:
        formula: in x, b and c.
        grid: which inner numbers are tried: "rate" (b times x of the order of one), "both" (rates
            of either sign), "wave" (frequencies), "place" (a rate b and a place c among the rows).
        sign: "" if x may be any, "positive" if it must be, "mixed" if it makes sense only for
            columns that change their sign, "nonnegative" if zero may be among the rows, "nonzero"
            if it may not.
        outer: powers of x that it is also tried with.
        degree: the power of x beside b.
    """

    formula: sp.Expr
    grid: str = ""
    sign: str = ""
    outer: tuple[int, ...] = (0,)
    degree: int = 1

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
        formula = X**power * self.formula
        return Atom(formula, self.grid, sign if power < 0 else self.sign, degree=self.degree)

    def starts(self, scale: Scale, count: int) -> Array:
        """Return inner numbers to try, (starts, numbers)."""
        if not self.numbers:
            return np.zeros((1, 0))
        if self.grid == "place":
            steep = np.array([3.0, 10.0, 30.0, 100.0]) / scale.span
            return np.array([(b, c) for b in steep for c in scale.places])
        if self.grid == "wave":
            most = min(np.pi * scale.count / 6, 80.0)
            slow, quick = np.geomspace(0.5, 3, count // 4), np.linspace(3.5, most, 2 * count)
            return (np.r_[slow, quick] / scale.span)[:, None]
        rates = np.geomspace(0.05 / scale.large, 8 / scale.small, count)
        if self.grid == "both":
            rates = np.r_[-rates[rates * scale.large < 6][::2], rates]
        return (np.sign(rates) * np.abs(rates) ** self.degree)[:, None]

    def sensible(self, scale: Scale, numbers: Sequence[float]) -> bool:
        """Return whether inner numbers lie where the function is not the limit of another."""
        if not numbers:
            return True
        if self.grid == "place":
            return numbers[0] * scale.span > 0.5 and scale.low <= numbers[1] <= scale.high
        if self.grid == "rate" and numbers[0] <= 0:
            return False
        most = 1e3 / scale.span if self.grid == "wave" else 30 / scale.small
        return 0.05 / scale.large < abs(numbers[0]) ** (1 / self.degree) < most

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
    *(Atom(X**-k, sign="nonzero") for k in (1, 2)),
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
    Atom(sp.sin(sp.log(X + 1)), sign="nonnegative"),
    Atom(sp.cos(sp.log(X + 1)), sign="nonnegative"),
    Atom(sp.exp(-_A), sign="mixed", outer=(0, 1)),
    Atom(sp.log(_A + 1), sign="mixed", outer=(0, 1)),
    Atom(sp.tanh(X)),
    Atom(sp.atan(X)),
    Atom(sp.exp(-(X**2)), outer=(0, 1)),
)
RATED = (
    Atom(sp.exp(-B * X), "both", outer=(0, 1, 2)),
    Atom(sp.sin(B * X), "wave", outer=(0, 1)),
    Atom(sp.cos(B * X), "wave", outer=(0, 1)),
    Atom(sp.log(1 + B * X), "rate", "nonnegative", outer=(0, 1)),
    Atom(sp.log(1 + B * _A), "rate", "mixed"),
    Atom(1 / (1 + B * X), "rate", "nonnegative", outer=(0, 2)),
    Atom(1 / (1 + B * X**2), "rate", outer=(0, 1, 3), degree=2),
    Atom(1 / (1 + B * X**3), "rate", "nonnegative", outer=(0, 1, 2), degree=3),
    Atom(1 / (1 + B * X**4), "rate", outer=(0, 1, 2, 3), degree=4),
    Atom(sp.tanh(B * X), "rate", outer=(0, 1)),
    Atom(sp.exp(-B * X**2), "rate", outer=(0, 1), degree=2),
    Atom(sp.exp(-B * _A), "rate", "mixed", outer=(0, 1)),
    Atom(sp.sqrt(1 + B * X**2), "rate", degree=2),
    Atom(sp.atan(B * X), "rate"),
    Atom(1 / (1 + sp.exp(-B * (X - C))), "place", outer=(0, 1)),
)


def of_one(atoms: Sequence[Atom] = ()) -> tuple[Atom, ...]:
    """Return all atoms of one column, with the powers before them; a user's first."""
    every = (*atoms, *POWERS, *FIXED, *RATED)
    return tuple(dict.fromkeys(a.times(k) if k else a for a in every for k in a.outer))


def of_two(atoms: Sequence[Atom] = ()) -> tuple[Atom, ...]:
    """Return those that are multiplied with one of another column."""
    return tuple(
        dict.fromkeys(
            Atom(a.formula, a.grid, a.sign, degree=a.degree)
            for a in (*atoms, *POWERS, *FIXED, *RATED)
            if a.grid != "place"
        )
    )
