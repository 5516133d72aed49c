"""Does the pattern of influence stay as it is over short windows, as the paper assumes?

The networks and the target of `reach`, from the start: 40 steps of SGD, one row each. The profile
|K_t(x_o, x_u)| over 100 points x_o is followed for one x_u; recorded is the least correlation of
profiles up to ten steps apart, and how far the sum of first-order influences is from what the steps
really changed. A run whose outputs become non-finite is recorded as such.

python -m experiments.dynamics.steady [--smoke]
"""

from __future__ import annotations

import argparse

import torch

from experiments.dynamics.reach import INPUTS, models, truth
from experiments.results import Log
from rational_anova import dynamics

WINDOW = 10


def study(log: Log, seeds: int, steps: int, points: int) -> None:
    for seed in range(seeds):
        draw = torch.Generator().manual_seed(seed)
        rows, x_o = (
            2 * torch.rand(n, INPUTS, generator=draw, dtype=torch.float64) - 1
            for n in (steps, points)
        )
        updates = [(x, truth(x)) for x in rows.split(1)]
        for name, model in models(seed).items():
            for rate in (1e-3, 1e-2):
                row = {"model": name, "seed": seed, "rate": rate}
                try:
                    found = dynamics.influence_stability(
                        model, updates, rows[:1], x_o, rate, window=min(WINDOW, steps)
                    )
                    total = dynamics.accumulated_influence(model, updates, x_o, rate)
                except ValueError as error:  # outputs that are not finite
                    log.add(**row, worst=None, error=None, note=str(error))
                    continue
                off = float((total.total - total.true_total).norm() / total.true_total.norm())
                log.add(**row, worst=found.worst, error=off)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    log = Log("dynamics_steady_smoke" if smoke else "dynamics_steady", fresh=True)
    study(log, *(1, 3, 10) if smoke else (3, 40, 100))


if __name__ == "__main__":
    main()
