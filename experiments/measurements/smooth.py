"""Curves and noise without a law: how often is one claimed?

A hundred smooth curves are drawn from Gaussian processes (RBF and Matern 5/2 in turn, with one to
six turns, 40 to 80 rows, 2% noise): no form is behind them. A hundred tables are noise alone: one
to three columns, 30 to 120 rows, targets normal, uniform, heavy-tailed (Student, 3 degrees of
freedom) or log-normal. *Established* should be said at most twice of the first and never of the
second.

python -m experiments.measurements.smooth [--smoke] [--jobs 2] [--only smooth noise] [--tables 100]
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from statistics import median

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.distance import cdist

from experiments.discovery.recorded import by
from experiments.measurements import shared
from experiments.table import Row, run

KINDS = ("smooth", "noise")
KEY = ("kind", "seed")
TABLES, NOISE = 100, 0.02
_GRID = 301
_LENGTHS = (0.08, 0.11, 0.15, 0.2, 0.27, 0.36)  # of the range of x
_TURNS = (1, 6)
_COVARIANCES = ("RBF", "Matern 5/2")
_TARGETS = ("normal", "uniform", "t3", "lognormal")
Table = tuple[np.ndarray, np.ndarray, str]


@cache
def _root(covariance: str, length: float) -> np.ndarray:
    """Return the Cholesky factor of a covariance on the grid."""
    grid = np.linspace(0, 1, _GRID)[:, None]
    r = cdist(grid, grid) / length
    if covariance == "RBF":
        matrix = np.exp(-(r**2) / 2)
    else:
        s = np.sqrt(5.0) * r
        matrix = (1 + s + s**2 / 3) * np.exp(-s)
    return np.linalg.cholesky(matrix + 1e-8 * np.eye(_GRID))


def turns(values: np.ndarray) -> int:
    """Return how often a curve turns from rising to falling or back."""
    return int(np.sum(np.diff(np.sign(np.diff(values))) != 0))


def drawn(seed: int) -> tuple[CubicSpline, str]:
    """Return a smooth curve on [0, 1] with one to six turns, and its covariance."""
    random = np.random.default_rng([seed, 18])
    covariance = _COVARIANCES[seed % 2]
    while True:
        length = float(random.choice(_LENGTHS))
        values = _root(covariance, length) @ random.standard_normal(_GRID)
        if _TURNS[0] <= turns(values) <= _TURNS[1]:
            words = f"{covariance}, length {length:g}, turns {turns(values)}"
            return CubicSpline(np.linspace(0, 1, _GRID), values), words


def smooth_table(seed: int) -> Table:
    """Return rows of a smooth curve with noise."""
    curve, words = drawn(seed)
    random = np.random.default_rng([seed, 19])
    rows = int(random.integers(40, 81))
    x = np.linspace(0, 1, rows) if seed % 4 < 2 else np.sort(random.uniform(0, 1, rows))
    y = curve(x)
    y = y + NOISE * y.std() * random.standard_normal(rows)
    # Ranges and levels as measurements have them: not all about zero.
    low, width, level = random.uniform(0, 3), random.uniform(2, 20), random.uniform(-3, 6)
    return (low + width * x)[:, None], y + level, words


def noise_table(seed: int) -> Table:
    """Return inputs, and a target that has nothing to do with them."""
    random = np.random.default_rng([seed, 20])
    rows, columns = int(random.integers(30, 121)), 1 + seed % 3
    X = random.uniform(0.2, 8, (rows, columns))
    kind = _TARGETS[(seed // 3) % len(_TARGETS)]
    draw = {
        "normal": lambda: random.normal(5, 1, rows),
        "uniform": lambda: random.uniform(1, 4, rows),
        "t3": lambda: 2 + random.standard_t(3, rows),
        "lognormal": lambda: random.lognormal(0, 0.8, rows),
    }
    return X, draw[kind](), kind


def one(kind: str, seed: int, limit: float) -> Row:
    """Return what is made of a table without a law."""
    X, y, words = {"smooth": smooth_table, "noise": noise_table}[kind](seed)
    row: Row = {"kind": kind, "seed": seed, "rows": len(X), "columns": X.shape[1], "drawn": words}
    names = [f"x{i + 1}" for i in range(X.shape[1])]
    law, row["seconds"], row["failure"] = shared.found(limit, X, y, names=names, target="y")
    if law is None:
        return {**row, **shared.NOTHING}
    return {
        **row, **shared.described(law), "claimed": bool(law.grade.claimed),
        "doubts": " ".join(law.doubts)[:300],
    }  # fmt: skip


def main() -> None:
    parser = shared.options(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    options = shared.parsed(parser)
    kinds = [kind for kind in KINDS if not options.only or kind in options.only]
    table = shared.results("smooth", KEY, options)
    seeds = range(1 if options.smoke else options.tables)
    tasks = [{"kind": k, "seed": s, "limit": options.limit} for k, s in product(kinds, seeds)]
    run(table, one, tasks, options.jobs)
    for (kind,), rows in by(table.rows, "kind").items():
        grades = Counter(row["grade"] or "failure" for row in rows)
        words = ", ".join(f"{grade} {n}" for grade, n in grades.most_common())
        seconds = median(float(row["seconds"]) for row in rows)
        print(f"{kind}, {len(rows)} tables: {words}; median {seconds:.1f} s")


if __name__ == "__main__":
    main()
