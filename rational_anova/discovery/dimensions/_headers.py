"""Headers that have units in them, such as "T [K]": names without them, and the units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...tables import listed
from ._units import units_in_header

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
    try:
        found = {c: pair for c in columns if (pair := units_in_header(c)) is not None}
    except ImportError:
        note = f"headers may have units; to use these, install pint: {_INSTALL}."
        return Headers(notes=(note,))
    taken = Counter([found[c][0] if c in found else c for c in columns])
    alone = {column: pair for column, pair in found.items() if taken[pair[0]] == 1}
    return Headers({c: name for c, (name, _) in alone.items()}, dict(alone.values()))
