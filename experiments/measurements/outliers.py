"""Three of 60 rows spoilt: is the law the same, and are these rows named?

Five forms, four tables each, 2% noise; three rows, drawn at random, are moved by 10 to 25 standard
deviations of the noise, up or down. `discover(loss="robust")` has to find the form (`same`);
`named` are the rows in `law.outliers`, `hit` those of them that were spoilt. `fit_law` with the
form gives the largest relative error of a parameter for both losses.

python -m experiments.measurements.outliers [--smoke] [--jobs 2] [--only NAME ...] [--seeds 0 1 2 3]
"""

from __future__ import annotations

from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np

import rational_anova as ra
from experiments.discovery.recorded import count
from experiments.measurements import shared
from experiments.measurements.coverage import FORMS, Drawn
from experiments.measurements.family import Form, Values
from experiments.table import Row, run

ROWS, SPOILT, NOISE = 60, 3, 0.02
_FAR = (10.0, 25.0)  # standard deviations of the noise
KEY = ("form", "seed")
LOSSES = ("robust", "squares")


def table_of(form: Drawn, seed: int) -> tuple[np.ndarray, np.ndarray, Values, set[int]]:
    """Return X, y, the true numbers and the rows that were spoilt."""
    random = np.random.default_rng([seed, 44, *form.name.encode()])
    values = form.values(random)
    X = form.inputs(ROWS)
    clean = form.truth(values).at(values)(X)
    sigma = NOISE * clean.std()
    y = clean + sigma * random.standard_normal(ROWS)
    rows = random.choice(ROWS, SPOILT, replace=False)
    y[rows] += sigma * random.uniform(*_FAR, SPOILT) * random.choice([-1.0, 1.0], SPOILT)
    return X, y, values, set(map(int, rows))


def one(form: Drawn, seed: int, limit: float) -> Row:
    """Return what is made of a spoilt table, with both losses."""
    X, y, values, spoilt = table_of(form, seed)
    row: Row = {"form": form.name, "seed": seed, "spoilt": " ".join(map(str, sorted(spoilt)))}
    failures = []
    for loss in LOSSES:
        law, _, failure = shared.timed(partial(told, form, X, y, loss))
        failures.append(failure)
        row[f"{loss}_error"] = float("nan") if law is None else largest_error(law, values)
    family = Form(form.form, ("x",), ((form.low, form.high),), (values,))
    for loss in LOSSES:
        law, row[f"{loss}_seconds"], failure = shared.found(
            limit, X, y, names=["x"], target="y", loss=loss
        )
        failures.append(failure)
        row[f"{loss}_same"] = law is not None and family.same(
            shared.as_numbers(law, law.formula, ("x",))
        )
        if law is not None:
            row[f"{loss}_law"] = shared.printed(law.rounded())
        if loss == "robust":
            row |= named_rows(law, spoilt)
    return {**row, "failure": " ".join(filter(None, failures))}


def told(form: Drawn, X: np.ndarray, y: np.ndarray, loss: str) -> Any:
    """Return the law with the true form."""
    return ra.fit_law(
        form.form, X, y, names=["x"], target="y", loss=loss, noise_model="constant", seed=0
    )


def largest_error(law: Any, values: Values) -> float:
    """Return the largest relative error of a parameter."""
    found = shared.values_of(law)
    return max(abs(found[name] / value - 1) for name, value in values.items())


def named_rows(law: Any, spoilt: set[int]) -> Row:
    """Return how many rows a law names as outliers, and how many of them rightly."""
    named = set(law.outliers) if law is not None else set()
    return {"named": len(named), "hit": len(named & spoilt)}


def main() -> None:
    options = shared.parsed(shared.options(__doc__, seeds=(0, 1, 2, 3)))
    forms, seeds = shared.chosen(FORMS, options.only), options.seeds
    if options.smoke:
        forms, seeds = forms[:1], [0]
    table = shared.results("outliers", KEY, options)
    tasks = [{"form": f, "seed": s, "limit": options.limit} for f, s in product(forms, seeds)]
    run(table, one, tasks, options.jobs)
    rows = table.rows
    named, hit = (sum(int(row[name]) for row in rows) for name in ("named", "hit"))
    for loss in LOSSES:
        error = median(float(row[f"{loss}_error"]) for row in rows)
        print(
            f"{loss}: same law in {count(rows, f'{loss}_same')} of {len(rows)}, "
            f"median of the largest error of a parameter {error:.2%}"
        )
    print(f"named {named} rows, {hit} of them among the {SPOILT * len(rows)} spoilt")


if __name__ == "__main__":
    main()
