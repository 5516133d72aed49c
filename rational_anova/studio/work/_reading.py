"""Reading a table in a worker: what is in it, what can be used, and a sensible first choice."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._core.files import write_whole
from .._records import Choice, as_json, from_json
from ._jobs import Job, plain

if TYPE_CHECKING:
    import pandas as pd

    from ...tables import Table

_BINS, _LEVELS, _PREVIEW = 24, 8, 30
_MOST_CELLS = 50_000_000  # a float each is 400 MB
_SHOWN = 200  # columns of which histograms are made; of more, ranges alone
_SAMPLE, _DRAWN = 400, 4  # rows and inputs that are drawn against the target
_LONGEST = 80  # letters of a cell that is shown
_TARGETS = re.compile(r"(y|target|response|outcome|output|result|label|yield|rate)", re.I)


def read(job: Job) -> tuple[str, ...]:
    """Read the table of a job, and keep what is to be shown of it beside it."""
    job.tell("reading the file", part=0.1)
    frame, units, notes = read_source(job)
    job.tell("looking at the columns", part=0.5)
    columns = []
    for place, name in enumerate(frame.columns):
        seen = seen_of(frame[name], place < _SHOWN)
        columns.append({"name": name, "unit": units.get(name, ""), **seen})
        if place % 500 == 499 and job.tell(
            "looking at the columns", part=0.5 + 0.4 * place / len(frame.columns)
        ):
            break
    choice = first_choice(frame, columns, units)
    profile = {
        "rows": len(frame),
        "columns": columns,
        "notes": notes,
        "preview": _preview(frame),
        "choice": as_json(choice),
    }
    assert job.table is not None
    write_whole(job.table / "profile.json", json.dumps(plain(profile)).encode())
    return ()


def read_source(job: Job) -> tuple[pd.DataFrame, dict[str, str], list[str]]:
    """Return the table of a job under bare names of columns, units in headers, and notes."""
    from ...discovery.dimensions import read_headers
    from ...tables import NOTES, read_table

    assert job.source is not None
    if job.source.suffix == ".xlsx":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sheet.csv"
            notes = _from_spreadsheet(job.source, path)
            frame = read_table(path)
    else:
        notes, frame = [], read_table(job.source)
    if frame.size > _MOST_CELLS:
        raise ValueError(
            f"{job.name} has {frame.size:,} cells, more than the {_MOST_CELLS:,} that the studio "
            "takes; drop a part of its rows"
        )
    notes += frame.attrs.get(NOTES, [])
    frame.columns = [str(name) for name in frame.columns]
    headers = read_headers(list(frame.columns))
    frame = frame.rename(columns=dict(headers.bare))
    return frame, dict(headers.units), [*notes, *headers.notes]


def chosen_frame(job: Job, choice: Choice) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows and columns that were chosen of the table of a job, and notes."""
    from ...tables import rows_where, select_columns

    frame, _, notes = read_source(job)
    words = ("target", "inputs", "left out")
    inputs = select_columns(list(frame.columns), choice.target, choice.inputs, (), words)
    frame, fixed = rows_where(frame, choice.where, "filter")
    beside = [name for name in (choice.by, choice.sigma) if name]
    inputs = [name for name in inputs if name not in fixed and name not in beside]
    return frame[[*inputs, choice.target, *beside]], notes


def _from_spreadsheet(source: Path, path: Path) -> list[str]:
    """Write the first sheet that has cells as CSV, which is then read as any other."""
    try:
        import openpyxl  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            "reading spreadsheets needs openpyxl: pip install 'rational-anova[studio]'"
        ) from None
    try:
        book = openpyxl.load_workbook(source, read_only=True, data_only=True)
        out = io.StringIO()
        writer = csv.writer(out)
        used = ""
        for sheet in book.worksheets:
            for row in sheet.iter_rows(values_only=True):
                if any(cell is not None for cell in row):
                    used = sheet.title
                    writer.writerow(["" if cell is None else cell for cell in row])
            if used:
                break
        others = [sheet.title for sheet in book.worksheets if sheet.title != used]
        book.close()
    except Exception as error:  # openpyxl raises whatever it meets in a broken file
        raise ValueError(f"this is a damaged spreadsheet: {error}") from error
    if not used:
        raise ValueError("the spreadsheet is empty")
    write_whole(path, out.getvalue().encode())
    return (
        [f"The sheet {used!r} was read, and {', '.join(map(repr, others))} not."] if others else []
    )


