"""A training step of each model at equal parameters: time and memory as multiples of the MLP's.

A step is forward, cross entropy, backward and Adam on a batch of 128 images. Times are paired, all
in one run (see benchmarks.timing). Memory is what autograd keeps of the batch for the backward
pass, parameters not counted (see benchmarks.memory); a process's peak, which is of loading code,
does not show steps as small as these. FLOPs are of a forward pass of one image. No data is needed.

python -m experiments.vision.steps [--rounds 15] [--smoke]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

import rational_anova as ra
from benchmarks import jobs
from benchmarks.memory import MEGABYTE, kept
from benchmarks.timing import paired, show
from experiments.table import Row, Table
from experiments.vision import recipe

BASE, BATCH, INPUTS = "mlp", 128, (-1.0, 3.0)
SIZES = {"grey": (200_000, (1, 28, 28)), "colour": (1_000_000, (3, 32, 32))}
SMOKE, SMOKE_MODELS = {"smoke": (6_000, (1, 6, 6))}, (BASE, "cnn")
COLUMNS = ("model", "parameters", "flops", "ratio", "low", "high", "kept", "kept_ratio")


def built(model: str, size: str) -> nn.Module:
    """Return a network of a recipe at the size of the comparison."""
    budget, shape = (SIZES | SMOKE)[size]
    torch.manual_seed(0)
    return _models()[model].build(budget, shape, INPUTS)


def batch(model: str, size: str) -> torch.Tensor:
    """Return images as a model takes them."""
    x = torch.rand(BATCH, *(SIZES | SMOKE)[size][1]) * 2 - 1
    return x.flatten(1) if _models()[model].flat else x


def _models() -> dict[str, recipe.Buildable]:
    return {**recipe.read("accuracy").models, **recipe.read("convolution").models}


def step(model: str, size: str) -> Callable[[], Any]:
    """Return a training step; the first call makes the optimiser's state."""
    net, x = built(model, size), batch(model, size)
    labels = torch.arange(BATCH) % recipe.CLASSES
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(net(x), labels).backward()
        optimizer.step()

    return run


def measure(size: str, models: Iterable[str], rounds: int) -> list[Row]:
    """Time models at one size, the base first; count their operations and their memory."""
    torch.set_num_threads(1)
    rows = paired({model: step(model, size) for model in models}, BASE, rounds, size, limit=20.0)
    base = 0.0
    for row in rows:
        model = row["model"] = row.pop("job")
        net, x = built(model, size), batch(model, size)
        memory = sum(kept(jobs.Job(net, x, torch.empty(0))).values()) / MEGABYTE
        base = memory if model == BASE else base
        row |= {"size": size, "parameters": recipe.parameters(net),
                "flops": ra.count_flops(net, x[:1]).total,
                "kept": memory, "kept_ratio": memory / base}  # fmt: skip
    show(rows, f"a training step, {size}; multiples of {BASE}'s", COLUMNS)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    table = Table("steps_smoke" if options.smoke else "steps", ("size", "model"), True, "vision")
    for size in SMOKE if options.smoke else SIZES:
        models = SMOKE_MODELS if options.smoke else _models()
        for row in measure(size, models, 1 if options.smoke else options.rounds):
            table.add(row)


if __name__ == "__main__":
    main()
