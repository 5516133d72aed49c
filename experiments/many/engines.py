"""The same rows through memory, chunks, threads, processes, Dask and Spark: the same model.

524,288 rows of six columns in four groups of Parquet rows, so four tasks, fitted with three pairs.
Each way runs once with its workers started before the clock. What counts is the largest
difference of the predictions from those in memory, relative to their standard deviation. Seconds
are those of the whole fit, processor seconds those of all processes of a way that live when it ends
(Spark ends some of its own before). Blocks of BLAS have one thread in every worker.

python -m experiments.many.engines [--folder FOLDER] [--smoke]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

import rational_anova as ra
from experiments.many import data
from experiments.table import Table as Results
from experiments.table import arguments

GROUP = 1 << 17  # the fewest rows of a task
ROWS, INPUTS = 4 * GROUP, data.NAMES[:6]
OPTIONS: dict[str, Any] = {"pairs": 3, "refinements": 0}


def write(folder: Path, rows: int) -> Path:
    """Write the table as one file of many groups of rows; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"six-{rows}.parquet"
    data.part(0, rows)[[*INPUTS, "y"]].to_parquet(path, row_group_size=GROUP, index=False)
    return path


@contextmanager
def dask(workers: int) -> Iterator[None]:
    """Start a cluster of processes of one thread each."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(lambda: __import__("rational_anova").RANRegressor)
        yield


@contextmanager
def spark(workers: int | str) -> Iterator[Any]:
    """Start a session of so many local threads; `2,4`: two, and four attempts of a task."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{workers}]").appName("rational-anova")
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


def ways(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each way, and what fits a model that way."""
    frame = pd.read_parquet(path)

    def fit(X: Any, n_jobs: int = 1, **how: Any) -> Any:
        return ra.RANRegressor(n_jobs=n_jobs, **OPTIONS).fit(X, "y", **how)

    yield (
        "memory, one thread",
        lambda: ra.RANRegressor(n_jobs=1, **OPTIONS).fit(frame[INPUTS], frame["y"]),
    )
    yield "chunks of 9,999 rows", lambda: fit(lambda: _chunks(frame, 9_999))
    yield "Parquet, one thread", lambda: fit(path)
    yield "Parquet, two threads", lambda: fit(path, 2)
    yield "Parquet, two processes", lambda: fit(path, 2, engine="processes")
    for count in (1, 2, 4):
        with dask(count):
            yield f"Dask, workers: {count}", lambda: fit(path, 2, engine="dask")
    for count in (1, 2):
        with spark(count):
            yield f"Spark, threads: {count}", lambda: fit(path, 2, engine="spark")


def processor_seconds() -> float:
    """Return what this process and those that it started have used, as far as they live."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(spent.user + spent.system for spent in times)


def _chunks(frame: pd.DataFrame, size: int) -> Iterator[pd.DataFrame]:
    for at in range(0, len(frame), size):
        yield frame.iloc[at : at + size]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ran-many")
    options = parser.parse_args()
    rows = 60_000 if options.smoke else ROWS
    name = "engines_smoke" if options.smoke else "engines"
    results = Results(name, ("way",), fresh=True, study="many")
    X = data.held(5000)[0][INPUTS]
    first = None
    for way, fit in ways(write(options.folder, rows)):
        start, before = time.perf_counter(), processor_seconds()
        model = fit()
        seconds, spent = time.perf_counter() - start, processor_seconds() - before
        said = model.predict(X)
        first = said if first is None else first
        results.add(
            {"way": way, "rows": rows, "seconds": seconds, "processor_seconds": spent,
             "difference": float(np.abs(said - first).max() / first.std())}
        )  # fmt: skip
        print(results.rows[-1], flush=True)


if __name__ == "__main__":
    main()
