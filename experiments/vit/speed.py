"""A training step of each kind of model, in time and in memory, as ratios to GELU in one run.

DeiT-Tiny with two of its twelve layers, four images of 224 x 224: forward, cross entropy, backward,
AdamW. Times are pairs with the GELU model right before and after; memory is what autograd keeps.

python -m experiments.vit.speed [--rounds 9] [--smoke]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

import rational_anova as ra
from benchmarks import jobs, memory
from benchmarks.records import machine
from benchmarks.timing import paired, show
from experiments.results import write
from experiments.vit.deit import recipe
from experiments.vit.models import KINDS, build

COLUMNS = ("job", "parameters", "ratio", "low", "high", "kept_ratio", "milliseconds", "rounds")


def step(model: nn.Module, x: torch.Tensor, labels: torch.Tensor) -> Callable[[], None]:
    """Return a training step."""
    optimizer = torch.optim.AdamW(ra.parameter_groups(model, 1e-5))

    def run() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), labels).backward()
        optimizer.step()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    torch.set_num_threads(1)
    settings = recipe("imagenet")
    settings["model"]["num_hidden_layers"] = 2
    batch, rounds = 4, options.rounds
    if options.smoke:
        settings["model"] |= {"image_size": 8, "patch_size": 4, "hidden_size": 12}
        settings["model"] |= {"intermediate_size": 24, "num_labels": 2}
        settings["kinds"] |= {"groups": 2, "pairs": 3, "plus_hidden": 20}
        rounds = 1
    size = settings["model"]["image_size"]
    torch.manual_seed(0)
    x = torch.randn(batch, 3, size, size)
    labels = torch.randint(settings["model"]["num_labels"], (batch,))
    models = {kind: build(kind, settings["model"], settings["kinds"], 0) for kind in KINDS}
    steps = {kind: step(model, x, labels) for kind, model in models.items()}
    rows = paired(steps, "gelu", rounds)
    for row in rows:
        model = models[row["job"]]
        saved = memory.kept(jobs.Job(model, x, torch.empty(0)))
        row |= {"parameters": ra.count_parameters(model), "kept": sum(saved.values())}
    for row in rows:
        row["kept_ratio"] = row["kept"] / rows[0]["kept"]
    show(rows, "a training step; multiples of GELU's", COLUMNS)
    if not options.smoke:
        facts = {k: v for k, v in machine("vit_speed").items() if k in ("cpu", "kernels", "date")}
        write("vit_speed", {"rows": rows, "machine": facts})


if __name__ == "__main__":
    main()
