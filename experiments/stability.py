"""Deep stability: gradient norms over depth at the start, and training of 50 blocks.

    python -m experiments.stability                 all of it, about ten minutes
    python -m experiments.stability --part training    one part; the other stays as recorded
    python -m experiments.stability --smoke            a quick look

Writes experiments/results/stability.json, from which docs/results/stability.md is filled.
"""

from __future__ import annotations

import argparse
import math
import statistics

import torch
from rich.progress import track
from torch import nn

from experiments.results import read, write
from rational_anova import GatedRationalBlock

VARIANTS = {
    "softplus, gate 0.01": {"denominator": "softplus"},
    "softplus, no gate": {"denominator": "softplus", "gate": None},
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


def depth_table(depths: tuple[int, ...], seeds: int) -> list[dict[str, object]]:
    rows = []
    for name, options in (VARIANTS | WIDE_OPEN).items():
        for noise in NOISES:
            for depth in depths:
                ratios = [
                    gradient_ratio(stack(depth, seed, noise=noise, **options))
                    for seed in range(seeds)
                ]
                rows.append({"variant": name, "noise": noise, "depth": depth, "ratio": ratios})
    return rows


def training_table(depth: int, steps: int, seeds: int) -> list[dict[str, object]]:
    rows = []
    jobs = [
        (name, noise, rate, seed)
        for name in VARIANTS
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
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, for a quick look")
    parser.add_argument("--part", choices=("gradient_ratio", "training"), help="this part only")
    options = parser.parse_args()
    smoke = options.smoke
    torch.set_num_threads(1)  # the tensors are too small to share
    name = "stability_smoke" if smoke else "stability"
    result = read(name) if options.part else {}
    if options.part != "training":
        depths = (1, 10) if smoke else (1, 10, 50, 100)
        result["gradient_ratio"] = depth_table(depths, 1 if smoke else 5)
    if options.part != "gradient_ratio":
        result["training"] = training_table(*(5, 5, 1) if smoke else (50, 200, 3))
    write(name, result)


if __name__ == "__main__":
    main()
