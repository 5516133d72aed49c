"""The command `ran`: its commands and their options; the work is done elsewhere.

What is slow to import (torch, sympy, pandas, scikit-learn) is imported by a command once it runs,
so that `ran --help` and `ran COMMAND --help` answer at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import __version__
from ._certify import certify
from ._console import EXIT_CODES, Commands, console, in_table
from ._fit import fit
from ._kernels import kernels
from ._options import check_outputs, check_picture
from ._predict import predict
from ._studio import studio
from .laws import discover, dynamics, fit_law, laws

app = typer.Typer(
    name="ran",
    cls=Commands,
    help="Rational ANOVA Networks.",
    epilog="Exit codes: " + "; ".join(f"{code} {word}" for code, word in EXIT_CODES.items()) + ".",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rational-anova {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="RAN_DEBUG", help="Print where an error came from.")
    ] = False,
) -> None:
    """Rational ANOVA Networks."""


app.command()(certify)
app.command()(discover)
app.command()(dynamics)
app.command()(fit)
app.command()(fit_law)
app.command()(laws)
app.command()(predict)
app.command()(studio)
app.add_typer(kernels, name="kernels", no_args_is_help=True)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to write the plot.")] = Path(
        "build/demo.png"
    ),
    report: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path(
        "build/demo.html"
    ),
) -> None:
    """Find the van der Waals law in a table of carbon dioxide, with error bars and a picture."""
    from ._demo import run_demo

    check_outputs(picture, report)
    check_picture(picture)
    run_demo(console(), picture, report)


@app.command()
def budget(
    parameters: Annotated[int, typer.Argument(min=1, help="Number of parameters.")],
    in_features: Annotated[int, typer.Option(min=1, help="Number of inputs.")],
    out_features: Annotated[int, typer.Option(min=1, help="Number of outputs.")],
    family: Annotated[
        str | None, typer.Option(help="RAN, DeepRAN, MLP, KAN or KAF; all when left out.")
    ] = None,
) -> None:
    """Find the architecture of each family whose parameter count is nearest to a number."""
    import warnings

    from rich.table import Table

    from .. import budgets

    table = Table("family", "architecture", "parameters", "error")
    table.columns[2].justify = table.columns[3].justify = "right"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the table has the error
        for name in [family] if family else budgets.FAMILIES:
            try:
                found = budgets.match_budget(parameters, name, in_features, out_features)
            except ValueError as error:
                if family:
                    raise
                table.add_row(name, f"[dim]{in_table(str(error))}[/]", "", "")
                continue
            table.add_row(name, found.summary, f"{found.parameters:,}", f"{found.error:.3%}")
    out = console()
    out.print(table, soft_wrap=False)
    if family in (None, "KAN"):
        out.print("KAN: with one untrained mask for each edge, as KANbeFair counts.")


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by save().")],
) -> None:
    """Describe a saved file: what it holds, its size and, if it is small, its formula."""
    from ._show import show

    show(path)
