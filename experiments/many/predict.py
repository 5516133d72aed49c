"""How long a million predictions take, beside EBM's: the same rows, by turns.

Both models are fitted to 2,000 rows of 30 columns; each predicts a million rows of a frame three
times, in turn, with one thread and with two. Single precision is ours alone, with its largest error
relative to the standard deviation of the predictions. EBM has one bag and 200 rounds, so that the
fit is short: neither changes what a prediction costs.

python -m experiments.many.predict [--smoke]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from experiments.table import Table as Results
from experiments.table import arguments
from experiments.tabular.scaling import COLUMNS, NOISE, truth

TRAIN, ROWS, ROUNDS = 2_000, 1_000_000, 3


def models(rows: int, options: dict[str, Any]) -> dict[str, Callable[[pd.DataFrame], Any]]:
    """Return what predicts, by name."""
    from interpret.glassbox import ExplainableBoostingRegressor

    import rational_anova as ra

    random = np.random.default_rng(0)
    X = random.normal(size=(rows, COLUMNS))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(COLUMNS)])
    y = truth(X) + NOISE * random.normal(size=rows)
    ours = ra.RANRegressor(**options).fit(frame, y)
    theirs = ExplainableBoostingRegressor(
        random_state=0, n_jobs=1, outer_bags=1, max_rounds=200
    ).fit(frame, y)

    def ran(threads: int, precision: str) -> Callable[[pd.DataFrame], Any]:
        def run(table: pd.DataFrame) -> Any:
            ours.n_jobs = threads
            return ours.predict(table, precision=precision)

        return run

    return {
        "EBM": theirs.predict,
        "RAN, one thread": ran(1, "double"),
        "RAN, two threads": ran(2, "double"),
        "RAN, one thread, single": ran(1, "single"),
        "RAN, two threads, single": ran(2, "single"),
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    train, count, rounds = (300, 2000, 1) if options.smoke else (TRAIN, ROWS, ROUNDS)
    asked = {"refinements": 0, "pairs": 1 if options.smoke else "auto"}
    predict = models(train, asked)
    X = np.random.default_rng(1).normal(size=(count, COLUMNS))
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(COLUMNS)])
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in predict}
    values = {name: np.asarray(run(table[:2000])) for name, run in predict.items()}
    for _ in range(rounds):
        for name, run in predict.items():
            wall, work = time.perf_counter(), time.process_time()
            run(table)
            spent[name].append((time.perf_counter() - wall, time.process_time() - work))
    exact = values["RAN, one thread"]
    name = "predict_smoke" if options.smoke else "predict"
    results = Results(name, ("model",), fresh=True, study="many")
    for who, times in spent.items():
        wall, work = np.median(times, 0)
        error = np.abs(values[who] - exact).max() / exact.std() if who != "EBM" else np.nan
        results.add(
            {"model": who, "rows": count, "seconds": float(wall), "processor_seconds": float(work),
             "least_processor_seconds": float(np.min(times, 0)[1]),
             "most_processor_seconds": float(np.max(times, 0)[1]), "error": float(error)}
        )  # fmt: skip
        print(results.rows[-1], flush=True)


if __name__ == "__main__":
    main()
