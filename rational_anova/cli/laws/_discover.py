"""`ran discover`: from a table in a file to the law in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from .._console import INTERRUPTED, NOTHING, interrupts
from .._options import Exclude, Inputs, Quiet, Seed, TablePath, Target, Where
from ._options import (
    By,
    Constant,
    Json,
    Loss,
    NoiseModel,
    NoUnits,
    Plot,
    Report,
    Sigma,
    UnitsOption,
    XSigma,
    check_choices,
)

_ABSORB = "parameters of the law may have units; --no-absorb-units forbids it."


def discover(
    path: TablePath,
    target: Target,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
    by: By = None,
    sigma: Sigma = None,
    x_sigma: XSigma = None,
    loss: Loss = "squares",
    noise_model: NoiseModel = "auto",
    noise: Annotated[
        float | None,
        typer.Option(
            min=0, help="Error of the target relative to its standard deviation, if known."
        ),
    ] = None,
    units: UnitsOption = None,
    no_units: NoUnits = False,
    absorb_units: Annotated[
        bool, typer.Option(help="Whether parameters of the law may have units.")
    ] = True,
    form: Annotated[
        list[str] | None,
        typer.Option(metavar="FORMULA", help='A form to try, as "a*S/(b + S)". Repeatable.'),
    ] = None,
    forms: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A TOML file of named forms to try. Repeatable."),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA", help='A formula with an unknown function, as "R*T/(V - b) - f(V)".'
        ),
    ] = None,
    constant: Constant = None,
    positive: Annotated[
        list[str] | None, typer.Option(help="Columns that are positive by nature, as T,V.")
    ] = None,
    periodic: Annotated[
        list[str] | None, typer.Option(help="Columns that are angles, as theta.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Functions that the law must not contain, as sin,exp.")
    ] = None,
    function: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMULA",
            help='A further function of a column x for sums, as "erf(b*x)". Repeatable.',
        ),
    ] = None,
    report: Report = None,
    json: Json = None,
    plot: Plot = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds to search.")] = 60.0,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Find the law in a table: a formula for one column in the others, with standard errors.

    Ctrl-C ends the search: the best law so far is printed and written.
    """
    from ... import discovery
    from ._intake import Typed, listed_options, read_intake
    from ._outcome import Outputs, show_law, tell_interrupted, watching

    check_choices(loss, noise_model)
    outputs = Outputs(json, report, plot)
    outputs.check(path, *(forms or []))
    typed = Typed(path, target, inputs, exclude, where, constant, sigma, x_sigma, by, units,
                  no_units)  # fmt: skip
    intake = read_intake(typed)
    options: dict[str, Any] = {
        "positive": intake.columns(positive, "--positive"),
        "periodic": intake.columns(periodic, "--periodic"),
        "without": listed_options(without),
        "functions": function,
        "noise": noise,
        "loss": loss,
        "noise_model": noise_model,
        "forms": _forms(form, forms),
        "template": template,
        "units": intake.units,
    }
    if intake.units is not None:
        options["absorb_units"] = absorb_units
        intake = replace(intake, notes=(*intake.notes, *([_ABSORB] if absorb_units else [])))
    given = {name: value for name, value in options.items() if value is not None}
    with interrupts() as interrupted, watching(quiet) as callbacks:
        law = discovery.discover(
            intake.table, time_limit=time_limit, seed=seed, callbacks=callbacks, **given
        )
    if interrupted():
        tell_interrupted()
    show_law(law, intake, typed, outputs, quiet)
    if interrupted():
        raise typer.Exit(INTERRUPTED)
    if not law.grade.claimed:
        raise typer.Exit(NOTHING)


def _forms(texts: list[str] | None, files: list[Path] | None) -> list[Any] | None:
    """Return all forms that were given, in one list."""
    from ...discovery.catalogue import read_forms

    found = [form for file in files or [] for form in read_forms(file)]
    return [*found, *(texts or [])] or None
