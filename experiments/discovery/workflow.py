"""The paper's workflow on its three laws: fit -> group lasso -> `auto_rational` -> formula.

A `RAN` with all terms, degrees (2, 4) and pairs of degree 2, no gates, by `lm`: with the group
lasso (penalty 1e-4), then without it on the terms that are left, from eight starts; `auto_rational`
with the data; the formula and its operations. Denominators: `polynomial`, which can be the law, and
softplus with a constant in q, which can be near it. 1,000 rows to learn from, 1,000 to test on,
noise-free; inputs are divided by the power of ten below their largest value.

python -m experiments.discovery.workflow [--smoke]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import sympy
import torch
from torch import Tensor

import rational_anova as ra
from experiments.discovery import laws
from experiments.table import Row
from experiments.table import Table as Results

KEY = ("problem", "model", "seed")
RANS = {
    "RAN polynomial": {"denominator": "polynomial"},
    "RAN softplus, constant": {"denominator": "softplus", "constant": True},
}
PENALTY = 1e-4


def data(problem: laws.Problem, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return rows to learn from and to test on; inputs of order one."""
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        x, y = problem.sample(1000, random)
        high = np.array(problem.box)[:, 1]
        parts += [torch.tensor(x / 10 ** np.floor(np.log10(high))), torch.tensor(y)[:, None]]
    return parts[0], parts[1], parts[2], parts[3]


def r2(value: Tensor, y: Tensor) -> float:
    """Return the share of the variance that is explained."""
    return float(1 - (value - y).square().mean() / y.var(correction=0))


def one(problem: laws.Problem, model: str, seed: int, smoke: bool = False) -> Row:
    """Return what comes of the workflow on a law."""
    X, y, T, t = data(problem, seed)
    began = time.process_time()
    torch.manual_seed(seed)
    net = ra.RAN(
        X.shape[1], 1, "all", (2, 4), base="zero", gate=None, noise=0.1, dtype=torch.float64,
        **RANS[model],
    )  # fmt: skip
    epochs, starts = (2, 1) if smoke else (200, 8)
    ra.fit(net, (X, y), optimizer="lm", epochs=epochs, penalty=PENALTY)
    ra.prune(net)
    ra.fit(net, (X, y), optimizer="lm", epochs=epochs, restarts=starts)
    with torch.no_grad():
        raw = net(T)
    snaps = net.auto_rational(X, y)
    formula = net.symbolic_formula(X)
    with torch.no_grad():
        value = net(T)
    return {
        "problem": problem.name, "model": model, "seed": seed,
        "terms": net.topology.num_mains + net.topology.num_pairs,
        "r2_raw": r2(raw, t), "r2": r2(value, t),
        "rmse": float((value - t).square().mean().sqrt()),
        "operations": int(sympy.count_ops(formula)), "exact_numbers": len(snaps.snapped),
        "floats": len(formula.atoms(sympy.Float)), "formula": shortened(formula)[:200],
        "cpu_seconds": time.process_time() - began,
    }  # fmt: skip


def shortened(formula: sympy.Expr) -> str:
    """Return a formula with floats of four digits."""
    floats = formula.atoms(sympy.Float)
    return str(formula.xreplace({number: sympy.Float(number, 4) for number in floats}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    results = Results("workflow_smoke" if smoke else "workflow", KEY, smoke)
    for problem in laws.paper_three()[1:2] if smoke else laws.paper_three():
        for model in RANS:
            if not results.has(problem=problem.name, model=model, seed=0):
                results.add(one(problem, model, 0, smoke))
                print(*results.rows[-1].values(), flush=True)


if __name__ == "__main__":
    main()
