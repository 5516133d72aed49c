"""`ran certify`: a saved model or law and a box to what is proved about it there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console

from .._core.checks import choice
from .._core.files import write_figure
from .._core.records import built, open_file
from ..certificates import PoleError, inputs_of
from ..certificates import certify as prove
from ..discovery.law import Law
from ..tables import read_table
from ._fit import clear_errors
from ._tables import listed

_POLE = 3
_WAY = "give --box -1,1 for all inputs, --box x=0:1,y=-2:3 for some, or --table data.csv"


def certify(
    path: Annotated[
        Path, typer.Argument(help="A model written by save(), or a law by ran discover --json.")
    ],
    box: Annotated[
        list[str] | None,
        typer.Option(help="low,high for all inputs; or x=0:1,y=-2:3 by name. Repeatable."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="A table whose range is the box: CSV, TSV or Parquet.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option(help="Its columns for the inputs of a network, as a,b.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the certificate, in JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it, as file.png, .svg or .pdf.")] = None,
    tolerance: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="How close to the truth bounds shall come.")
    ] = 0.01,
    pieces: Annotated[
        int, typer.Option(min=1, help="Pieces of the box where the sign of a slope is open.")
    ] = 8,
    quiet: Annotated[bool, typer.Option(help="Print nothing but errors.")] = False,
) -> None:
    """Prove bounds on a box: Lipschitz constant, denominators, outputs, and who rises with whom.

    Without a box, a law is certified on that of its data. A pole in the box ends it with code 3.
    """
    console = Console(soft_wrap=True, quiet=quiet)
    with clear_errors():
        model = _read(path)
        names = _names(model)
        limits = _box(model, names, box or [], table, listed(inputs, []))
        try:
            found = prove(model, limits, tolerance=tolerance, pieces=pieces)
        except PoleError as error:
            Console(stderr=True, soft_wrap=True).print(
                f"[bold red]pole:[/] {error}", highlight=False
            )
            raise typer.Exit(_POLE) from error
        console.print(found.summary(), highlight=False, markup=False)
        if out is not None:
            found.save(out)
        if plot is not None:
            write_figure(plot, found.plot())
    for kind, file in (("certificate", out), ("plot", plot)):
        if file is not None:
            console.print(f"{kind}: {file}", highlight=False, markup=False)


def _read(path: Path) -> Any:
    """Read a network or a law."""
    found = open_file(path)
    if found.kind == "estimator":
        raise ValueError(
            f"{path} holds an estimator for tables, whose inputs may be categories and gaps; its "
            "proofs are monotone_ and prove_monotone(), see docs/tabular.md"
        )
    if found.kind not in ("network", "law"):
        raise ValueError(f"{path} holds a {found.kind}; bounds are proved of networks and laws")
    return built(found)


def _names(model: Any) -> list[str]:
    if isinstance(model, Law):
        return list(model.names.columns)
    count = inputs_of(model)
    return [f"x{n}" for n in range(getattr(model, "_least", 0) if count is None else count)]


def _box(
    model: Any, names: list[str], texts: Sequence[str], table: Path | None, columns: list[str]
) -> list[tuple[float, float]]:
    """Return (low, high) of each input: of the law's data, of a table, and then as it is typed."""
    found: dict[str, tuple[float, float]] = {}
    if isinstance(model, Law):
        found.update(zip(names, model.box, strict=True))
    if table is not None:
        found.update(_ranges(table, names, columns, isinstance(model, Law)))
    elif columns:
        raise ValueError("--inputs names columns of a table: give --table data.csv with it")
    parts = [part for text in texts for part in _parts(text)]
    for name, ends in sorted(parts, key=lambda part: part[0] is not None):  # by name comes last
        if name is None:
            found.update(dict.fromkeys(names, ends))
        else:
            found[choice(name, names, "an input in --box")] = ends
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"there is no box for {', '.join(missing[:5])}; {_WAY}")
    for name in names:
        low, high = found[name]
        if not low <= high:
            raise ValueError(f"--box of {name} must have low <= high, got {low:g}:{high:g}")
    return [found[name] for name in names]


def _parts(text: str) -> list[tuple[str | None, tuple[float, float]]]:
    """Read `-1,1`, `-1:1` or `x=0:1,y=-2:3`."""
    if "=" not in text:
        return [(None, _ends(text.replace(",", ":"), text))]
    found: list[tuple[str | None, tuple[float, float]]] = []
    for part in text.split(","):
        name, _, ends = part.rpartition("=")
        found.append((name.strip(), _ends(ends, text)))
    return found


def _ends(part: str, text: str) -> tuple[float, float]:
    try:
        low, high = map(float, part.split(":"))
    except ValueError:
        raise ValueError(f"--box must be as -1,1 or x=0:1,y=-2:3, got {text!r}") from None
    return low, high


def _ranges(
    path: Path, names: list[str], columns: list[str], law: bool
) -> dict[str, tuple[float, float]]:
    """Return the range of a table's columns for each input."""
    frame = read_table(path)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    there = list(frame.columns)
    chosen = [choice(name, there, "--inputs") for name in columns]
    if not chosen:
        chosen = names if law or set(names) <= set(there) else there
    if len(chosen) != len(names):
        raise ValueError(
            f"the model has {len(names)} inputs and {path} has {len(chosen)} columns: name those "
            "of the inputs, in their order, as --inputs a,b"
        )
    found = {}
    for name, column in zip(names, chosen, strict=True):
        choice(column, there, "a column of the law")
        values = pd.to_numeric(frame[column], errors="coerce").dropna()
        if values.empty or len(values) < frame[column].notna().sum():
            raise ValueError(f"column {column!r} of {path} does not hold numbers only")
        found[name] = (float(values.min()), float(values.max()))
    return found
