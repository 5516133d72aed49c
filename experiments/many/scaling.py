"""What a fit to Parquet files costs as rows grow, and the memory it takes.

Each fit reads a folder of files that `data.py` writes, in a process of its own. The seconds of each
pass stand beside the whole: of the clock and of the processors (which other work on the machine
does not change). The memory is the most that the process held. The error is that of the mean,
relative to its standard deviation, on 20,000 other rows.

python -m experiments.many.scaling [--rows 100000 ...] [--folder FOLDER] [--smoke]
"""

from __future__ import annotations

import multiprocessing
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.many import data
from experiments.table import Row, arguments
from experiments.table import Table as Results

ROWS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
PASSES = {"columns": "first pass", "pairs": "pairs, on all rows", "gram": "all rows"}


def work(rows: int, folder: Path, options: dict[str, Any]) -> Row:
    """Measure one fit."""
    size = sum(p.stat().st_size for p in data.write(folder / str(rows), rows).iterdir())
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    process = context.Process(target=_measured, args=(queue, folder / str(rows), options))
    process.start()
    row: Row = {"rows": rows, "columns": data.COLUMNS, "parquet_gb": size / 1e9, **queue.get()}
    process.join()
    return row


def _measured(queue: Any, folder: Path, options: dict[str, Any]) -> None:
    import rational_anova as ra

    marks: list[tuple[str, float, float]] = []

    def mark(progress: Any) -> None:
        stage = getattr(progress, "stage", progress)
        marks.append((stage, time.perf_counter(), time.process_time()))

    mark("first pass")
    model = ra.RANRegressor(**options).fit(str(folder), "y", callbacks=[mark])
    mark("end")
    ends = [*marks[1:], marks[-1]]
    spent = {s: (b - a, d - c) for (s, a, c), (_, b, d) in zip(marks, ends, strict=True)}
    X, f = data.held()
    miss = np.asarray(model.predict(X)) - f
    line = {"effects": len(model.model_.axes), "numerators": model.model_.history[-1][2],
            "error": float(np.sqrt(np.mean(miss**2)) / f.std()),
            "seconds": marks[-1][1] - marks[0][1],
            "processor_seconds": marks[-1][2] - marks[0][2]}  # fmt: skip
    for name, stage in PASSES.items():
        line[f"{name}_processor_seconds"] = spent[stage][1]
    line["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    queue.put(line)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=ROWS)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "ran-many")
    parser.add_argument("--keep", action="store_true", help="keep the files of the last table")
    options = parser.parse_args()
    name, counts = ("scaling_smoke", (60_000,)) if options.smoke else ("scaling", options.rows)
    asked = {"refinements": 0, "pairs": 1} if options.smoke else {}
    table = Results(name, ("rows",), fresh=options.smoke, study="many")
    for rows in map(int, counts):
        if not table.has(rows=rows):
            table.add(work(rows, options.folder, asked))
            print(table.rows[-1], flush=True)
            if not options.keep:
                shutil.rmtree(options.folder / str(rows))


if __name__ == "__main__":
    main()
