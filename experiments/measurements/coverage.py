"""Do 95% intervals hold the truth, when the form is told and when it has to be chosen?

Five forms with numbers drawn at random, 100 tables of 60 rows each; the noise is in turn constant
(4% of the spread), proportional (6%) and log-normal (0.15). Counted are, at 20 points of the range,
intervals of the curve that hold the true value (for log-normal noise the median of y) and intervals
of a new measurement that hold one; and intervals of the parameters, by profile and by Wald, told
(`fit_law`) and found (`discover`), the latter where the form is right. A law may come out in
another way of writing: then the true numbers are those with which it is the truth.

python -m experiments.measurements.coverage [--smoke] [--jobs 2] [--only NAME ...] [--tables 500]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

import rational_anova as ra
from experiments.discovery.recorded import Recorded, by, count
from experiments.measurements import shared
from experiments.measurements.family import Form, Values, distance, fitted, function_of
from experiments.table import Row, run

TABLES, ROWS, POINTS, LEVEL = 500, 60, 20, 0.95
NOISES = ("constant", "proportional", "log-normal")
SIZES = {"constant": 0.04, "proportional": 0.06, "log-normal": 0.15}
KEY = ("form", "table")
METHODS = ("profile", "wald")


@dataclass(frozen=True)
class Drawn:
    """A form whose numbers are drawn from ranges.

    Args:
        name: of the form.
        form: in x and free names.
        ranges: of each number.
        low, high: range of x.
        spaced: evenly in log x.
    """

    name: str
    form: str
    ranges: Mapping[str, tuple[float, float]]
    low: float
    high: float
    spaced: bool = False

    def values(self, random: np.random.Generator) -> Values:
        """Return numbers."""
        return {name: float(random.uniform(*ends)) for name, ends in self.ranges.items()}

    def truth(self, values: Values) -> Form:
        """Return the form with these numbers as the truth."""
        return Form(self.form, ("x",), ((self.low, self.high),), (values,))

    def inputs(self, rows: int) -> np.ndarray:
        """Return x (rows, 1)."""
        space = np.geomspace if self.spaced else np.linspace
        return space(self.low, self.high, rows)[:, None]


# No two sets of numbers give the same curve, so that numbers can be compared one by one.
FORMS = (
    Drawn("Michaelis-Menten", "a*x/(b + x)", {"a": (1, 5), "b": (0.4, 2.5)}, 0.05, 10, True),
    Drawn(
        "decay to a level", "a + b*exp(-c*x)", {"a": (1, 3), "b": (3, 8), "c": (0.2, 0.7)}, 0, 12
    ),
    Drawn(
        "logistic", "a/(1 + exp(-(x - b)/c))", {"a": (5, 20), "b": (4, 7), "c": (0.8, 1.6)}, 0, 12
    ),
    Drawn("power law", "a*x**b", {"a": (1, 4), "b": (0.4, 1.8)}, 0.2, 20, True),
    Drawn(
        "Gompertz", "a*exp(-b*exp(-c*x))", {"a": (5, 15), "b": (3, 6), "c": (0.3, 0.6)}, 0, 12
    ),
)  # fmt: skip


def measured(clean: np.ndarray, kind: str, random: np.random.Generator, spread: float) -> Any:
    """Return true values with noise of a kind."""
    normal, size = random.standard_normal(len(clean)), SIZES[kind]
    if kind == "constant":
        return clean + size * spread * normal
    return clean * (1 + size * normal) if kind == "proportional" else clean * np.exp(size * normal)


def one(form: Drawn, table: int, limit: float) -> Row:
    """Return how many intervals hold what they should, told and found."""
    random = np.random.default_rng([table, 33])
    kind = NOISES[(table // len(FORMS)) % len(NOISES)]
    values = form.values(random)
    truth = form.truth(values)
    X = form.inputs(ROWS)
    clean = truth.at(values)(X)
    y = measured(clean, kind, random, clean.std())
    at = random.uniform(form.low, form.high, (POINTS, 1))
    true = truth.at(values)(at)
    new = measured(true, kind, random, clean.std())
    row: Row = {"form": form.name, "table": table, "noise": kind}
    told, row["told_seconds"], row["failure"] = shared.timed(
        lambda: ra.fit_law(form.form, X, y, names=["x"], target="y", seed=0)
    )
    if told is not None:
        row |= {"told_noise": told.noise.model, **held("told", told, at, true, new)}
        row |= parameters_held("told", told, values)
    found, row["seconds"], failure = shared.found(limit, X, y, names=["x"], target="y")
    row["failure"] = " ".join(filter(None, (row["failure"], failure)))
    if found is None:
        return {**row, **shared.NOTHING, "found_same": False}
    row |= {**shared.described(found), **held("found", found, at, true, new)}
    best = {**values, **(shared.values_of(told) if told is not None else {})}
    family = Form(form.form, ("x",), truth.box, (best, values))
    same = family.same(shared.as_numbers(found, found.formula, ("x",)))
    row["found_same"] = same
    right = true_numbers(found, truth) if same else None
    return row if right is None else {**row, **parameters_held("found", found, right)}


def held(what: str, law: Any, at: np.ndarray, true: np.ndarray, new: np.ndarray) -> Row:
    """Return how many intervals of the curve and of new measurements hold what they should."""
    row: Row = {}
    for name, noise, values in (("curve", False, true), ("new", True, new)):
        low, high = law.predict_interval(at, LEVEL, noise=noise)
        row[f"{what}_{name}"] = int(np.sum((low <= values) & (values <= high)))
    return row


def parameters_held(what: str, law: Any, values: Values) -> Row:
    """Return how many parameters have an interval, and how many of these hold the true value."""
    free = [p.name for p in law.parameters if p.exact is None and not p.given]
    row: Row = {f"{what}_numbers": len(free)}
    for method in METHODS:
        intervals = law.intervals(LEVEL, method=method)
        inside = [intervals[n][0] <= values[n] <= intervals[n][1] for n in free]
        row[f"{what}_{method}"] = sum(inside)
    return row


def true_numbers(law: Any, truth: Form) -> Values | None:
    """Return the parameters with which a law's template is the truth, None if there are none."""
    own = {sp.Symbol(p.name): sp.Symbol(f"_{p.name}") for p in law.parameters}
    inputs = dict(zip(law.names.symbols, map(sp.Symbol, truth.columns), strict=True))
    function = function_of(
        law.template.xreplace({**own, **inputs}), list(own.values()), truth.columns
    )
    X = np.linspace(*truth.box[0], 200)[:, None]
    curve = truth.at(truth.truths[0])
    start = np.array([float(p.value) for p in law.parameters])
    values = fitted(function, start, X, curve(X))
    if distance(lambda X: function(values, X), curve, X) > 1e-6:
        return None
    return {p.name: float(v) for p, v in zip(law.parameters, values, strict=True)}


