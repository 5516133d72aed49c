"""`ran fit-law`: a formula with free numbers and a table to the law with its numbers."""

from __future__ import annotations

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
    named_number,
    named_range,
)


def fit_law(
    path: TablePath,
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help='In columns and free names, as "vmax*S/(km + S)" or "log(y) = a - b*x".',
        ),
    ],
    target: Target,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="Bounds of a parameter, as b2=0: or b2=:5 or b2=0:5. Repeatable."),
    ] = None,
    fixed: Annotated[
        list[str] | None, typer.Option(help="A known parameter, as b1=3. Repeatable.")
    ] = None,
    by: By = None,
    shared: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Parameters that all groups share, as a,b; by default selected by BIC.",
        ),
    ] = None,
    shrink: Annotated[
        bool,
        typer.Option(
            "--shrink", help="Shrink the parameters of groups towards their mean (mixed effects)."
        ),
    ] = False,
    sigma: Sigma = None,
    x_sigma: XSigma = None,
    loss: Loss = "squares",
    noise_model: NoiseModel = "auto",
    units: UnitsOption = None,
    no_units: NoUnits = False,
    constant: Constant = None,
    report: Report = None,
    json: Json = None,
    plot: Plot = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Fit the parameters of a formula to a table, without start values, with standard errors.

    Names in the formula that are neither columns nor constants are its parameters.
    """
    from ... import discovery
    from ._intake import Typed, listed_options, read_intake
    from ._outcome import Outputs, show_law, tell_interrupted, watching

    check_choices(loss, noise_model)
    if by is None and (shared or shrink):
        raise ValueError(f"{'--shared' if shared else '--shrink'} needs groups: give --by COLUMN")
    outputs = Outputs(json, report, plot)
    outputs.check(path)
    typed = Typed(path, target, inputs, exclude, where, constant, sigma, x_sigma, by, units,
                  no_units, formula)  # fmt: skip
    options: dict[str, Any] = {
        "bounds": dict(named_range(text, "--bounds") for text in listed_options(bounds)),
        "fixed": dict(named_number(text, "--fixed", "b1=3") for text in listed_options(fixed)),
        "shared": listed_options(shared),
        "shrink": shrink,
    }
    intake = read_intake(typed)
    options["units"] = intake.units
    given = {name: value for name, value in options.items() if value}
    with interrupts() as interrupted, watching(quiet) as callbacks:
        law = discovery.fit_law(
            formula, intake.table, loss=loss, noise_model=noise_model, seed=seed,
            callbacks=callbacks, **given,
        )  # fmt: skip
    if interrupted():
        tell_interrupted()
    show_law(law, intake, typed, outputs, quiet)
    if interrupted():
        raise typer.Exit(INTERRUPTED)
    if law.grade is discovery.Grade.NOTHING:
        raise typer.Exit(NOTHING)
