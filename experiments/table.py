"""Results of many runs as a small CSV: rows are written as they come, a second run goes on."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import joblib
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.files import write_whole
from experiments.results import FOLDER

Row = dict[str, Any]


def text_of(value: Any) -> str:
    """Return how a value stands in the file; floats to four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Table:
    """Rows of a long experiment, in a file `<study>_<name>.csv`.

    Args:
        name: of the experiment.
        key: columns that tell runs apart; a run whose row is there is not repeated.
        fresh: forget what is there.
        study: what the experiment belongs to.
        folder: of the file; `experiments/results` by default.
    """

    def __init__(
        self,
        name: str,
        key: Sequence[str],
        fresh: bool = False,
        study: str = "discovery",
        folder: Path | None = None,
    ) -> None:
        self.path = (folder or FOLDER) / f"{study}_{name}.csv"
        self.key = tuple(key)
        self.rows: list[dict[str, str]] = []
        if self.path.exists() and not fresh:
            with self.path.open(newline="") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key: Any) -> bool:
        """Say whether the row of a run is there."""
        wanted = {name: text_of(key[name]) for name in self.key}
        return any(all(row.get(k) == v for k, v in wanted.items()) for row in self.rows)

    def add(self, row: Row) -> None:
        """Append a row and write the file, whole."""
        self.rows.append({name: text_of(value) for name, value in row.items()})
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        file = io.StringIO()
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        write_whole(self.path, file.getvalue().encode())


def run(table: Table, work: Callable[..., Row], tasks: Iterable[Row], jobs: int) -> None:
    """Do what is not in the table yet, in processes of one thread each, with a bar of progress.

    Args:
        table: of the results.
        work: makes a row; it gets a task's values as keywords.
        tasks: each with at least the table's key columns; a `Problem` counts by its name.
        jobs: how many processes; 1 stays in this one.
    """
    todo = [task for task in tasks if not table.has(**{k: _plain(task[k]) for k in table.key})]
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns) as progress:
        bar = progress.add_task(table.path.stem, total=len(todo))
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
            for row in parallel(joblib.delayed(_alone)(work, task) for task in todo):
                table.add(row)
                progress.advance(bar)


def _alone(work: Callable[..., Row], task: Row) -> Row:
    torch.set_num_threads(1)
    return work(**task)


def _plain(value: Any) -> Any:
    return getattr(value, "name", value)


def arguments(doc: str | None, jobs: int = 2) -> argparse.ArgumentParser:
    """Return a parser with the options that all these experiments share."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    parser.add_argument("--jobs", type=int, default=jobs, help="processes of one thread each")
    return parser


def rate(rows: Iterable[dict[str, str]], column: str) -> str:
    """Return how many rows have True in a column, as '57 of 60'."""
    values = [row[column] == "True" for row in rows]
    return f"{sum(values)} of {len(values)}"
