"""Models as one expression of SQL, in several dialects."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core import checks as check
from ..._core.types import Array
from ..fit import Link, likeliest, middle_of
from ._plan import Language, Plan, decision, gap_code, plain, texts


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
        quote: around names. SQLite takes an unknown name in double quotes for a text.
        word: the type of text; where it is given, levels are compared as text, of whatever type
            the column is.
        numeric: a number of `{x}`, a column that may hold something else; cast to float64 if empty.
        binary: a number of `{x}`, a column that may be boolean; `numeric` if empty.
        alias: of the table, before each name, unless another one is given.
        dates: for each part of a date, an expression of `{x}`, the quoted column.
    """

    name: str
    double: str = "DOUBLE PRECISION"
    least: str = "LEAST"
    greatest: str = "GREATEST"
    nan: str = ""
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    quote: str = '"'
    word: str = ""
    numeric: str = ""
    binary: str = ""
    alias: str = ""
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

    def number(self, column: str, binary: bool) -> str:
        """Return a column as float64, where no text passes for a number."""
        form = self.binary if binary else ""
        return (form or self.numeric or self.cast("{x}")).format(x=column)

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
        "ansi", alias="t", dates={part: _EXTRACT[part] for part in ("month", "hour")}
    ),
    "sqlite": Dialect(
        "sqlite", "REAL", "MIN", "MAX", booleans=("0", "1"), quote="`", word="TEXT",
        # CAST makes 0 of a text that is no number: here it ends in the error "integer overflow"
        numeric=(
            "CASE WHEN typeof({x}) IN ('text', 'blob') THEN CASE WHEN trim({x}) = '' THEN NULL "
            "WHEN trim({x}) GLOB '*[0-9]*' AND NOT trim({x}) GLOB '*[^-+.0-9eE]*' "
            "THEN CAST({x} AS REAL) ELSE abs(-9223372036854775807 - (length({x}) > 0)) END "
            "ELSE CAST({x} AS REAL) END"
        ),
        dates={
            # whole seconds and their fraction apart: julianday() has no more than 1e-5 s
            "day": "(strftime('%s', {x}) + (strftime('%f', {x}) - strftime('%S', {x}))) / 86400e0",
            "month": "strftime('%m', {x})",
            "weekday": "(strftime('%w', {x}) + 6) % 7",
            "hour": "strftime('%H', {x})",
        },
    ),
    "postgres": Dialect(
        "postgres", nan=" OR {x} = 'NaN'::double precision", word="TEXT",
        binary=(
            "CASE CAST({x} AS TEXT) WHEN 'true' THEN 1e0 WHEN 'false' THEN 0e0 "
            "ELSE CAST(CAST({x} AS TEXT) AS DOUBLE PRECISION) END"
        ),
        dates={**_EXTRACT, "day": "EXTRACT(EPOCH FROM CAST({x} AS TIMESTAMP))::float8 / 86400e0"},
    ),
    "duckdb": Dialect("duckdb", "DOUBLE", nan=" OR isnan({x})", word="VARCHAR", dates=_EXTRACT),
}  # fmt: skip


CHUNK = 16  # summands side by side; SQLite refuses expressions deeper than 1000
STEEPEST = 700.0  # exponents beyond this overflow


class Sql(Language[str]):
    """Expressions of SQL.

    Args:
        plan: of the model.
        dialect: of the database.
        table: name or alias of the table, to go before each column; empty for none.
    """

    def __init__(self, plan: Plan, dialect: Dialect, table: str = "") -> None:
        self.plan, self.dialect = plan, dialect
        alias = table or dialect.alias
        plain_name = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", alias)
        self._table = alias if plain_name else dialect.text(alias, dialect.quote) if alias else ""
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

    def cases(
        self, axis: int, gap: float, codes: dict[float, float],
        borders: tuple[float, float] | None, inside: str,
    ) -> str:  # fmt: skip
        x, clip = self.input(axis), self.plan.features[axis].clip
        known = f"WHEN {x} IS NULL{self.dialect.nan.format(x=x)} THEN {number(gap)}"
        for code, value in codes.items():
            known += f" WHEN {x} = {number(code)} THEN {number(value)}"
        if borders is not None and clip is not None:
            known += f" WHEN {x} <= {number(clip[0])} THEN {number(borders[0])}"
            known += f" WHEN {x} >= {number(clip[1])} THEN {number(borders[1])}"
        return f"CASE {known} ELSE {inside} END"

    def levels(self, axis: int, values: Array) -> str:
        feature, x = self.plan.features[axis], self.quoted(axis)
        gap, other = float(values[gap_code(feature)]), float(values[-1])
        written = self._spellings(axis)
        cases = [
            f"WHEN {literal} THEN {number(float(v))}"
            for literals, v in zip(written, values[:-1], strict=True)
            for literal in literals
            if v != other
        ]
        if not cases:
            return number(other)
        compared = f"CAST({x} AS {self.dialect.word})" if self.dialect.word else x
        chosen = f"CASE {compared} {' '.join(cases)} ELSE {number(other)} END"
        if gap == other:  # NULL equals no level
            return chosen
        return f"CASE WHEN {x} IS NULL THEN {number(gap)} ELSE {chosen} END"

    def _spellings(self, axis: int) -> list[list[str]]:
        """Return for each level of a category how a column may have it, as literals."""
        feature, dialect = self.plan.features[axis], self.dialect
        levels = [plain(level, feature.name) for level in feature.levels]
        if not dialect.word:
            return [[dialect.literal(level)] for level in levels]
        taken = texts(feature)
        return [
            [dialect.text(s) for s in spellings(level) if taken.setdefault(s, k) == k]
            for k, level in enumerate(levels)
        ]

    def quoted(self, axis: int) -> str:
        """Return the column of an input."""
        name = self.dialect.text(self.plan.column(axis), self.dialect.quote)
        return f"{self._table}.{name}" if self._table else name

    def input(self, axis: int) -> str:
        """Return an input as float64."""
        if axis not in self._inputs:
            feature, x = self.plan.features[axis], self.quoted(axis)
            if feature.kind == "date":
                self._inputs[axis] = self.dialect.date(feature.part, x, feature.name)
            else:
                self._inputs[axis] = self.dialect.number(x, binary=feature.clip == (0.0, 1.0))
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
        if link.name == "logit":
            return f"1e0 / (1e0 + EXP(-({f})))"
        return f"POWER({f}, 2) + {number(link.smear)}" if link.name == "sqrt" else f


