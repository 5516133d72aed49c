"""`ran certify`: a model or law and a box, or a network in ONNX and a property, to proofs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._console import NOTHING, complain, console, say
from ._options import Exclude, Inputs, Quiet, Where, check_outputs, check_picture

if TYPE_CHECKING:
    from ._tables import Chosen

_WAY = "give --box -1,1 for all inputs, --box x=0:1,y=-2:3 for some, or --table data.csv"


def certify(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A model written by save(), a law by ran discover --json, or a network in ONNX.",
        ),
    ],
    prop: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROPERTY", help="For a network in ONNX: what must not happen, in VNN-LIB."
        ),
    ] = None,
    box: Annotated[
        list[str] | None,
        typer.Option(help="low,high for all inputs; or x=0:1,y=-2:3 by name. Repeatable."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="A table whose ranges are the box: CSV, TSV or Parquet.")
    ] = None,
    inputs: Inputs = None,
    exclude: Exclude = None,
    where: Where = None,
    out: Annotated[Path | None, typer.Option(help="Write the certificate, in JSON.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a plot, as file.png, .svg or .pdf.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="Relative tolerance of the bounds.")
    ] = 0.01,
    pieces: Annotated[
        int,
        typer.Option(
            min=1, help="Number of pieces of the box where the sign of a derivative is undecided."
        ),
    ] = 8,
    seconds: Annotated[
        float, typer.Option(min=0.001, help="How long to look for the answer to a property.")
    ] = 60.0,
    quiet: Quiet = False,
) -> None:
    """Prove bounds on a box: Lipschitz constant, denominators, outputs, monotonicity.

    Without a box, a law is certified on the range of its data. A pole in the box gives exit
    code 3.
    With a property, the answer is `unsat` (proved: it never happens), `sat` with a point where it
    does, or `unknown`; the last two end it with code 3.
    """
    from .._core.files import write_figure
    from ..certificates import PoleError
    from ..certificates import certify as prove

    if prop is not None or path.suffix == ".onnx":
        _verify(path, prop, out, seconds, quiet)
        return
    check_outputs(out, plot, inputs=[path, table])
    check_picture(plot)
    model = _read(path)
    limits = _box(model, _names(model), box or [], _chosen(table, inputs, exclude, where))
    try:
        found = prove(model, limits, tolerance=tolerance, pieces=pieces)
    except PoleError as error:
        complain("pole", str(error))
        raise typer.Exit(NOTHING) from error
    shown = console(quiet)
    try:
        if out is not None:
            found.save(out)
        if plot is not None:
            write_figure(plot, found.plot())
    finally:  # a full disk takes the files, not the proof
        say(shown, found.summary())
    for kind, file in (("certificate", out), ("plot", plot)):
        if file is not None:
            say(shown, f"{kind}: {file}")


def _verify(path: Path, prop: Path | None, out: Path | None, seconds: float, quiet: bool) -> None:
    from .._core.files import write_whole
    from ..certificates import verify

    if prop is None:
        raise ValueError(
            f"{path} is a network in ONNX: give a property in VNN-LIB too, as in ran certify "
            f"{path} property.vnnlib"
        )
    check_outputs(out, inputs=[path, prop])
    found = verify(path, prop, seconds=seconds)
    if out is not None:
        write_whole(out, f"{found.text()}\n".encode())
    say(console(quiet), found.text())
    if found.answer != "unsat":
        raise typer.Exit(NOTHING)


def _chosen(
    table: Path | None,
    inputs: list[str] | None,
    exclude: list[str] | None,
    where: list[str] | None,
) -> Chosen | None:
    if table is not None:
        from ._tables import read_chosen

        return read_chosen(table, None, inputs, exclude, where)
    for option, given in (("inputs", inputs), ("exclude", exclude), ("where", where)):
        if given:
            raise ValueError(f"--{option} chooses of a table: give --table data.csv with it")
    return None


def _read(path: Path) -> Any:
    """Read a network or a law."""
    from .._core.records import built, open_file

    found = open_file(path)
    if found.kind == "estimator":
        raise ValueError(
            f"{path} holds an estimator for tables, whose inputs may be categories and gaps; its "
            "proofs are monotone_ and prove_monotone(), see docs/guides/tabular.md"
        )
    if found.kind not in ("network", "law"):
        raise ValueError(f"{path} holds a {found.kind}; bounds can be proved for networks and laws")
    return built(found)


def _names(model: Any) -> list[str]:
    from ..certificates import inputs_of
    from ..discovery.law import Law

    if isinstance(model, Law):
        return list(model.names.columns)
    count = inputs_of(model)
    return [f"x{n}" for n in range(getattr(model, "_least", 0) if count is None else count)]


def _box(
    model: Any, names: list[str], texts: Sequence[str], table: Chosen | None
) -> list[tuple[float, float]]:
    """Return (low, high) of each input: of the law's data, of a table, and then as it is typed."""
    from .._core.checks import choice
    from ..discovery.law import Law

    found: dict[str, tuple[float, float]] = {}
    if isinstance(model, Law):
        found.update(zip(names, model.box, strict=True))
    if table is not None:
        found.update(_ranges(table, names, isinstance(model, Law)))
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


def _ranges(table: Chosen, names: list[str], law: bool) -> dict[str, tuple[float, float]]:
    """Return the range of a table's columns for each input."""
    import pandas as pd

    from .._core.checks import choice

    frame, chosen = table.frame, table.inputs
    if not table.named and (law or set(names) <= set(chosen)):
        chosen = names
    if len(chosen) != len(names):
        raise ValueError(
            f"the model has {len(names)} inputs and the table has {len(chosen)} columns: name "
            "those of the inputs, in their order, as --inputs a,b"
        )
    found = {}
    for name, column in zip(names, chosen, strict=True):
        choice(column, list(frame.columns), "a column of the law")
        values = pd.to_numeric(frame[column], errors="coerce").dropna()
        if values.empty or len(values) < frame[column].notna().sum():
            raise ValueError(f"column {column!r} of the table does not hold numbers only")
        found[name] = (float(values.min()), float(values.max()))
    return found