def seen_of(column: pd.Series, whole: bool = True) -> dict[str, Any]:
    """Return what is to be shown of a column: its kind, gaps, range, and how it is spread."""
    import pandas as pd

    missing = int(column.isna().sum())
    present = column.dropna()
    found: dict[str, Any] = {"missing": missing, "unique": _unique(present)}
    if pd.api.types.is_bool_dtype(present):
        return found | {"kind": "boolean", "levels": _levels(present)}
    if pd.api.types.is_numeric_dtype(column) and len(present):
        return found | {"kind": "number", **_spread(present.to_numpy(float), whole)}
    if pd.api.types.is_datetime64_any_dtype(column):
        ends = {"low": str(present.min()), "high": str(present.max())} if len(present) else {}
        return found | {"kind": "date", **ends}
    if not len(present):
        return found | {"kind": "empty"}
    return found | {"kind": "text", "levels": _levels(present)}


def _unique(present: pd.Series) -> int:
    try:
        return int(present.nunique())
    except TypeError:  # cells that are lists
        return len(present)


def _levels(present: pd.Series) -> list[list[Any]]:
    counts = present.astype(str).value_counts().head(_LEVELS)
    return [[_cut(level), int(count)] for level, count in counts.items()]


def _spread(values: Any, whole: bool) -> dict[str, Any]:
    import numpy as np

    finite = values[np.isfinite(values)]
    if not len(finite):
        return {"low": None, "high": None}
    found = {"low": float(finite.min()), "high": float(finite.max()), "mean": float(finite.mean())}
    found["infinite"] = int(len(values) - len(finite))
    if whole and found["high"] - found["low"] < float("inf"):
        counts, edges = np.histogram(finite, bins=min(_BINS, max(len(np.unique(finite)), 1)))
        found |= {"bins": counts.tolist(), "edges": edges.tolist()}
    return found


def _preview(frame: pd.DataFrame) -> list[list[str]]:
    part = frame.iloc[:_PREVIEW, :_PREVIEW]
    return [
        ["" if _gap(cell) else _cut(cell) for cell in row] for row in part.itertuples(index=False)
    ]


def _gap(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and cell != cell)


def _cut(cell: Any) -> str:
    text = f"{cell:.10g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def first_choice(
    frame: pd.DataFrame, columns: Sequence[Mapping[str, Any]], units: Mapping[str, str]
) -> Choice:
    """Return a target and inputs to begin with: a column called so, else the last number."""
    usable = [c["name"] for c in columns if c["kind"] == "number" and c["unique"] > 1]
    if len(usable) < 2:
        return Choice(usable[0] if usable else "", (), dict(units))
    target = next((name for name in usable if _TARGETS.fullmatch(name.strip())), usable[-1])
    inputs = _inputs(frame[usable], target)
    return Choice(target, tuple(inputs), {n: units[n] for n in [*inputs, target] if n in units})


def _inputs(frame: pd.DataFrame, target: str) -> list[str]:
    """Return the inputs that a search would take by itself: no row numbers, constants, copies."""
    from ...tables import prepare

    names = [str(name) for name in frame.columns if name != target]
    if len(names) > _SHOWN:
        return names
    try:
        return list(prepare(frame, target).names.columns)
    except ValueError:  # too few rows without gaps in all columns: the user has to choose
        return names


def left_out(job: Job) -> tuple[str, ...]:
    """Say what a search leaves out of the chosen columns and rows, and why."""
    import numpy as np

    from ...tables import prepare

    choice: Choice = from_json(Choice, job.options["choice"])
    frame, _ = chosen_frame(job, choice)
    table = prepare(
        frame, choice.target, names=list(choice.inputs) or None, sigma=choice.sigma or None,
        by=choice.by or None,
    )  # fmt: skip
    rows = np.arange(len(table.y))
    if len(rows) > _SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, _SAMPLE, replace=False))
    names = table.names.columns[:_DRAWN]
    sample = {name: table.X[rows, place] for place, name in enumerate(names)}
    notes = [*table.notes, *_unit_notes(choice.units, table)]
    job.tell(
        "checked", rows=len(table.y), inputs=list(table.names.columns), notes=notes,
        sample=sample, y=table.y[rows],
    )  # fmt: skip
    return ()


def _unit_notes(units: Mapping[str, str], table: Table) -> list[str]:
    """Say whether a search uses the units, and why not."""
    from ...discovery.dimensions import read_units

    used = [*table.names.columns, table.target]
    known = {name: units[name] for name in used if units.get(name)}
    missing = [name for name in used if name not in known]
    if not known:
        return []
    if missing:
        return [f"Units are shown, and not used in the search: {missing[0]} has none."]
    try:
        read_units(known, table.names.columns, table.target, {})
    except (ValueError, ImportError) as error:
        return [f"The units cannot be used: {error}."]
    return ["The law must be dimensionally consistent."]
