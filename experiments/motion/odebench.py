"""Equations of motion on ODEBench's systems, at four levels of noise, peers in the same run.

Counted are the structure (every right-hand side has the true terms and no other), the share of the
variance that a simulation explains from the start of the run and from a new start (more than 0.9 is
ODEFormer's measure), and seconds of the processor. Needs RAN_DATA; peers need the extra `bench`.

python -m experiments.motion.odebench [--smoke] [--jobs 1] [--methods ours weak operon pi]
    [--runs 1 2] [--decibels inf 40 30 20] [--only 27 28] [--limit 60] [--rational]
With --rational, systems with quotients that ODEBench's file does not have: `motion_rational.csv`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

import rational_anova as ra
from experiments.motion import peers
from experiments.motion.systems import (
    Case,
    cases,
    explained,
    integrated,
    own_rational,
    same_structure,
    times,
)
from experiments.table import Row, Table, arguments, rate, run

KEY = ("method", "system", "decibels", "runs")
METHODS = ("ours", "weak", "operon", "pi")
_GOOD = 0.9
_LONG = 600
Found = tuple[list[sp.Expr], str]


def one(method: str, system: int, decibels: float, runs: int, limit: float) -> Row:
    """Return how well a method finds a system."""
    case = next(c for c in (*own_rational(), *cases()) if c.number == system)
    X = case.runs(decibels, runs)
    row: Row = {
        "method": method, "system": system, "decibels": decibels, "runs": runs,
        "name": case.name, "states": len(case.formulas), "rational": case.rational,
    }  # fmt: skip
    start = time.process_time()
    try:
        found, grade = _methods(limit)[method](X, case.symbols)
    except Exception as error:  # a peer may fail in any way; the row says how
        failure = f"{type(error).__name__}: {error}"[:200]
        return {**row, "seconds": time.process_time() - start, "structure": False,
                "again": -math.inf, "new": -math.inf, "failure": failure}  # fmt: skip
    row["seconds"] = time.process_time() - start
    return {**row, **judged(case, found, runs), "grade": grade, "failure": "",
            "found": "; ".join(str(sp.N(e, 6)) for e in found)[:_LONG]}  # fmt: skip


def judged(case: Case, found: Sequence[sp.Expr], runs: int) -> Row:
    """Return whether formulas are the system's, and what their simulations explain."""
    t = times()
    shares = []
    for start in (np.array(case.starts[0]), case.new_start(runs)):
        shares.append(explained(case.path(start, t), integrated(case.symbols, found, start, t)))
    return {
        "structure": same_structure(found, case.formulas),
        "again": shares[0],
        "new": shares[1],
    }


def _methods(limit: float) -> dict[str, Callable[..., Found]]:
    def ours(X: Sequence[np.ndarray], symbols: Sequence[sp.Symbol]) -> Found:
        names = [s.name for s in symbols]
        found = ra.discover_dynamics([times()] * len(X), list(X), names=names, time_limit=limit)
        return list(found.formulas.values()), str(found.grade)

    return {
        "ours": ours,
        "weak": lambda X, symbols: (peers.weak_sindy(X, symbols), ""),
        "operon": lambda X, symbols: (peers.operon(X, symbols), ""),
        "pi": lambda X, symbols: (peers.sindy_pi(X, symbols), ""),
    }


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--runs", type=int, nargs="+", default=[1])
    parser.add_argument("--decibels", type=float, nargs="+", default=[math.inf, 40.0, 30.0, 20.0])
    parser.add_argument("--only", type=int, nargs="+", help="numbers of systems")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a search of ours")
    parser.add_argument("--rational", action="store_true", help="the other systems with quotients")
    options = parser.parse_args()
    numbers = options.only or [c.number for c in (own_rational if options.rational else cases)()]
    name = "rational" if options.rational else "odebench"
    table = Table("smoke" if options.smoke else name, KEY, options.smoke, "motion")
    tasks = [
        {"method": m, "system": n, "decibels": d, "runs": r, "limit": options.limit}
        for r in options.runs for m in options.methods for d in options.decibels
        for n in (numbers[:1] if options.smoke else numbers)
    ]  # fmt: skip
    run(table, one, tasks, options.jobs)
    for r in options.runs:
        for m in options.methods:
            for d in options.decibels:
                rows = [row for row in table.rows if row["method"] == m and row["runs"] == str(r)
                        and float(row["decibels"]) == d]  # fmt: skip
                again = sum(float(row["again"]) > _GOOD for row in rows)
                new = sum(float(row["new"]) > _GOOD for row in rows)
                print(f"{m}, {r} run, {d:g} dB: structure {rate(rows, 'structure')}, "
                      f"again {again}, new {new}")  # fmt: skip


if __name__ == "__main__":
    main()
