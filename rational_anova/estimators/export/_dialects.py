"""Dialects of SQL: types, names, literals, dates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
