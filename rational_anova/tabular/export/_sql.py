"""Models as one expression of SQL, in several dialects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core import checks as check
from ..._core.types import Array
from ..fit import Link
from ._plan import Language, Plan, decision, gap_code, plain


@dataclass(frozen=True)
class Dialect:
    """How a database writes what the standard leaves open.

    Args:
        name: as users say it.
        double: the type of float64.
        least: the function that gives the smaller of two numbers.
        greatest: the larger.
        nan: the test for a NaN of `{x}`, where columns can have one.
        booleans: literals of False and True.
        dates: for each part of a date, an expression of `{x}`, the quoted column.
    """

    name: str
    double: str = "DOUBLE PRECISION"
    least: str = "LEAST"
    greatest: str = "GREATEST"
    nan: str = ""
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    dates: dict[str, str] = field(default_factory=dict)

    def text(self, value: str, quote: str = "'") -> str:
        """Return a text in quotes."""
        if "\0" in value:
            raise ValueError(f"SQL cannot hold the NUL character of {value!r}; rename it")
        return quote + value.replace(quote, 2 * quote) + quote

    def literal(self, value: Any) -> str:
        """Return a level or a class as SQL writes it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool):
            return self.booleans[value]
        return str(value) if isinstance(value, int) else number(value)

    def cast(self, expression: str) -> str:
        """Return an expression as float64."""
        return f"CAST({expression} AS {self.double})"

    def date(self, part: str, column: str, name: str) -> str:
        """Return a part of a date as float64."""
        if part not in self.dates:
            raise ValueError(
                f"the {part} of the date {name!r} cannot be written in the dialect {self.name!r}; "
                "use 'sqlite', 'postgres' or 'duckdb', or give the model numbers made from dates"
            )
        return self.cast(self.dates[part].format(x=column))


def number(value: float) -> str:
    """Return a number with all its digits; with an exponent, which makes it a float64."""
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


_EXTRACT = {
    "day": "EXTRACT(EPOCH FROM CAST({x} AS TIMESTAMP)) / 86400e0",
    "month": "EXTRACT(MONTH FROM CAST({x} AS TIMESTAMP))",
    "weekday": "EXTRACT(ISODOW FROM CAST({x} AS TIMESTAMP)) - 1",
    "hour": "EXTRACT(HOUR FROM CAST({x} AS TIMESTAMP))",
}
DIALECTS = {
    "ansi": Dialect(
        "ansi", dates={part: _EXTRACT[part] for part in ("month", "hour")}
    ),
    "sqlite": Dialect(
        "sqlite", "REAL", "MIN", "MAX", booleans=("0", "1"),
        dates={
            # whole seconds and their fraction apart: julianday() has no more than 1e-5 s
            "day": "(strftime('%s', {x}) + (strftime('%f', {x}) - strftime('%S', {x}))) / 86400e0",
            "month": "strftime('%m', {x})",
            "weekday": "(strftime('%w', {x}) + 6) % 7",
            "hour": "strftime('%H', {x})",
        },
    ),
    "postgres": Dialect(
        "postgres", nan=" OR {x} = 'NaN'::double precision",
        dates={**_EXTRACT, "day": "EXTRACT(EPOCH FROM CAST({x} AS TIMESTAMP))::float8 / 86400e0"},
    ),
    "duckdb": Dialect("duckdb", "DOUBLE", nan=" OR isnan({x})", dates=_EXTRACT),
}  # fmt: skip


CHUNK = 16  # summands side by side; SQLite refuses expressions deeper than 1000
STEEPEST = 700.0  # exponents beyond this overflow


