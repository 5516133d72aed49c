"""How near units come to common activations when they are fitted to them at the start.

    python -m experiments.init_fit

Writes experiments/results/init_fit.json; docs/results/starts.md shows the table.
"""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments.results import write
from rational_anova import Rational1d
from rational_anova.functional import DENOMINATORS

FUNCTIONS = ("gelu", "silu", "relu", "tanh")
DEGREES = ((3, 2), (5, 4))


def measure(name: str, degrees: tuple[int, int], kind: str) -> dict[str, object]:
    start = time.perf_counter()
    error = Rational1d(1, degrees, kind, init=name).init_error
    return {
        "function": name,
        "degrees": list(degrees),
        "denominator": kind,
        "rmse": error.rmse,
        "maximum": error.maximum,
        "tail": error.tail,
        "seconds": round(time.perf_counter() - start, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one function, two denominators")
    smoke = parser.parse_args().smoke
    jobs = [
        (name, degrees, kind)
        for degrees in (DEGREES[:1] if smoke else DEGREES)
        for name in (FUNCTIONS[:1] if smoke else FUNCTIONS)
        for kind in (list(DENOMINATORS)[:2] if smoke else DENOMINATORS)
    ]
    rows = [measure(*job) for job in track(jobs, "fitting")]
    table = Table("function", "degrees", "denominator", "RMSE", "maximum", "tail", "seconds")
    for row in rows:
        numbers = [f"{row[key]:.1e}" for key in ("rmse", "maximum", "tail")]
        degrees = "({}, {})".format(*row["degrees"])
        table.add_row(row["function"], degrees, row["denominator"], *numbers, str(row["seconds"]))
    Console().print(table)
    write("init_fit_smoke" if smoke else "init_fit", {"rows": rows})


if __name__ == "__main__":
    main()
