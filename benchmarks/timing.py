"""Paired timing: every job between two runs of a base, in changing order; ratios to that base.

On a shared machine seconds drift by tens of percent within a minute. A job and the base runs right
before and after it drift together, so the ratio 2 t / (before + after) stays. Whatever is timed has
just run once untimed: else a small base would pay for what a large job leaves in the caches and on
the heap, and the job would look the better for it. The base is a job too: its own ratio is one but
for noise, and its quartiles show how much noise there was.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

Run = Callable[[], Any]
Row = dict[str, Any]

# A job that has used up its seconds takes no further part, once it has so many samples.
LEAST = 5


def seconds(run: Run) -> float:
    """Return the wall time of one call, right after another one."""
    run()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def interleaved(jobs: Mapping[str, Run], rounds: int, label: str = "") -> dict[str, list[float]]:
    """Return the seconds of each job in each round; every round has an order of its own."""
    for run in jobs.values():
        run()  # first calls load code
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    order = random.Random(0)
    for _ in counted(rounds, label):
        for name in order.sample(list(jobs), len(jobs)):
            taken[name].append(seconds(jobs[name]))
    return taken


def paired(
    jobs: Mapping[str, Run],
    base: str,
    rounds: int,
    label: str = "",
    limit: float = 10.0,
    **columns: Any,
) -> list[Row]:
    """Return one row for each job: median and quartiles of its ratio to the base.

    Args:
        jobs: what to run, the base among them.
        base: name of the base job.
        rounds: samples of each job.
        label: what the progress bar says.
        limit: seconds after which a job stops early, with `LEAST` samples or more.
        columns: further columns of all rows.
    """
    for run in jobs.values():
        run()  # first calls load code
    ratios: dict[str, list[float]] = {name: [] for name in jobs}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    order = random.Random(0)
    for _ in counted(rounds, label):
        for name in order.sample(list(jobs), len(jobs)):
            if sum(times[name]) > limit and len(times[name]) >= LEAST:
                continue
            before, taken, after = (seconds(jobs[each]) for each in (base, name, base))
            ratios[name].append(2 * taken / (before + after))
            times[name].append(taken)
    rows = []
    for name in jobs:
        low, middle, high = quartiles(ratios[name])
        rows.append(
            {
                **columns,
                "job": name,
                "base": base,
                "ratio": middle,
                "low": low,
                "high": high,
                "milliseconds": 1e3 * statistics.median(times[name]),
                "rounds": len(times[name]),
            }
        )
    return rows


def counted(rounds: int, label: str) -> Iterable[int]:
    """Count rounds, with a bar where someone can see it."""
    return track(range(rounds), label, transient=True, disable=not sys.stdout.isatty())


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the quartiles; a single value is all three."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def show(rows: Iterable[Row], title: str, columns: Iterable[str]) -> None:
    """Print some columns of rows as a table."""
    names = list(columns)
    table = Table(*names, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(text(row.get(name)) for name in names))
    Console().print(table)


def text(value: Any) -> str:
    """Return a number with three digits or so, anything else as it is."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if 0.1 <= abs(value) < 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
