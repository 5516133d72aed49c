"""`read_table`: a table from a file, or an error that says what is wrong with the file.

Cells are split by `csv.reader`; three things are done by hand, since `csv.Sniffer` and
`pandas.read_csv` do them less well. The separator: the sniffer takes decimal commas for
it. Rows: pandas drops cells beyond the header without an error, refuses an empty one, and renames
a column that is there twice. Numbers: pandas has no argument that promises the nearest float in all
its versions, and leaves a minus sign of typography as text.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = "\t;,"  # a comma last: between others it may be that of decimals
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-", "?", "#n/a"}
_SAMPLE = 20  # lines from which the separator is guessed


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table: CSV with comma, semicolon or tab, TSV or Parquet; gzip is unpacked.

    Text must be UTF-8. Between semicolons, numbers may have decimal commas. Numbers are read to
    the last bit.

    Args:
        path: the file; its first row names the columns.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the table in it")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
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


def _parquet(content: bytes, path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        import pyarrow  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            f"reading the Parquet file {path} needs pyarrow: pip install pyarrow"
        ) from None
    try:
        return pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} is a damaged Parquet file: {error}") from error


def _csv(text: str, path: Path) -> pd.DataFrame:
    import pandas as pd

    if not text.strip():
        raise ValueError(f"{path} is empty")
    if "\0" in text:
        raise ValueError(f"{path} is not a text file; save the table as CSV in UTF-8")
    separator = _separator(text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    filled = [(rows.line_num, row) for row in rows if any(cell.strip() for cell in row)]
    header = [cell.strip() for cell in filled[0][1]]
    while header and not header[-1]:
        header.pop()  # a separator at the end of every line
    _check_header(header, path)
    for line, row in filled[1:]:
        if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
            raise ValueError(
                f"{path}, line {line} has {len(row)} cells, but the header names {len(header)} "
                "columns"
            )
    if len(filled) == 1:
        raise ValueError(f"{path} has names of columns ({', '.join(header)}), but no rows")
    comma = separator != "," and re.search(r"\d,\d", text) and not re.search(r"\d\.\d", text)
    columns = {}
    for place, name in enumerate(header):
        cells = [row[place].strip() if place < len(row) else "" for _, row in filled[1:]]
        columns[name or f"Unnamed: {place}"] = _values(cells, bool(comma))
    return pd.DataFrame(columns)


def _values(cells: list[str], comma: bool) -> pd.Series:
    """Return cells as booleans, numbers or text, None or nan where one is missing.

    Python reads decimal numbers to the nearest float, which pandas does not in every version.
    """
    import pandas as pd

    filled = [None if cell.casefold() in _MISSING else cell for cell in cells]
    words = {cell.casefold() for cell in filled if cell is not None}
    if words and words <= {"true", "false"}:
        return pd.Series([None if c is None else c.casefold() == "true" for c in filled])
    try:
        return pd.Series([math.nan if c is None else _float(c, comma) for c in filled])
    except ValueError:
        return pd.Series(filled, dtype=object)


def _float(cell: str, comma: bool) -> float:
    if "_" in cell:
        raise ValueError(cell)
    return float(cell.replace("\N{MINUS SIGN}", "-").replace(",", "." if comma else ","))


def _separator(text: str) -> str:
    """Return the separator that splits the first lines into the most, and equally many, cells."""
    lines = [line for line in text.splitlines() if line.strip()][:_SAMPLE]

    def score(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator)]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=score)


def _check_header(header: list[str], path: Path) -> None:
    def is_number(cell: str) -> bool:
        try:
            float(cell.replace(",", "."))
        except ValueError:
            return False
        return True

    if all(is_number(cell) for cell in header if cell):
        raise ValueError(
            f"{path} has no names of columns: its first row is {', '.join(header[:4])}; "
            "put a row of names above it"
        )
    twice = [name for place, name in enumerate(header) if name and name in header[:place]]
    if twice:
        raise ValueError(f"{path} has two columns called {twice[0]!r}; rename one of them")
