"""`read_table`: a table from a file, or an error that says what is wrong with the file.

Cells are split by `csv.reader`; three things are done by hand, since `csv.Sniffer` and
`pandas.read_csv` do them less well. The separator: the sniffer takes decimal commas for
it. Rows: pandas drops cells beyond the header without an error, refuses an empty one, and renames
a column that is there twice. Numbers: pandas has no argument that promises the nearest float in all
its versions, and leaves a minus sign of typography as text.

What may mean two things is an error, or is noted.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from .._core.files import gunzip, read_whole

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = "\t;,"  # a comma last: between others it may be that of decimals
MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?", "#n/a"}
_SAMPLE = 20  # lines from which the separator is guessed
_WIDE = 3  # columns up to which a line of text may well have as many separators as a row
_MOST_CELLS = 10**9  # of a Parquet file, whose few bytes may stand for any number of rows
_THOUSANDS = re.compile(r"[+\-\N{MINUS SIGN}]?[1-9]\d{0,2}(,\d{3})+")
_WHOLE = re.compile(r"[+\-\N{MINUS SIGN}]?\d{16,}")

Rows = list[tuple[int, list[str]]]  # the last line of each, and its cells


NOTES = "rational_anova notes"  # among the `attrs` of a frame


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table: CSV with comma, semicolon or tab, TSV or Parquet; gzip is unpacked.

    Text must be UTF-8. Between semicolons, numbers may have decimal commas. Numbers are read to
    the last bit; whole numbers that no float64 can hold, as those of accounts, are text.

    Args:
        path: the file; its first row names the columns.

    Returns:
        The table; `attrs["rational_anova notes"]` of it are sentences on what might mean something
        else, and how it was taken.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    content = read_whole(path)
    if content[:2] == b"\x1f\x8b":
        try:
            content = gunzip(content)
        except ValueError as error:
            raise ValueError(f"{path} is a damaged gzip file: {error}") from error
    if content[:4] == b"PAR1":
        return _parquet(content, path)
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise ValueError(f"{path} is a spreadsheet or an archive; save the table as CSV")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 (byte {error.start}); save the table as CSV in UTF-8"
        ) from None
    return _csv(text, path)


def demo_table() -> bytes:
    """Return the table of the demonstration as CSV: states of carbon dioxide, in T, V and P."""
    return resources.files(__package__).joinpath("van_der_waals.csv").read_bytes()


def _parquet(content: bytes, path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        from pyarrow import parquet  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            f"reading the Parquet file {path} needs pyarrow: pip install pyarrow"
        ) from None
    try:
        size = parquet.ParquetFile(io.BytesIO(content)).metadata
        if size.num_rows * size.num_columns > _MOST_CELLS:
            raise ValueError(f"it says it has {size.num_rows:,} rows")
        return pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except Exception as error:  # pyarrow raises whatever it meets in a broken file
        raise ValueError(f"{path} is a damaged Parquet file: {error}") from error


def _csv(text: str, path: Path) -> pd.DataFrame:
    import pandas as pd

    if not text.strip():
        raise ValueError(f"{path} is empty")
    if "\0" in text:
        raise ValueError(f"{path} is not a text file; save the table as CSV in UTF-8")
    separator = separator_of(text)
    filled = _rows(text, separator, path)
    header = [cell.strip() for cell in filled[0][1]]
    while header and not header[-1]:
        header.pop()  # a separator at the end of every line
    names = _names(header, path)
    if len(filled) == 1:
        raise ValueError(f"{path} has names of columns ({', '.join(header)}), but no rows")
    _check_line_breaks(filled, separator, len(header), path)
    notes = _check_widths(filled[1:], len(header), path)
    cells = {
        name: [row[place].strip() if place < len(row) else "" for _, row in filled[1:]]
        for place, name in enumerate(names)
    }
    comma = separator != "," and _decimal_commas(cells, separator, path, notes)
    columns = {name: _values(column, comma, name, notes) for name, column in cells.items()}
    frame = pd.DataFrame(columns)
    frame.attrs[NOTES] = notes
    return frame


def _rows(text: str, separator: str, path: Path) -> Rows:
    """Split text into rows that are not empty; a quote that nothing closes is an error."""
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    before = 1
    filled: Rows = []
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                filled.append((rows.line_num, row))
            before = rows.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{path} cannot be split into cells: {error}, in what begins in line {before}; a quote "
            "may be missing there, or be one too many (a quote inside quotes is written twice)"
        ) from error
    return filled


def _check_widths(filled: Rows, width: int, path: Path) -> list[str]:
    """Refuse rows with more cells than the header has; say how many have fewer."""
    for line, row in filled:
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            raise ValueError(
                f"{path}, line {line} has {len(row)} cells, but the header names {width} columns"
            )
    short = [line for line, row in filled if len(row) < width]
    if not short:
        return []
    return [
        f"{len(short)} of {len(filled)} rows have fewer cells than the header, the first in line "
        f"{short[0]}: what is not there counts as missing"
    ]


def _check_line_breaks(filled: Rows, separator: str, width: int, path: Path) -> None:
    """Refuse rows whose quotes look as if they had swallowed other rows: one too many does so.

    Without its quotes, every line of such a row has as many cells as the header. Lines of text may
    have more separators than that, but hardly every one of them in a wide table.
    """

    def whole(one: str) -> bool:
        found = one.count(separator)
        return found == width - 1 or (width > _WIDE and found >= width)

    for line, row in filled:
        if not any("\n" in cell or "\r" in cell for cell in row):
            continue
        plain = [
            cell if "\n" in cell or "\r" in cell else cell.replace(separator, "") for cell in row
        ]
        lines = re.split(r"\r\n|\r|\n", separator.join(plain))
        if all(whole(one) for one in lines if one.strip()):
            raise ValueError(
                f"{path}: the quotes of one row hold lines {line - len(lines) + 1} to {line}, "
                "each of which looks like a row; remove the quotes, or close them in their line"
            )


def _decimal_commas(
    cells: dict[str, list[str]], separator: str, path: Path, notes: list[str]
) -> bool:
    """Return whether commas are those of decimals; where they may be of thousands, ask or say so.

    One cell that can only be read in one way decides for all. Else semicolons decide, which are
    used where decimals have commas.
    """
    if any(re.search(r"\d\.\d", cell) for column in cells.values() for cell in column):
        return False
    found = [c for column in cells.values() if _numbers(column) for c in column if "," in c]
    if not found:
        return False
    if any(cell.count(",") > 1 for cell in found):
        return False
    if any(not _THOUSANDS.fullmatch(cell) for cell in found):
        return True
    shown, decimal, whole = found[0], found[0].replace(",", "."), found[0].replace(",", "")
    if separator == ";":
        notes.append(f"{shown} was read as {decimal}: commas between semicolons are of decimals")
        return True
    raise ValueError(
        f"{path} has {shown!r}, which may be {decimal} or {whole}; write numbers with a point for "
        "decimals and nothing between thousands"
    )


def _numbers(column: list[str]) -> bool:
    """Return whether every cell of a column reads as a number, commas being of numbers."""
    filled = (cell for cell in column if cell.casefold() not in MISSING)
    return all(_is_number(cell.replace("\N{MINUS SIGN}", "-").replace(",", "")) for cell in filled)


def _values(cells: list[str], comma: bool, name: str, notes: list[str]) -> pd.Series:
    """Return cells as booleans, numbers or text, None or nan where one is missing.

    Python reads decimal numbers to the nearest float, which pandas does not in every version.
    """
    import pandas as pd

    filled = [None if cell.casefold() in MISSING else cell for cell in cells]
    words = {cell.casefold() for cell in filled if cell is not None}
    if words and words <= {"true", "false"}:
        return pd.Series([None if c is None else c.casefold() == "true" for c in filled])
    try:
        found = pd.Series([math.nan if c is None else _float(c, comma) for c in filled])
    except ValueError:
        return pd.Series(filled, dtype=object)
    long = [c for c in filled if c is not None and _WHOLE.fullmatch(c) and not _held(c)]
    if not long:
        return found
    notes.append(
        f"{name} was read as text: it has whole numbers such as {long[0][:30]}, which no float64 "
        "can hold; with a decimal point behind them they are numbers, to 16 digits"
    )
    return pd.Series(filled, dtype=object)


def _float(cell: str, comma: bool) -> float:
    if "_" in cell:
        raise ValueError(cell)
    return float(cell.replace("\N{MINUS SIGN}", "-").replace(",", "." if comma else ","))


def _held(cell: str) -> bool:
    """Return whether a float64 holds a whole number to the last digit."""
    number = float(cell.replace("\N{MINUS SIGN}", "-"))
    digits = cell.lstrip("+-\N{MINUS SIGN}").lstrip("0")
    return math.isfinite(number) and f"{abs(number):.0f}" == (digits or "0")


def separator_of(text: str) -> str:
    """Return the separator that splits the first lines into the most, and equally many, cells."""
    lines = list(itertools.islice((x for x in io.StringIO(text) if x.strip()), _SAMPLE))

    def score(separator: str) -> tuple[bool, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=separator)]
        except csv.Error:  # a cell that is too long
            return False, 0
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=score)


def _names(header: Sequence[str], path: Path) -> list[str]:
    """Return a name for each column, no two alike."""
    if all(_is_number(cell) for cell in header if cell):
        raise ValueError(
            f"{path} has no names of columns: its first row is {', '.join(header[:4])}; "
            "put a row of names above it"
        )
    names = [name or f"Unnamed: {place}" for place, name in enumerate(header)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has two columns called {twice[0]!r}; rename one of them")
    return names


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
