"""What a second process could save of a search, at best: seconds of its stages, one by one.

The stages of a search come one after the other, and it ends with the one that finds the law. A
second process could take the next stage while the first is at work, for nothing if that succeeds.
Seconds of the processor in each stage of the whole table say how long two processes would take
that always have a stage to do, start at once and wait for nobody: the least that is possible.
Symmetries come before all stages and the weighing of the law after them, in one process.

python -m experiments.discovery.overlap [--smoke] [--set kan tune lsr] [--longer 10] [--most 4]
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import rational_anova as ra
from experiments.discovery import kan, lsr
from experiments.discovery.harder import harder
from experiments.discovery.judge import noisy_table
from experiments.discovery.laws import Problem
from experiments.results import FOLDER
from experiments.table import Table, arguments
from rational_anova.discovery import search

Laws = Callable[[], Sequence[Problem]]
SETS: dict[str, tuple[Laws, str]] = {  # laws, and where they are recorded
    "kan": (lambda: kan.EXAMPLES, "kan"),
    "tune": (lambda: harder("tune"), "harder_tune"),
    "lsr": (lambda: lsr.problems("uniform"), "lsr"),
}
_PROCESSES = 2


def timed(problem: Problem, limit: float) -> tuple[float, list[float]]:
    """Return the seconds of a search without noise, and those of its stages."""
    solver: Any = inspect.getmodule(search.solve)
    stages, taken = solver.stages, []

    def watched(table: Any, own: Any, noise: float, depth: int, whole: Any) -> Iterator[Any]:
        for stage in stages(table, own, noise, depth, whole):
            start = time.monotonic()
            try:
                yield stage
            finally:  # the last one is never asked for more
                if depth == 0:
                    taken.append(time.monotonic() - start)

    X, y = noisy_table(problem, 0.0, 0)
    solver.stages = watched
    start = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ra.discover(X, y, names=problem.names, target=problem.target, time_limit=limit)
    finally:
        solver.stages = stages
    return time.monotonic() - start, taken


def together(taken: Sequence[float]) -> float:
    """Return how long the stages take where each begins, in order, in the process that is free."""
    free = [0.0] * _PROCESSES
    for seconds in taken:
        free[free.index(min(free))] += seconds
    return max(free)


def slow(name: str, longer: float) -> list[Problem]:
    """Return the laws of a set that took longer than this when they were recorded."""
    problems, recorded = SETS[name]
    rows = Table(recorded, ("problem",)).rows if FOLDER.exists() else []
    names = {
        row["problem"]
        for row in rows
        if float(row["noise"]) == 0 and float(row["seconds"]) > longer
    }
    return [problem for problem in problems() if problem.name in names]


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--set", nargs="+", choices=SETS, default=["kan"])
    parser.add_argument("--longer", type=float, default=10.0, help="recorded seconds")
    parser.add_argument("--most", type=int, default=100, help="laws of a set")
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    time.monotonic = time.process_time  # of `discover` too: other work does not count
    if options.smoke:
        laws, options.limit = list(kan.EXAMPLES[1:2]), 2.0
    else:
        laws = [law for name in options.set for law in slow(name, options.longer)[: options.most]]
    for law in laws:
        seconds, taken = timed(law, options.limit)
        best = seconds - sum(taken) + together(taken)
        print(
            f"{law.name:28s} seconds {seconds:6.2f}  in stages {sum(taken):6.2f}  longest "
            f"{max(taken, default=0.0):6.2f}  with two processes at best {best:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
