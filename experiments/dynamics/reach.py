"""One update at x_u, and how far it moves the model elsewhere (the paper's learning dynamics).

An MLP, a KAN and RANs of about 205 trained parameters learn sin(pi x0) + x1^2 + x0 x2 on
[-1, 1]^4 (x3 says nothing), by `lm` in float64. Then, at the start and after training, one step of
SGD at a point is taken, the target off by one, at the rate that moves the output there by 0.01 to
first order.
What the step really moves at other points, relative to the update's own point, is recorded against
the distance; and how much of it falls on points that share no coordinate within 0.5 with it.

python -m experiments.dynamics.reach [--smoke]
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

import rational_anova as ra
from experiments.results import FIGURES, Log
from rational_anova import dynamics

INPUTS = 4
EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
SHIFT = 0.01
APART = 0.5


def truth(x: Tensor) -> Tensor:
    """Return the function."""
    return (torch.pi * x[:, :1]).sin() + x[:, 1:2] ** 2 + x[:, :1] * x[:, 2:3]


def models(seed: int) -> dict[str, nn.Module]:
    """Return networks of about the same number of parameters."""
    torch.manual_seed(seed)
    found: dict[str, nn.Module] = {
        "MLP": ra.MLP(INPUTS, 1, hidden=(34,)).double(),
        "KAN": ra.KAN(INPUTS, 1, hidden=(4,)).double(),
    }
    known = ra.Topology.of([(0, 2)], features=INPUTS)
    for name, topology, degrees, heads in (
        ("RAN, all pairs", "all", (5, 2), 2),
        ("RAN, one pair", known, (3, 2), 6),
        ("RAN, no pairs", "none", (2, 2), 10),
    ):
        found[name] = ra.RAN(
            INPUTS, 1, topology, degrees, heads=heads, denominator="sos", noise=0.1,
            dtype=torch.float64,
        )  # fmt: skip
    return found


def shifts(model: nn.Module, points: Tensor, others: Tensor) -> Tensor:
    """Return |change at x_o| / |change at x_u| by a step at each point, (points, others)."""
    rows = []
    for x in points.split(1):
        with torch.no_grad():
            y = model(x) + 1
        size = dynamics.ntk(model, x, x, split=False).total.item()
        step = dynamics.influence(model, x, y, torch.cat([x, others]), SHIFT / (2 * size), "mse")
        moved = step.true[:, 0].abs()
        rows.append(moved[1:] / moved[0])
    return torch.stack(rows)


def summary(relative: Tensor, points: Tensor, others: Tensor) -> dict[str, Any]:
    """Return means by distance, and on points that are apart from the update in every input."""
    distance = torch.cdist(points, others)
    means = []
    for low, high in itertools.pairwise(EDGES):
        chosen = (distance >= low) & (distance < high)
        means.append(float(relative[chosen].mean()) if chosen.any() else None)
    apart = ((points[:, None] - others).abs() > APART).all(-1)
    return {"by_distance": means, "apart": float(relative[apart].mean()),
            "largest": float(relative.max())}  # fmt: skip


def study(log: Log, seeds: int, epochs: int, points: int, others: int) -> dict[str, nn.Module]:
    kept = {}
    for seed in range(seeds):
        draw = torch.Generator().manual_seed(seed)
        X, x_u, x_o = (
            2 * torch.rand(n, INPUTS, generator=draw, dtype=torch.float64) - 1
            for n in (400, points, others)
        )
        for name, model in models(seed).items():
            for stage in ("start", "trained"):
                if stage == "trained":
                    ra.fit(model, (X, truth(X)), optimizer="lm", epochs=epochs)
                with torch.no_grad():
                    error = float((model(x_o) - truth(x_o)).square().mean())
                found = summary(shifts(model, x_u, x_o), x_u, x_o)
                log.add(model=name, seed=seed, stage=stage,
                        parameters=ra.count_parameters(model), mse=error, **found)  # fmt: skip
            kept.setdefault(name, model)
    return kept


def draw_curves(log: Log) -> None:
    """Draw reach against distance, before and after training; means over seeds."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    middle = [(a + b) / 2 for a, b in itertools.pairwise(EDGES)]
    for axis, stage in zip(figure.subplots(1, 2, sharey=True), ("start", "trained"), strict=True):
        for name in dict.fromkeys(row["model"] for row in log):
            rows = [r["by_distance"] for r in log if (r["model"], r["stage"]) == (name, stage)]
            values = torch.tensor([[float("nan") if v is None else v for v in r] for r in rows])
            axis.plot(middle, values.nanmean(0).numpy(), "o-", label=name)
        title = {"start": "at the start", "trained": "after training"}[stage]
        axis.set(xlabel="distance from the update", title=title, ylim=(0, 1.05))
    figure.axes[0].set_ylabel("shift there / shift at the update")
    figure.axes[1].legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "dynamics_reach.png", dpi=110)


def draw_maps(kept: dict[str, nn.Module]) -> None:
    """Draw the shift over x0 and x1 for one update."""
    x = torch.tensor([[0.5, 0.5, 0.0, 0.0]], dtype=torch.float64)
    maps = {}
    for name, model in kept.items():
        with torch.no_grad():
            y = model(x) + 1
        rate = SHIFT / (2 * dynamics.ntk(model, x, x, split=False).total.item())
        maps[name] = dynamics.influence_map(model, x, y, rate, span=(-1, 1), loss="mse")
    figure = dynamics.plot_influence(maps)
    figure.savefig(FIGURES / "dynamics_maps.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("dynamics_reach_smoke" if smoke else "dynamics_reach", fresh=True)
    kept = study(log, *(1, 2, 3, 200) if smoke else (5, 30, 20, 2000))
    if not smoke:
        draw_curves(log)
        draw_maps(kept)


if __name__ == "__main__":
    main()
