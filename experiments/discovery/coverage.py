"""Do the 95% intervals hold the truth? Two hundred noisy tables of Michaelis-Menten.

Each has its own Vmax and K and 60 rows. A law may come out in another form, as S/(a + b S): then
the true numbers are those with which that form is the truth. Tables where the form is another
function are counted apart, and so are numbers that were made exact, which have no interval.

python -m experiments.discovery.coverage [--smoke] [--jobs 2] [--noise 0.05]
"""

from __future__ import annotations

import numpy as np

from experiments.discovery import judge, laws
from experiments.discovery.calling import discovered
from experiments.discovery.structure import true_values
from experiments.table import Row, Table, arguments, rate, run

_ROWS = 60


def michaelis_menten(seed: int) -> laws.Problem:
    """Return the law with numbers drawn at random, to four decimals."""
    random = np.random.default_rng([seed, 31])
    top, half = random.uniform(1, 5), random.uniform(0.4, 2.5)
    text = f"{top:.4f}*S/({half:.4f} + S)"
    return laws.Problem(f"enzyme {seed}", "coverage", "v", text, (("S", 0.05, 10.0),))


def one(seed: int, noise: float) -> Row:
    """Return how many intervals hold the true value."""
    problem = michaelis_menten(seed)
    X, y = judge.noisy_table(problem, noise, seed, _ROWS)
    row: Row = {"seed": seed, "noise": noise, "truth": problem.text}
    law, row["seconds"], row["failure"] = discovered(X, y, problem.names, "v")
    if law is None:
        return {**row, "found": False, "structure": False}
    row |= {"formula": str(law.rounded())[:200], "found": bool(law.grade.claimed)}
    return {**row, **held(problem, law)}


def held(problem: laws.Problem, law: object) -> Row:
    """Return the numbers with an interval, and how many of these hold the truth."""
    template, start = judge.in_plain_symbols(problem, law)
    truth = true_values(problem, template, start)
    if truth is None:
        return {"structure": False}
    exact = {p.name for p in law.parameters if p.exact is not None}  # type: ignore[attr-defined]
    intervals = law.intervals(0.95)  # type: ignore[attr-defined]
    free = {k: v for k, v in truth.items() if k.name[1:] not in exact}
    inside = [intervals[k.name[1:]][0] <= v <= intervals[k.name[1:]][1] for k, v in free.items()]
    # What was made exact, wrongly: more than the last of seventeen digits off.
    wrong = [
        k for k in truth.keys() - free.keys() if abs(truth[k] - start[k]) > 1e-6 * abs(truth[k])
    ]
    return {
        "structure": True,
        "numbers": len(inside),
        "inside": sum(inside),
        "made_exact": len(exact),
        "wrongly_exact": len(wrong),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, default=0.05)
    options = parser.parse_args()
    name, tables = ("coverage_smoke", 1) if options.smoke else ("coverage", 200)
    table = Table(name, ("seed", "noise"), fresh=options.smoke)
    tasks = [{"seed": seed, "noise": options.noise} for seed in range(tables)]
    run(table, one, tasks, options.jobs)
    rows = [row for row in table.rows if row["structure"] == "True"]
    numbers, inside = (sum(int(row[k]) for row in rows) for k in ("numbers", "inside"))
    wrong = sum(int(row["wrongly_exact"]) for row in rows)
    print(
        f"form found in {rate(table.rows, 'structure')}; of {numbers} intervals {inside} hold the "
        f"truth ({inside / max(numbers, 1):.1%}); wrongly made exact: {wrong}"
    )


if __name__ == "__main__":
    main()
