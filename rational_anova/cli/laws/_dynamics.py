"""`ran dynamics`: from a table of time series to its differential equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._console import INTERRUPTED, NOTHING, complain, console, interrupts, say
from .._options import Exclude, Quiet, TablePath, Where, check_outputs, check_picture
from ._options import Plot

if TYPE_CHECKING:
    import pandas as pd


def dynamics(
    path: TablePath,
    time: Annotated[str, typer.Option(metavar="COLUMN", help="Column of times.")],
    states: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns that are states; by default all others."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns that are inputs or forcing, as u,T."),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that names the run of a row.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of subjects with parameters of their own."),
    ] = None,
    exclude: Exclude = None,
    where: Where = None,
    second_order: Annotated[
        bool, typer.Option("--second-order", help="The states are positions; find accelerations.")
    ] = False,
    discrete: Annotated[
        bool, typer.Option("--discrete", help="Rows are steps of a map (discrete time).")
    ] = False,
    forced: Annotated[
        bool, typer.Option("--forced", help="Right-hand sides may depend on time explicitly.")
    ] = False,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE=FORMULA", help='A known right-hand side, as "x=v". Repeatable.'
        ),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Functions that no equation may contain, as sin,exp.")
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=UNIT", help="A unit, as S=mmol/L; all or none. Repeatable."),
    ] = None,
    noise_model: Annotated[
        str, typer.Option(help="constant, proportional, or auto: the more probable one.")
    ] = "auto",
    json: Annotated[
        Path | None, typer.Option(help="Write the system, for Dynamics.load().")
    ] = None,
    plot: Plot = None,
    time_limit: Annotated[float, typer.Option(min=0.1, help="Seconds to search.")] = 120.0,
    quiet: Quiet = False,
) -> None:
    """Find the equations of motion behind time series, with error bars.

    Ctrl-C ends the search: the best system so far is printed and written.
    """
    from ...motion import discover_dynamics
    from ._intake import listed_options
    from ._options import named_text
    from ._outcome import watching

    check_outputs(json, plot, inputs=(path,))
    check_picture(plot)
    frame, given = _chosen(path, time, states, inputs, (run, by), exclude, where)
    columns = [name for name in frame.columns if name not in (time, run, by)]
    pairs = [named_text(text, columns, "--known", "x=v") for text in known or []]
    measures = [named_text(u, [*columns, time], "--units", "S=mmol/L") for u in units or []]
    with interrupts() as interrupted, watching(quiet) as callbacks:
        found = discover_dynamics(
            time, frame, inputs=given, run=run, by=by, order=2 if second_order else 1,
            discrete=discrete, autonomous=not forced, known=dict(pairs),
            without=listed_options(without), units=dict(measures) or None,
            noise_model=noise_model, time_limit=time_limit, callbacks=callbacks,
        )  # fmt: skip
    if interrupted():
        complain("interrupted", "this is the best system so far")
    say(console(), str(found) if quiet else found.summary())
    if json is not None:
        found.save(json)
    if plot is not None:
        from ..._core.files import write_figure

        write_figure(plot, found.plot())
    if interrupted():
        raise typer.Exit(INTERRUPTED)
    if not found.grade.claimed:
        raise typer.Exit(NOTHING)


def _chosen(
    path: Path, time: str, states: list[str] | None, inputs: list[str] | None,
    labels: tuple[str | None, str | None], exclude: list[str] | None, where: list[str] | None,
) -> tuple[pd.DataFrame, list[str]]:  # fmt: skip
    """The rows and columns that were asked for, and the names of the inputs."""
    from ..._core.checks import choice
    from ...tables import listed, rows_where
    from .._tables import read_named

    frame = read_named(path)
    names = list(frame.columns)
    choice(time, names, "--time")
    frame, fixed = rows_where(frame, where or [], "--where")
    given = [choice(name, names, "--inputs") for name in listed(inputs, names)]
    wanted = [choice(name, names, "--states") for name in listed(states, names)]
    gone = {choice(name, names, "--exclude") for name in listed(exclude, names)} | set(fixed)
    kept = wanted or [name for name in names if name not in gone]
    options = zip(labels, ("--run", "--by"), strict=True)
    beside = {time, *given, *(choice(name, names, o) for name, o in options if name is not None)}
    return frame[[name for name in names if name in kept or name in beside]], given
