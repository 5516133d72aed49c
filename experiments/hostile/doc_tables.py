"""The tables of the guides `files` and `tabular_export`, from what the attacks have recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Rows = Iterator[list[str]]


def fuzz(result: dict[str, Any]) -> Rows:
    yield [
        "kind",
        "mutations",
        "errors of ours",
        "equal",
        "other, and usable",
        "findings",
        "slowest",
    ]
    for row in result["rows"]:
        errors = row["error"] + row["error in use"]
        counts = [row["mutations"], errors, row["equal"], row["usable"], row["findings"]]
        yield [row["kind"], *(f"{count:,}" for count in counts), f"{row['slowest']:.1f} s"]


def kills(result: dict[str, Any]) -> Rows:
    counts = {
        "kills": "kills", "while writing": "while writing", "old": "old files, to the byte",
        "new": "new files, whole", "left over": "left over under a hidden name",
        "resumed to the same bits": "taken up again, to the same bits",
    }  # fmt: skip
    yield ["work", *counts.values()]
    for row in result["rows"]:
        yield [row["work"], *(str(row.get(key, 0)) for key in counts)]


def places(result: dict[str, Any]) -> Rows:
    yield ["place", "work", "done", "ended in a clear error", "anything else"]
    for row in result["rows"]:
        counts = {key: value for key, value in row.items() if key not in ("place", "work")}
        done, error = counts.pop("done", 0), counts.pop("clear error", 0)
        yield [row["place"], row["work"], str(done), str(error), str(sum(counts.values()))]


def exports(result: dict[str, Any]) -> Rows:
    yield ["engine", "rows", "models", "largest difference"]
    for row in result["rows"]:
        largest = f"{row['difference']:.0e}" if row["difference"] else "0"
        yield [row["engine"], f"{row['rows']:,}", str(row["models"]), largest]


def interrupts(result: dict[str, Any]) -> Rows:
    yield ["work", "times", "longest, s", "of the processor, s"]
    for row in result["rows"]:
        yield [
            row["work"], str(row["times"]), f"{row['clock']:.1f}", f"{row['processor']:.2f}",
        ]  # fmt: skip


def limits(result: dict[str, Any]) -> Rows:
    """Seconds by columns, a column for each number of rows; the limit is 5 seconds."""
    found = {(r["columns"], r["rows"]): r["seconds"] for r in result["rows"] if r["limit"] == 5}
    sizes = sorted({rows for _, rows in found})
    yield ["columns", *(f"{rows:,} rows" for rows in sizes)]
    for columns in sorted({columns for columns, _ in found}):
        cells = (found.get((columns, rows)) for rows in sizes)
        yield [f"{columns:,}", *("" if cell is None else f"{cell:.1f} s" for cell in cells)]


TABLES: dict[str, tuple[str, Callable[[dict[str, Any]], Rows]]] = {
    "hostile_fuzz": ("hostile_fuzz", fuzz),
    "hostile_kills": ("hostile_kills", kills),
    "hostile_places": ("hostile_places", places),
    "hostile_interrupts": ("hostile_interrupts", interrupts),
    "hostile_exports": ("hostile_exports", exports),
    "discovery_limits": ("discovery_limits", limits),
}
