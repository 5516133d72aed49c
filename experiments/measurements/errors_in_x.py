"""Errors in x: are parameters less biased when the fit knows of them?

Four forms, 25 tables of 50 rows each. x is measured with an error of 4% of its range, y with one of
2% of its spread. The form is told; the fit knows the errors of y alone, or those of x as well.
Bias is the mean relative error of a parameter over the tables of a form, in percent, beside its
standard error.

python -m experiments.measurements.errors_in_x [--smoke] [--jobs 2] [--only NAME ...] [--tables 25]
"""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import rational_anova as ra
from experiments.discovery.recorded import Recorded, by
from experiments.measurements import shared
from experiments.measurements.coverage import Drawn
from experiments.measurements.family import Values
from experiments.table import Row, run

TABLES, ROWS, X_ERROR, Y_ERROR = 25, 50, 0.04, 0.02
KEY = ("form", "seed")
FITS = {"without": False, "with": True}  # whether the fit knows the errors of x
# Ranges are narrow: the bias depends on the numbers, and is that of a form.
FORMS = (
    Drawn("Michaelis-Menten", "a*x/(b + x)", {"a": (3, 3.2), "b": (1, 1.1)}, 0.4, 10),
    Drawn("decay", "a*exp(-b*x)", {"a": (5, 5.5), "b": (0.5, 0.55)}, 0.5, 8),
    Drawn("logistic", "a/(1 + exp(-(x - b)/c))",
          {"a": (8, 9), "b": (5, 5.2), "c": (0.7, 0.75)}, 0, 10),
    Drawn("Gaussian peak", "a*exp(-(x - b)**2/c) + d",
          {"a": (4, 4.4), "b": (5, 5.2), "c": (1.4, 1.5), "d": (1, 1.1)}, 1, 9),
)  # fmt: skip


def table_of(form: Drawn, seed: int) -> tuple[np.ndarray, np.ndarray, float, float, Values]:
    """Return X and y as measured, their standard errors, and the true numbers."""
    random = np.random.default_rng([seed, 55, *form.name.encode()])
    values = form.values(random)
    X = form.inputs(ROWS)
    clean = form.truth(values).at(values)(X)
    x_sigma, sigma = X_ERROR * (form.high - form.low), Y_ERROR * float(clean.std())
    y = clean + sigma * random.standard_normal(ROWS)
    return X + x_sigma * random.standard_normal(X.shape), y, x_sigma, sigma, values


def one(form: Drawn, seed: int) -> Row:
    """Return the relative error of each parameter, without and with the errors of x."""
    X, y, x_sigma, sigma, values = table_of(form, seed)
    row: Row = {"form": form.name, "seed": seed}
    failures = []
    for what, known in FITS.items():
        options = {"x_sigma": x_sigma} if known else {}
        law, row[f"{what}_seconds"], failure = shared.timed(
            partial(told, form, X, y, sigma=sigma, **options)
        )
        failures.append(failure)
        found = {} if law is None else shared.values_of(law)
        for name, value in values.items():
            row[f"{what}_{name}"] = found.get(name, math.nan) / value - 1
    return {**row, "failure": " ".join(filter(None, failures))}


def told(form: Drawn, X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    """Return the law with the true form."""
    return ra.fit_law(
        form.form, X, y, names=["x"], target="y", noise_model="constant", seed=0, **options
    )


def summary(rows: Recorded) -> list[str]:
    """Return a line for each parameter of each form, and how often the bias is smaller."""
    lines, better, total = [], 0, 0
    for (form,), some in by(rows, "form").items():
        for name in (k.removeprefix("with_") for k in some[0] if k.startswith("with_")):
            if name == "seconds" or not some[0][f"with_{name}"]:
                continue
            (plain, error), (knowing, other) = (bias(some, f"{w}_{name}") for w in FITS)
            better += abs(knowing) < abs(plain)
            total += 1
            lines.append(
                f"{form}, {name}: bias {plain:+.2%} +- {error:.2%} by least squares, "
                f"{knowing:+.2%} +- {other:.2%} with the errors of x"
            )
    return [*lines, f"smaller in {better} of {total} parameters"]


def bias(rows: Recorded, column: str) -> tuple[float, float]:
    """Return the mean of a column, and its standard error."""
    values = np.array([float(row[column]) for row in rows])
    return float(np.nanmean(values)), float(np.nanstd(values) / math.sqrt(len(values)))


def main() -> None:
    parser = shared.options(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    options = shared.parsed(parser)
    forms, tables = shared.chosen(FORMS, options.only), options.tables
    if options.smoke:
        forms, tables = forms[:1], 1
    table = shared.results("errors_in_x", KEY, options)
    tasks = [{"form": form, "seed": seed} for form, seed in product(forms, range(tables))]
    run(table, one, tasks, options.jobs)
    print("\n".join(summary(table.rows)))


if __name__ == "__main__":
    main()
