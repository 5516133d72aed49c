"""A training step of each model at equal parameters: time and memory as multiples of the MLP's.

A step is forward, cross entropy, backward and Adam on a batch of 128 images. Times are paired, all
in one run (see benchmarks.timing). Memory is the peak of a fresh process above what it held before
the step, with weights and the optimiser's state already there (see benchmarks.memory). FLOPs are
those of a forward pass of one image. No data is needed.

python -m experiments.vision.steps [--rounds 15] [--smoke]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import rational_anova as ra
from benchmarks.memory import MALLOC, MEGABYTE, forget, high_water
from benchmarks.timing import paired, show
from experiments.table import Row, Table
from experiments.vision import recipe

BASE, BATCH, INPUTS = "mlp", 128, (-1.0, 3.0)
SIZES = {"grey": (200_000, (1, 28, 28)), "colour": (1_000_000, (3, 32, 32))}
SMOKE, SMOKE_MODELS = {"smoke": (6_000, (1, 6, 6))}, (BASE, "cnn")
COLUMNS = ("model", "parameters", "flops", "ratio", "low", "high", "peak", "peak_ratio")


def built(model: str, size: str) -> nn.Module:
    """Return a network of a recipe at the size of the comparison."""
    budget, shape = (SIZES | SMOKE)[size]
    torch.manual_seed(0)
    return _models()[model].build(budget, shape, INPUTS)


def _models() -> dict[str, recipe.Buildable]:
    return {**recipe.read("accuracy").models, **recipe.read("convolution").models}


def step(model: str, size: str) -> Callable[[], Any]:
    """Return a training step; the first call makes the optimiser's state."""
    net = built(model, size)
    x = torch.rand(BATCH, *(SIZES | SMOKE)[size][1]) * 2 - 1
    x = x.flatten(1) if _models()[model].flat else x
    labels = torch.arange(BATCH) % recipe.CLASSES
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(net(x), labels).backward()
        optimizer.step()

    return run


def inside(model: str, size: str) -> float:
    """Measure the peak of one step, in megabytes; for a process of its own."""
    torch.set_num_threads(1)
    run = step(model, size)
    run()
    forget()
    before = high_water()
    run()
    return (high_water() - before) / MEGABYTE


def outside(model: str, size: str) -> float:
    """Measure the peak of one step in a fresh process."""
    command = [sys.executable, "-m", "experiments.vision.steps", "--job", model, size]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **MALLOC}
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure(size: str, models: Iterable[str], rounds: int) -> list[Row]:
    """Time models at one size, the base first, then measure their memory."""
    torch.set_num_threads(1)
    rows = paired({model: step(model, size) for model in models}, BASE, rounds, size, limit=20.0)
    base = 0.0
    for row in rows:
        model = row["model"] = row.pop("job")
        net, images = built(model, size), torch.zeros(1, *(SIZES | SMOKE)[size][1])
        flops = ra.count_flops(net, images.flatten(1) if _models()[model].flat else images)
        peak = outside(model, size)
        base = peak if model == BASE else base
        row |= {"size": size, "parameters": recipe.parameters(net), "flops": flops.total,
                "peak": peak, "peak_ratio": peak / base if base else 1.0}  # fmt: skip
    show(rows, f"a training step, {size}; multiples of {BASE}'s", COLUMNS)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(inside(*options.job)))
        return
    table = Table("steps_smoke" if options.smoke else "steps", ("size", "model"), True, "vision")
    for size in SMOKE if options.smoke else SIZES:
        models = SMOKE_MODELS if options.smoke else _models()
        for row in measure(size, models, 1 if options.smoke else options.rounds):
            table.add(row)


if __name__ == "__main__":
    main()
