"""Units of columns: from headers such as "T [K]", and from what is typed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._tables import listed

if TYPE_CHECKING:
    from ...tables import Table

_INSTALL = "pip install 'rational-anova[units]'"


@dataclass(frozen=True)
class Headers:
    """What the headers of a table say of its columns.

    Attributes:
        bare: names without their units, by header.
        units: units by bare name.
        notes: why units are not used.
    """

    bare: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def name(self, typed: str) -> str:
        """Return the name of a column that is typed with its unit or without."""
        return self.bare.get(typed, typed)

    def names(self, typed: Sequence[str] | None, columns: Sequence[str]) -> list[str]:
        """Return the names of columns that are typed as a,b."""
        return [self.name(part) for part in listed(typed, [*self.bare, *columns])]

    def texts(self, typed: Sequence[str] | None) -> list[str]:
        """Return conditions and the like, which begin with a column, with its bare name."""
        return [self._text(text) for text in typed or []]

    def _text(self, text: str) -> str:
        for header in sorted(self.bare, key=len, reverse=True):
            if text.startswith(header):
                return self.bare[header] + text[len(header) :]
        return text


def read_headers(columns: Sequence[str]) -> Headers:
    """Read the units in headers; a name that is not its column's alone keeps its unit."""
    from ...discovery.dimensions import units_in_header

    try:
        found = {c: pair for c in columns if (pair := units_in_header(c)) is not None}
    except ImportError:
        note = f"headers may have units; to use these, install pint: {_INSTALL}."
        return Headers(notes=(note,))
    taken = Counter([found[c][0] if c in found else c for c in columns])
    alone = {column: pair for column, pair in found.items() if taken[pair[0]] == 1}
    return Headers({c: name for c, (name, _) in alone.items()}, dict(alone.values()))


def units_of(
    table: Table, headers: Headers, typed: Mapping[str, str]
) -> tuple[dict[str, str] | None, list[str]]:
    """Return the units to use, None if there are none, and what is to be said of them.

    Args:
        table: with the bare names.
        headers: their units are used if every column that is left has one.
        typed: units that the user gave, which must then be complete.
    """
    used = [*table.names.columns, table.target, *table.known]
    for name in typed:
        if name in table.dropped:
            raise ValueError(f"--units names {name!r}, which is left out: {table.dropped[name]}")
    units = {name: headers.units[name] for name in used if name in headers.units} | dict(typed)
    if not units:
        return None, list(headers.notes)
    if not typed:
        reason = _unusable(units, table)
        if reason:
            return None, [f"the units in the headers are not used: {reason}"]
    said = ", ".join(f"{name} in {unit}" for name, unit in units.items())
    return units, [f"units: {said}."]


def _unusable(units: Mapping[str, str], table: Table) -> str:
    """Return why units of headers cannot be used; empty if they can."""
    from ...discovery.dimensions import read_units

    missing = [
        name for name in (*table.names.columns, table.target, *table.known) if name not in units
    ]
    if missing:
        return f"{missing[0]} has none; give it by --units {missing[0]}=..., as 1 if it has none."
    try:
        read_units(units, table.names.columns, table.target, table.known)
    except ValueError as error:
        return f"{error}."
    return ""
