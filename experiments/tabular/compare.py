"""All tables, all models, the same folds: errors, and seconds of one thread's work.

A fit that takes longer than --limit seconds is given up and recorded as such; EBM has 4
of its 14 bags where 14 would take longer than five minutes. Needs RAN_DATA (--smoke does not).

python -m experiments.tabular.compare [--models ran ebm ...] [--tables ...] [--folds 0 1] [--jobs 2]
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from experiments.table import Row, arguments, run
from experiments.table import Table as Results
from experiments.tabular.peers import PEERS, plain
from experiments.tabular.tables import Table, tables

KEY = ("table", "model", "fold")
PACKAGES = {
    "linear": "scikit-learn", "mlp": "scikit-learn", "lightgbm": "lightgbm", "catboost": "catboost",
    "pygam": "pygam", "ebm": "interpret",
}  # fmt: skip
LIMIT = 900.0


def fitted(model: str, table: Table, train: Any, y: np.ndarray, fold: int) -> tuple[Any, ...]:
    """Return a function from rows to predictions, a remark, and perhaps the seconds that count."""
    if model in PEERS:
        return PEERS[model](train, y, table.task, fold)
    from experiments.tabular.ours import ours

    return ours(model, train, y, table.task, fold)


def work(table: Table, model: str, fold: int, limit: float = LIMIT) -> Row:
    """Fit one model on one fold in a process of its own, so that a limit of time holds."""
    queue: Any = multiprocessing.get_context("fork").Queue()
    process = multiprocessing.get_context("fork").Process(
        target=_measured, args=(queue, table, model, fold)
    )
    process.start()
    row: Row = {"table": table.name, "task": table.task, "model": model, "fold": fold}
    try:
        row |= queue.get(timeout=limit)
    except Exception:
        row |= {"error": "", "note": f"no result in {limit:.0f} s"}
    process.kill()
    process.join()
    return row


def _measured(queue: Any, table: Table, model: str, fold: int) -> None:
    warnings.simplefilter("ignore")
    X, y = table.data
    X = plain(X) if model in PEERS else X
    fit_rows, test_rows = table.split(fold)
    train, test = X.iloc[fit_rows].reset_index(drop=True), X.iloc[test_rows].reset_index(drop=True)
    try:
        start = time.process_time()
        predict, note, *own = fitted(model, table, train, y[fit_rows], fold)
        middle = time.process_time()
        predicted = predict(test)
        seconds = own[0] if own else middle - start, time.process_time() - middle
        scores = {k: f"{v:.7g}" for k, v in table.error(y[test_rows], predicted).items()}
    except Exception as problem:
        queue.put({"error": "", "note": f"{type(problem).__name__}: {problem}"[:120]})
        return
    package = PACKAGES.get(model, "rational-anova")
    queue.put(
        {"metric": table.metric, **scores, "fit_seconds": seconds[0], "predict_seconds": seconds[1],
         "rows": len(train), "columns": X.shape[1], "note": note,
         "version": f"{package} {version(package)}"}
    )  # fmt: skip


def smoke(jobs: int) -> None:
    """Run two models on one made-up table."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(150, 2)), columns=["a", "b"])
    frame["y"] = frame["a"] ** 2 + frame["b"]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.to_csv(path, index=False)
        table = Table("made_up", path, "regression", "y", len(frame))
        tasks = [{"table": table, "model": model, "fold": 0} for model in ("ran", "linear")]
        run(Results("compare_smoke", KEY, fresh=True, study="tabular"), work, tasks, jobs)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=["ran", "ran_deep", *PEERS])
    parser.add_argument("--tables", nargs="+", help="names; all by default")
    parser.add_argument("--folds", type=int, nargs="+", help="which; all by default")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a fit")
    parser.add_argument("--name", default="compare", help="of the file of results")
    options = parser.parse_args()
    if options.smoke:
        smoke(options.jobs)
        return
    every = [t for t in tables() if not options.tables or t.name in options.tables]
    order = sorted({f for t in every for f in range(t.folds)})
    tasks = [
        {"table": table, "model": model, "fold": fold, "limit": options.limit}
        for fold in order
        for model in options.models
        for table in every
        if fold < table.folds and (not options.folds or fold in options.folds)
    ]
    run(Results(options.name, KEY, study="tabular"), work, tasks, options.jobs)


if __name__ == "__main__":
    main()
