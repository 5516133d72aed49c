"""Gradient norms over depth: stacks of 1 to 200 gated blocks, with the gate and without.

`GatedRationalBlock` of 16 features, degrees (3, 2), softplus, in float64, from the exact start and
with noise on the coefficients. Measured is |gradient at the input| / |gradient at the output| at
32 points of [-1, 1]^16 (the median; least and greatest over five seeds). Proved are bounds on the
whole box, by interval arithmetic and by the paper's theorem with K bounded on all states behind it.

python -m experiments.certificates.isometry [--smoke]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import nn

import rational_anova as ra
from experiments.results import FIGURES, Log
from rational_anova.certificates import gradient_ratio, isometry

FEATURES = 16
VARIANTS: dict[str, dict[str, Any]] = {
    "gate 0.01": {"gate": 0.01},
    "gate 0.01, noise 0.1": {"gate": 0.01, "noise": 0.1},
    "gate 0.1": {"gate": 0.1},
    "no gate": {"gate": None},
    "no gate, noise 0.01": {"gate": None, "noise": 0.01},
    "no gate, noise 0.1": {"gate": None, "noise": 0.1},
}


def study(variant: str, seed: int, depth: int) -> dict[str, Any]:
    """Return measured ratios and proved bounds behind each block."""
    torch.manual_seed(seed)
    options = {**VARIANTS[variant], "dtype": torch.float64}
    blocks = [ra.GatedRationalBlock(FEATURES, **options) for _ in range(depth)]
    x = 2 * torch.rand(32, FEATURES, dtype=torch.float64) - 1
    row: dict[str, Any] = {"measured": _plain(gradient_ratio(nn.Sequential(*blocks), x))}
    if seed == 0:
        found = isometry(nn.Sequential(*blocks), [(-1, 1)] * FEATURES, budget=200)
        row.update(lower=_plain(found.lowers), upper=_plain(found.uppers))
        paper = [
            (p.paper_lower, p.paper_upper)
            for p in (isometry(nn.Sequential(*blocks[:n]), [(-1, 1)] * FEATURES, budget=200)
                      for n in _depths(depth))
        ]  # fmt: skip
        row.update(depths=_depths(depth), paper_lower=_plain([p[0] for p in paper]),
                   paper_upper=_plain([p[1] for p in paper]))  # fmt: skip
    return row


def _depths(depth: int) -> list[int]:
    return [n for n in (1, 5, 20, 100, 200) if n <= depth]


def _plain(values: Any) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def draw(log: Log) -> None:
    """Draw measured ratios with the bounds beside them."""
    figure = Figure(figsize=(12, 7), layout="constrained")
    for axes, variant in zip(figure.subplots(2, 3).flat, VARIANTS, strict=True):
        rows = [row for row in log if row["variant"] == variant]
        table = np.array([[np.nan if v is None else v for v in row["measured"]] for row in rows])
        depth = np.arange(1, table.shape[1] + 1)
        axes.fill_between(depth, table.min(0), table.max(0), color="C0", alpha=0.3)
        axes.plot(depth, np.median(table, 0), "C0", label="measured, five seeds")
        first = next(row for row in rows if row["seed"] == 0)
        for key, colour, label in (("lower", "C2", "proved on the box"), ("upper", "C2", None)):
            values = np.array([np.nan if v is None else v for v in first[key]])
            axes.plot(depth, np.where(values > 0, values, np.nan), colour, ls="--", label=label)
        for key, label in (("paper_lower", "the theorem"), ("paper_upper", None)):
            values = np.array([np.nan if v is None else v for v in first[key]])
            axes.plot(
                first["depths"], np.where(values > 0, values, np.nan), "C3.", ls=":", label=label
            )
        axes.set(
            xscale="log",
            yscale="log",
            title=variant,
            xlabel="blocks",
            xlim=(0.9, 220),
            ylim=(1e-12, 1e12),
        )
    for axes in figure.axes[::3]:
        axes.set_ylabel("gradient norm, input / output")
    figure.axes[0].legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "certificates_isometry.png", dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("certificates_isometry_smoke" if smoke else "certificates_isometry", fresh=smoke)
    for variant in VARIANTS:
        for seed in range(1 if smoke else 5):
            if not log.has(variant=variant, seed=seed):
                log.add(variant=variant, seed=seed, **study(variant, seed, 3 if smoke else 200))
    if not smoke:
        draw(log)


if __name__ == "__main__":
    main()
