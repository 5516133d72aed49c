"""The options that several commands share: one word and one help text for one thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A table: CSV, TSV or Parquet, also in gzip.")
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict from the others.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Columns to take as inputs, as T,V; by default all others."
    ),
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="COLUMNS", help="Columns to leave out, as a,b.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Only rows with state=treated; also with != < <= > >=. Repeatable.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of all random choices.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no more than the result.")]
