"""Which setting of a unit should be the default: a small fixed panel, judged on held-out data.

Constant in q x denominator x start x rate of the units, everything else equal, Adam:

- tables: five tables, 2,000 rows at most, `RAN` with degrees (2, 2) and as many pairs as inputs,
  1,500 steps with batches of 128 at 2e-3; mean square error of the rows held out, in units of their
  variance;
- images: 4,000 images of Fashion-MNIST, `DeepRAN` of two blocks on the pixels with 780 pairs of
  neighbours, four epochs at 2e-3; percent wrong of 2,000 others;
- stack: 50 gated blocks of 16 features on sin(2 x_(i+1)) + x_i/2, 250 steps at three rates; mean
  square error of other rows, over their variance; one where it is more, or not finite.

The test sets are not looked at. Results: experiments/results/panel_defaults.csv, resumable.

python -m experiments.panel [--smoke] [--tasks ...]
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import rational_anova as ra
from experiments import tables_data
from experiments.table import Row
from experiments.table import Table as Results
from experiments.vision.recipe import local

KEY = ("task", "denominator", "constant", "start", "unit_rate", "rate", "seed")
# Denominator, constant, start: the paper's start is alive with softplus alone.
SETTINGS = (
    ("softplus", False, "base"), ("softplus", True, "base"),
    ("softplus", False, "paper"), ("softplus", True, "paper"),
    ("square", False, "base"), ("square", True, "base"),
)  # fmt: skip
UNIT_RATES = (1.0, 10.0)
STACK_RATES = (1e-3, 1e-2, 3e-2)
TASKS = ("stack", *tables_data.TABLES, "fashion_mnist")

Case = dict[str, Any]


def train(
    net: nn.Module, rate: float, unit_rate: float, batches: Any, loss: Any, clip: float | None
) -> bool:
    """Take a step of Adam for each batch; return False if the loss was not finite."""
    rates = dict.fromkeys(("numerator_rate", "denominator_rate", "gate_rate"), unit_rate)
    groups = ra.parameter_groups(net, rate, **rates)
    optimizer = torch.optim.Adam(groups)
    for x, y in batches:
        value = loss(net(x), y)
        if not value.isfinite():
            return False
        optimizer.zero_grad()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
    return True


def shuffled(x: Tensor, y: Tensor, size: int, epochs: int, seed: int) -> Any:
    """Yield batches of rows in random order."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):  # at least as many as are taken
        for rows in torch.randperm(len(x), generator=generator).split(size):
            yield x[rows], y[rows]


def on_table(case: Case, smoke: bool) -> float:
    """Return the error on the rows held out, over their variance."""
    path = tables_data.find_tables()[case["task"]]
    split = tables_data.read_table(case["task"], path, case["seed"])
    (x, y), (u, v) = ((a[:2000].float(), b[:2000].float()) for a, b in split[:2])
    torch.manual_seed(case["seed"])
    net = ra.RAN(x.shape[1], 1, "d", (2, 2), **unit_of(case))
    batches = itertools.islice(shuffled(x, y, 128, 1500, 0), 20 if smoke else 1500)
    done = train(net, 2e-3, case["unit_rate"], batches, functional.mse_loss, None)
    return held_out(net, u, v) if done else 1.0


def unit_of(case: Case) -> dict[str, Any]:
    """Return the arguments that the panel compares."""
    return {
        "denominator": case["denominator"], "constant": case["constant"], "init": case["start"],
    }  # fmt: skip


def held_out(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the error over the variance; 1 if it is more, or not finite."""
    with torch.no_grad():
        error = float(functional.mse_loss(net(x), y) / y.var())
    return min(error, 1.0) if math.isfinite(error) else 1.0


def on_images(case: Case, smoke: bool) -> float:
    """Return the percentage of held-out images that is read wrongly."""
    images = ra.images.load("fashion_mnist")
    count = 200 if smoke else 4000
    x = images.images[: count + 2000].flatten(1).float() / 255
    x = (x - 0.286) / 0.353  # mean and spread of the training images
    y = images.labels[: count + 2000].long()
    torch.manual_seed(case["seed"])
    net = ra.DeepRAN(784, 10, topology=local((1, 28, 28), 780, 3.0), noise=0.1, **unit_of(case))
    batches = shuffled(x[:count], y[:count], 64, 1 if smoke else 4, case["seed"])
    done = train(net, 2e-3, case["unit_rate"], batches, functional.cross_entropy, 1.0)
    if not done:
        return 90.0
    with torch.no_grad():
        found = torch.cat([net(part).argmax(1) for part in x[count:].split(500)])
    return 100 * float((found != y[count:]).double().mean())


def on_stack(case: Case, smoke: bool) -> float:
    """Return the error of 50 gated blocks on other rows."""
    torch.manual_seed(case["seed"])
    depth, features = (3, 4) if smoke else (50, 16)
    x = torch.randn(4608, features)
    y = torch.sin(2 * x.roll(1, -1)) + x / 2
    unit = {"denominator": case["denominator"], "constant": case["constant"]}
    net = nn.Sequential(*(ra.GatedRationalBlock(features, **unit) for _ in range(depth)))
    batches = itertools.islice(shuffled(x[:4096], y[:4096], 128, 100, 0), 3 if smoke else 250)
    done = train(net, case["rate"], case["unit_rate"], batches, functional.mse_loss, None)
    return held_out(net, x[4096:], y[4096:]) if done else 1.0


def cases(tasks: tuple[str, ...], seeds: int) -> list[Case]:
    """Return all runs; a stack has no gates of units, so its start is always the base."""
    result = []
    for seed, task, unit_rate in itertools.product(range(seeds), tasks, UNIT_RATES):
        for denominator, constant, start in SETTINGS:
            if task == "stack" and start != "base":
                continue
            for rate in STACK_RATES if task == "stack" else (2e-3,):
                result.append({
                    "task": task, "denominator": denominator, "constant": constant, "start": start,
                    "unit_rate": unit_rate, "rate": rate, "seed": seed,
                })  # fmt: skip
    return result


def run(case: Case, smoke: bool) -> Row:
    """Run one case."""
    kinds = {"stack": on_stack, "fashion_mnist": on_images}
    began = time.process_time()
    held = kinds.get(case["task"], on_table)(case, smoke)
    return {**case, "held_out": held, "cpu_seconds": time.process_time() - began}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = Results("smoke" if options.smoke else "defaults", KEY, options.smoke, "panel")
    tasks = ("stack",) if options.smoke else tuple(options.tasks)
    for case in cases(tasks, 1 if options.smoke else options.seeds):
        if not results.has(**case):
            results.add(run(case, options.smoke))
            print(*results.rows[-1].values(), flush=True)


if __name__ == "__main__":
    main()
