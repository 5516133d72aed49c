"""How laws hold beyond the data: trained on the inner half of every range, tested outside it.

Of the Feynman equations, without noise and with 1%. Errors are relative to the spread of y in the
whole box: `inner` on fresh rows of the inner half, `outer` on rows that leave it in some variable;
`ratio` is outer over inner. Needs RAN_DATA (--smoke does not).

python -m experiments.discovery.extrapolation [--smoke] [--jobs 2] [--noise 0 0.01]
"""

from __future__ import annotations

import dataclasses
from statistics import median

import numpy as np

from experiments.discovery import judge, laws
from experiments.discovery.calling import discovered
from experiments.table import Row, Table, arguments, rate, run

KEY = ("problem", "noise", "seed")
_TEST = 1000


def inner(problem: laws.Problem) -> laws.Problem:
    """Return the problem on the middle half of every range."""
    parts = [
        (n, low + (high - low) / 4, high - (high - low) / 4) for n, low, high in problem.variables
    ]
    return dataclasses.replace(problem, variables=tuple(parts))


def outer_rows(problem: laws.Problem, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the whole box that are outside the inner one."""
    low, high = np.array(inner(problem).box).T
    X, y = problem.sample(8 * _TEST, random)
    outside = ((low > X) | (high < X)).any(1)
    return X[outside][:_TEST], y[outside][:_TEST]


def one(problem: laws.Problem, noise: float, seed: int) -> Row:
    """Return the errors inside and outside of a law trained inside."""
    middle = inner(problem)
    X, y = judge.noisy_table(middle, noise, seed)
    random = np.random.default_rng(seed + 1)
    tests = {"inner": middle.sample(_TEST, random), "outer": outer_rows(problem, random)}
    spread = problem.sample(_TEST, random)[1].std()
    row: Row = {"problem": problem.name, "noise": noise, "seed": seed}
    law, row["seconds"], failure = discovered(X, y, problem.names, problem.target)
    if law is None:
        return {**row, "exact": False, "failure": failure}
    row["exact"] = judge.verdict(middle, law)["structure"]
    for name, (inputs, truth) in tests.items():
        with np.errstate(all="ignore"):
            left = law.predict(inputs) - truth
        row[name] = float(np.sqrt(np.mean(left**2)) / spread)
    row["ratio"] = row["outer"] / max(row["inner"], 1e-16)
    row["formula"] = str(law.rounded())[:300]
    return {**row, "failure": ""}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    options = parser.parse_args()
    problems = laws.paper_three()[1:2] if options.smoke else laws.feynman()
    noises = [0.0] if options.smoke else options.noise
    name = "extrapolation_smoke" if options.smoke else "extrapolation"
    table = Table(name, KEY, fresh=options.smoke)
    tasks = [{"problem": p, "noise": n, "seed": 0} for n in noises for p in problems]
    run(table, one, tasks, options.jobs)
    for noise in dict.fromkeys(row["noise"] for row in table.rows):
        rows = [row for row in table.rows if row["noise"] == noise]
        ratios = [float(row["ratio"]) for row in rows if row.get("ratio")]
        middle = f"{median(ratios):.2g}" if ratios else "none"
        print(f"noise {noise}: structure {rate(rows, 'exact')}, ratio: median {middle}")


if __name__ == "__main__":
    main()
