"""`ran studio`: the local page."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ._console import console, say


def studio(
    path: Annotated[
        Path | None,
        typer.Argument(metavar="[TABLE]", help="A table to begin with: CSV, Parquet or Excel."),
    ] = None,
    workspace: Annotated[
        Path | None, typer.Option(help="Folder of tables and runs; by default in your user data.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="To listen at; 0 for a free one.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but 127.0.0.1 needs --password.")
    ] = "127.0.0.1",
    password: Annotated[
        str | None,
        typer.Option(envvar="RAN_STUDIO_PASSWORD", help="For visitors from other machines."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Searches at a time.")] = 1,
    memory: Annotated[float, typer.Option(min=1, help="GB that a search may use.")] = 6.0,
    browser: Annotated[bool, typer.Option(help="Whether to open the browser.")] = True,
) -> None:
    """Open the studio: a local page to find laws, fit models and open files."""
    from ..studio import Workspace, serve

    place = Workspace(workspace)
    key = ""
    if path is not None:
        with open(path, "rb") as file:
            key = place.add_table(file, path.name).hash
    out = console()
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how it is meant to end
        serve(
            place, table=key, host=host, port=port, password=password, workers=workers,
            memory=int(memory * 2**30), say=lambda text: say(out, text), browser=browser,
        )  # fmt: skip
