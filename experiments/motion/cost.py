"""Seconds of a search for equations of motion against the number of states and of points.

Species in a ring, each growing logistically and held down by the next: x' = x (1 - x - y/2). The
noise is 1% of the spread. Seconds are those of the processor.

python -m experiments.motion.cost [--smoke] [--states 1 2 3 4 5] [--points 50 150 500 1500]
"""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

import rational_anova as ra
from experiments.motion.systems import same_structure
from experiments.table import Row, Table, arguments, run

KEY = ("states", "points")
_LAST, _NOISE = 12.0, 0.01


def one(states: int, points: int) -> Row:
    """Return what a search takes, and whether it finds the equations."""
    t = np.linspace(0, _LAST, points)
    start = np.linspace(0.1, 0.9, states)
    path = solve_ivp(lambda _, x: x * (1 - x - (np.roll(x, -1) / 2 if states > 1 else 0)),
                     (0, _LAST), start, t_eval=t, rtol=1e-9).y.T  # fmt: skip
    rows = path + _NOISE * path.std(axis=0) * np.random.default_rng(states).normal(size=path.shape)
    began = time.process_time()
    found = ra.discover_dynamics(t, rows, time_limit=300)
    symbols = sp.symbols(f"x0:{states}")
    truth = [x - x**2 - (symbols[(k + 1) % states] * x / 2 if states > 1 else 0)
             for k, x in enumerate(symbols)]  # fmt: skip
    return {
        "states": states, "points": points, "seconds": time.process_time() - began,
        "structure": same_structure(list(found.formulas.values()), truth),
        "grade": str(found.grade),
    }  # fmt: skip


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--states", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--points", type=int, nargs="+", default=[50, 150, 500, 1500])
    options = parser.parse_args()
    table = Table("cost_smoke" if options.smoke else "cost", KEY, options.smoke, "motion")
    sizes = [(1, 50)] if options.smoke else product(options.states, options.points)
    run(table, one, [{"states": s, "points": p} for s, p in sizes], options.jobs)


if __name__ == "__main__":
    main()
