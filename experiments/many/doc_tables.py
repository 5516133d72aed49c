"""Tables of large tables for the docs: made of the recorded CSVs, nothing else."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator

import numpy as np

from experiments.discovery.recorded import Cells, Recorded
from experiments.results import FOLDER, read


def rows_of(name: str, study: str = "many") -> Recorded:
    """Return the recorded rows of an experiment, none if it has not been run."""
    path = FOLDER / f"{study}_{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def scaling() -> Iterator[Cells]:
    yield ["rows", "Parquet, GB", "numerators", "processor seconds", "of these first pass",
           "pairs", "Gram matrices and the rest", "seconds", "peak, GiB", "error"]  # fmt: skip
    for row in rows_of("scaling"):
        passes = (row[f"{n}_processor_seconds"] for n in ("columns", "pairs", "gram"))
        yield [f"{int(row['rows']):,}", row["parquet_gb"], row["numerators"],
               row["processor_seconds"], *passes, row["seconds"], row["peak_gib"],
               row["error"]]  # fmt: skip


def slope() -> Iterator[Cells]:
    """The slope of log cost by log rows, over all rows recorded."""
    yield ["cost", "slope"]
    rows = rows_of("scaling")
    if len(rows) < 2:
        return
    counts = np.log([float(row["rows"]) for row in rows])
    for name in ("processor_seconds", "gram_processor_seconds", "seconds"):
        cost = np.log([float(row[name]) for row in rows])
        yield [name.replace("_", " "), f"{np.polyfit(counts, cost, 1)[0]:.2f}"]


def engines() -> Iterator[Cells]:
    yield ["way", "largest difference", "seconds", "efficiency", "processor seconds"]
    rows = rows_of("engines")
    alone = {row["way"]: float(row["seconds"]) for row in rows}
    for row in rows:
        cluster, _, workers = row["way"].partition(": ")
        efficiency = ""
        if workers:
            efficiency = f"{alone[cluster + ': 1'] / int(workers) / float(row['seconds']):.2f}"
        yield [row["way"], row["difference"], row["seconds"], efficiency,
               row["processor_seconds"]]  # fmt: skip


def faults() -> Iterator[Cells]:
    yield ["fault", "the fit", "what it says"]
    for row in rows_of("faults"):
        yield [row["fault"], row["outcome"], row["said"]]


def predict() -> Iterator[Cells]:
    yield ["model", "processor seconds, median", "least to most", "seconds, median",
           "largest error"]  # fmt: skip
    for row in rows_of("predict"):
        ends = f"{row['least_processor_seconds']} to {row['most_processor_seconds']}"
        error = "" if row["error"] == "nan" else row["error"]
        yield [row["model"], row["processor_seconds"], ends, row["seconds"], error]


def memory() -> Iterator[Cells]:
    yield ["", "processor seconds", "seconds", "peak, GiB", "error"]
    both = (("before", rows_of("scaling", "tabular")), ("now", rows_of("memory")))
    for name, rows in both:
        for row in rows:
            if row["rows"] == "1000000":
                yield [name, row["processor_seconds"], row["seconds"], row["peak_gib"],
                       row["error"]]  # fmt: skip


_PLAN = {
    "table_bytes": ("the table in single precision", "bytes"),
    "first_pass_seconds": ("first pass", "time"),
    "pairs": ("pairs", "count"),
    "pairs_seconds": ("screening of all pairs", "time"),
    "pairs_bytes_a_worker": ("tables of cells, for each worker", "bytes"),
    "pairs_reduce_seconds": ("adding them up, in a tree", "time"),
    "numerators": ("numerators", "count"),
    "block_bytes": ("columns of a block", "bytes"),
    "gram_bytes": ("Gram matrix, in each worker", "bytes"),
    "gram_seconds": ("Gram matrices of all rows", "time"),
    "gram_bytes_moved": ("Gram matrices sent, all together", "bytes"),
    "gram_reduce_seconds": ("adding them up, in a tree", "time"),
    "cholesky_seconds": ("a Cholesky factor, on one core", "time"),
    "conjugate_gradients_seconds": ("instead of the Gram matrix: conjugate gradients", "time"),
    "conjugate_gradients_bytes_a_step": ("sent for each of their steps", "bytes"),
}


def plan() -> Iterator[Cells]:
    yield ["1e9 rows, 200 columns, 100 workers of one core", ""]
    found = read("many_plan").get("plan", {})
    for name, (words, kind) in _PLAN.items():
        if name in found:
            yield [words, _amount(found[name], kind)]


def _amount(value: float, kind: str) -> str:
    if kind == "count":
        return f"{value:,.0f}"
    if kind == "time":
        return f"{value / 3600:.1f} h" if value >= 3600 else f"{_short(value)} s"
    return f"{_short(value / 1e9)} GB"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "many_scaling": scaling,
    "many_slope": slope,
    "many_engines": engines,
    "many_faults": faults,
    "many_predict": predict,
    "many_memory": memory,
    "many_plan": plan,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    head, *rows = TABLES[name]()
    return [head, *(rows or [["not recorded yet", *[""] * (len(head) - 1)]])]
