"""NIST's certified sets: `fit_law` without start values, beside curve_fit and lmfit from NIST's.

`digits` is the least number of digits over the parameters in which value and certified value agree
(-log10 of the relative error, 11 at most, as NIST gives 11), `error_digits` that of the standard
errors. Parameters that a form allows to be exchanged, or to change sign, may come out so. SciPy and
lmfit get NIST's two starts, the far one and the near one, with their default settings (method lm
and leastsq); they have failed if they raise, or end in a sum of squares more than 0.01% above the
certified. All files in RAN_DATA/nist_strd are run.

python -m experiments.measurements.nist [--smoke] [--jobs 1] [--only NAME ...]
    [--methods fit_law curve_fit lmfit]
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import curve_fit, linear_sum_assignment

import rational_anova as ra
from experiments.discovery.recorded import Recorded, by, count
from experiments.measurements import shared
from experiments.measurements.family import Values
from experiments.measurements.nist_files import Certified, read
from experiments.table import Row, run

MOST_DIGITS = 11.0
REACHED = 1e-4  # relative to the certified sum of squares
ENOUGH = 6.0
METHODS = ("fit_law", "curve_fit", "lmfit")
KEY = ("certified", "method", "start")

# Values and standard errors of the parameters.
Fit = tuple[Values, Values]


def sets() -> list[Certified]:
    """Return all sets of the folder."""
    return [read(path) for path in sorted(shared.data_folder("nist_strd").glob("*.dat"))]


def by_fit_law(known: Certified, start: Values) -> Fit:
    """Fit with the form alone; the starts are not looked at."""
    law = ra.fit_law(
        known.text, known.X, known.y, names=list(known.columns), target=known.target,
        noise_model="constant", seed=0,
    )  # fmt: skip
    return shared.values_of(law), {p.name: float(p.stderr) for p in law.parameters}


def by_curve_fit(known: Certified, start: Values) -> Fit:
    """Fit with SciPy from a start."""
    form = known.right

    def function(X: np.ndarray, *values: float) -> np.ndarray:
        return form.function(np.array(values), X)

    first = [start[name] for name in form.names]
    found, covariance = curve_fit(function, known.X, known.fitted_target, p0=first, method="lm")
    errors = np.sqrt(np.diag(covariance))
    return _named(form.names, found), _named(form.names, errors)


def by_lmfit(known: Certified, start: Values) -> Fit:
    """Fit with lmfit from a start."""
    import lmfit

    form, target = known.right, known.fitted_target
    parameters = lmfit.Parameters()
    for name in form.names:
        parameters.add(name, start[name])

    def residuals(parameters: Any) -> np.ndarray:
        return form.function(np.array([parameters[n].value for n in form.names]), known.X) - target

    found = lmfit.minimize(residuals, parameters, method="leastsq").params
    errors = [found[n].stderr if found[n].stderr is not None else math.nan for n in form.names]
    return _named(form.names, [found[n].value for n in form.names]), _named(form.names, errors)


def _named(names: tuple[str, ...], values: Any) -> Values:
    return dict(zip(names, map(float, values), strict=True))


_FITS: dict[str, Callable[[Certified, Values], Fit]] = {
    "fit_law": by_fit_law, "curve_fit": by_curve_fit, "lmfit": by_lmfit,
}  # fmt: skip


@cache
def _warm(method: str) -> None:
    """Fit something once: what a method imports at its first call is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        known = made_up(Path(folder))
    _FITS[method](known, known.near)


