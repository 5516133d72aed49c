"""A million rows of 30 columns in memory: the table of experiments.tabular.scaling, again.

What it took before the rows of a table were summed block by block stands in
experiments/results/tabular_scaling.csv.

python -m experiments.many.memory [--smoke]
"""

from __future__ import annotations

from experiments.table import Table as Results
from experiments.table import arguments
from experiments.tabular.scaling import work


def main() -> None:
    options = arguments(__doc__).parse_args()
    rows, name = (60_000, "memory_smoke") if options.smoke else (1_000_000, "memory")
    table = Results(name, ("rows",), fresh=options.smoke, study="many")
    if not table.has(rows=rows):
        table.add(work(rows))
        print(table.rows[-1], flush=True)


if __name__ == "__main__":
    main()
