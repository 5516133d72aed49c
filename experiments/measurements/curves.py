"""Sixty curves with noise: does the true form come first, and is another one established?

The curves stand in `curves.toml`, written before anything was tuned on them: 40 whose form has a
name, 20 whose form has none; 40 to 80 rows, normal noise of 1% and 5% of the spread of y.
`first` says that the law is of the true family by the rule of `family`; `rank` where the true form
stands in `law.rivals`.

BIC can tell (`can_tell`) where the true form, fitted by `fit_law`, has n log(RSS/n) + k log(n)
lower by more than 2 than every rival of another family, refitted by least squares. Where it
cannot, no method that knows the data alone could be blamed. A run that fails counts as one
where BIC can tell and the form is missed.

The search for products of functions was built with the 20 curves without a name in sight. With
`--fresh` 20 others are measured, of `curves_fresh.toml`, which were written after it.

python -m experiments.measurements.curves [--smoke] [--jobs 2] [--only NAME ...] [--seeds 0 1 2]
    [--noise 0.01 0.05] [--fresh]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import rational_anova as ra
from experiments.discovery.recorded import Recorded, count
from experiments.measurements import shared
from experiments.measurements.family import Form, fitted, function_of, opened
from experiments.results import read_config
from experiments.table import Row, run

_FOLDER = Path(__file__).parent
NOISES, SEEDS = (0.01, 0.05), (0, 1, 2)
TELLS = 2.0  # units of BIC
KEY = ("curve", "noise", "seed")


@dataclass(frozen=True)
class Curve:
    """A true curve and the x at which it is measured.

    Args:
        name: of the curve.
        named: whether textbooks have a name for its form.
        form: in x and in free names.
        values: the true ones.
        low, high: range of x.
        rows: how many.
        spacing: "even", "log" or "random".
    """

    name: str
    named: bool
    form: str
    values: dict[str, float]
    low: float
    high: float
    rows: int
    spacing: str

    @cached_property
    def truth(self) -> Form:
        """The form at its true numbers."""
        return Form(self.form, ("x",), ((self.low, self.high),), (self.values,))

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return the true values."""
        return self.truth.at(self.values)(np.asarray(x).reshape(-1, 1))

    def inputs(self, random: np.random.Generator) -> np.ndarray:
        """Return x as it is measured."""
        if self.spacing == "random":
            return np.sort(random.uniform(self.low, self.high, self.rows))
        space = np.geomspace if self.spacing == "log" else np.linspace
        return space(self.low, self.high, self.rows)

    def table(self, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return x and y with normal noise, relative to the spread of y."""
        random = np.random.default_rng([seed, *self.name.encode()])
        x = self.inputs(random)
        y = self.at(x)
        return x, y + noise * y.std() * random.standard_normal(self.rows)


def curves(file: str = "curves") -> list[Curve]:
    """Return the sixty curves, or those of another file."""
    entries = read_config(_FOLDER / f"{file}.toml")["curve"]
    return [Curve(e["name"], e["named"], e["form"], dict(e["values"]), **e["x"]) for e in entries]


def one(curve: Curve, noise: float, seed: int, limit: float) -> Row:
    """Return what `discover` makes of a curve."""
    x, y = curve.table(noise, seed)
    row: Row = {"curve": curve.name, "named": curve.named, "noise": noise, "seed": seed}
    law, row["seconds"], row["failure"] = shared.found(limit, x, y, names=["x"], target="y")
    if law is None:
        return {**row, "first": False, "level": False, "can_tell": True, **shared.NOTHING}
    told, _, trouble = shared.timed(lambda: told_form(curve, x, y))
    if told is None:
        return {**row, "first": False, "level": False, "can_tell": True, **shared.NOTHING,
                "failure": f"the true form: {trouble}"}  # fmt: skip
    return {**row, **verdict(curve, x, y, law, told), **shared.described(law)}


def told_form(curve: Curve, x: np.ndarray, y: np.ndarray) -> Any:
    """Return the law that has the true form."""
    return ra.fit_law(curve.form, x, y, names=["x"], target="y", noise_model="constant", seed=0)


def verdict(curve: Curve, x: np.ndarray, y: np.ndarray, law: Any, told: Any) -> Row:
    """Return the columns that compare a law with the true form, told to `fit_law`."""
    X = x[:, None]
    values = best_values(curve, X, y, shared.values_of(told))
    form = Form(curve.form, ("x",), curve.truth.box, (values, curve.values))
    rivals = [shared.as_numbers(law, rival.formula, ("x",)) for rival in law.rivals]
    same = [form.same(formula) for formula in rivals]
    own = form.same(shared.as_numbers(law, law.formula, ("x",)))
    true_bic = shared.bic(y, form.at(values)(X), len(values))
    others = [
        refitted_bic(formula, X, y, rival.parameters)
        for formula, rival, is_same in zip(rivals, law.rivals, same, strict=True)
        if not is_same
    ]
    rank = same.index(True) + 1 if any(same) else 0
    weights = [float(rival.weight) for rival in law.rivals]
    place = shared.Standing(rank, weights[rank - 1] if rank else 0.0, max(weights, default=0.0))
    grade = str(getattr(law.grade, "value", law.grade))
    return {
        "first": own,
        "rank": rank,
        "level": own or place.level,
        "weight": place.weight,
        "bic_lead": min(others, default=float("inf")) - true_bic,
        "can_tell": min(others, default=float("inf")) - true_bic > TELLS,
        "wrongly_established": grade == "established" and not own,
        "rivals": len(rivals),
    }


def best_values(
    curve: Curve, X: np.ndarray, y: np.ndarray, told: dict[str, float]
) -> dict[str, float]:
    """Return the least squares numbers of the true form: those told, or those near the truth.

    If `fit_law` missed the minimum, the truth must not be blamed on it.
    """
    form = curve.truth
    near = fitted(form.function, np.array([curve.values[n] for n in form.names]), X, y)
    other = dict(zip(form.names, map(float, near), strict=True))
    known = {**other, **{n: v for n, v in told.items() if n in other}}
    return min((known, other), key=lambda v: shared.bic(y, form.at(v)(X), len(v)))


def refitted_bic(formula: Any, X: np.ndarray, y: np.ndarray, parameters: int) -> float:
    """Return the BIC of a formula whose fitted numbers were moved to the least squares."""
    template, start = opened(formula)
    function = function_of(template, list(start), ("x",))
    values = fitted(function, np.array(list(start.values())), X, y)
    return shared.bic(y, function(values, X), parameters)


def summary(rows: Recorded) -> list[str]:
    """Return the lines at the end: by noise and kind, then what was wrongly established."""
    lines = []
    for noise, named in product(dict.fromkeys(r["noise"] for r in rows), ("True", "False")):
        some = [r for r in rows if (r["noise"], r["named"]) == (noise, named)]
        if some:
            kind = "named" if named == "True" else "without a name"
            lines.append(f"noise {noise}, {kind}: {_counts(some)}")
    lines.append(f"all: {_counts(rows)}")
    return lines


def _counts(rows: Recorded) -> str:
    told = [r for r in rows if r["can_tell"] == "True"]
    wrong = sum(r.get("wrongly_established") == "True" for r in rows)
    failed = sum(bool(r["failure"]) for r in rows)
    return (
        f"true form first in {count(rows, 'first')} of {len(rows)}, "
        f"where BIC can tell {count(told, 'first')} of {len(told)}; "
        f"wrongly established {wrong}; failures {failed}; "
        f"median {median(float(r['seconds']) for r in rows):.1f} s"
    )


def main() -> None:
    parser = shared.options(__doc__, SEEDS)
    parser.add_argument("--noise", type=float, nargs="+", default=list(NOISES))
    parser.add_argument("--fresh", action="store_true", help="twenty other curves without a name")
    options = shared.parsed(parser)
    file = "curves_fresh" if options.fresh else "curves"
    wanted: Sequence[Curve] = shared.chosen(curves(file), options.only)
    if options.smoke:
        wanted, options.noise, options.seeds = wanted[:1], [0.01], [0]
    table = shared.results(file, KEY, options)
    tasks = [
        {"curve": curve, "noise": noise, "seed": seed, "limit": options.limit}
        for seed, noise, curve in product(options.seeds, options.noise, wanted)
    ]
    run(table, one, tasks, options.jobs)
    print("\n".join(summary(table.rows)))


if __name__ == "__main__":
    main()
