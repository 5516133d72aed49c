"""Needle in a haystack: does a choice of pairs from data find the one pair that matters?

    OMP_NUM_THREADS=1 python -m experiments.needle     all of it, about half an hour; goes on
                                                       where an interrupted run has stopped
    OMP_NUM_THREADS=1 python -m experiments.needle --smoke                     a quick look

The function is the paper's, f(x) = sum_i sin(x_i) + gamma x_1 x_2 (the inputs x_1 and x_2 are 0
and 1 in code). The paper gives neither gamma nor the distribution; here x ~ N(0, I) and
gamma = 0.5, with which main effects leave gamma^2 = .25 of variance (the paper has .2450).

scale    500 inputs, 10 pairs among 10,000 rows: time and memory of each choice
fit      4 inputs: parameters, test error and time by topology (the paper's table)
select   4 inputs, and 50 with 10 % noise: how often each choice of one pair finds it
figure   docs/figures/needle.png: the interaction while an MLP and a RAN learn it

Network "counts" has the parameters nearest those of the paper's table (40, 48, 52 and 85 for 0,
1, 2 and 6 pairs, which no one size of pair explains): degrees (5, 4), pairs of degrees (2, 1), no
gates, so 10 an input and 8 a pair. Network "default" is RAN(4, degrees=(3, 2)): 7 and 12.

Writes experiments/results/needle.json.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import resource
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn

import rational_anova as ra
from experiments.results import FIGURES, Log
from rational_anova.topology import coupling

GAMMA = 0.5
NEEDLE = [(0, 1)]
METHODS = ("gradient", "residual", "learned", "top-k")
NETWORKS: dict[str, dict[str, Any]] = {
    "counts": {"degrees": (5, 4), "pair_degree": (2, 1), "gate": None},
    "default": {"degrees": (3, 2)},
}
TOPOLOGIES = {  # how to choose the pairs, and how many
    "main effects": ("random", "none"),
    "random 0.5d": ("random", "0.5d"),
    "full pairwise": ("random", "all"),
    "gradient 0.25d": ("gradient", "0.25d"),
    "residual 0.25d": ("residual", "0.25d"),
}
FULL: dict[str, Any] = {
    "seeds": range(20),
    "rows": 1000,
    "steps": 200,
    "networks": NETWORKS,
    "select": [(4, 1000, 0.0), (50, 2000, 0.1), (50, 1000, 0.1)],  # inputs, rows, noise
    "scale": (500, 10_000, 10, 50, range(1)),  # inputs, rows, pairs there, pairs wanted, seeds
    "methods": METHODS,
    "epochs": (1, 10, 50, 500),
}
SMOKE = FULL | {
    "seeds": range(1),
    "rows": 60,
    "steps": 5,
    "networks": {"default": NETWORKS["default"]},
    "select": [(4, 60, 0.1)],
    "scale": (10, 200, 2, 4, range(1)),
    "methods": ("residual",),
    "epochs": (1, 2, 3, 4),
}


def target(x: Tensor, pairs: list[tuple[int, int]] = NEEDLE) -> Tensor:
    i, j = torch.tensor(pairs).T
    return x.sin().sum(-1) + GAMMA * (x[..., i] * x[..., j]).sum(-1)


def sample(
    seed: int, features: int, rows: int, noise: float = 0.0, pairs: list[tuple[int, int]] = NEEDLE
) -> tuple[Tensor, Tensor]:
    """Return X and y, with noise as a share of the standard deviation of f."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, features, generator=generator, dtype=torch.float64)
    y = target(x, pairs)
    errors = torch.randn(rows, generator=generator, dtype=torch.float64)
    return x, (y + noise * y.std() * errors)[:, None]


def fitted(
    network: dict[str, Any], topology: str, seed: int, rows: int, steps: int
) -> dict[str, Any]:
    """Choose pairs, fit by Levenberg-Marquardt, and test on as many new rows."""
    x, y = sample(seed, 4, 2 * rows)
    train = x[:rows], y[:rows]
    model = ra.RAN(4, topology="none", dtype=torch.float64, **network)
    start = time.perf_counter()
    chosen = ra.select_topology(model, train, *TOPOLOGIES[topology], seed=seed)
    selection = time.perf_counter() - start
    model.rewire(chosen)
    start = time.perf_counter()
    history = ra.fit(model, train, optimizer="lm", epochs=steps, seed=seed)
    seconds = time.perf_counter() - start
    with torch.no_grad():
        error = (model(x[rows:]) - y[rows:]).square().mean().item()
    return {
        "pairs": [list(pair) for pair in chosen.pairs],
        "hit": NEEDLE[0] in chosen.pairs,
        "parameters": ra.count_parameters(model),
        "mse": error,
        "training": history.training_loss,
        "steps": history.records[-1].epoch,
        "selection": selection,
        "seconds": seconds,
    }


