"""The architectures that match the paper's parameter budgets.

    python -m experiments.budgets

Writes experiments/results/budgets.json.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from experiments.results import write
from rational_anova import count_parameters, match_budget
from rational_anova.budgets import FAMILIES

TARGETS = (50_000, 100_000, 200_000, 400_000, 1_000_000)


def main() -> None:
    rows = []
    table = Table("inputs", "target", "family", "architecture", "parameters", "error")
    for inputs in (784, 3072):
        for target in TARGETS:
            for family in FAMILIES:
                found = match_budget(target, family, inputs, 10)
                if count_parameters(found.build(), trainable=False) != found.parameters:
                    raise AssertionError(f"{found} is not what is built")
                row = [inputs, target, family, found.summary, found.parameters, found.error]
                rows.append(row)
                table.add_row(*map(str, row[:-1]), f"{found.error:.3%}")
    Console().print(table)
    write("budgets", {"rows": rows})


if __name__ == "__main__":
    main()
