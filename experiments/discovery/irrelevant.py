"""Twelve irrelevant columns beside those of Van der Waals: the same law, or not.

python -m experiments.discovery.irrelevant [--smoke] [--jobs 2]
"""

from __future__ import annotations

import dataclasses

from experiments.discovery import laws
from experiments.discovery.feynman import KEY, sweep
from experiments.table import Table, arguments

_COLUMNS = 12


def with_idle_columns(problem: laws.Problem, count: int) -> laws.Problem:
    """Return the law in a table with columns that it does not use."""
    idle = tuple((f"x{i + 1}", -1.0 - i, 2.0 + i) for i in range(count))
    return dataclasses.replace(
        problem, name=f"{problem.name}, {count} idle columns", variables=problem.variables + idle
    )


def main() -> None:
    options = arguments(__doc__).parse_args()
    gas, enzyme, _ = laws.paper_three()
    if options.smoke:
        table = Table("irrelevant_smoke", KEY, fresh=True)
        sweep(table, [with_idle_columns(enzyme, 2)], [0.0], 1, options.jobs)
        return
    problems = [with_idle_columns(gas, count) for count in (0, _COLUMNS)]
    sweep(Table("irrelevant", KEY), problems, [0.0, 0.001, 0.01], 3, options.jobs)


if __name__ == "__main__":
    main()
