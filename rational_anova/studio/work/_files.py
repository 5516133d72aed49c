"""Files of this library, opened in a worker: what they hold in lines, and pictures of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._core.files import write_whole
from ._jobs import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPENED = "opened.json"
_HASH, _ID = re.compile(r"[0-9a-f]{16}"), re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9]+)+")
_DOTS = 110  # an inch
_CURVES = 12  # units of a network that are drawn


def open_file(job: Job) -> tuple[str, ...]:
    """Open a file that `ra.load` knows; options: `file`, or `run` and `result`; and its `name`."""
    from ..._core.records import open_file as read
    from ...report import described, law_svg

    path, name = _path(job), str(job.options.get("name", "the file"))
    job.tell("opening the file", part=0.2)
    try:
        found = read(path)
        obj, lines = described(found)
    except (ValueError, OSError, TypeError) as error:
        raise ValueError(str(error).replace(str(path), name)) from error
    known: dict[str, Any] = {"kind": found.kind, "name": name, "lines": lines, "pictures": []}
    if found.kind == "law":
        known["formula"] = str(obj.formula)
        known["svg"] = law_svg(obj)
    job.tell("drawing pictures", part=0.6)
    for place, (label, figure) in enumerate(_pictures(found.kind, obj)):
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=_DOTS, facecolor="white")
        write_whole(job.folder / f"picture-{place}.png", out.getvalue())
        known["pictures"].append({"file": f"picture-{place}.png", "label": label})
    write_whole(job.folder / OPENED, json.dumps(known).encode())
    return (OPENED, *(picture["file"] for picture in known["pictures"]))


def _path(job: Job) -> Path:
    """Return the path of the file, which is in the workspace whatever the options say."""
    place, asked = job.folder.parent.parent, job.options
    if "file" in asked:
        key = str(asked["file"])
        if _HASH.fullmatch(key):
            return place / "files" / key
    elif _ID.fullmatch(str(asked.get("run", ""))) and _FILE.fullmatch(str(asked.get("result", ""))):
        return place / "runs" / str(asked["run"]) / str(asked["result"])
    raise ValueError("there is no such file in the workspace")


def _pictures(kind: str, obj: Any) -> Iterator[tuple[str, Figure]]:
    """Yield the pictures that an object can draw; one that it cannot draw is left out."""
    if kind == "estimator":
        ways = [("Shares of the variance", "importance"), ("Curves", "main")]
        if any(len(axes) > 1 for axes in obj.model_.axes):
            ways.append(("Pairs", "interaction"))
        for label, mode in ways:
            yield label, obj.plot_anova(mode=mode)
    elif kind == "network":
        yield from _units(obj)
    elif hasattr(obj, "plot"):
        try:
            yield kind.capitalize(), obj.plot()
        except (ValueError, TypeError):  # a law without data, a history without lines
            return


def _units(obj: Any) -> Iterator[tuple[str, Figure]]:
    """Draw the units of one variable that a network holds, on the range that most data have."""
    import torch
    from matplotlib.figure import Figure

    from ...units import Rational1d

    units = [one for one in obj.modules() if isinstance(one, Rational1d)]
    x = torch.linspace(-4, 4, 201, dtype=torch.float64)
    drawn = 0
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for one in units:
        if one.dim not in (-1, 1) or drawn >= _CURVES:
            continue
        with torch.no_grad():
            y = one.double()(x[:, None].expand(-1, one.features))
        for column in y.T[: _CURVES - drawn]:
            axes.plot(x.numpy(), column.numpy(), linewidth=1.4)
            drawn += 1
    if drawn:
        axes.set_xlabel("input of the unit")
        axes.set_ylabel("r(x)")
        axes.grid(alpha=0.3)
        yield f"{drawn} of its units of one variable", figure
