"""The tables of docs/results/speed.md, from benchmarks/results/; experiments/tables.py fills it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import records
from benchmarks.slopes import LABELS, slopes
from benchmarks.timing import Row

Rows = Iterator[list[str]]


def machines(rows: list[Row]) -> Rows:
    yield ["result", "processor", "cores", "torch", "kernels", "peers", "date"]
    for row in rows:
        name = f"`{row['benchmark']}.csv`"
        keys = ("cpu", "cores", "torch", "kernels", "peers", "date")
        yield [name, *(str(row[key]) for key in keys)]


def ratios(rows: list[Row], pairs: bool) -> Rows:
    """Lay out ratios to GELU: one line for each job, one column for each shape and threads."""
    rows = [row for row in rows if ("pairs" in row["shape"]) == pairs]
    columns = list(dict.fromkeys((row["shape"], row["threads"]) for row in rows))
    yield ["", *(f"{shape}, {_threads(threads)}" for shape, threads in columns)]
    yield from _lines(rows, columns, ("shape", "threads"))


def memory(rows: list[Row]) -> Rows:
    yield ["", "on", "kept for backward", "of size", "peak", "multiple of GELU's"]
    for row in rows:
        sizes = [f"{row[key]:,.0f} MB" for key in ("kept_size", "peak")]
        kept = f"{row['kept']} tensor{'s' * (row['kept'] != 1)}"
        yield [row["job"], row["shape"], kept, *sizes, f"{row['ratio']:.2f}"]


def networks(rows: list[Row]) -> Rows:
    columns = [(threads,) for threads in dict.fromkeys(row["threads"] for row in rows)]
    yield ["", "trained parameters", "architecture", *(_threads(*column) for column in columns)]
    facts = {row["job"]: [f"{row['parameters']:,}", row["architecture"]] for row in rows}
    for name, *cells in _lines(rows, columns, ("threads",)):
        yield [name, *facts[name], *cells]


def imports(rows: list[Row]) -> Rows:
    yield ["", "multiple of `import torch`", "seconds of processor time"]
    for row in rows:
        middle, low, high = (f"{row[key]:.2f}" for key in ("ratio", "low", "high"))
        yield [f"`{row['job']}`", f"{middle} ({low} to {high})", f"{row['seconds']:.2f}"]


def studio(rows: list[Row]) -> Rows:
    """What the studio takes from the command on, and the weight of its pages."""
    yield ["", "median", "least to most"]
    for row in rows:
        unit = row["unit"]
        yield [row["what"], f"{row['value']:.4g} {unit}", f"{row['low']:.4g} to {row['high']:.4g}"]


def scaling(rows: list[Row]) -> Rows:
    yield ["what grows", "unit", "denominator", "slope", "over", "all sizes", "the rest"]
    for row, line in zip(slopes(rows), _extents(rows), strict=True):
        slope = "-" if row["slope"] is None else f"{row['slope']:.2f}"
        kind = f"`{row['denominator']}`"
        words = [LABELS[row["axis"]], f"`{row['unit']}`", kind, slope, row["sizes"], line]
        yield [*words, row["others"]]


def _extents(rows: list[Row]) -> Iterator[str]:
    found: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = (row["axis"], row["unit"], row["denominator"])
        found.setdefault(key, []).append(row["size"])
    for sizes in found.values():
        yield f"{min(sizes):,} to {max(sizes):,}"


def _lines(rows: list[Row], columns: list[tuple], keys: tuple[str, ...]) -> Rows:
    cells = {(row["job"], *(row[key] for key in keys)): _cell(row) for row in rows}
    for name in dict.fromkeys(row["job"] for row in rows):
        yield [name, *(cells.get((name, *column), "") for column in columns)]


def _cell(row: Row) -> str:
    digits = 2 if row["ratio"] < 100 else 0
    middle, low, high = (f"{row[key]:.{digits}f}" for key in ("ratio", "low", "high"))
    # The base says how long it takes: with that, ratios are times.
    base = f", {row['milliseconds']:.3g} ms" if row["job"] == row["base"] else ""
    return f"{middle} ({low} to {high}){base}"


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


TABLES: dict[str, tuple[str, Callable[[list[Row]], Rows]]] = {
    "bench_machines": ("machines", machines),
    "bench_units": ("units", partial(ratios, pairs=False)),
    "bench_pairs": ("units", partial(ratios, pairs=True)),
    "bench_memory": ("memory", memory),
    "bench_networks": ("networks", networks),
    "bench_scaling": ("scaling", scaling),
    "bench_imports": ("imports", imports),
    "bench_studio": ("studio", studio),
}


def lines(name: str) -> list[list[str]]:
    """Return a table, its head first."""
    source, make = TABLES[name]
    rows = records.read(source)
    return list(make(rows)) if rows else [[source], ["not recorded yet"]]
