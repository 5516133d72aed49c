"""The sixty Feynman equations: how many come out exactly, at four levels of noise.

2,000 rows a table, three seeds; a law counts by SRBench's rule. Needs RAN_DATA (--smoke does not).

python -m experiments.discovery.feynman [--smoke] [--jobs 2] [--noise 0 0.001 0.01 0.1] [--seeds 3]
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from statistics import median

from experiments.discovery import judge, laws
from experiments.table import Table, arguments, rate, run

KEY = ("problem", "noise", "seed")


def sweep(
    table: Table, problems: Iterable[laws.Problem], noises: Iterable[float], seeds: int, jobs: int
) -> None:
    """Run `discover` on all problems at each level of noise, and say how many it solved."""
    tasks = [
        {"problem": problem, "noise": float(noise), "seed": seed}
        for noise, seed, problem in product(noises, range(seeds), problems)
    ]
    run(table, judge.judge, tasks, jobs)
    for noise in dict.fromkeys(row["noise"] for row in table.rows):
        rows = [row for row in table.rows if row["noise"] == noise]
        seconds = [float(row["seconds"]) for row in rows]
        print(
            f"noise {noise}: solved {rate(rows, 'solved')}, structure {rate(rows, 'structure')}, "
            f"on the front {rate(rows, 'on_front')}, seconds: median {median(seconds):.1f}, "
            f"longest {max(seconds):.1f}"
        )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=list(judge.NOISES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if options.smoke:
        table = Table("feynman_smoke", KEY, fresh=True)
        sweep(table, laws.paper_three()[1:2], [0.0], 1, options.jobs)
        return
    sweep(Table("feynman", KEY), laws.feynman(), options.noise, options.seeds, options.jobs)


if __name__ == "__main__":
    main()
