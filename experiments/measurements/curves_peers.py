"""Peers on the sixty curves: pyoperon and gplearn, judged by the rule that ours are judged by.

They get every third curve, seed 0, both noises, one thread and 60 seconds a table, the time limit
of `discover`; functions and settings are those of `experiments.discovery.peer_searches` (pyoperon
is told the noise, both are told of tanh where the curve has it). `first` is the formula they
choose, `on_front` any on their front. pyoperon always adds a constant, which is not held against it
in `first_shifted` and `on_front_shifted`. Needs the extra `bench`.

python -m experiments.measurements.curves_peers [--smoke] [--jobs 1] [--only NAME ...] [--all]
    [--peers pyoperon gplearn] [--seconds 60] [--seeds 0] [--noise 0.01 0.05]
"""

from __future__ import annotations

from itertools import product
from statistics import median

import numpy as np
import sympy as sp

from experiments.discovery import peers
from experiments.discovery.peer_searches import RARE, Task
from experiments.discovery.recorded import by, count
from experiments.measurements import shared
from experiments.measurements.curves import NOISES, Curve, best_values, curves
from experiments.measurements.family import Form
from experiments.table import Row, run

_PEERS = ("pyoperon", "gplearn")
_SECONDS = 60.0
_MOST = 20  # formulas of a front that are looked at
KEY = ("peer", "curve", "noise", "seed", "budget")


def one(peer: str, curve: Curve, noise: float, seed: int, budget: float) -> Row:
    """Return the verdict on what a peer finds."""
    x, y = curve.table(noise, seed)
    row: Row = {
        "peer": peer, "curve": curve.name, "named": curve.named, "noise": noise, "seed": seed,
        "budget": budget,
    }  # fmt: skip
    rare = tuple(name for name in RARE if curve.truth.formula.has(getattr(sp, name)))
    try:
        front, taken = peers.searched(peer, Task(x[:, None], y, noise, budget, seed, rare))
    except Exception as error:  # a crash of a peer is a result, and must not end the sweep
        words = f"{type(error).__name__}: {error}"[:200]
        return {**row, "seconds": budget, **_NOTHING, "failure": words}
    return {**row, "seconds": taken, **verdict(curve, x, y, front), "failure": ""}


_NOTHING = dict.fromkeys(("first", "on_front", "first_shifted", "on_front_shifted"), False)


def verdict(curve: Curve, x: np.ndarray, y: np.ndarray, front: list[str]) -> Row:
    """Return whether formulas in X0, the chosen one first, are of the curve's family."""
    values = best_values(curve, x[:, None], y, {})
    form = Form(curve.form, ("x",), curve.truth.box, (values, curve.values))
    shifted = Form(
        f"({curve.form}) + offset",
        ("x",),
        form.box,
        tuple({**v, "offset": 0.0} for v in form.truths),
    )
    formulas = [sp.sympify(text, locals={"X0": sp.Symbol("x")}) for text in front[:_MOST]]
    same = [is_same(form, formula) for formula in formulas]
    return {
        "first": same[0],
        "on_front": any(same),
        "first_shifted": same[0] or is_same(shifted, formulas[0]),
        "on_front_shifted": any(same) or any(is_same(shifted, f) for f in formulas),
        "front": len(front),
        "formula": shared.printed(formulas[0].evalf(4)),
    }


def is_same(form: Form, formula: sp.Expr) -> bool:
    """Return whether a formula is of the family; gplearn takes roots of absolute values."""
    return any(form.same(f) for f in dict.fromkeys((formula, formula.replace(sp.Abs, _bare))))


def _bare(argument: sp.Expr) -> sp.Expr:
    return argument


def main() -> None:
    parser = shared.options(__doc__, jobs=1)
    parser.add_argument("--peers", nargs="+", choices=_PEERS, default=list(_PEERS))
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    parser.add_argument("--noise", type=float, nargs="+", default=list(NOISES))
    parser.add_argument("--all", action="store_true", help="all curves, not every third")
    options = shared.parsed(parser)
    there = [peer for peer in options.peers if peers.installed(peer)]
    for peer in set(options.peers) - set(there):
        print(f"{peer} is not installed: pip install 'rational-anova[bench]'")
    wanted = shared.chosen(curves() if options.all else curves()[::3], options.only)
    if options.smoke:
        wanted, options.noise, options.seeds, options.seconds = wanted[:1], [0.01], [0], 1.0
    table = shared.results("curves_peers", KEY, options)
    tasks = [
        {"peer": peer, "curve": curve, "noise": noise, "seed": seed, "budget": options.seconds}
        for seed, noise, peer, curve in product(options.seeds, options.noise, there, wanted)
    ]
    run(table, one, tasks, options.jobs)
    for (peer, noise), rows in by(table.rows, "peer", "noise").items():
        seconds = median(float(row["seconds"]) for row in rows)
        print(
            f"{peer}, noise {noise}: true form chosen in {count(rows, 'first')} of {len(rows)}, "
            f"on the front in {count(rows, 'on_front')}; up to a constant "
            f"{count(rows, 'first_shifted')} and {count(rows, 'on_front_shifted')}; "
            f"median {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
