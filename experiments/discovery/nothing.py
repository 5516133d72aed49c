"""Fifty tables of noise alone: a law must be claimed in none.

The sizes vary from 30 to 2,000 rows and from one to six columns; the noise is normal, uniform,
lognormal or Student's with three degrees of freedom, and every other table has normal inputs.

python -m experiments.discovery.nothing [--smoke] [--jobs 2]
"""

from __future__ import annotations

import numpy as np

from experiments.discovery.calling import discovered
from experiments.table import Row, Table, arguments, rate, run

_ROWS = (30, 60, 120, 400, 2000)


def noise_table(seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return inputs, a target that has nothing to do with them, and the kind of noise."""
    random = np.random.default_rng([seed, 777])
    rows, columns = _ROWS[seed % len(_ROWS)], 1 + seed % 6
    X = random.normal(size=(rows, columns)) if seed % 2 else random.uniform(0.5, 5, (rows, columns))
    kinds = {
        "normal": lambda: random.normal(2, 1, rows),
        "uniform": lambda: random.uniform(1, 3, rows),
        "lognormal": lambda: random.lognormal(0, 0.7, rows),
        "t3": lambda: random.standard_t(3, rows),
    }
    kind = list(kinds)[seed % len(kinds)]
    return X, kinds[kind](), kind


def one(seed: int) -> Row:
    """Return what is made of a table of noise."""
    X, y, kind = noise_table(seed)
    row: Row = {"seed": seed, "rows": len(X), "columns": X.shape[1], "noise": kind}
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    law, row["seconds"], row["failure"] = discovered(X, y, names, "y")
    row["found"] = law is not None and bool(law.grade.claimed)
    return {**row, "formula": "" if law is None else str(law.rounded())[:300]}


def main() -> None:
    options = arguments(__doc__).parse_args()
    name, tables = ("nothing_smoke", 1) if options.smoke else ("nothing", 50)
    table = Table(name, ("seed",), fresh=options.smoke)
    run(table, one, [{"seed": seed} for seed in range(tables)], options.jobs)
    failures = sum(bool(row["failure"]) for row in table.rows)
    print(f"a law claimed in {rate(table.rows, 'found')}, failures: {failures}")


if __name__ == "__main__":
    main()
