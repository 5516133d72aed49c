"""Peers on the same tables: gplearn and pyoperon on the Feynman equations, pykan on the fourteen.

Counted are the formula a peer chooses and whether the law was anywhere on its front, by the rule
that ours are judged by; and, as their numbers have the precision of float32, whether a refit of the
numbers gives the law (`structure`; superfluous terms are not held against them).
Needs RAN_DATA and the extra `bench`.

python -m experiments.discovery.peers_laws [--smoke] [--jobs 1] [--peers gplearn pyoperon pykan]
    [--fourteen]    only the paper's fourteen and its three
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from experiments.discovery import judge, laws, peers
from experiments.discovery.peer_searches import RARE, Task
from experiments.discovery.structure import has_structure, opened, relative_error, widened
from experiments.table import Row, Table, arguments, rate, run

KEY = ("peer", "problem", "noise", "seed")
SECONDS = {"gplearn": 15.0, "pyoperon": 15.0, "pykan": 60.0}
_NEAR = 0.02  # formulas further off than this and the noise are no candidates for the truth
_MOST = 10  # of a front, the best are looked at
_REFITTED = 10  # of a front, the shortest that fit
_NUMBERS = 25  # a formula with more of them is no law


def one(peer: str, problem: laws.Problem, noise: float, seed: int, seconds: float) -> Row:
    """Return the verdict on what a peer finds."""
    X, y = judge.noisy_table(problem, noise, seed)
    row: Row = {
        "peer": peer, "problem": problem.name, "noise": noise, "seed": seed, "budget": seconds,
    }  # fmt: skip
    began = time.perf_counter()
    try:
        rare = tuple(name for name in RARE if problem.formula.has(getattr(sp, name)))
        front, row["seconds"] = peers.searched(peer, Task(X, y, noise, seconds, seed, rare))
        return {**row, **verdict(problem, front, noise)}
    except Exception as error:  # a crash of a peer is a result, and must not end the sweep
        taken = time.perf_counter() - began
        words = f"{type(error).__name__}: {error}"[:200]
        return {**row, "seconds": taken, **_NOTHING, "failure": words}


_NOTHING = dict.fromkeys(("solved", "on_front", "structure", "structure_on_front"), False)


def verdict(problem: laws.Problem, front: list[str], noise: float) -> Row:
    """Return the columns that look at formulas in X0, X1, ..., the chosen one first."""
    from rational_anova.discovery import equivalent

    known: dict[str, Any] = {f"X{i}": sp.Symbol(n) for i, n in enumerate(problem.names)}
    formulas = [sp.sympify(text, locals=known) for text in front]
    errors = [_error(problem, formula) for formula in formulas]

    def is_law(i: int) -> bool:
        if not errors[i] < _NEAR + noise:
            return False
        # gplearn takes roots and logarithms of absolute values.
        variants = dict.fromkeys((formulas[i], formulas[i].replace(sp.Abs, lambda a: a)))
        return any(
            equivalent(f, problem.formula, box=judge.named_box(problem)).solved for f in variants
        )

    solved = is_law(0)
    fits = [i for i in range(len(formulas)) if errors[i] < max(1e-3, 2 * noise)]
    fits = [i for i in fits if len(formulas[i].atoms(sp.Float)) <= _NUMBERS]
    few = sorted(fits, key=lambda i: sp.count_ops(formulas[i]))[:_REFITTED]

    def is_structure(i: int) -> bool:
        return has_structure(problem, *opened(formulas[i]), strict=False)

    structure = solved or (0 in fits and is_structure(0))
    rest = sorted(range(1, len(formulas)), key=lambda i: errors[i])[:_MOST]
    return {
        "solved": solved,
        "on_front": solved or any(is_law(i) for i in rest),
        "structure": structure,
        "structure_on_front": structure or any(is_structure(i) for i in few if i),
        "error": errors[0],
        "wide": _error(problem, formulas[0], widened(problem.box)),
        "front": len(formulas),
        "formula": str(formulas[0].xreplace(_rounded(formulas[0])))[:300],
        "failure": "",
    }


def _error(problem: laws.Problem, formula: sp.Expr, box: laws.Box | None = None) -> float:
    symbols = [sp.Symbol(name) for name in problem.names]
    try:
        function = sp.lambdify(symbols, formula, "numpy")
        return relative_error(problem, lambda X: np.broadcast_to(function(*X.T), len(X)), box)
    except Exception:  # formulas with zoo, or functions that numpy has not
        return float("inf")


def _rounded(formula: sp.Expr) -> dict[sp.Expr, sp.Expr]:
    return {number: sp.Float(number, 4) for number in formula.atoms(sp.Float)}


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--peers", nargs="+", choices=tuple(SECONDS), default=list(SECONDS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    parser.add_argument("--fourteen", action="store_true")
    options = parser.parse_args()
    there = [peer for peer in options.peers if peers.installed(peer)]
    for peer in set(options.peers) - set(there):
        print(f"{peer} is not installed: pip install 'rational-anova[bench]'")
    table = Table("peers_smoke" if options.smoke else "peers", KEY, fresh=options.smoke)
    if options.smoke:
        problems = {peer: laws.paper_three()[1:2] for peer in there if peer != "pykan"}
        seconds, noises = dict.fromkeys(there, 0.5), [0.0]
    else:
        chosen = laws.paper_fourteen() if options.fourteen else laws.feynman()
        problems = {peer: chosen for peer in there}
        seconds, noises = SECONDS, options.noise
        if "pykan" in there:
            problems["pykan"] = laws.paper_fourteen()
    three = [] if options.smoke else laws.paper_three()
    tasks = [
        {"peer": peer, "problem": problem, "noise": noise, "seed": 0, "seconds": seconds[peer]}
        for noise, peer in product(noises, problems)
        for problem in [*three, *problems[peer]]
    ]
    run(table, one, tasks, options.jobs)
    for peer, noise in dict.fromkeys((row["peer"], row["noise"]) for row in table.rows):
        rows = [row for row in table.rows if (row["peer"], row["noise"]) == (peer, noise)]
        words = ", ".join(f"{name} {rate(rows, name)}" for name in _NOTHING)
        print(f"{peer}, noise {noise}: {words}")


if __name__ == "__main__":
    main()
