"""`fit_law`: the numbers of a form that the user brings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from .._core import checks as check
from .._core.callbacks import Callback, Progress, checked, entered
from ..symbols import Names, names_in, parse
from ..tables import Table, as_pandas, prepare
from ._assemble import Weighed, assembled, provenance
from ._grouped import grouped_law
from .catalogue import NamedForm, recognised
from .claims import (
    Candidate,
    Verdict,
    chosen_noise,
    exact,
    graded,
    oddities,
    outer_error,
    possible_noise,
)
from .fitting import (
    CONSTANT,
    LOSSES,
    MODELS,
    THOROUGH,
    Form,
    NoiseShape,
    Rows,
    evaluated,
    fitted,
    orthogonal,
    robust,
)
from .known import with_parameter_units
from .law import Evidence, Grade, Law

ALONE = "No other form was compared: use discover to do that."


def fit_law(
    form: str,
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
    *,
    sigma: Any = None,
    x_sigma: Any = None,
    loss: str = "squares",
    noise_model: str = "auto",
    by: Any = None,
    shared: Sequence[str] | None = None,
    shrink: bool = False,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    fixed: Mapping[str, float] | None = None,
    constants: Mapping[str, float] | None = None,
    units: Mapping[str, str] | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] | None = None,
) -> Law:
    """Fit the parameters of a formula, without start values.

    Names in the formula that are not columns are its parameters. Those that enter linearly are
    solved for; the others start from many values of the right size, which follow from the formula
    and the ranges of the columns.

    Args:
        form: such as "v*S/(k + S)", or "log(y) = a - b*x"; columns by their names (other letters
            than those of names become an underscore).
        X: inputs, as for `discover`.
        y: target, or the name of a column of X.
        names: of the columns; "x0", "x1", ... by default, and "x" for a single column.
        target: name of y.
        sigma: standard deviations of y: a column, numbers, or one number.
        x_sigma: those of inputs that have errors, by column: distances are then orthogonal.
        loss: "squares", or "robust": outliers are identified and left out.
        noise_model: "auto", or one of "constant", "proportional", "log-normal", "Poisson".
        by: a column, or labels, of experiments with the same formula.
        shared: with `by`, the parameters that all share; selected by BIC if None.
        shrink: with `by`, whether the others are shrunk towards their mean (mixed effects).
        bounds: (low, high) of parameters, None for no bound.
        fixed: parameters with known values.
        constants: known constants that keep their names.
        units: of the columns, the target and the constants (extra `units`): parameters get units.
        seed: of the starts.
        callbacks: functions of a `Progress`.

    Returns:
        The law: parameters with standard errors, Wald and profile likelihood intervals,
        correlations, and prediction intervals. A formula of the catalogue has its name.

    Example:
        >>> x = np.linspace(1, 20, 12)
        >>> law = fit_law("b1*(1 - exp(-b2*x))", x, 2.5 * (1 - np.exp(-0.3 * x)))
        >>> [(p.name, round(p.value, 6)) for p in law.parameters]
        [('b1', 2.5), ('b2', 0.3)]
    """
    start = time.monotonic()
    check.choice(loss, LOSSES, "loss")
    check.choice(noise_model, ("auto", *MODELS[:-1]), "noise_model")
    check.integer(seed, "seed")
    left, right = _sides(form)
    table = _table(X, y, names, target, right, left, constants, sigma, x_sigma, by)
    table = _with_left_side(table, left)
    whole = _form(right, table, bounds, fixed)
    with entered(checked(callbacks)) as tell, np.errstate(all="ignore"):
        tell(Progress("fitting", 0.0))
        rows = Rows(table.X, table.y, table.sigma, table.x_sigma)
        outliers = np.zeros(0, dtype=int)
        if loss == "robust":
            out = robust(whole, rows, possible_noise(rows, noise_model)[0], THOROUGH, seed)
            outliers, rows = np.flatnonzero(out), rows.some(np.flatnonzero(~out))
        if table.groups is not None:
            labels = np.delete(table.groups, outliers)
            law = grouped_law(
                whole, table, rows, labels, noise_model, shared, shrink, seed, start, outliers
            )
        else:
            law = _fitted_law(whole, table, rows, noise_model, seed, start, outliers)
    options = {"form": form, "loss": loss, "noise_model": noise_model, "seed": seed}
    law = replace(
        _within_bounds(_with_name(law, whole), whole), provenance=provenance(table, options)
    )
    return law if units is None else with_parameter_units(law, units, table)


def _fitted_law(
    form: Form, table: Table, rows: Rows, noise_model: str, seed: int, start: float, outliers: Any
) -> Law:
    models = possible_noise(rows, noise_model)
    fit = fitted(form, rows, models[0], THOROUGH, seed=seed)
    if fit is None:
        raise ValueError(
            f"{form.expression} has no value on some rows, whatever its numbers; look for "
            "logarithms or roots of columns that are negative there, or set bounds"
        )
    noise, compared = models[0], {models[0].model: 1.0}
    if not exact(fit, rows):
        noise, compared = chosen_noise([Candidate(fit, 0.0)], rows, models)
    fit = _refined(form, rows, noise, fit.values) or fit
    if rows.x_sigma is not None:
        fit = orthogonal(form, rows, fit.values) or fit
    candidate = Candidate(fit, 0.0)
    verdict = _verdict(candidate, rows, noise, table.names.columns)
    evidence = Evidence(
        rows=len(rows.y), noise=np.nan, error=np.nan, stage="form",
        extrapolation=outer_error(fit, rows), seconds=time.monotonic() - start, candidates=1,
    )  # fmt: skip
    weighed = Weighed([candidate], rows, verdict, compared, (), outliers)
    return assembled(table, weighed, evidence)


def _with_name(law: Law, form: Form) -> Law:
    """The law under its name in the catalogue, if the form that the user brings is there."""
    fitted_numbers = {p.symbol: p.value for p in law.parameters if p.symbol in form.parameters}
    named = recognised(form.expression, form.inputs, fitted_numbers)
    if named is None:
        return law
    rivals = tuple(replace(r, name=named.name) if r.own else r for r in law.rivals)
    return replace(law, name=named.name, rivals=rivals)


def _within_bounds(law: Law, form: Form) -> Law:
    """The law with intervals that end at the bounds, and a doubt for what lies there."""
    if not form.bounds:
        return law
    parameters, doubts = [], []
    for p in law.parameters:
        low, high = form.bounds.get(p.symbol, (-np.inf, np.inf))
        near = 1e-6 * max(abs(p.value), p.stderr if np.isfinite(p.stderr) else 0.0)
        end = next((e for e in (low, high) if abs(p.value - e) <= near), None)
        if end is not None:
            doubts.append(
                f"{p.name} lies at its bound {end:g}: the data alone would take it further."
            )
        ends = np.clip([p.low, p.high], low, high).tolist()  # nan stays
        parameters.append(replace(p, low=ends[0], high=ends[1]))
    return replace(law, parameters=tuple(parameters), doubts=(*law.doubts, *doubts))


def _refined(form: Form, rows: Rows, noise: NoiseShape, values: Any) -> Any:
    """The fit under the noise that was chosen, also from new starts, since the optimum may move."""
    found = [fitted(form, rows, noise, values=values, polish=True)]
    if noise.model != CONSTANT:
        found.append(fitted(form, rows, noise, THOROUGH))
    known = [f for f in found if f is not None and np.isfinite(f.deviance)]
    return min(known, key=lambda f: f.deviance, default=None)


def _verdict(candidate: Candidate, rows: Rows, noise: NoiseShape, names: Sequence[str]) -> Verdict:
    """The grade of a form that was not compared with others: at most one of several."""
    mean = Form(sp.Symbol("a"), candidate.fit.form.inputs, (sp.Symbol("a"),))
    fit = fitted(mean, rows, noise, values=np.array([float(np.mean(rows.y))]))
    constant = np.inf if fit is None else Candidate(fit, 0.0).score
    odd = tuple(oddities(candidate.fit, rows, names)) if candidate.fit.numbers else ()
    # the user has named the form by bringing it
    own = NamedForm("own form", "x", inputs=("x",))
    verdict = graded([replace(candidate, named=own)], rows, constant, beyond=odd)
    if verdict.grade is Grade.ESTABLISHED:
        return Verdict(Grade.SEVERAL, (ALONE,), None)
    return verdict


# -- the form and its table


def _sides(form: str) -> tuple[str, str]:
    """Left and right side of a formula; the left one is empty if there is no =."""
    if not isinstance(form, str):
        raise TypeError(f"form must be a formula as text, got {form!r}")
    sides = form.split("=")
    if len(sides) > 2 or not sides[-1].strip():
        raise ValueError(f"form must be a formula such as 'a*x/(b + x)', got {form!r}")
    return (sides[0].strip() if len(sides) == 2 else ""), sides[-1].strip()


def _table(
    X: Any, y: Any, names: Sequence[str] | None, target: str | None, right: str, left: str,
    constants: Mapping[str, float] | None, sigma: Any, x_sigma: Any, by: Any,
) -> Table:  # fmt: skip
    """The columns that the formula has; gaps in others do not matter."""
    if isinstance(X, Table):
        return X
    frame = as_pandas(X)
    if isinstance(X, Mapping):
        import pandas as pd

        frame = pd.DataFrame(dict(X))
    used = set(names_in(right))
    needed = None
    if frame is not None:
        X, columns = frame, [str(c) for c in (frame.columns if names is None else names)]
        symbols = Names(columns).symbols
        pairs = zip(columns, symbols, strict=True)
        needed = [c for c, s in pairs if s.name in used and not (isinstance(y, str) and c == y)]
        if not needed:
            raise ValueError(f"the formula {right!r} has none of the columns {columns}")
    elif np.ndim(X) in (1, 2):
        width = 1 if np.ndim(X) == 1 else np.shape(X)[1]
        plain = ["x"] if width == 1 and "x0" not in used else [f"x{k}" for k in range(width)]
        names = plain if names is None else names
        known = zip(names, Names(list(names)).symbols, strict=True)
        needed = [name for name, symbol in known if symbol.name in used] or None
    if target is None and left and left.isidentifier() and not isinstance(y, str):
        target = left
    return prepare(
        X, y, names, target, constants, sigma=sigma, x_sigma=x_sigma, by=by, needed=needed
    )


def _with_left_side(table: Table, left: str) -> Table:
    """The table with the left side of the formula as its target, log(y) for instance."""
    own = Names([table.target])
    if not left or left in (table.target, own.symbols[0].name):
        return table
    unknown = [n for n in names_in(left) if n != own.symbols[0].name]
    if unknown:
        raise ValueError(
            f"the left side {left!r} has {unknown[0]!r}; it may have the target "
            f"{own.symbols[0].name} only"
        )
    expression = parse(left, {own.symbols[0].name: own.symbols[0]})
    values = evaluated((expression,), own.symbols, table.y[:, None])[0]
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{left} has no value in row {row + 1}, where it is {table.y[row]:g}")
    if table.sigma is not None:
        slope = evaluated((sp.diff(expression, own.symbols[0]),), own.symbols, table.y[:, None])[0]
        table = replace(table, sigma=np.abs(slope) * table.sigma)
    return replace(table, y=values, target=left)


def _check_free(free: Sequence[str], columns: Sequence[str], table: Table) -> None:
    """Free names that were meant as something else: the target, or a column in other letters."""
    target = Names([table.target]).symbols[0].name
    for name in free:
        if name == target:
            raise ValueError(
                f"the formula has {name!r}, which is the target; it may have the columns {columns} "
                "and free names for its numbers"
            )
        near = [c for c in columns if c.casefold() == name.casefold()]
        if near:
            raise ValueError(
                f"the formula has {name!r}, which is no column and would be a number to be fitted; "
                f"for the column write {near[0]!r}, for a number use another name"
            )


def _form(
    right: str, table: Table, bounds: Mapping[str, Any] | None, fixed: Mapping[str, float] | None
) -> Form:
    columns = [s.name for s in table.names.symbols]
    free = [n for n in names_in(right) if n not in columns and n not in table.known]
    _check_free(free, columns, table)
    for given, option in ((bounds, "bounds"), (fixed, "fixed")):
        for name in given or {}:
            if name not in free:
                raise ValueError(
                    f"{option} has {name!r}, but the numbers of the form are {free}; the columns "
                    f"are {columns}"
                )
    limits = {}
    for name, ends in (bounds or {}).items():
        low, high = ends
        low, high = -np.inf if low is None else float(low), np.inf if high is None else float(high)
        if not low < high:
            raise ValueError(f"bounds of {name!r} must be (low, high) with low < high, got {ends}")
        limits[name] = (low, high)
    known = {name: check.real(v, f"fixed[{name!r}]") for name, v in (fixed or {}).items()}
    for name in {*known} & {*limits}:
        if not limits[name][0] <= known[name] <= limits[name][1]:
            raise ValueError(
                f"{name!r} is fixed at {known[name]:g}, outside of its bounds {limits[name]}"
            )
    form = Form.of(right, columns, bounds=limits, fixed={**known, **table.known})
    if not form.expression.has(*form.inputs):
        gone = {n: why for n, why in table.dropped.items() if n in names_in(right)}
        raise ValueError(
            f"the formula {right!r} has none of the columns {columns}"
            + (f"; {gone}" if gone else "")
        )
    if len(form.parameters) >= len(table.y):
        raise ValueError(f"{len(form.parameters)} numbers cannot be fitted to {len(table.y)} rows")
    return form