def summary(rows: Recorded) -> list[str]:
    """Return a line for each kind of noise, and one for all."""
    lines = [f"{noise}: {_rates(some)}" for (noise,), some in by(rows, "noise").items()]
    return [*lines, f"all: {_rates(rows)}"]


def _rates(rows: Recorded) -> str:
    parts = [f"{len(rows)} tables, form right in {count(rows, 'found_same')}"]
    for what in ("told", "found"):
        some = [row for row in rows if row.get(f"{what}_curve")]
        numbers = sum(int(row.get(f"{what}_numbers") or 0) for row in some)
        asked = POINTS * len(some) or 1
        shares = [f"{n} {_sum(some, what, n) / asked:.1%}" for n in ("curve", "new")]
        shares += [f"{m} {_sum(some, what, m) / (numbers or 1):.1%}" for m in METHODS]
        parts.append(f"{what}: {', '.join(shares)}")
    return "; ".join(parts)


def _sum(rows: Recorded, what: str, name: str) -> int:
    return sum(int(row.get(f"{what}_{name}") or 0) for row in rows)


def main() -> None:
    parser = shared.options(__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    options = shared.parsed(parser)
    tables = range(1 if options.smoke else options.tables)
    wanted = shared.chosen(FORMS, options.only)
    tasks = [
        {"form": form, "table": t, "limit": options.limit}
        for t in tables
        if (form := FORMS[t % len(FORMS)]) in wanted
    ]
    table = shared.results("coverage", KEY, options)
    run(table, one, tasks, options.jobs)
    print("\n".join(summary(table.rows)))


if __name__ == "__main__":
    main()
