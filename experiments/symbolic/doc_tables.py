"""The table of formulas out of deep networks, for the docs: made of the CSV, nothing else."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from statistics import median

from experiments.discovery.recorded import Cells, Recorded, by
from experiments.results import FOLDER

_METHODS = {"ours": "`LayeredRAN`, `read_network`", "pykan": "pykan, `auto_symbolic`"}
_EXACT = 1e-10


def functions() -> Iterator[Cells]:
    yield ["function", "method", "runs", "exact", "errors, held out", "numbers left",
           "seconds, median"]  # fmt: skip
    for (function, method), rows in by(_recorded(), "function", "method").items():
        errors = ", ".join(_short(float(row["error"])) for row in rows)
        exact = sum(float(row["error"]) <= _EXACT for row in rows)
        numbers = ", ".join(row["numbers"] for row in rows)
        seconds = median(float(row["seconds"]) for row in rows)
        yield [function, _METHODS[method], str(len(rows)), str(exact), errors, numbers,
               f"{seconds:.0f}"]  # fmt: skip


def _short(error: float) -> str:
    return (
        "below 1e-10"
        if error <= _EXACT
        else "no value"
        if error == float("inf")
        else f"{error:.1e}"
    )


def _recorded() -> Recorded:
    path = FOLDER / "symbolic_functions.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {"symbolic_functions": functions}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    head, *rows = TABLES[name]()
    return [head, *(rows or [["not recorded yet", *[""] * (len(head) - 1)]])]
