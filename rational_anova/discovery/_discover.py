"""`discover`: from a table to a law."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._core import checks as check
from .._core.callbacks import Callback, checked, entered
from ..tables import Table, prepare, screened
from ._assemble import provenance
from ._grouped import discovered_groups
from ._run import Options
from ._thresholds import MOST_COLUMNS
from ._weighing import discovered
from .catalogue import catalogue, read_forms
from .fitting import LOSSES, MODELS
from .known import (
    Knowledge,
    discovered_with_hole,
    discovered_with_units,
    with_parameter_units,
)
from .law import Law
from .search import permitted
from .sums import Atom, read_functions

FORBIDDABLE = ("sin", "cos", "exp", "log", "sqrt", "tanh", "power")


def discover(
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
    *,
    constants: Mapping[str, float] | None = None,
    sigma: Any = None,
    x_sigma: Any = None,
    noise: float | None = None,
    noise_model: str = "auto",
    loss: str = "squares",
    by: Any = None,
    forms: Any = None,
    template: str | None = None,
    units: Mapping[str, str] | None = None,
    absorb_units: bool = False,
    limits: Mapping[str, Any] | None = None,
    shape: Mapping[str, Any] | None = None,
    positive: Sequence[str] = (),
    periodic: Sequence[str] = (),
    without: Sequence[str] = (),
    functions: Sequence[Any] = (),
    time_limit: float = 60.0,
    seed: int = 0,
    callbacks: Sequence[Callback] | None = None,
) -> Law:
    """Find the formula behind a table, and say how much may be claimed of it.

    Named laws are fitted first if the table has one or two columns. Then symmetries of a smooth
    surrogate reduce the number of variables, and quotients of few terms, transformations of the
    target and of the inputs, and sums and products of parts are tried. All candidates are
    compared; the most probable is returned, with its rivals and a grade.

    Args:
        X: inputs: an array (rows, columns), one column, a tensor, a dict of columns, a DataFrame;
            or a `Table` of `prepare`, which has the target, names and constants in it.
        y: target, or the name of a column of X.
        names: of the columns; "x0", "x1", ... by default.
        target: name of y.
        constants: known numbers by name, such as {"R": 8.314}; used where the law has multiples of
            them.
        sigma: standard deviations of y: a column, numbers, or one number.
        x_sigma: those of inputs that have errors, by column.
        noise: standard error of y relative to its standard deviation, if it is known.
        noise_model: "auto", or one of "constant", "proportional", "log-normal", "Poisson".
        loss: "squares", or "robust": outliers are identified and left out.
        by: a column, or labels, of experiments with one law: which of its parameters they share
            is selected by BIC.
        forms: further forms to try: formulas, `NamedForm`s, or a TOML file with them.
        template: a formula with an unknown function, such as "R*T/(V - b) - f(V)".
        units: of all columns, the target and the constants (extra `units`): only dimensionally
            consistent laws are searched, in dimensionless groups.
        absorb_units: whether fitted parameters may have units.
        limits: what is known of the law's limits, such as {"S=0": 0, "S=oo": "finite"}.
        shape: what is known of its shape: "rising", "falling", "convex" or "concave" in a column,
            "positive" or "negative" for the target.
        positive: columns that are positive by nature; an error where a row is not.
        periodic: columns that are angles: they enter through their sine and cosine only.
        without: functions that it must not contain, out of sin, cos, exp, log, sqrt, tanh, power.
        functions: further functions of a column `x` for sums of terms, as text or in sympy, such as
            ["exp(-b*x)*sin(c*x)", "erf(b*x)"]; other names, at most two, are inner parameters.
        time_limit: seconds after which the best law so far is returned.
        seed: for the rows that are held out.
        callbacks: functions of a `Progress`, called at every stage with the best law so far; one
            that returns True ends the search.

    Returns:
        The law. `law.grade` says how much may be claimed: established, one of several,
        interpolation, nothing. Interrupted from the keyboard, the best law so far is returned.

    Example:
        >>> x = np.linspace(0.1, 4, 50)
        >>> law = discover(x, 3 * x / (x + 0.5), names=["S"], target="v")
        >>> law.formula, str(law.grade)
        (3*S/(S + 1/2), 'established')
    """
    start = time.monotonic()
    if not check.real(time_limit, "time_limit") > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be a name, got {target!r}")
    check.integer(seed, "seed")
    check.choice(loss, LOSSES, "loss")
    check.choice(noise_model, ("auto", *MODELS[:-1]), "noise_model")
    table = prepare(X, y, names, target, constants, sigma=sigma, x_sigma=x_sigma, by=by)
    _check_options(table, positive, periodic, without, noise)
    if units is None:
        named = {*positive, *periodic, *(limits or ()), *(shape or ())}
        if template is not None:
            named |= set(table.names.columns)
        table = screened(table, MOST_COLUMNS, named & set(table.names.columns))
    atoms = _functions(functions, without)
    if noise is not None and table.sigma is None:
        spread = float(np.std(table.y)) or 1.0
        table = replace(table, sigma=np.full(len(table.y), max(noise, 1e-12) * spread))
    symbols = [s.name for s in table.names.symbols]
    own = read_forms(forms, symbols) if forms is not None else ()
    knowledge = Knowledge.read(limits, shape, table)
    with entered(checked(callbacks)) as tell, np.errstate(all="ignore"):
        options = Options(
            forms=(*own, *catalogue()),
            periodic=tuple(periodic),
            forbidden=frozenset(without),
            functions=atoms,
            noise_model=noise_model,
            robust=loss == "robust",
            seed=seed,
            start=start,
            limit=start + float(time_limit),
            tell=tell,
            allowed=knowledge.allows,
        )
        law = _found(table, options, template, units, absorb_units)
        notes = law.provenance.get("notes", ())  # rows that units left out
        asked = {
            "noise_model": noise_model, "loss": loss, "time_limit": time_limit, "seed": seed,
            "without": list(without), "periodic": list(periodic), "template": template,
            "units": None if units is None else dict(units), "functions": list(map(str, functions)),
        }  # fmt: skip
        noted = replace(table, notes=(*table.notes, *notes))
        law = replace(law, provenance=provenance(noted, asked))
        return knowledge.judged(law) if knowledge.statements else law


def _found(
    table: Table,
    options: Options,
    template: str | None,
    units: Mapping[str, str] | None,
    absorb_units: bool,
) -> Law:
    """The law, by the way that the options ask for."""
    if table.groups is not None:
        if options.functions:
            raise ValueError(
                "by cannot go with functions: of several experiments whole forms are compared; "
                "give yours by forms=[...]"
            )
        if template is not None or (units is not None and not absorb_units):
            raise ValueError(
                "by cannot go with template, nor with units unless absorb_units=True; leave one out"
            )
        law = discovered_groups(table, options)
        return law if units is None else with_parameter_units(law, units, table)
    if template is not None:
        law = discovered_with_hole(template, table, options)
        return law if units is None else with_parameter_units(law, units, table)
    if units is not None:
        return discovered_with_units(table, options, units, absorb_units)
    return discovered(table, options)


def _functions(given: Sequence[Any], without: Sequence[str]) -> tuple[Atom, ...]:
    """Functions of the user's own, none of which may be forbidden."""
    atoms = read_functions(given)
    for text, atom in zip(given, atoms, strict=True):
        clash = [name for name in without if not permitted(atom.formula, frozenset({name}))]
        if clash:
            raise ValueError(
                f"functions has {str(text)!r}, which without={clash!r} forbids; leave one out"
            )
    return atoms


def _check_options(
    table: Table,
    positive: Sequence[str],
    periodic: Sequence[str],
    without: Sequence[str],
    noise: float | None,
) -> None:
    columns = list(table.names.columns)
    for option, given in (("positive", positive), ("periodic", periodic)):
        if isinstance(given, str):
            raise TypeError(f"{option} must be a list of names of columns, got {given!r}")
        for name in given:
            if name not in columns:
                raise ValueError(f"{option} names {name!r}, but the columns are {columns}")
    for name in positive:
        low = float(table.X[:, columns.index(name)].min())
        if low <= 0:
            raise ValueError(f"{name!r} is declared positive, but a row has {low:g}")
    if isinstance(without, str):
        raise TypeError(f"without must be a list of functions, got {without!r}")
    for name in without:
        if name not in FORBIDDABLE:
            raise ValueError(f"without takes some of {FORBIDDABLE}, got {name!r}")
    if noise is not None and not 0 <= check.real(noise, "noise") < 10:
        raise ValueError(f"noise must be relative to the spread of the target, got {noise!r}")
