"""What goes wrong with parts and workers of a large table: what the fit then says or gives.

60,000 rows of a number and a category in ten Parquet files. A fault that is taken in must leave no
trace: the predictions are compared, bit by bit, with those of a fit without it. The Dask worker
that makes the third partition the second time kills itself with signal 9; the first task of Spark
raises an error at its first two attempts of each pass.

python -m experiments.many.faults [--smoke]
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rational_anova as ra
from experiments.many.engines import dask, spark
from experiments.table import Row, arguments
from experiments.table import Table as Results

ROWS, PARTS = 60_000, 10
INPUTS = ["a", "c"]


def table(rows: int) -> pd.DataFrame:
    """Return rows of a number, a category and a target."""
    random = np.random.default_rng(3)
    X = pd.DataFrame({"a": random.normal(size=rows), "c": random.choice(list("uvw"), rows)})
    f = np.sin(X.a) + X.c.map({"u": 0.0, "v": 0.5, "w": 1.0})
    return X.assign(y=f + 0.2 * random.normal(size=rows))


def fit(X: Any, **how: Any) -> Any:
    return ra.RANRegressor(pairs=0, refinements=0).fit(X, "y", **how)


def parts(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the rows to ten files; return their paths."""
    paths = [folder / f"part-{n}.parquet" for n in range(PARTS)]
    for path, index in zip(paths, np.array_split(np.arange(len(rows)), PARTS), strict=True):
        rows.iloc[index].to_parquet(path, index=False)
    return paths


def truncated(paths: list[Path]) -> None:
    paths[4].write_bytes(paths[4].read_bytes()[:1000])


def other_type(paths: list[Path]) -> None:
    pd.read_parquet(paths[4]).assign(a="high").to_parquet(paths[4], index=False)


def other_columns(paths: list[Path]) -> None:
    pd.read_parquet(paths[4]).rename(columns={"c": "d"}).to_parquet(paths[4], index=False)


def new_level(paths: list[Path]) -> None:
    last = pd.read_parquet(paths[-1])
    last.loc[last.index[-100:], "c"] = "rare"
    last.loc[last.index[-100:], "y"] += 9
    last.to_parquet(paths[-1], index=False)


def empty(paths: list[Path]) -> None:
    path = paths[4]
    pd.read_parquet(path)[:0].to_parquet(path.with_name("part-4b.parquet"), index=False)


FAULTS: dict[str, Callable[[list[Path]], None]] = {
    "a truncated part": truncated,
    "a column that changes its type": other_type,
    "a part with other columns": other_columns,
    "a level in the last part alone": new_level,
    "an empty part": empty,
}


def of_files(rows: pd.DataFrame) -> Iterator[Row]:
    """Fit folders with something wrong in them."""
    said: Any = None
    for fault, spoil in {"nothing": lambda paths: None, **FAULTS}.items():
        with tempfile.TemporaryDirectory() as name:
            spoil(parts(rows, Path(name)))
            try:
                model = fit(name)
            except ValueError as error:
                text = str(error).replace(name + os.sep, "")
                yield {"fault": fault, "outcome": "refused", "said": text}
                continue
        found = model.predict(rows[INPUTS])
        if said is None:
            said = found
        elif fault == "a level in the last part alone":
            low, high = (
                model.predict(pd.DataFrame({"a": [0.0], "c": [c]}))[0] for c in ("u", "rare")
            )
            yield {"fault": fault, "outcome": "fitted", "said": f"its effect: {high - low:.3g}"}
        else:
            yield {"fault": fault, "outcome": "fitted", "said": same(found, said)}


def same(found: np.ndarray, expected: np.ndarray) -> str:
    """Say whether predictions are the same to the last bit."""
    if (found == expected).all():
        return "the same bits"
    return f"largest difference {np.abs(found - expected).max():.1e}"


def deadly(n: int, rows: pd.DataFrame, marks: Path) -> pd.DataFrame:
    """Return a partition; the process that makes the third one the second time dies."""
    if n == 2:
        seen = len(list(marks.iterdir()))
        (marks / f"{seen}").touch()
        if seen == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    size = len(rows) // PARTS
    return rows[n * size : (n + 1) * size]


def of_dask(rows: pd.DataFrame) -> Iterator[Row]:
    """Kill a worker in the middle of a fit."""
    import dask.dataframe as dd

    expected = fit([rows]).predict(rows[INPUTS])
    with dask(2), tempfile.TemporaryDirectory() as name:
        frame = dd.from_map(deadly, range(PARTS), rows=rows, marks=Path(name), meta=rows[:0])
        found = fit(frame).predict(rows[INPUTS])
        assert len(list(Path(name).iterdir())) > 2, "nobody died"
    yield {"fault": "a Dask worker killed with -9", "outcome": "fitted",
           "said": same(found, expected)}  # fmt: skip


def of_spark(rows: pd.DataFrame) -> Iterator[Row]:
    """Let a task fail twice in each pass."""
    with tempfile.TemporaryDirectory() as name, spark("2,4") as session:
        for folder in ("rows", "marks"):
            Path(name, folder).mkdir()
        marks = Path(name, "marks")
        parts(rows, Path(name, "rows"))
        frame = session.read.parquet(f"{name}/rows")

        def shaky(frames: Any) -> Any:
            from pyspark import TaskContext

            context: Any = TaskContext.get()
            if context.partitionId() == 0 and context.attemptNumber() < 2:
                (marks / f"{context.taskAttemptId()}").touch()
                raise OSError("the disk is gone")
            yield from frames

        expected = fit(frame).predict(rows[INPUTS])
        found = fit(frame.mapInPandas(shaky, frame.schema)).predict(rows[INPUTS])
        assert len(list(marks.iterdir())) > 1, "nothing failed"
    yield {"fault": "a Spark task that fails twice", "outcome": "fitted",
           "said": same(found, expected)}  # fmt: skip


def main() -> None:
    smoke = arguments(__doc__).parse_args().smoke
    results = Results("faults_smoke" if smoke else "faults", ("fault",), fresh=True, study="many")
    rows = table(2_000 if smoke else ROWS)
    for work in (of_files,) if smoke else (of_files, of_dask, of_spark):
        for row in work(rows):
            results.add(row)
            print(results.rows[-1], flush=True)


if __name__ == "__main__":
    main()
