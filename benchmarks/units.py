"""Forward + backward of the units and their peers as multiples of GELU's, in one run.

python -m benchmarks.units [--rounds 25] [--threads 1 2] [--smoke]

Writes benchmarks/results/units.csv. For memory see benchmarks/memory.py.
"""

from __future__ import annotations

import argparse

import torch

from benchmarks import jobs, records
from benchmarks.timing import Row, paired, show

SHAPES = ((4096, 768), (8192, 768), (256, 3072))
PAIRS = (1024, 784, 5000)
COLUMNS = ("job", "ratio", "low", "high", "milliseconds", "rounds")


def measure(
    shapes: tuple[tuple[int, int], ...],
    pairs: tuple[int, int, int],
    threads: int,
    rounds: int,
) -> list[Row]:
    """Measure all shapes on a number of threads and print them."""
    torch.set_num_threads(threads)
    parts = [(f"{r:,} x {n:,}", jobs.elementwise(r, n)) for r, n in shapes]
    rows, features, count = pairs
    parts.append((f"{rows:,} x {count:,} pairs of {features:,}", jobs.pairwise(*pairs)))
    found = []
    for shape, factories in parts:
        made = {name: make() for name, make in factories.items()}
        part = paired(made, jobs.GELU, rounds, shape, shape=shape, threads=threads)
        show(part, f"{shape}, threads: {threads}; multiples of {jobs.GELU}", COLUMNS)
        found += part
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.smoke:
        measure(((64, 96),), (8, 16, 20), 1, 2)
        return
    rows = []
    for threads in options.threads:
        rows += measure(SHAPES, PAIRS, threads, options.rounds)
        records.write("units", rows)


if __name__ == "__main__":
    main()
