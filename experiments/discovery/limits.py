"""How well `discover` keeps its time limit on tables whose law it does not find.

A product of two waves, random networks of three and six inputs, twenty and three hundred columns,
a hundred thousand rows and a million, one column with noise, many experiments, units, a template,
outliers. Seconds are those of the processor by default, the clock of `discover` too, so that other
work on the machine does not count; --wall takes those of the wall.

python -m experiments.discovery.limits [--smoke] [--limits 5 10 20] [--only NAME ...] [--wall]
python -m experiments.discovery.limits --sizes [--limits 5 20]

With --sizes, networks of 2 to 5,000 columns on 10 to 1e6 rows, by the clock of the wall, recorded.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import rational_anova as ra
from experiments.results import Log
from experiments.table import arguments

Call = tuple[Any, Any, dict[str, Any]]  # inputs, target, options
_HIDDEN = 8
_UNITS = {"a": "m", "b": "m/s", "c": "s", "d": "m", "y": "m"}


def waves(rows: int = 1000) -> Call:
    """Return a wave whose size is a wave."""
    random = np.random.default_rng(1)
    A, m, w, t, W = random.uniform([1, 0.2, 1, 0, 5], [3, 0.9, 3, 4, 9], (rows, 5)).T
    columns = {"A": A, "m": m, "w": w, "t": t, "W": W}
    return columns, A * (1 + m * np.cos(w * t)) * np.cos(W * t), {}


def network(inputs: int, rows: int = 1000, idle: int = 0, noise: float = 0.0) -> Call:
    """Return a random network with two hidden layers, and columns that it does not use."""
    random = np.random.default_rng([inputs, rows, idle])
    X = random.uniform(-2, 2, (rows, inputs + idle))
    values = X[:, :inputs]
    for _ in range(2):
        weights = random.normal(0, 2 / np.sqrt(values.shape[1]), (values.shape[1], _HIDDEN))
        values = np.tanh(values @ weights + random.normal(0, 0.5, _HIDDEN))
    y = values @ random.normal(0, 1, _HIDDEN)
    return X, y + noise * np.std(y) * random.normal(size=rows), {}


def positive(inputs: int, rows: int, noise: float = 0.0) -> Call:
    """Return a positive target of positive columns: all links and logarithms are open to it."""
    X, y, _ = network(inputs, rows)
    return X + 2.5, np.exp(y) * (1 + noise * np.random.default_rng(2).normal(size=rows)), {}


def experiments(groups: int = 30, rows: int = 150) -> Call:
    """Return curves of no form, one for each of many experiments."""
    X, y, _ = network(1, groups * rows, noise=0.05)
    label = np.repeat(np.arange(groups), rows)
    own = np.random.default_rng(3).uniform(0.5, 2, groups)[label]
    return {"x": X[:, 0] + 2.1}, own * (y - y.min() + 0.1), {"by": label}


def with_units() -> Call:
    """Return a network of columns that have units."""
    X, y, _ = positive(4, 1000)
    return dict(zip("abcd", X.T, strict=True)), X[:, 0] * y, {"target": "y", "units": _UNITS}


def with_hole() -> Call:
    """Return a template whose hole no law fills."""
    X, y, _ = positive(3, 1000)
    columns = dict(zip("abc", X.T, strict=True))
    return columns, 2 * np.exp(-0.7 * X[:, 0]) + y, {"template": "k*exp(-r*a) + f(b, c)"}


def with_outliers(inputs: int, rows: int) -> Call:
    """Return a network of which a twentieth of the rows is spoilt."""
    X, y, _ = network(inputs, rows, noise=0.02)
    y[::20] += 5 * np.std(y)
    return X, y, {"loss": "robust"}


def found(rows: int = 20_000) -> Call:
    """Return a law with a name, in noise, that is found and tested on many rows."""
    random = np.random.default_rng(4)
    x = random.uniform(0.1, 5, rows)
    return {"x": x}, 3 * x / (x + 0.5) + 0.05 * random.normal(size=rows), {}


TABLES: dict[str, Callable[[], Call]] = {
    "product of waves": waves,
    "network of 3": lambda: network(3),
    "network of 6": lambda: network(6),
    "positive, 2 columns": lambda: positive(2, 1000),
    "positive, 5 columns": lambda: positive(5, 3000),
    "20 columns": lambda: network(4, 2000, idle=16, noise=0.01),
    "300 columns": lambda: network(4, 2000, idle=296, noise=0.05),
    "1e5 rows": lambda: network(4, 100_000, noise=0.01),
    "1e6 rows": lambda: network(3, 1_000_000, noise=0.01),
    "one noisy column": lambda: positive(1, 20_000, noise=0.05),
    "two noisy columns": lambda: positive(2, 5000, noise=0.05),
    "30 experiments": experiments,
    "units": with_units,
    "template": with_hole,
    "outliers": lambda: with_outliers(4, 1000),
    "outliers, 1e5 rows": lambda: with_outliers(1, 100_000),
    "a law in noise": found,
}


_MOST = 3 * 10**7  # cells of a table
SIZES = [
    (columns, rows)
    for columns in (2, 30, 200, 2000, 5000)
    for rows in (10, 1000, 10_000, 100_000, 1_000_000)
    if columns * rows <= _MOST and (rows != 10_000 or columns == 2000)
]


def record(limits: list[float]) -> None:
    """Record the seconds of tables of many sizes; what is there stays."""
    log = Log("discovery_limits")
    for limit in limits:
        for columns, rows in SIZES:
            if not log.has(columns=columns, rows=rows, limit=limit):
                used = min(columns, 4)
                call = network(used, rows, idle=columns - used, noise=0.05)
                log.add(
                    columns=columns, rows=rows, limit=limit, seconds=round(seconds(call, limit), 2)
                )


def seconds(call: Call, limit: float) -> float:
    """Return how long `discover` works on a table with a time limit."""
    X, y, options = call
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.monotonic()
        ra.discover(X, y, time_limit=limit, **options)
        return time.monotonic() - start


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--limits", type=float, nargs="+", default=[5.0, 10.0, 20.0])
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--wall", action="store_true", help="seconds of the wall")
    parser.add_argument("--sizes", action="store_true", help="tables of many sizes, recorded")
    options = parser.parse_args()
    if options.smoke:
        options.limits, options.only = [0.5], ["network of 3"]
    if options.sizes:
        ra.discover(*waves(60)[:2], time_limit=0.1)
        record(options.limits)
        return
    if not options.wall:
        time.monotonic = time.process_time  # of `discover` too, which takes its time from there
    ra.discover(*waves(60)[:2], time_limit=0.1)  # imports are no part of a search
    worst = 0.0
    for limit in options.limits:
        for name in options.only:
            call = TABLES[name]()
            taken = seconds(call, limit)
            worst = max(worst, taken / limit)
            print(f"{name:24s} limit {limit:5g}  seconds {taken:6.2f}", flush=True)
    print(f"worst: {worst:.3f} of the limit")


if __name__ == "__main__":
    main()
