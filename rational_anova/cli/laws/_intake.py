"""From a file and what is typed to the table that a law is found in or fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._tables import Chosen, choose, read_named
from ._headers import units_of
from ._options import named_number, named_text

if TYPE_CHECKING:
    from ...discovery.dimensions import Headers
    from ...tables import Table


@dataclass(frozen=True)
class Typed:
    """The options on columns and rows, as they were typed; the words are those of the options."""

    path: Path
    target: str
    inputs: list[str] | None = None
    exclude: list[str] | None = None
    where: list[str] | None = None
    constant: list[str] | None = None
    sigma: str | None = None
    x_sigma: list[str] | None = None
    by: str | None = None
    units: list[str] | None = None
    no_units: bool = False
    formula: str | None = None


@dataclass(frozen=True)
class Intake:
    """A table that is ready.

    Attributes:
        table: its numbers.
        units: of its columns and constants, if they are used.
        notes: what is to be said of it.
        headers: how its columns may be typed.
    """

    table: Table
    units: dict[str, str] | None
    notes: tuple[str, ...]
    headers: Headers

    def columns(self, typed: list[str] | None, option: str) -> list[str]:
        """Return the inputs that an option lists."""
        from ..._core.checks import choice

        names = list(self.table.names.columns)
        for name in (wanted := self.headers.names(typed, names)):
            if name in self.table.dropped:
                why = self.table.dropped[name]
                raise ValueError(f"{option} names {name!r}, which is left out: {why}")
            choice(name, names, option)
        return wanted


def read_intake(typed: Typed) -> Intake:
    """Read the table, choose of it, and take what a law can be found from."""
    from ...discovery.dimensions import Headers, read_headers

    frame = read_named(typed.path)
    headers = Headers() if typed.no_units else read_headers(list(frame.columns))
    frame = frame.rename(columns=dict(headers.bare))
    typed = _bare(typed, headers, list(frame.columns))
    chosen = choose(frame, typed.target, typed.inputs, typed.exclude, typed.where)
    table = _prepared(typed, chosen)
    names = [*table.names.columns, table.target, *table.known, *table.dropped]
    pairs = [named_text(text, names, "--units", "T=K") for text in typed.units or []]
    units, said = units_of(table, headers, dict(pairs))
    return Intake(table, units, (*table.notes, *said), headers)


def _bare(typed: Typed, headers: Headers, columns: Sequence[str]) -> Typed:
    """Return what was typed with the names of columns less their units."""
    return replace(
        typed,
        target=headers.name(typed.target),
        inputs=headers.names(typed.inputs, columns),
        exclude=headers.names(typed.exclude, columns),
        where=headers.texts(typed.where),
        sigma=None if typed.sigma is None else headers.name(typed.sigma),
        x_sigma=headers.texts(typed.x_sigma),
        by=None if typed.by is None else headers.name(typed.by),
        units=headers.texts(typed.units),
    )


def _prepared(typed: Typed, chosen: Chosen) -> Table:
    from ..._core.checks import choice
    from ...tables import prepare

    columns = list(chosen.frame.columns)
    others = [name for name in columns if name != typed.target]
    sigma = None if typed.sigma is None else _errors(typed.sigma, others, "--sigma")
    x_sigma: dict[str, Any] = {}
    for text in typed.x_sigma or []:
        name, value = named_text(text, others, "--x-sigma", "T=0.5")
        x_sigma[name] = _errors(value, others, "--x-sigma")
    by = None if typed.by is None else choice(typed.by, others, "--by")
    beside = [given for given in (sigma, by, *x_sigma.values()) if isinstance(given, str)]
    kept = {typed.target, *chosen.inputs, *beside}
    needed = None if typed.formula is None else _columns_of(typed.formula, chosen, beside)
    return prepare(
        chosen.frame[[name for name in columns if name in kept]],
        typed.target,
        names=chosen.inputs if chosen.named else None,
        constants=dict(named_number(c, "--constant", "R=8.314") for c in typed.constant or []),
        sigma=sigma,
        x_sigma=x_sigma or None,
        by=by,
        needed=needed,
    )


def _errors(text: str, columns: Sequence[str], option: str) -> str | float:
    """Return a column by its name, or a number."""
    from ..._core.checks import choice

    if text in columns:
        return text
    try:
        return float(text)
    except ValueError:
        return choice(text, columns, f"{option}, unless it is a number,")


def _columns_of(formula: str, chosen: Chosen, beside: Sequence[str]) -> list[str]:
    """Return the columns that a formula has, by their symbols."""
    from ...symbols import Names, names_in

    used = set(names_in(formula.rpartition("=")[2]))
    symbols = Names(chosen.inputs).symbols
    found = [n for n, s in zip(chosen.inputs, symbols, strict=True) if s.name in used]
    for name in found:
        if name in beside:
            raise ValueError(f"the formula has {name!r}, which is given as an error or a group")
    if not found:
        known = ", ".join(symbol.name for symbol in symbols)
        raise ValueError(f"the formula {formula!r} has none of the columns, which are {known}")
    return found


def listed_options(texts: Sequence[str] | None) -> list[str]:
    """Split what is typed at commas."""
    from ...tables import listed

    return listed(texts, [])
