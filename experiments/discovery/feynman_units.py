"""The sixty Feynman equations, found with and without the units of their columns.

The units stand in `feynman_units.json`, the target's among them; constants of nature are columns
there. 2,000 rows a table, no noise; a law counts by SRBench's rule. Needs RAN_DATA (--smoke does
not).

python -m experiments.discovery.feynman_units [--smoke] [--jobs 2] [--seeds 1] [--only I.9.18 ...]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from experiments.discovery import judge, laws
from experiments.table import Row, Table, arguments, rate, run
from rational_anova.discovery import discover
from rational_anova.discovery.dimensions import Units, pi_groups, read_units

KEY = ("problem", "units", "noise", "seed")
_FILE = Path(__file__).with_name("feynman_units.json")
_SMOKE = laws.Problem(
    "kinetic energy", "smoke", "E", "m*v**2/2", (("m", 1, 5), ("v", 1, 5)), "any textbook"
)
_SMOKE_UNITS = {"m": "kg", "v": "m/s", "E": "J"}


def stated(problem: laws.Problem) -> dict[str, str]:
    """Return the units of a problem's columns and its target."""
    if problem.name == _SMOKE.name:
        return dict(_SMOKE_UNITS)
    known: dict[str, dict[str, str]] = json.loads(_FILE.read_text())
    return known[problem.name]


def units_of(problem: laws.Problem) -> Units:
    """Return the units of a problem, read."""
    return read_units(stated(problem), problem.names, problem.target)


def row_of(problem: laws.Problem, units: bool, noise: float, seed: int) -> Row:
    """Return what `discover` makes of a law, with units or without."""
    find = partial(discover, units=stated(problem)) if units else discover
    row = judge.judge(problem, noise, seed, find=find)
    groups = len(pi_groups(units_of(problem)).products)
    return {**row, "units": units, "columns": len(problem.names), "groups": groups}


def sweep(
    table: Table, problems: Sequence[laws.Problem], noise: float, seeds: int, jobs: int
) -> None:
    """Run all problems both ways, and compare."""
    tasks = [
        {"problem": problem, "units": units, "noise": noise, "seed": seed}
        for seed, problem, units in product(range(seeds), problems, (False, True))
    ]
    run(table, row_of, tasks, jobs)
    names = {problem.name for problem in problems}
    summary([row for row in table.rows if row["problem"] in names])


def summary(rows: Sequence[dict[str, str]]) -> None:
    """Print rate and seconds both ways, and the equations on which they differ."""
    ways = {way: [row for row in rows if row["units"] == str(way)] for way in (False, True)}
    print("| units | solved | structure | median s | longest s |")
    print("|---|---|---|---|---|")
    for way, own in ways.items():
        seconds = [float(row["seconds"]) for row in own]
        print(
            f"| {'with' if way else 'without'} | {rate(own, 'solved')} | "
            f"{rate(own, 'structure')} | {median(seconds):.2f} | {max(seconds):.1f} |"
        )
    pairs = {(row["problem"], row["seed"]): row for row in ways[False]}
    for row in ways[True]:
        plain = pairs.get((row["problem"], row["seed"]))
        if plain is not None and plain["solved"] != row["solved"]:
            better = "with" if row["solved"] == "True" else "without"
            print(f"{row['problem']}, seed {row['seed']}: solved {better} units only")


def chosen(only: Sequence[str]) -> list[laws.Problem]:
    """Return all problems, or those that are named."""
    known = {problem.name: problem for problem in laws.feynman()}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise SystemExit(f"--only: no equation {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in only] or list(known.values())


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], metavar="EQUATION")
    options = parser.parse_args()
    if options.smoke:
        table = Table("feynman_units_smoke", KEY, fresh=True)
        sweep(table, [_SMOKE], 0.0, 1, options.jobs)
        return
    problems = chosen(options.only)
    sweep(Table("feynman_units", KEY), problems, options.noise, options.seeds, options.jobs)


if __name__ == "__main__":
    main()
