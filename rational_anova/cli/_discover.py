"""`ran discover`: from a table in a file to the law in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import NOTHING, console, say, spinner
from ._options import Exclude, Inputs, Quiet, Seed, TablePath, Target, Where, check_outputs

if TYPE_CHECKING:
    from ..tables import Table


def discover(
    path: TablePath,
    target: Target,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
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
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Find the law in a table: a formula for one column in the others, with error bars."""
    from .. import discovery
    from ..discovery.law import short
    from ._tables import listed

    check_outputs(report, json)
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
            table,
            time_limit=time_limit,
            seed=seed,
            progress=progress,
            **options,
        )
    out = console()
    say(out, f"{law.target} = {short(law.rounded())}" if quiet else law.summary())
    for note in () if quiet else table.notes:
        say(out, f"note: {note}", "dim")
    if json is not None:
        law.save(json)
    if report is not None:
        from ..report import write_report

        write_report(law, report, table.X, table.y, table.notes)
    for kind, file in (("report", report), ("law", json)):
        if file is not None and not quiet:
            say(out, f"{kind}: {file}")
    if not law.found:
        raise typer.Exit(NOTHING)


def _table(
    path: Path,
    target: str,
    inputs: list[str] | None,
    exclude: list[str] | None,
    where: list[str] | None,
    constants: list[str] | None,
) -> Table:
    from ..tables import prepare
    from ._tables import read_chosen

    chosen = read_chosen(path, target, inputs, exclude, where)
    left = [name for name in chosen.frame.columns if name in (target, *chosen.inputs)]
    wanted = chosen.inputs if chosen.named else None
    known = dict(map(_constant, constants or []))
    return prepare(chosen.frame[left], target, names=wanted, constants=known)


def _constant(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        raise ValueError(
            f"--constant must be a name and a number, as R=8.314, got {text!r}"
        ) from None


def _columns(given: list[str] | None, table: Table, option: str) -> list[str]:
    from .._core.checks import choice
    from ._tables import listed

    names = list(table.names.columns)
    for name in (wanted := listed(given, names)):
        if name in table.dropped:
            raise ValueError(f"{option} names {name!r}, which is left out: {table.dropped[name]}")
        choice(name, names, option)
    return wanted
