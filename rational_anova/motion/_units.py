"""Units of states and time: which terms are sound in them, and the units of the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from ..discovery import Parameter
from ..discovery.dimensions import Unsound, parameter_units, read_units
from ._runs import Series
from .search import Term

_RATE = "rate"  # what right-hand sides are called here
_FACTOR = sp.Symbol("factor")
_TRIED = 1.5  # an exponent that is free: any value but a simple one


@dataclass(frozen=True)
class MotionUnits:
    """Units of the columns of time series.

    Attributes:
        columns: unit of each state (velocities too) and input, and of time, by name.
        time: name of time.
    """

    columns: Mapping[str, str]
    time: str

    @classmethod
    def of(cls, units: Mapping[str, str], series: Series, states: Sequence[str]) -> MotionUnits:
        """Read units by column; those of velocities follow from positions and time.

        Args:
            units: of every measured state, every input and time.
            series: the data.
            states: names of all states, velocities after positions.
        """
        measured = [*series.states, *series.inputs, series.time]
        read_units(units, measured[:-1], series.time)  # says what is missing or unknown
        own = {name: units[name] for name in measured}
        pairs = zip(states[len(series.states) :], series.states, strict=False)
        own |= {moving: _quotient(own[name], own[series.time]) for moving, name in pairs}
        return cls(own, series.time)

    def sound(self, terms: Sequence[Term]) -> list[Term]:
        """Terms that are sound with numbers of any units; the unit in a logarithm is a shift."""
        return [term for term in terms if self._is_sound(term)]

    def _is_sound(self, term: Term) -> bool:
        numbers = (_FACTOR, *term.inner)
        try:
            self._numbers(_FACTOR * term.expression, numbers, "1", {s: _TRIED for s in term.inner})
        except Unsound:
            return False
        return True

    def labelled(
        self, right: sp.Expr, parameters: Sequence[Parameter], state: str
    ) -> dict[str, str]:
        """The units of the numbers of a right-hand side, by name; none where it has no sound ones.

        Args:
            right: the right-hand side of a state.
            parameters: its numbers.
            state: name of the state.
        """
        symbols = [p.symbol for p in parameters if right.has(p.symbol)]
        values = {p.symbol: p.value for p in parameters}
        rate = _quotient(self.columns[state], self.columns[self.time])
        try:
            return self._numbers(right, symbols, rate, values)
        except Unsound:
            return {}

    def _numbers(
        self, formula: sp.Expr, numbers: Sequence[sp.Symbol], rate: str,
        values: Mapping[sp.Symbol, float],
    ) -> dict[str, str]:  # fmt: skip
        plain = formula.replace(sp.log, lambda _: sp.Integer(2))
        units = read_units({**self.columns, _RATE: rate}, list(self.columns), _RATE)
        return parameter_units(plain, list(numbers), units, dict(values))


def _quotient(above: str, below: str) -> str:
    simple = below.replace(" ", "").isalpha()
    return f"{above}/{below}" if simple else f"({above})/({below})"
