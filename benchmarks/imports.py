"""Processor time of imports and of `ran --help`, as multiples of `import torch`, in one run.

python -m benchmarks.imports [--rounds 7] [--smoke]

Each job runs in an interpreter of its own; every round has all jobs, in an order of its own, and
what counts is a job's time over that of `import torch` in the same round. Processor time, since
seconds on the clock depend on what else the machine does. Writes benchmarks/results/imports.csv.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys

from benchmarks import records
from benchmarks.timing import Row, counted, quartiles, show

BASE = "import torch"
COLUMNS = ("job", "ratio", "low", "high", "seconds", "rounds")


def _using(name: str) -> str:
    return f"import rational_anova as ra; ra.{name}"


def _ran(*words: str) -> str:
    return f"""import sys
from rational_anova.cli import app
sys.argv = ["ran", *{words!r}]
try:
    app()
except SystemExit:
    pass"""


JOBS = {
    BASE: BASE,
    "import rational_anova": "import rational_anova",
    "ra.Rational1d": _using("Rational1d"),
    "ra.RAN": _using("RAN"),
    "ra.fit": _using("fit"),
    "ra.certify": _using("certify"),
    "ra.RANRegressor": _using("RANRegressor"),
    "ra.discover": _using("discover"),
    "ran --version": _ran("--version"),
    "ran --help": _ran("--help"),
    "ran fit --help": _ran("fit", "--help"),
}


def seconds(code: str) -> float:
    """Return the processor time of a fresh interpreter that runs some code."""
    told = f"{code}\nimport sys, time\nprint(time.process_time(), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    return float(done.stderr.split()[-1])


def measure(jobs: dict[str, str], rounds: int) -> list[Row]:
    """Measure all jobs in every round and print them."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    order = random.Random(0)
    seconds(BASE)  # the first one reads files from the disk
    for _ in counted(rounds, "imports"):
        for name in order.sample(list(jobs), len(jobs)):
            taken[name].append(seconds(jobs[name]))
    rows = []
    for name in jobs:
        pairs = zip(taken[name], taken[BASE], strict=True)
        low, middle, high = quartiles([own / base for own, base in pairs])
        median = statistics.median(taken[name])
        numbers = {"ratio": middle, "low": low, "high": high, "seconds": median, "rounds": rounds}
        rows.append({"job": name, "base": BASE, **numbers})
    show(rows, f"processor time; multiples of {BASE}", COLUMNS)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    if options.smoke:
        few = (BASE, "import rational_anova", "ran --version")
        measure({name: JOBS[name] for name in few}, 1)
        return
    records.write("imports", measure(JOBS, options.rounds))


if __name__ == "__main__":
    main()
