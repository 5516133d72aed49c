"""The stabilisers, taken away one at a time, over seeds (paper Sec. 5.4, "Topology and stability").

A `DeepRAN` of four blocks and 32 nodes on kin8nm (8,192 rows; 60 % to learn from, 20 % held out for
the epoch that is kept, 20 % to report), Adam in batches of 256, 15 epochs, float32, coefficients
shaken by 0.1 at the start. `fit` returns to its last good state and quarters the rate when the loss
explodes; how often it had to is the count of retreats. The paper reports divergence without the
positive denominator and a loss of accuracy without gates on CIFAR-10, without numbers.

python -m experiments.ablation [--smoke]      (needs RAN_DATA; --smoke does not)
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import torch

import rational_anova as ra
from experiments import tables_data
from experiments.results import Log

VARIANTS: dict[str, dict[str, Any]] = {
    "softplus, gated (the paper)": {},
    "no positive denominator (1 + q)": {"denominator": "polynomial"},
    "no gates (alpha = 1)": {"gate": None},
    "neither": {"denominator": "polynomial", "gate": None},
    "square, gated": {"denominator": "square"},
    "softplus, denominators and gates at a tenth of the rate": {"slow": True},
}
RATES = (3e-3, 1e-2, 3e-2)


def build(features: int, seed: int, **options: Any) -> ra.DeepRAN:
    """Return the network; without unit gates its block gates are held at one as well."""
    torch.manual_seed(seed)
    net = ra.DeepRAN(features, 1, 32, 4, topology="d", noise=0.1, **options)
    if "gate" in options:
        with torch.no_grad():
            for block in net.blocks:
                block.gate.fill_(1.0)
                block.gate.requires_grad_(False)
    return net


def run(parts: tables_data.Split, name: str, rate: float, seed: int, epochs: int) -> dict[str, Any]:
    """Train once; a run that gives up has no error to report."""
    options = dict(VARIANTS[name])
    slow = 0.1 if options.pop("slow", False) else 1.0
    X, y = (part.float() for part in parts.train)
    net = build(X.shape[1], seed, **options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # poles among the data, as expected
            history = ra.fit(
                net, (X, y), validation=tuple(part.float() for part in parts.validation),
                optimizer="adam", epochs=epochs, batch_size=256, learning_rate=rate, seed=seed,
                denominator_rate=slow, gate_rate=slow,
            )  # fmt: skip
    except ra.Diverged:
        return {"retreats": None, "validation": None, "test": None}
    T, t = (part.float() for part in parts.test)
    with torch.no_grad():
        test = float((net(T) - t).square().mean())
    return {
        "retreats": len(history.events),
        "validation": history.validation_loss,
        "test": test if test == test and test < 1e30 else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("ablation_smoke" if smoke else "ablation", fresh=smoke)
    for seed in range(1 if smoke else 5):
        if smoke:
            X = torch.randn(200, 8, dtype=torch.float64)
            parts = tables_data.split(X, X[:, :1] * X[:, 1:2], seed)
        else:
            parts = tables_data.read_table("kin8nm", tables_data.find_tables()["kin8nm"], seed)
        for name in VARIANTS:
            for rate in RATES[1:2] if smoke else RATES:
                key = {"variant": name, "rate": rate, "seed": seed}
                if not log.has(**key):
                    log.add(**key, **run(parts, name, rate, seed, 1 if smoke else 15))


if __name__ == "__main__":
    main()
