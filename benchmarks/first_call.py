"""The first call of a unit on a machine: with an empty cache of kernels, and with a filled one.

python -m benchmarks.first_call [--rounds 3] [--smoke]

Each job runs in an interpreter of its own, forward and backward of 64 units with degrees (3, 2):
`small` has 32 rows, which the library for all forms serves; `large` 4096 rows, for which one is
built for the form as well. Counted are seconds on the clock and of the processor, the compiler's
too, from before the call to behind it. `filled` is what `ran kernels build` leaves. Last, how much
faster the library of the form is: 1023 rows of 64 units (all forms) against 1024 (its own), a row.
Writes benchmarks/results/first_call.csv.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import torch

import rational_anova as ra
from benchmarks import records
from benchmarks.timing import Row, interleaved, quartiles, show
from rational_anova.units import forms_of

COLUMNS = ("job", "cache", "seconds", "low", "high", "processor", "rounds")
CALL = """
import os, sys, time, logging
import torch, rational_anova as ra
torch.set_num_threads(1)
logging.getLogger("rational_anova.kernels").setLevel(logging.ERROR)
unit = ra.Rational1d(64)
x = torch.randn({rows}, 64)
before, start = os.times(), time.perf_counter()
unit(x).sum().backward()
after = os.times()
print(time.perf_counter() - start, sum(after[:4]) - sum(before[:4]))
"""


def first(rows: int, cache: str) -> tuple[float, float]:
    """Return the seconds of the first call, on the clock and of the processor."""
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(rows=rows)], capture_output=True, text=True, check=True,
        env={**os.environ, "RAN_CACHE": cache},
    )  # fmt: skip
    wall, processor = done.stdout.split()
    return float(wall), float(processor)


def calls(rounds: int) -> list[Row]:
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, size in (("small", 32), ("large", 4096)):
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty", "filled"):
                    rows.setdefault((name, state), []).append(first(size, cache))
    return [_row(name, state, found) for (name, state), found in rows.items()]


def _row(name: str, state: str, found: list[tuple[float, float]]) -> Row:
    wall = [seconds for seconds, _ in found]
    low, middle, high = quartiles(wall)
    return {"job": name, "cache": state, "seconds": middle, "low": low,
            "high": high, "processor": statistics.median(cpu for _, cpu in found),
            "rounds": len(found)}  # fmt: skip


def forms(rounds: int) -> list[Row]:
    """Compare a library for all forms with that of one form, by the row."""
    torch.set_num_threads(1)
    made = []
    units = {
        "softplus": ra.Rational1d(64),
        "square": ra.Rational1d(64, denominator="square"),
        "gelu": ra.Rational1d(64, base="gelu"),
    }
    for name, unit in units.items():
        ra.kernels.build(forms_of(unit), [torch.float32])
        inputs = {rows: torch.randn(rows, 64, requires_grad=True) for rows in (1023, 1024)}
        jobs = {str(rows): lambda x=x, unit=unit: unit(x).sum().backward()
                for rows, x in inputs.items()}  # fmt: skip
        taken = interleaved(jobs, rounds)
        ratios = [b / 1024 / (a / 1023) for a, b in zip(taken["1023"], taken["1024"], strict=True)]
        low, middle, high = quartiles(ratios)
        made.append({"job": f"own form / all forms, {name}", "cache": "filled",
                     "seconds": middle, "low": low, "high": high,
                     "processor": "", "rounds": rounds})  # fmt: skip
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    options = parser.parse_args()
    rows = calls(1 if options.smoke else options.rounds)
    rows += forms(5 if options.smoke else 60)
    show(rows, "first calls; of the last rows, ratios", COLUMNS)
    if not options.smoke:
        records.write("first_call", rows)


if __name__ == "__main__":
    main()