def select(method: str, features: int, rows: int, noise: float, seed: int) -> dict[str, Any]:
    """Choose one pair."""
    x, y = sample(seed, features, rows, noise)
    start, busy = time.perf_counter(), time.process_time()
    model = ra.RAN(features, topology="none")
    chosen = ra.select_topology(model, (x.float(), y.float()), method, 1, seed=seed)
    return {
        "pairs": [list(pair) for pair in chosen.pairs],
        "hit": NEEDLE[0] in chosen.pairs,
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - busy,
    }


def large(method: str, features: int, rows: int, planted: int, wanted: int, seed: int) -> Any:
    """Choose many pairs, in a process of its own, whose peak of memory is then that of this."""
    torch.set_num_threads(1)
    places = torch.randperm(features, generator=torch.Generator().manual_seed(seed))
    pairs = [tuple(sorted(pair)) for pair in places[: 2 * planted].view(-1, 2).tolist()]
    x, y = (part.float() for part in sample(seed, features, rows, 0.1, pairs))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, busy = time.perf_counter(), time.process_time()
    model = ra.RAN(features, topology="none")
    chosen = ra.select_topology(model, (x, y), method, wanted, seed=seed)
    return {
        "found": len(set(pairs) & set(chosen.pairs)),
        "chosen": chosen.size,
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - busy,
        "gib_before": before / 2**20,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def run(log: Log, plan: dict[str, Any]) -> None:
    """Add all rows that are not there yet; the large ones first, from a small process."""
    *sizes, seeds = plan["scale"]
    for seed in seeds:
        for method in plan["methods"]:
            key = {"part": "scale", "features": sizes[0], "method": method, "seed": seed}
            if not log.has(**key):
                context = multiprocessing.get_context("spawn")
                with ProcessPoolExecutor(1, mp_context=context) as pool:
                    log.add(**key, **pool.submit(large, method, *sizes, seed).result())
    fitted(NETWORKS["default"], "residual 0.25d", 0, 50, 5)  # what is slow only once
    for seed in track(plan["seeds"], "fitting"):
        for network, options in plan["networks"].items():
            for topology in TOPOLOGIES:
                key = {"part": "fit", "network": network, "topology": topology, "seed": seed}
                if not log.has(**key):
                    log.add(**key, **fitted(options, topology, seed, plan["rows"], plan["steps"]))
    for features, rows, noise in plan["select"]:
        for seed in track(plan["seeds"], f"choosing from {features} inputs"):
            for method in plan["methods"]:
                key = {"features": features, "rows": rows, "noise": noise, "seed": seed}
                key = {"part": "select", "method": method} | key
                if not log.has(**key):
                    log.add(**key, **select(method, features, rows, noise, seed))


def stages(model: nn.Module, epochs: tuple[int, ...], data: dict[str, Tensor]) -> Any:
    """Train by Adam; return the interaction at the given epochs, and the test MSE by epoch."""
    surfaces, losses, done = [], [], 0
    for stage, epoch in enumerate(epochs):
        history = ra.fit(
            model, data, optimizer="adam", epochs=epoch - done, batch_size=64, seed=stage
        )
        losses += [(done + record.epoch, record.test) for record in history.records]
        with torch.no_grad():
            surfaces.append(interaction(lambda each: model(each)[..., 0]))
        done = epoch
    return surfaces, losses


def interaction(f: Any) -> Tensor:
    """Return f(a, b) - f(a, 0) - f(0, b) + f(0, 0) on a grid of x_1 and x_2, others zero."""
    axis = torch.linspace(-2, 2, 61)
    x = torch.zeros(61, 61, 4)
    x[..., 0], x[..., 1] = axis, axis[:, None]
    value = f(x)
    return value - value[30] - value[:, 30:31] + value[30, 30]


def learners(x: Tensor, y: Tensor, seed: int) -> dict[str, nn.Module]:
    """Return the networks to draw: dense, and with the pair that `gradient` chooses."""
    torch.manual_seed(seed)
    dense = ra.MLP(4, 1, (64, 64))
    chosen = ra.select_topology(ra.RAN(4), (x, y), "gradient", "0.25d", seed=seed)
    return {"MLP (64, 64)": dense, "RAN, one pair": ra.RAN(4, topology=chosen, degrees=(3, 2))}


def draw(epochs: tuple[int, ...], seed: int = 0) -> plt.Figure:
    """Draw the truth, a dense network and a RAN: interactions by epoch, errors and couplings."""
    (x, test_x), (y, test_y) = (part.float().split(1000) for part in sample(seed, 4, 2000))
    data = {"train_input": x, "train_label": y, "test_input": test_x, "test_label": test_y}
    truth = interaction(target)
    figure = plt.figure(figsize=(15, 8.2), layout="constrained")
    axes = figure.subplots(3, 6)
    for unused in axes[0, [0, 1, 2, 4]]:
        unused.remove()
    curves = figure.add_subplot(axes[0, 0].get_gridspec()[0, :3])
    shown = _surface(axes[0, 3], "truth: 0.5 x₁ x₂", truth)
    matrix = _matrix(axes[0, 5], "truth: coupling", coupling(target, x))
    for row, (name, model) in zip(axes[1:], learners(x, y, seed).items(), strict=True):
        surfaces, losses = stages(model, epochs, data)
        curves.loglog(*zip(*losses, strict=True), label=name)
        for axis, epoch, surface in zip(row, epochs, surfaces, strict=False):
            _surface(axis, f"{name}: epoch {epoch}", surface)
        error = (surfaces[-1] - truth).abs()
        wrong = _surface(row[4], f"|error|, at most {error.max():.3f}", error, "magma", 0, 0.04)
        _matrix(row[5], f"{name}: coupling", coupling(model, x))
    curves.set(xlabel="epoch (16 steps of Adam)", ylabel="test MSE", title="test error, no noise")
    curves.legend()
    curves.grid(alpha=0.3)
    where = {"location": "bottom", "aspect": 30}
    figure.colorbar(shown, ax=axes[2, :4], label="interaction part of f", extend="both", **where)
    figure.colorbar(wrong, ax=axes[2, 4], label="|error|, last epoch", extend="max", **where)
    figure.colorbar(matrix, ax=axes[2, 5], label="mean |∂²f/∂xᵢ∂xⱼ|", extend="max", **where)
    return figure


def _surface(
    axis: Any, title: str, z: Tensor, colours: str = "RdBu_r", low: float = -2, high: float = 2
) -> Any:
    axis.set(title=title, xlabel="x₁", ylabel="x₂", xticks=(-2, 0, 2), yticks=(-2, 0, 2))
    extent = (-2, 2, -2, 2)
    return axis.imshow(z, cmap=colours, vmin=low, vmax=high, origin="lower", extent=extent)


def _matrix(axis: Any, title: str, matrix: Tensor) -> Any:
    axis.set_title(title)
    for i, line in enumerate(matrix.tolist()):
        for j, value in enumerate(line):
            colour = "white" if value > 0.25 else "black"
            axis.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    names = ("x₁", "x₂", "x₃", "x₄")
    axis.set_xticks(range(4), names)
    axis.set_yticks(range(4), names)
    return axis.imshow(matrix, cmap="Blues", vmin=0, vmax=0.5)


def groups(log: Log, part: str, *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the rows of a part, by their values of `names`."""
    result: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in log:
        if row["part"] == part:
            result.setdefault(tuple(row[name] for name in names), []).append(row)
    return result


def middle(rows: list[dict[str, Any]], name: str) -> str:
    return f"{statistics.median(row[name] for row in rows):.3g}"


def hits(rows: list[dict[str, Any]]) -> str:
    return f"{sum(row['hit'] for row in rows)}/{len(rows)}"


def report(log: Log) -> None:
    """Print the tables; times are medians, those of fits as multiples of main effects'."""
    columns = "network topology size mse std median steps time with-choice hits"
    table = Table(*columns.split())
    fits = groups(log, "fit", "network", "topology")
    for (network, topology), rows in fits.items():
        base = {row["seed"]: row["seconds"] for row in fits[network, "main effects"]}
        errors = [row["mse"] for row in rows]
        numbers = [f"{statistics.mean(errors):.3g}", f"{statistics.pstdev(errors):.2g}"]
        numbers += [middle(rows, "mse"), middle(rows, "steps")]
        for parts in (("seconds",), ("seconds", "selection")):
            ratios = [sum(row[name] for name in parts) / base[row["seed"]] for row in rows]
            numbers.append(f"{statistics.median(ratios):.2f}x")
        table.add_row(network, topology, str(rows[0]["parameters"]), *numbers, hits(rows))
    choices = Table("inputs", "rows", "noise", "method", "hits", "seconds", "CPU seconds")
    for key, rows in groups(log, "select", "features", "rows", "noise", "method").items():
        choices.add_row(*map(str, key), hits(rows), middle(rows, "seconds"), middle(rows, "cpu"))
    scale = Table("inputs", "method", "found", "chosen", "seconds", "CPU seconds", "GiB")
    for key, rows in groups(log, "scale", "features", "method").items():
        found = [" ".join(str(row[name]) for row in rows) for name in ("found", "chosen")]
        numbers = [middle(rows, name) for name in ("seconds", "cpu", "gib")]
        scale.add_row(*map(str, key), *found, *numbers)
    Console(width=110).print(table, choices, scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, for a quick look")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    plan = SMOKE if smoke else FULL
    log = Log("needle_smoke" if smoke else "needle", fresh=smoke)
    run(log, plan)
    figure = draw(plan["epochs"])
    if not smoke:
        FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(io.BytesIO() if smoke else FIGURES / "needle.png", dpi=20 if smoke else 110)
    report(log)


if __name__ == "__main__":
    main()
