"""Tables of the experiments with time series, for the docs: made of the CSVs, nothing else."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from statistics import median

from experiments.discovery.recorded import Cells, Recorded, by, count
from experiments.results import FOLDER

_METHODS = {
    "ours": "`discover_dynamics`",
    "weak": "pysindy, weak form",
    "operon": "pyoperon on derivatives",
    "pi": "pysindy, SINDy-PI",
}
_GOOD = 0.9


def rows_of(name: str) -> Recorded:
    """Return the recorded rows of an experiment, none if it has not been run."""
    path = FOLDER / f"motion_{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def odebench() -> Iterator[Cells]:
    yield ["method", "runs", "noise, dB", "systems", "structure right", "run explained",
           "new start explained", "seconds, median"]  # fmt: skip
    for (method, runs, noise), rows in by(
        rows_of("odebench"), "method", "runs", "decibels"
    ).items():
        right, again, new = count(rows, "structure"), _good(rows, "again"), _good(rows, "new")
        yield [_METHODS[method], runs, noise, str(len(rows)), _share(right, rows),
               _share(again, rows), _share(new, rows), _seconds(rows)]  # fmt: skip


def rational() -> Iterator[Cells]:
    yield ["method", "runs", "noise, dB", "systems", "structure right", "run explained",
           "new start explained"]  # fmt: skip
    some = [r for r in (*rows_of("odebench"), *rows_of("rational")) if r["rational"] == "True"]
    for (method, runs, noise), rows in by(some, "method", "runs", "decibels").items():
        yield [_METHODS[method], runs, noise, str(len(rows)), str(count(rows, "structure")),
               str(_good(rows, "again")), str(_good(rows, "new"))]  # fmt: skip


def grades() -> Iterator[Cells]:
    yield ["grade", "systems", "structure right", "new start explained"]
    some = (*rows_of("odebench"), *rows_of("rational"))
    own = [row for row in some if row["method"] == "ours"]
    for (grade,), rows in by(own, "grade").items():
        yield [grade or "failed", str(len(rows)), str(count(rows, "structure")),
               str(_good(rows, "new"))]  # fmt: skip


def cost() -> Iterator[Cells]:
    yield ["states", "searches", "seconds of the processor: median", "longest"]
    own = [row for row in rows_of("odebench") if row["method"] == "ours"]
    for (states,), rows in sorted(by(own, "states").items()):
        seconds = [float(row["seconds"]) for row in rows]
        yield [states, str(len(rows)), f"{median(seconds):.1f}", f"{max(seconds):.0f}"]


def points() -> Iterator[Cells]:
    rows = rows_of("cost")
    sizes = list(dict.fromkeys(row["points"] for row in rows))
    yield ["states", *(f"{size} points" for size in sizes)]
    for (states,), own in by(rows, "states").items():
        cells = {row["points"]: _found(row) for row in own}
        yield [states, *(cells.get(size, "") for size in sizes)]


def _found(row: dict[str, str]) -> str:
    right = "right" if row["structure"] == "True" else "wrong"
    return f"{float(row['seconds']):.1f} s, {right}"


def series() -> Iterator[Cells]:
    yield ["series", "rows", "way", "name", "equations", "numbers", "grade"]
    for row in rows_of("series"):
        found = row.get("found") or row["failure"]
        yield [row["series"], row["rows"], row["way"], row["name"], f"`{found}`",
               row.get("numbers", ""), row.get("grade", "")]  # fmt: skip


def _good(rows: Recorded, column: str) -> int:
    return sum(float(row[column]) > _GOOD for row in rows)


def _share(part: int, rows: Recorded) -> str:
    return f"{part} ({100 * part / len(rows):.0f}%)"


def _seconds(rows: Recorded) -> str:
    return f"{median(float(row['seconds']) for row in rows):.1f}"


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "motion_odebench": odebench,
    "motion_rational": rational,
    "motion_grades": grades,
    "motion_cost": cost,
    "motion_points": points,
    "motion_series": series,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    head, *rows = TABLES[name]()
    return [head, *(rows or [["not recorded yet", *[""] * (len(head) - 1)]])]
