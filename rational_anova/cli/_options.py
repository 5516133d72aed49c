"""The options that several commands share: one word and one help text for one thing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from .._core.files import check_regular

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
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random choices.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only the law, or nothing.")]


_PICTURES = (".png", ".svg", ".pdf", ".eps", ".jpg", ".jpeg", ".webp")


def check_outputs(*paths: Path | None, inputs: Sequence[Path | None] = ()) -> None:
    """Refuse files that cannot be written, before the work and not after it.

    Args:
        paths: files to write; no two may be the same.
        inputs: files that are read, none of which may be written over.
    """
    read = {_identity(path) for path in inputs if path is not None}
    written: set[object] = set()
    for path in paths:
        if path is None:
            continue
        check_regular(path, "write")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise NotADirectoryError(f"cannot write {path}: {folder} is a file, not a folder")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"cannot write {path}: no right to write in {folder}")
        own = _identity(path)
        if own in read:
            raise ValueError(f"cannot write {path}: it is read, too; name another file")
        if own in written:
            raise ValueError(f"cannot write {path} twice; name another file for one of them")
        written.add(own)


def _identity(path: Path) -> object:
    """Return what two names of one file share, links included."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()
    return found.st_dev, found.st_ino


def check_picture(path: Path | None) -> None:
    """Refuse a picture whose ending says no format, before the work and not after it."""
    if path is not None and path.suffix and path.suffix.lower() not in _PICTURES:
        raise ValueError(f"cannot draw {path}: its name must end in one of {', '.join(_PICTURES)}")
