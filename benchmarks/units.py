"""Forward + backward of the units as multiples of GELU, measured in turns in one run.

python -m benchmarks.units [--rows 4096] [--features 768] [--rounds 15] [--threads 1]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn

from rational_anova import Rational1d, Rational2d, Topology
from rational_anova.functional import DENOMINATORS


def step(module: nn.Module, x: Tensor, grad: Tensor) -> Callable[[], None]:
    def run() -> None:
        x.grad = None
        module(x).backward(grad)

    return run


def seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ratios(name: str, jobs: dict[str, Callable[[], None]], base: str, rounds: int) -> Table:
    """Run all jobs in changing order, each between two runs of the base, and divide by those."""
    for run in [*jobs.values(), *jobs.values()]:
        run()
    samples: dict[str, list[float]] = {job: [] for job in jobs}
    order = random.Random(0)
    for _ in track(range(rounds), name, transient=True):
        for job in order.sample(list(jobs), len(jobs)):
            before, taken, after = (seconds(jobs[each]) for each in (base, job, base))
            samples[job].append(2 * taken / (before + after))
    table = Table(name, "median", "quartiles", title=f"multiples of {base}, forward + backward")
    for job, values in samples.items():
        low, middle, high = statistics.quantiles(values, n=4)
        table.add_row(job, f"{middle:.2f}", f"{low:.2f} to {high:.2f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, default in (("rows", 4096), ("features", 768), ("rounds", 15), ("threads", 1)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows, features = options.rows, options.features
    console = Console()
    x = torch.randn(rows, features, requires_grad=True)
    grad = torch.randn(rows, features)
    units = {kind: Rational1d(features, denominator=kind, noise=0.1) for kind in DENOMINATORS}
    jobs = {"GELU": step(nn.GELU(), x, grad)}
    jobs |= {f"Rational1d, {kind}": step(unit, x, grad) for kind, unit in units.items()}
    console.print(ratios(f"{rows} x {features}", jobs, "GELU", options.rounds))

    pairs = Topology.random(features, "2d")
    wide = torch.randn(rows, pairs.num_pairs, requires_grad=True)
    grad = torch.randn(rows, pairs.num_pairs)
    jobs = {"GELU": step(nn.GELU(), wide, grad)}
    for kind in DENOMINATORS:
        jobs[f"Rational2d, {kind}"] = step(Rational2d(pairs, 2, kind, noise=0.1), x, grad)
    name = f"{rows} x {pairs.num_pairs} pairs"
    console.print(ratios(name, jobs, "GELU", max(5, options.rounds // 3)))


if __name__ == "__main__":
    main()
