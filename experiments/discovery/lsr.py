"""Sums of unlike parts: laws of LLM-SRBench's synthetic track (growth, kinetics, oscillators).

2,000 rows a table, drawn uniformly in the box of the law, or (`--rows trajectory`) on solutions of
the differential equation that the law is the right-hand side of: three starts, rows of time, state
and derivative. A law counts by SRBench's rule, numbers to six digits. Needs RAN_DATA.

python -m experiments.discovery.lsr [--smoke] [--jobs 2] [--noise 0 0.01] [--seeds 1]
    [--rows uniform trajectory] [--only NAME ...]
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from experiments.discovery import judge, laws
from experiments.table import Row, Table, arguments, rate, run

KEY = ("rows", "problem", "noise", "seed")
ROWS = ("uniform", "trajectory")
_STARTS = 3
_STATES = {"bio_pop_growth": ("P",), "chem_react": ("A",), "phys_osc": ("x", "v")}


@dataclass(frozen=True)
class Motion(laws.Problem):
    """A law whose rows lie on solutions of its differential equation."""

    def sample(
        self, rows: int, random: np.random.Generator, box: laws.Box | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Integrate from three starts in the box, as far as the solution stays near to it."""
        if box is not None:
            return super().sample(rows, random, box)
        ends = {name: (low, high) for name, low, high in self.variables}
        states = states_of(self)
        first, last = ends.get("t", (0.0, 20.0))
        parts = []
        slopes = self._slopes()
        for _ in range(_STARTS):
            start = [random.uniform(*ends.get(s, (-1.0, 1.0))) for s in states]
            path = solve_ivp(
                slopes, (first, last), start, rtol=1e-10, atol=1e-12, dense_output=True,
                events=self._left, max_step=(last - first) / 200,
            )  # fmt: skip
            t = np.linspace(first, path.t[-1], rows // _STARTS + 1)
            values = {"t": t, **dict(zip(states, path.sol(t), strict=True))}
            parts.append(np.column_stack([values[name] for name in self.names]))
        X = np.concatenate(parts)[:rows]
        return X, self(X)

    def _slopes(self) -> Callable[[float, np.ndarray], list[float]]:
        """The right-hand side, compiled once."""
        law = sp.lambdify([sp.Symbol(name) for name in self.names], self.formula, "numpy")

        def slopes(t: float, state: np.ndarray) -> list[float]:
            values = {"t": t, **dict(zip(states_of(self), state, strict=True))}
            slope = float(law(*(values[name] for name in self.names)))
            return [slope] if len(state) == 1 else [float(state[1]), slope]

        return slopes

    def _left(self, t: float, state: np.ndarray) -> float:
        """Positive while the state is within its box, made wider by itself."""
        ends = {name: (low, high) for name, low, high in self.variables}
        room = [
            min(s - (1.5 * low - 0.5 * high), 1.5 * high - 0.5 * low - s)
            if low < 0
            else min(s - 0.2 * low, 1.5 * high - s)
            for s, name in zip(state, states_of(self), strict=True)
            for low, high in [ends.get(name, (-np.inf, np.inf))]
        ]
        return min(room)

    _left.terminal = True  # type: ignore[attr-defined]


def states_of(problem: laws.Problem) -> tuple[str, ...]:
    """Return the inputs that are states of the differential equation."""
    others = tuple(name for name in problem.names if name != "t")
    return _STATES.get(problem.group, others)


def problems(rows: str) -> list[laws.Problem]:
    """Return the laws of RAN_DATA/laws/lsr_synth.json."""
    path = Path(os.environ.get("RAN_DATA") or "$RAN_DATA") / "laws" / "lsr_synth.json"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} is missing. RAN_DATA must name the folder of the data; see README, Data."
        )
    found = json.loads(path.read_text())["laws"]
    make = laws.Problem if rows == "uniform" else Motion
    return [
        make(
            law["name"], law["group"], "y", law["formula"],
            tuple((name, *map(float, ends)) for name, ends in law["inputs"].items()), "LLM-SRBench",
        )
        for law in found
    ]  # fmt: skip


def one(problem: laws.Problem, rows: str, noise: float, seed: int) -> Row:
    """Return the verdict on one law."""
    return {"rows": rows, **judge.judge(problem, noise, seed)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    if options.smoke:
        table = Table("lsr_smoke", KEY, fresh=True)
        law = laws.Problem("sum", "made up", "y", "0.5*x**2 - 2*sin(0.7*x)", (("x", 0.5, 9.0),))
        run(table, one, [{"problem": law, "rows": "uniform", "noise": 0.0, "seed": 0}], 1)
        return
    table = Table("lsr", KEY)
    tasks = [
        {"problem": problem, "rows": rows, "noise": noise, "seed": seed}
        for rows, noise, seed in product(options.rows, options.noise, range(options.seeds))
        for problem in problems(rows)
        if not options.only or problem.name in options.only
    ]
    run(table, one, tasks, options.jobs)
    for rows, noise in product(ROWS, options.noise):
        some = [r for r in table.rows if (r["rows"], float(r["noise"])) == (rows, noise)]
        if some:
            seconds = [float(row["seconds"]) for row in some]
            print(
                f"{rows}, noise {noise}: solved {rate(some, 'solved')}, "
                f"structure {rate(some, 'structure')}, seconds: median {median(seconds):.1f}, "
                f"longest {max(seconds):.1f}"
            )


if __name__ == "__main__":
    main()
