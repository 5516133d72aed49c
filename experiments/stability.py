"""Deep stability: gradient norms over depth at the start, and training of 50 blocks.

    python -m experiments.stability                 all of it, about ten minutes
    python -m experiments.stability --part training    one part; the other stays as recorded
    python -m experiments.stability --smoke            a quick look

A second run computes the variants that are not recorded yet; --fresh forgets what is.

Writes experiments/results/stability.json, from which docs/results/stability.md is filled.
"""

from __future__ import annotations

import argparse
import math
import statistics
from typing import Any

import torch
from rich.progress import track
from torch import nn

from experiments.results import read, write
from rational_anova import GatedRationalBlock

VARIANTS = {
    "softplus, gate 0.01": {"denominator": "softplus"},
    "softplus, no gate": {"denominator": "softplus", "gate": None},
    "softplus, constant, gate 0.01": {"denominator": "softplus", "constant": True},
    "square, constant, gate 0.01": {"denominator": "square", "constant": True},
    "unconstrained, gate 0.01": {"denominator": "polynomial"},
    "unconstrained, no gate": {"denominator": "polynomial", "gate": None},
    "square, gate 0.01": {"denominator": "square"},
    "sos, gate 0.01": {"denominator": "sos"},
    "abs, gate 0.01": {"denominator": "abs"},
}
WIDE_OPEN = {"softplus, gate 0.1": {"gate": 0.1}}  # for the gradient at the start only
FEATURES = 32
NOISES = (0.0, 0.1, 0.3)
RATES = (1e-3, 1e-2)


def stack(depth: int, seed: int, **options: object) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(*(GatedRationalBlock(FEATURES, **options) for _ in range(depth)))


def gradient_ratio(model: nn.Module, seed: int = 0) -> float | None:
    """|grad at the input| / |grad at the output|, the quantity of the theorem."""
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(64, FEATURES, generator=generator, requires_grad=True)
    top = torch.randn(64, FEATURES, generator=generator)
    model(h).backward(top)
    return finite((h.grad.norm() / top.norm()).item())


def finite(value: float) -> float | None:
    """None in place of nan and infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def train(model: nn.Module, rate: float, steps: int, seed: int) -> list[float]:
    """Losses of Adam on a smooth target; a list that ends in nan or inf has diverged."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(512, FEATURES, generator=generator)
    y = torch.sin(x.roll(1, -1)) * x
    optimizer = torch.optim.Adam(model.parameters(), rate)
    losses = []
    for _ in range(steps):
        rows = torch.randint(0, len(x), (128,), generator=generator)
        loss = (model(x[rows]) - y[rows]).square().mean()
        losses.append(loss.item())
        if not loss.isfinite():
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


Rows = list[dict[str, Any]]


def missing(variants: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """Return the variants that no row has."""
    there = {row["variant"] for row in rows}
    return {name: options for name, options in variants.items() if name not in there}


def in_order(rows: Rows) -> Rows:
    """Return rows in the order of the variants."""
    names = [*VARIANTS, *WIDE_OPEN]
    return sorted(rows, key=lambda row: names.index(row["variant"]))


def depth_table(rows: Rows, depths: tuple[int, ...], seeds: int) -> Rows:
    rows = list(rows)
    for name, options in missing(VARIANTS | WIDE_OPEN, rows).items():
        for noise in NOISES:
            for depth in depths:
                ratios = [
                    gradient_ratio(stack(depth, seed, noise=noise, **options))
                    for seed in range(seeds)
                ]
                rows.append({"variant": name, "noise": noise, "depth": depth, "ratio": ratios})
    return in_order(rows)


def training_table(rows: Rows, depth: int, steps: int, seeds: int) -> Rows:
    rows = list(rows)
    jobs = [
        (name, noise, rate, seed)
        for name in missing(VARIANTS, rows)
        for noise in NOISES
        for rate in RATES
        for seed in range(seeds)
    ]
    for name, noise, rate, seed in track(jobs, f"training {depth} blocks"):
        losses = train(stack(depth, seed, noise=noise, **VARIANTS[name]), rate, steps, seed)
        good = [loss for loss in losses if math.isfinite(loss)]
        rows.append(
            {
                "variant": name,
                "noise": noise,
                "rate": rate,
                "seed": seed,
                "first": finite(losses[0]),
                "last": statistics.median(losses[-10:]) if len(good) == len(losses) else None,
                "worst": max(good, default=None),
                "steps": len(losses),
            }
        )
    return in_order(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, for a quick look")
    parser.add_argument("--part", choices=("gradient_ratio", "training"), help="this part only")
    parser.add_argument("--fresh", action="store_true", help="forget what is recorded")
    options = parser.parse_args()
    smoke = options.smoke
    torch.set_num_threads(1)  # the tensors are too small to share
    name = "stability_smoke" if smoke else "stability"
    result = {} if options.fresh or smoke else read(name)
    if options.part != "training":
        depths = (1, 10) if smoke else (1, 10, 50, 100)
        known = result.get("gradient_ratio", [])
        result["gradient_ratio"] = depth_table(known, depths, 1 if smoke else 5)
    if options.part != "gradient_ratio":
        known = result.get("training", [])
        result["training"] = training_table(known, *(5, 5, 1) if smoke else (50, 200, 3))
    write(name, result)


if __name__ == "__main__":
    main()