def spellings(level: Any) -> list[str]:
    """Return how databases write a level as text: 7 may be 7.0, and True may be true or 1.

    >>> spellings(7), spellings("7"), spellings(True), spellings("a")
    (['7', '7.0'], ['7', '7.0'], ['True', 'true', '1', '1.0'], ['a'])
    """
    text = str(level)
    if isinstance(level, bool):
        return [text, text.lower(), str(int(level)), str(float(level))]
    if re.fullmatch(r"-?\d{1,15}(\.0)?", text):
        whole = text.removesuffix(".0")
        return [text, f"{whole}.0" if text == whole else whole]
    return [text]


def sql(
    plan: Plan, dialect: str, output: Any = "prediction", table: str = "", probability: Any = None
) -> str:
    """Return the prediction, or the probability of a class, as an expression."""
    language = Sql(plan, check.lookup(dialect, DIALECTS, "dialect"), table)
    if probability is not None:
        return _probability(language, plan, probability)
    if plan.names_of_outputs:
        return _one_of(language, plan, output)
    if plan.classes is None:
        if output != "prediction":
            raise ValueError(f"output={output!r}: a model of a number has only 'prediction'")
        return language.mean(decision(language, plan, np.ones(1)), plan.link)
    if isinstance(output, str) and output == "prediction":
        return _best(language, plan)
    return _probability(language, plan, output)


def _one_of(language: Sql, plan: Plan, output: Any) -> str:
    """Return one of several targets, or a quantile that crosses none nearer to the middle."""
    k = plan.place(output)
    each = np.eye(len(plan.intercept))
    if not plan.levels:
        return language.mean(decision(language, plan, each[k]), plan.link)
    middle = middle_of(plan.levels)
    on_the_way = range(middle, k + 1) if k >= middle else range(k, middle + 1)
    found = [language.mean(decision(language, plan, each[j]), plan.link) for j in on_the_way]
    if len(found) == 1:
        return found[0]
    outermost = language.dialect.greatest if k > middle else language.dialect.least
    return f"{outermost}({', '.join(found)})"


def _probability(language: Sql, plan: Plan, output: Any) -> str:
    if plan.cuts:
        return _between(language, plan, plan.place(output))
    mine = _decisions(plan)[plan.place(output)]
    # 1/(1 + the sum of exp(f_j - f_k)): each difference is a sum of effects as well
    odds = [
        decision(language, plan, other - mine)
        for other in _decisions(plan)
        if (other != mine).any()
    ]
    ratios = [f"EXP({language.clipped(each, -STEEPEST, STEEPEST)})" for each in odds]
    return f"1e0 / (1e0 + {language.total(ratios)})"


def _between(language: Sql, plan: Plan, k: int) -> str:
    """Return the probability of an ordered class."""
    f = decision(language, plan, np.ones(1))
    ends = [
        f"1e0 / (1e0 + EXP({language.clipped(f'({f}) - {number(cut)}', -STEEPEST, STEEPEST)}))"
        for cut in plan.cuts[max(k - 1, 0) : k + 1]
    ]
    if k == 0:
        return ends[0]
    return f"1e0 - {ends[0]}" if k == len(plan.cuts) else f"{ends[1]} - {ends[0]}"


def _decisions(plan: Plan) -> Array:
    """Return the combination of outputs that is each class's decision."""
    return np.array([[0.0], [1.0]]) if len(plan.intercept) == 1 else np.eye(len(plan.intercept))


def _best(language: Sql, plan: Plan) -> str:
    """Return the most probable class: the first that none of the later ones beats."""
    assert plan.classes is not None
    names = [language.dialect.literal(c) for c in plan.classes]
    if plan.cuts:  # the most probable one changes at fixed decisions
        f = decision(language, plan, np.ones(1))
        *borders, (_, last) = likeliest(np.array(plan.cuts))
        whens = [f"WHEN ({f}) < {number(end)} THEN {names[k]}" for end, k in borders]
        return f"CASE {' '.join(whens)} ELSE {names[last]} END" if whens else names[last]
    weights = _decisions(plan)
    cases = []
    for k in range(len(names) - 1):
        wins = [
            f"{decision(language, plan, weights[k] - weights[j])} >= 0e0"
            for j in range(k + 1, len(names))
        ]
        cases.append(f"WHEN {' AND '.join(wins)} THEN {names[k]}")
    return f"CASE {' '.join(cases)} ELSE {names[-1]} END"