class Sql(Language[str]):
    """Expressions of SQL.

    Args:
        plan: of the model.
        dialect: of the database.
    """

    def __init__(self, plan: Plan, dialect: Dialect) -> None:
        self.plan, self.dialect = plan, dialect
        self._inputs: dict[int, str] = {}

    def number(self, value: float) -> str:
        return number(value)

    def total(self, terms: list[str]) -> str:
        while len(terms) > 1:
            parts = [terms[k : k + CHUNK] for k in range(0, len(terms), CHUNK)]
            terms = [f"({' + '.join(part)})" if len(part) > 1 else part[0] for part in parts]
        return terms[0]

    def product(self, first: str, second: str) -> str:
        return f"({first} * {second})"

    def head(self, axis: int, centre: float, width: float, constant: float, linear: float) -> str:
        u = f"(({self.input(axis)} - {number(centre)}) / {number(width)})"
        top = f"({number(constant)} + {number(linear)} * {u})" if linear else number(constant)
        return f"{top} / (1e0 + {u} * {u})"

    def cases(self, axis: int, gap: float, borders: tuple[float, float] | None, inside: str) -> str:
        x, clip = self.input(axis), self.plan.features[axis].clip
        known = f"WHEN {x} IS NULL{self.dialect.nan.format(x=x)} THEN {number(gap)}"
        if borders is not None and clip is not None:
            known += f" WHEN {x} <= {number(clip[0])} THEN {number(borders[0])}"
            known += f" WHEN {x} >= {number(clip[1])} THEN {number(borders[1])}"
        return f"CASE {known} ELSE {inside} END"

    def levels(self, axis: int, values: Array) -> str:
        feature, x = self.plan.features[axis], self.quoted(axis)
        gap, other = float(values[gap_code(feature)]), float(values[-1])
        cases = [
            f"WHEN {self.dialect.literal(plain(level, feature.name))} THEN {number(float(v))}"
            for level, v in zip(feature.levels, values[:-1], strict=True)
            if v != other
        ]
        if not cases:
            return number(other)
        chosen = f"CASE {x} {' '.join(cases)} ELSE {number(other)} END"
        if gap == other:  # NULL equals no level
            return chosen
        return f"CASE WHEN {x} IS NULL THEN {number(gap)} ELSE {chosen} END"

    def quoted(self, axis: int) -> str:
        """Return the column of an input."""
        return self.dialect.text(self.plan.column(axis), '"')

    def input(self, axis: int) -> str:
        """Return an input as float64."""
        if axis not in self._inputs:
            feature, x = self.plan.features[axis], self.quoted(axis)
            if feature.kind == "date":
                self._inputs[axis] = self.dialect.date(feature.part, x, feature.name)
            else:
                self._inputs[axis] = self.dialect.cast(x)
        return self._inputs[axis]

    def clipped(self, f: str, low: float, high: float) -> str:
        """Return an expression within bounds."""
        f = f if np.isneginf(low) else f"{self.dialect.greatest}({f}, {number(low)})"
        return f if np.isposinf(high) else f"{self.dialect.least}({f}, {number(high)})"

    def mean(self, f: str, link: Link) -> str:
        """Return the target's mean for a decision f."""
        f = self.clipped(f, link.low, link.high)
        if link.name == "log":
            return f"{number(link.smear)} * EXP({f})"
        return f"POWER({f}, 2) + {number(link.smear)}" if link.name == "sqrt" else f


def sql(plan: Plan, dialect: str, output: Any) -> str:
    """Return the prediction, or the probability of a class, as an expression."""
    language = Sql(plan, check.lookup(dialect, DIALECTS, "dialect"))
    if plan.classes is None:
        if output != "prediction":
            raise ValueError(f"output={output!r}: a model of a number has only 'prediction'")
        return language.mean(decision(language, plan, np.ones(1)), plan.link)
    if output == "prediction" and output not in plan.classes:
        return _best(language, plan)
    mine = _decisions(plan)[plan.place(output)]
    # 1/(1 + the sum of exp(f_j - f_k)): each difference is a sum of effects as well
    odds = [
        decision(language, plan, other - mine)
        for other in _decisions(plan)
        if (other != mine).any()
    ]
    ratios = [f"EXP({language.clipped(each, -STEEPEST, STEEPEST)})" for each in odds]
    return f"1e0 / (1e0 + {language.total(ratios)})"


def _decisions(plan: Plan) -> Array:
    """Return the combination of outputs that is each class's decision."""
    return np.array([[0.0], [1.0]]) if len(plan.intercept) == 1 else np.eye(len(plan.intercept))


def _best(language: Sql, plan: Plan) -> str:
    """Return the most probable class: the first that none of the later ones beats."""
    assert plan.classes is not None
    weights = _decisions(plan)
    names = [language.dialect.literal(c) for c in plan.classes]
    cases = []
    for k in range(len(names) - 1):
        wins = [
            f"{decision(language, plan, weights[k] - weights[j])} >= 0e0"
            for j in range(k + 1, len(names))
        ]
        cases.append(f"WHEN {' AND '.join(wins)} THEN {names[k]}")
    return f"CASE {' '.join(cases)} ELSE {names[-1]} END"
