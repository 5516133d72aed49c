"""A plan on paper for a table that this machine cannot hold: 1e9 rows, 200 columns, 100 workers.

Constants are measured here: seconds of one core for a product of float32 columns with themselves,
and for evaluating heads; seconds a row of the first pass and of the screening of pairs come from
the largest table of experiments.many.scaling. Everything else is arithmetic.

python -m experiments.many.plan [--smoke]
"""

from __future__ import annotations

import csv
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.results import FOLDER, write
from experiments.table import arguments

ROWS, COLUMNS, WORKERS = 1e9, 200, 100
EACH, PAIRS = 80, 2200  # numerators of a column's main effect; of all pairs at most
CELLS, BLOCK = 25, 8192
NETWORK = 1e9  # bytes a second into one machine: assumed
STEPS = 10  # of conjugate gradients, with the Gram matrix of the part as preconditioner: assumed


def seconds(work: Any, rounds: int) -> float:
    """Return the least processor seconds of some rounds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def measured(size: int, rounds: int) -> dict[str, float]:
    """Return the constants of one core."""
    x = np.random.default_rng(0).normal(size=(size, BLOCK)).astype(np.float32)
    gram = np.empty((size, size), np.float32)
    u, phi = x[:64], np.empty((64, BLOCK), np.float32)

    def heads() -> None:
        np.multiply(u, u, out=phi)
        np.add(phi, 1, out=phi)
        np.divide(1, phi, out=phi)

    with threadpool_limits(1):
        product = seconds(lambda: np.matmul(x, x.T, out=gram), rounds)
        evaluated = seconds(lambda: [heads() for _ in range(20)], rounds) / 20
    with (FOLDER / "many_scaling.csv").open(newline="") as file:
        last = max(csv.DictReader(file), key=lambda row: int(row["rows"]))
    rows, columns = int(last["rows"]), int(last["columns"])
    return {
        "products_a_second": size**2 / 2 * BLOCK / product,
        "seconds_a_value_of_heads": evaluated / phi.size,
        "rows_of_the_passes": rows,
        "seconds_a_cell_first_pass": float(last["columns_processor_seconds"]) / rows / columns,
        "seconds_a_row_and_pair": float(last["pairs_processor_seconds"])
        / rows
        / (columns * (columns - 1) / 2),
    }


def plan(known: dict[str, float]) -> dict[str, float]:
    """Return what the table would take."""
    own = ROWS / WORKERS
    pairs = COLUMNS * (COLUMNS - 1) / 2
    size = COLUMNS * EACH + PAIRS
    tables = 2 * pairs * 2 * CELLS**2 * 8
    gram = size**2 * 8
    rounds = np.ceil(np.log2(WORKERS))
    per_step = own * size * (2 * known["seconds_a_value_of_heads"] + 2 / known["products_a_second"])
    return {
        "table_bytes": ROWS * COLUMNS * 4,
        "rows_a_worker": own,
        "first_pass_seconds": own * COLUMNS * known["seconds_a_cell_first_pass"],
        "pairs": pairs,
        "pairs_seconds": own * pairs * known["seconds_a_row_and_pair"],
        "pairs_bytes_a_worker": tables,
        "pairs_reduce_seconds": rounds * tables / NETWORK,
        "numerators": size,
        "gram_bytes": gram,
        "block_bytes": size * BLOCK * 4,
        "gram_seconds": own * size**2 / 2 / known["products_a_second"],
        "gram_reduce_seconds": rounds * gram / NETWORK,
        "gram_bytes_moved": (WORKERS - 1) * gram,
        "cholesky_seconds": size**3 / 3 / known["products_a_second"] * 2,
        "conjugate_gradients_seconds": STEPS * per_step,
        "conjugate_gradients_bytes_a_step": (WORKERS - 1) * size * 8,
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    known = measured(128 if options.smoke else 2048, 1 if options.smoke else 5)
    found = {"measured": known, "plan": plan(known)}
    print(found)
    write("many_plan_smoke" if options.smoke else "many_plan", found)


if __name__ == "__main__":
    main()
