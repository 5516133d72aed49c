"""Commands and their options; the work is done elsewhere, and errors end in one clear line."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import budgets
from ._certify import certify
from ._demo import run_demo
from ._discover import discover
from ._fit import fit
from ._predict import predict
from ._show import show as describe

app = typer.Typer(
    name="ran",
    help="Rational ANOVA Networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rational-anova {metadata.version('rational-anova')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Rational ANOVA Networks."""


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True, soft_wrap=True).print(
            f"[bold red]error:[/] {escape(str(error))}", highlight=False
        )
        raise typer.Exit(1) from error


app.command()(certify)
app.command()(discover)
app.command()(fit)
app.command()(predict)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to draw it.")] = Path("build/demo.png"),
    report: Annotated[Path, typer.Option(help="Where to write a page.")] = Path("build/demo.html"),
) -> None:
    """Find the van der Waals law in a table of carbon dioxide, with error bars and a picture."""
    with _clear_errors():
        run_demo(Console(soft_wrap=True), picture, report)


@app.command()
def budget(
    target: Annotated[int, typer.Argument(min=1, help="Number of parameters.")],
    inputs: Annotated[int, typer.Option(min=1, help="Number of inputs.")],
    outputs: Annotated[int, typer.Option(min=1, help="Number of outputs.")],
    family: Annotated[
        str | None, typer.Option(help="RAN, DeepRAN, MLP, KAN or KAF; all when left out.")
    ] = None,
) -> None:
    """Find the architecture of each family whose parameter count is nearest to a target."""
    table = Table("family", "architecture", "parameters", "error")
    table.columns[2].justify = table.columns[3].justify = "right"
    with _clear_errors(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the table has the error
        for name in [family] if family else budgets.FAMILIES:
            try:
                found = budgets.match_budget(target, name, inputs, outputs)
            except ValueError as error:
                if family:
                    raise
                table.add_row(name, f"[dim]{escape(str(error))}[/]", "", "")
                continue
            table.add_row(name, found.summary, f"{found.parameters:,}", f"{found.error:.3%}")
    Console().print(table)
    if family in (None, "KAN"):
        Console().print("KAN: with one mask an edge, counted and not trained, as KANbeFair counts.")


@app.command()
def show(path: Annotated[Path, typer.Argument(help="A file written by save().")]) -> None:
    """Describe a saved network, estimator, law, certificate, history or checkpoint."""
    with _clear_errors():
        describe(path)