def one(certified: Certified, method: str, start: str) -> Row:
    """Return how many digits a method gets right."""
    row: Row = {
        "certified": certified.name, "level": certified.level, "method": method, "start": start,
    }  # fmt: skip
    first = {"far": certified.far, "near": certified.near, "none": {}}[start]

    def work() -> tuple[Fit, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _warm(method)
            began = time.perf_counter()
            return _FITS[method](certified, first), time.perf_counter() - began

    answer, row["seconds"], row["failure"] = shared.timed(work)
    if answer is None:
        return {**row, "digits": 0.0, "error_digits": 0.0, "reached": False}
    (values, errors), row["seconds"] = answer
    return {**row, **compared(certified, values, errors)}


def compared(known: Certified, values: Values, errors: Values) -> Row:
    """Return the columns that compare with the certified values."""
    order = exchanged(known, values)
    found = {name: values[other] for name, other in order.items()}
    deviations = {name: errors[other] for name, other in order.items()}
    signs = {
        name: -1.0 if found[name] * known.values[name] < 0 and sign_is_free(known, name) else 1.0
        for name in found
    }
    found = {name: signs[name] * value for name, value in found.items()}
    left = known.right.at(found)(known.X) - known.fitted_target
    rss = float(np.sum(left**2))
    return {
        "digits": least_digits(found, known.values),
        "error_digits": least_digits(deviations, known.deviations),
        "reached": bool(rss <= known.rss * (1 + REACHED) + 1e-20),
        "rss_ratio": rss / known.rss,
    }


def least_digits(found: Values, certified: Values) -> float:
    """Return in how many digits all values agree."""
    return min(digits(found[name], value) for name, value in certified.items())


def digits(found: float, certified: float) -> float:
    """Return -log10 of the relative error, from 0 to 11."""
    if not math.isfinite(found):
        return 0.0
    error = abs(found - certified) / (abs(certified) or 1.0)
    return MOST_DIGITS if error == 0 else min(MOST_DIGITS, max(0.0, -math.log10(error)))


def exchanged(known: Certified, values: Values) -> dict[str, str]:
    """Return which fitted parameter is which certified one: exchanged if the form allows it."""
    names = list(known.values)
    ours = np.abs([values[name] for name in names])
    theirs = np.abs([known.values[name] for name in names])
    with np.errstate(divide="ignore"):
        cost = np.abs(np.log(np.maximum(ours, 1e-300))[None, :] - np.log(theirs)[:, None])
    _, column = linear_sum_assignment(np.minimum(cost, 1e6))
    order = {name: names[j] for name, j in zip(names, column, strict=True)}
    return order if _is_invariant(known, order, {}) else {name: name for name in names}


def sign_is_free(known: Certified, name: str) -> bool:
    """Return whether a parameter may change its sign, as the width of a peak may."""
    return _is_invariant(known, {n: n for n in known.values}, {name: -1.0})


def _is_invariant(known: Certified, order: dict[str, str], signs: Values) -> bool:
    """Return whether the form stays the same under an exchange and signs, at random numbers."""
    random = np.random.default_rng(0)
    form, X = known.right, known.X[:: max(1, len(known.X) // 20)]
    for _ in range(3):
        values = {n: v * random.uniform(0.9, 1.1) for n, v in known.values.items()}
        other = {name: values[order[name]] * signs.get(name, 1.0) for name in values}
        one, two = form.at(values)(X), form.at(other)(X)
        if not np.allclose(one, two, rtol=1e-9, atol=1e-12 * np.abs(one).max(), equal_nan=True):
            return False
    return True


def summary(rows: Recorded) -> list[str]:
    """Return a line for each method and start."""
    lines = []
    for (method, start), some in by(rows, "method", "start").items():
        values = [float(row["digits"]) for row in some]
        errors = [float(row["error_digits"]) for row in some]
        seconds = [float(row["seconds"]) for row in some]
        enough = sum(value >= ENOUGH for value in values)
        lines.append(
            f"{method}, start {start}: {enough} of {len(some)} to {ENOUGH:g} digits or more, "
            f"least {min(values):.1f} (standard errors {min(errors):.1f}); failed "
            f"{len(some) - count(some, 'reached')}; median {median(seconds):.3f} s"
        )
    return lines


def made_up(folder: Path) -> Certified:
    """Return a set that needs no data, read from a file as NIST writes it."""
    x = np.linspace(10, 500, 12)
    y = 240 * (1 - np.exp(-0.0055 * x)) + np.tile([0.05, -0.05], 6)
    path = folder / "made_up.dat"
    rows = "\n".join(f"  {b:.10E}  {a:.10E}" for a, b in zip(x, y, strict=True))
    path.write_text(
        "Model:         Exponential Class\n               2 Parameters (b1 and b2)\n\n"
        "               y = b1*(1-exp[-b2*x])  +  e\n\n"
        "          Starting values                  Certified Values\n\n"
        "  b1 =   500         250           2.4E+02  1E+00\n"
        "  b2 =     0.0001      0.005      5.5E-03  1E-04\n\n"
        f"Residual Sum of Squares:  3.0E-02\nLower Level of Difficulty\nData:   y    x\n{rows}\n"
    )
    return read(path)


def main() -> None:
    parser = shared.options(__doc__, jobs=1)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = shared.parsed(parser)
    if importlib.util.find_spec("lmfit") is None and "lmfit" in options.methods:
        print("lmfit is not installed: pip install lmfit")
        options.methods.remove("lmfit")
    with tempfile.TemporaryDirectory() as folder:
        known = [made_up(Path(folder))] if options.smoke else sets()
    table = shared.results("nist", KEY, options)
    pairs = product(shared.chosen(known, options.only), options.methods, ("none", "far", "near"))
    tasks = [
        {"certified": k, "method": method, "start": start}
        for k, method, start in pairs
        if (method == "fit_law") == (start == "none")
    ]
    run(table, one, tasks, options.jobs)
    print("\n".join(summary(table.rows)))


if __name__ == "__main__":
    main()
