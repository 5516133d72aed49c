"""The paper's fourteen equations by networks, as its table has them; `discover` is in `paper`.

RAN: Eq. 2, all main effects and all pairs, degrees (3, 3) and 2, no gates, by `lm`: softplus with
a constant in q, and `sos`. A sum over pairs can hold a law of two variables, not a product of
three; the first equation also stands there with c = 1, since the paper lists u and v alone.
DeepRAN: two blocks of 16 nodes and 32 pairs, softplus with a constant, by Adam (60 epochs at 5e-3,
falling as a cosine). MLP: two hidden layers of 50 (GELU) by L-BFGS. KAN: pykan, [n, 5, 1], by
L-BFGS. 1,000 rows to learn from and 1,000 to test on, noise-free, inputs and target standardised,
float64, one start a seed; the error is the RMSE on the test rows, in units of the target as the
paper has it.

A second run goes on where the first stopped, seed by seed.

python -m experiments.discovery.by_networks [--smoke] [--seeds 3] [--models ...]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

import rational_anova as ra
from experiments import peers
from experiments.discovery import laws
from experiments.discovery.paper import FOURTEEN
from experiments.table import Row
from experiments.table import Table as Results

ROWS = 1000
SHORT = laws.Problem(
    "I.16.6, c = 1",
    "paper",
    "v",
    "(u + v)/(1 + u*v)",
    (("u", 1.0, 5.0), ("v", 1.0, 5.0)),
    "the paper",
)
MODELS = ("RAN softplus, constant", "RAN sos", "DeepRAN", "MLP", "KAN (pykan)")
LM_STEPS, MLP_STEPS, KAN_STEPS, KAN_SECONDS = 60, 15, 20, 60.0


def data(
    problem: laws.Problem, seed: int, rows: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
    """Return rows to learn from and to test on, standardised, and the spread of the target."""
    random = np.random.default_rng(seed)
    parts = [problem.sample(rows, random) for _ in range(2)]
    (X, y), (T, t) = ((torch.tensor(x), torch.tensor(v)[:, None]) for x, v in parts)
    spread = X.std(0)
    spread[spread == 0] = 1
    centre, scale = y.mean(), float(y.std())
    X, T = ((part - X.mean(0)) / spread for part in (X, T.clone()))
    return X, (y - centre) / scale, T, (t - centre) / scale, scale


def fitted(model: str, X: Tensor, y: Tensor, seed: int, smoke: bool) -> tuple[Any, int]:
    """Return a trained network and its size."""
    torch.manual_seed(seed)
    features = X.shape[1]
    if model == "DeepRAN":
        net = ra.DeepRAN(features, 1, 16, topology=32, constant=True, dtype=torch.float64)
        ra.fit(net, (X, y), optimizer="adam", epochs=2 if smoke else 60, batch_size=64,
               learning_rate=5e-3, schedule="cosine")  # fmt: skip
    elif model.startswith("RAN"):
        kind, _, word = model.removeprefix("RAN ").partition(", ")
        net = ra.RAN(
            features, 1, "all", (3, 3), denominator=kind, constant=bool(word), base="zero",
            gate=None, noise=0.1, dtype=torch.float64,
        )  # fmt: skip
        ra.fit(net, (X, y), optimizer="lm", epochs=2 if smoke else LM_STEPS)
    elif model == "MLP":
        net = ra.MLP(features, 1, (50, 50), "gelu").double()
        ra.fit(net, (X, y), optimizer="lbfgs", epochs=2 if smoke else MLP_STEPS)
    else:
        width = [features, 5, 1]
        net, count, _, _ = peers.fit_pykan(
            X, y, width, "LBFGS", KAN_STEPS, seconds=KAN_SECONDS, seed=seed
        )
        return net, count
    return net, ra.count_parameters(net)


def one(problem: laws.Problem, model: str, seed: int, smoke: bool = False) -> Row:
    """Return the test error of a network on a law."""
    X, y, T, t, scale = data(problem, seed, 100 if smoke else ROWS)
    began = time.process_time()
    try:
        net, count = fitted(model, X, y, seed, smoke)
        with torch.no_grad():
            error, train = (float((net(x) - v).square().mean().sqrt()) for x, v in ((T, t), (X, y)))
    except ra.Diverged:
        error, train, count = float("nan"), float("nan"), 0
    mlp, kan, ran, _ = FOURTEEN.get(problem.name.partition(",")[0], ("", "", "", ""))
    return {
        "problem": problem.name, "model": model, "seed": seed, "parameters": count,
        "rmse": error * scale, "relative": error, "train": train,
        "cpu_seconds": time.process_time() - began,
        "paper": ran if "RAN" in model else mlp if model == "MLP" else kan,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    smoke = options.smoke
    results = Results("by_networks_smoke" if smoke else "by_networks", KEY, smoke)
    problems = laws.paper_three()[1:2] if smoke else [*laws.paper_fourteen(), SHORT]
    left_out = () if peers.has_pykan() and not smoke else MODELS[4:]
    models = [model for model in options.models if model not in left_out]
    for seed in range(1 if smoke else options.seeds):
        for problem in problems:
            for model in models:
                if not results.has(problem=problem.name, model=model, seed=seed):
                    results.add(one(problem, model, seed, smoke))
                    print(*results.rows[-1].values(), flush=True)


KEY = ("problem", "model", "seed")

if __name__ == "__main__":
    main()
