"""A CSV file too large for memory: read once to see what its columns are, then chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._cells import as_dates, is_iso
from ._files import MISSING, separator_of

if TYPE_CHECKING:
    import pandas as pd

_HEAD = 1 << 16  # bytes from which the separator is guessed


@dataclass(frozen=True)
class CsvPiece:
    """The rows of a CSV file.

    Args:
        name: the path.
        rows: how many there are.
        separator: between cells.
        decimal: point or comma.
        kinds: `number`, `truth`, `date` or `text` for each column.
        chunk: rows at a time.
    """

    name: str
    rows: int
    separator: str
    decimal: str
    kinds: tuple[tuple[str, str], ...]
    chunk: int

    @classmethod
    def of(cls, path: Path, chunk: int) -> CsvPiece:
        """Read a file to the end, and return what its rows are."""
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8-sig", errors="ignore")
        separator = separator_of(head[: head.rfind("\n") + 1])
        found: dict[str, _Kind] = {}
        rows = 0
        for frame in _cells(str(path), separator, chunk):
            rows += len(frame)
            for name in frame.columns:
                found.setdefault(name, _Kind()).add(frame[name])
        if not rows:
            raise ValueError(f"{path} has names of columns ({', '.join(found)}), but no rows")
        comma = separator != "," and not any(kind.points for kind in found.values())
        kinds = tuple((name, kind.of(comma)) for name, kind in found.items())
        return cls(str(path), rows, separator, "," if comma else ".", kinds, chunk)

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows, `chunk` at a time."""
        import pandas as pd

        for frame in _cells(self.name, self.separator, self.chunk):
            yield pd.DataFrame(
                {name: _typed(frame[name], kind, self.decimal) for name, kind in self.kinds}
            )


class _Kind:
    """What the cells of a column can be read as."""

    def __init__(self) -> None:
        self.number = self.truth = self.date = True
        self.points = self.filled = False

    def add(self, cells: pd.Series) -> None:
        import pandas as pd

        filled = cells.dropna()
        if filled.empty:
            return
        self.filled = True
        self.points = self.points or bool(filled.str.contains(r"\d\.\d").any())
        if self.number:
            plain = filled.str.replace(",", ".").str.replace("\N{MINUS SIGN}", "-")
            self.number = bool(pd.to_numeric(plain, errors="coerce").notna().all())
        if self.truth:
            self.truth = bool(filled.str.casefold().isin(("true", "false")).all())
        if self.date and not self.number:
            self.date = is_iso(filled)

    def of(self, comma: bool) -> str:
        if not self.filled or self.number:
            return "number"
        if self.truth:
            return "truth"
        return "date" if self.date else "text"


def _cells(path: str, separator: str, chunk: int) -> Iterator[pd.DataFrame]:
    """Yield the cells as text, None where one is missing."""
    import pandas as pd

    try:
        with pd.read_csv(
            path, sep=separator, dtype=str, keep_default_na=False, na_filter=False,
            chunksize=chunk, encoding="utf-8-sig", skipinitialspace=True, index_col=False,
        ) as frames:  # fmt: skip
            for frame in frames:
                yield frame.apply(_filled)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 ({error.reason}); save the table as CSV in UTF-8"
        ) from None
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} cannot be split into cells: {str(error).strip()}") from error


def _filled(cells: pd.Series) -> pd.Series:
    text = cells.fillna("").astype(object).str.strip()
    return text.where(~text.str.casefold().isin(MISSING), None)


def _typed(cells: pd.Series, kind: str, decimal: str) -> pd.Series:
    import pandas as pd

    if kind == "number":
        text = cells.str.replace("\N{MINUS SIGN}", "-")
        if decimal == ",":
            text = text.str.replace(",", ".")
        return pd.to_numeric(text).astype(float)
    if kind == "truth":
        return cells.map(_truth)
    return as_dates(cells, str(cells.name)) if kind == "date" else cells.astype(object)


def _truth(cell: Any) -> bool | None:
    return None if cell is None else bool(re.fullmatch("true", cell, re.IGNORECASE))
