"""What a fit costs as rows grow: up to a million rows of 30 columns, main effects and ten pairs.

Each fit runs in a process of its own, with the threads that OMP_NUM_THREADS gives it; the memory is
the most that the process held, the table included. The error is that of the mean, relative to its
standard deviation, on 20,000 other rows.

python -m experiments.tabular.scaling [--rows 1000 ...] [--smoke]
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from typing import Any

import numpy as np

from experiments.table import Row, arguments
from experiments.table import Table as Results

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS, PAIRS, NOISE, TEST = 30, 10, 0.3, 20_000


def truth(X: np.ndarray) -> np.ndarray:
    """Return a sum of 30 curves and ten products."""
    y = np.zeros(len(X))
    for k in range(COLUMNS):
        x = X[:, k]
        y += (np.sin(2 * x), 1 / (1 + 4 * x**2), np.tanh(3 * x), 0.3 * x**2)[k % 4]
    for k in range(PAIRS):
        y += 0.7 * np.tanh(X[:, 2 * k]) * X[:, 2 * k + 1]
    return y


def work(rows: int) -> Row:
    """Measure one fit."""
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    process = context.Process(target=_measured, args=(queue, rows))
    process.start()
    row: Row = queue.get()
    process.join()
    return row


def _measured(queue: Any, rows: int) -> None:
    import rational_anova as ra

    random = np.random.default_rng(0)
    X, other = random.normal(size=(rows, COLUMNS)), random.normal(size=(TEST, COLUMNS))
    y = truth(X) + NOISE * random.normal(size=rows)
    wall, work = time.perf_counter(), time.process_time()
    model = ra.RANRegressor().fit(X, y)
    wall, work = time.perf_counter() - wall, time.process_time() - work
    before = time.process_time()
    miss = model.predict(other) - truth(other)
    predict = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    queue.put(
        {"rows": rows, "columns": COLUMNS, "effects": len(model.model_.axes),
         "error": float(np.sqrt(np.mean(miss**2)) / truth(other).std()), "seconds": wall,
         "processor_seconds": work, "predict_seconds_20000": predict, "peak_gib": memory}
    )  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options = parser.parse_args()
    name, counts = ("scaling_smoke", (200,)) if options.smoke else ("scaling", options.rows)
    table = Results(name, ("rows",), fresh=options.smoke, study="tabular")
    for rows in counts:
        if not table.has(rows=rows):
            table.add(work(rows))
            print(table.rows[-1], flush=True)


if __name__ == "__main__":
    main()
