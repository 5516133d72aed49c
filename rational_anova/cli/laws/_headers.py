"""Units of columns: from headers such as "T [K]", and from what is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...discovery.dimensions import Headers
    from ...tables import Table


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
