"""`ran discover`: from a table in a file to the law in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from .. import discovery
from .._core.checks import choice
from ..discovery.law import Law, short
from ..tables import Table, prepare, read_table
from ._demo import spinner
from ._tables import listed, rows_where

_BAD_INPUT, _NO_LAW = 2, 3


def discover(
    path: Annotated[Path, typer.Argument(help="A table: CSV, TSV or Parquet, also in gzip.")],
    target: Annotated[str, typer.Option(help="Column to find a law of.")],
    inputs: Annotated[
        list[str] | None, typer.Option(help="Columns it may depend on, as T,V; all by default.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Columns to leave out, as a,b.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with state=treated; also with != < <= > >=. Repeatable."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with plots, in HTML.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the law, for Law.load().")] = None,
    constant: Annotated[
        list[str] | None, typer.Option(help="A known constant, as R=8.314. Repeatable.")
    ] = None,
    positive: Annotated[
        list[str] | None, typer.Option(help="Columns that are positive by nature, as T,V.")
    ] = None,
    periodic: Annotated[
        list[str] | None, typer.Option(help="Columns that are angles, as theta.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Functions that the law may not have, as sin,exp.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(min=0, help="Relative error of the target, if it is known.")
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds to search.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Of all random choices.")] = 0,
    quiet: Annotated[bool, typer.Option(help="Print the law only.")] = False,
) -> None:
    """Find the law in a table: a formula for one column in the others, with error bars."""
    out = Console(soft_wrap=True)
    with _clear_errors():
        table = _table(path, target, inputs, exclude, where, constant)
        options: dict[str, Any] = {
            "positive": _columns(positive, table, "--positive"),
            "periodic": _columns(periodic, table, "--periodic"),
            "without": listed(without, []),
        }
        if noise is not None:
            options["noise"] = noise
        with spinner(quiet) as progress:
            law = discovery.discover(
                table.X,
                table.y,
                names=list(table.names.columns),
                target=table.target,
                constants=dict(table.known),
                time_limit=time_limit,
                seed=seed,
                progress=progress,
                **options,
            )
        _print(out, law, table, quiet)
        if json is not None:
            law.save(json)
        if report is not None:
            from ..report import write_report

            write_report(law, report, table.X, table.y, table.notes)
    for kind, file in (("report", report), ("law", json)):
        if file is not None and not quiet:
            out.print(f"{kind}: {file}", highlight=False, markup=False)
    if not law.found:
        raise typer.Exit(_NO_LAW)


@contextlib.contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, OSError, ImportError) as error:
        Console(stderr=True, soft_wrap=True).print(
            f"[bold red]error:[/] {escape(' '.join(str(error).split()))}", highlight=False
        )
        raise typer.Exit(_BAD_INPUT) from error


def _table(
    path: Path,
    target: str,
    inputs: list[str] | None,
    exclude: list[str] | None,
    conditions: list[str] | None,
    constants: list[str] | None,
) -> Table:
    frame = read_table(path)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    names = list(frame.columns)
    target = choice(target, names, "--target")
    chosen = [choice(name, names, "--inputs") for name in listed(inputs, names)]
    gone = [choice(name, names, "--exclude") for name in listed(exclude, names)]
    frame, fixed = rows_where(frame, conditions or [])
    for name in (target, *chosen):
        if name in gone:
            raise ValueError(f"--exclude leaves out {name!r}, which is asked for")
    left = [name for name in names if name not in gone and (name == target or name not in fixed)]
    wanted = [name for name in chosen if name != target] or None
    known = dict(map(_constant, constants or []))
    return prepare(frame[left], target, names=wanted, constants=known)


def _constant(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise ValueError(
            f"--constant must be a name and a number, as R=8.314, got {text!r}"
        ) from None


def _columns(given: list[str] | None, table: Table, option: str) -> list[str]:
    names = list(table.names.columns)
    for name in (wanted := listed(given, names)):
        if name in table.dropped:
            raise ValueError(f"{option} names {name!r}, which is left out: {table.dropped[name]}")
        choice(name, names, option)
    return wanted


def _print(out: Console, law: Law, table: Table, quiet: bool) -> None:
    def say(text: str, style: str | None = None) -> None:
        out.print(text, style=style, highlight=False, markup=False)

    if quiet:
        say(f"{law.target} = {short(law.rounded())}")
        return
    say(law.summary())
    for note in table.notes:
        say(f"note: {note}", "dim")
