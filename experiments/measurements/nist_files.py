"""NIST's reference sets for nonlinear regression: form, starts, certified values and data.

A file says in its header which form was fitted, in the manner of Fortran; `read` returns the form
in our syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.measurements.family import Form, Values

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?"
_PARAMETER = re.compile(rf"^\s*(b\d+)\s*=((?:\s+{_NUMBER}){{4}})\s*$", re.M)
_SPELLINGS = (
    ("[", "("), ("]", ")"), ("arctan", "atan"), ("arcsin", "asin"), ("arccos", "acos"),
)  # fmt: skip
_LEFT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log, "log10": np.log10, "sqrt": np.sqrt, "exp": np.exp,
}  # fmt: skip


@dataclass(frozen=True)
class Certified:
    """A reference set.

    Args:
        name: of the set.
        level: of difficulty: lower, average or higher.
        left: what the form is equal to: "y", or a function of it such as "log(y)".
        form: right side, in the columns and b1, b2, ...
        columns: inputs.
        target: measured.
        X: inputs (n, d).
        y: target (n,).
        far: NIST's start 1.
        near: NIST's start 2.
        values: certified parameters.
        deviations: their certified standard deviations.
        rss: certified residual sum of squares.
    """

    name: str
    level: str
    left: str
    form: str
    columns: tuple[str, ...]
    target: str
    X: np.ndarray
    y: np.ndarray
    far: Values
    near: Values
    values: Values
    deviations: Values
    rss: float

    @property
    def text(self) -> str:
        """The formula as `fit_law` takes it."""
        return self.form if self.left == self.target else f"{self.left} = {self.form}"

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        """Range of each input."""
        return tuple(zip(self.X.min(0).tolist(), self.X.max(0).tolist(), strict=True))

    @property
    def right(self) -> Form:
        """The right side as a function, at the certified values."""
        return Form(self.form, self.columns, self.box, (self.values,))

    @property
    def fitted_target(self) -> np.ndarray:
        """What is compared with the right side by least squares."""
        if self.left == self.target:
            return self.y
        return _LEFT[self.left.split("(")[0]](self.y)


def read(path: Path) -> Certified:
    """Return what a file of NIST says."""
    text = path.read_text(encoding="latin-1")
    head, rest = _parted(text, path)
    left, form = _formula(head, path)
    numbers = {
        m[1]: [float(part.replace("D", "E")) for part in m[2].split()]
        for m in _PARAMETER.finditer(rest)
    }
    if not numbers:
        raise ValueError(f"{path} has no lines such as 'b1 = start1 start2 value deviation'")
    far, near, values, deviations = (
        {name: row[i] for name, row in numbers.items()} for i in range(4)
    )
    names, rows = _data(text, path)
    rss = re.search(rf"Residual Sum of Squares:\s*({_NUMBER})", text)
    level = re.search(r"(\w+)\s+Level of Difficulty", text)
    return Certified(
        path.stem, level[1].lower() if level else "", left, form, tuple(names[1:]), names[0],
        rows[:, 1:], rows[:, 0], far, near, values, deviations,
        float(rss[1]) if rss else float("nan"),
    )  # fmt: skip


def _parted(text: str, path: Path) -> tuple[str, str]:
    """Return what stands before the starting values, and after."""
    place = re.search(r"starting\s+values\s+certified", text, re.I)
    if place is None:
        raise ValueError(f"{path} has no line 'Starting values   Certified Values'")
    return text[: place.start()], text[place.start() :]


def _formula(head: str, path: Path) -> tuple[str, str]:
    """Return the left and the right side of the form."""
    model = head[head.rindex("Model:") :].splitlines()
    first = next((i for i, line in enumerate(model) if re.search(r"\d+\s+Parameters?\b", line)), 0)
    lines = [line.strip() for line in model[first + 1 :]]
    lines = [line for line in lines if line and not re.match(r"pi\s*=", line)]
    left, equal, right = " ".join(lines).partition("=")
    if not equal:
        raise ValueError(f"{path} has no equation under 'Model:'")
    right = re.sub(r"\+\s*e\s*$", "", right.strip())
    return _ours(left), _ours(right)


def _ours(text: str) -> str:
    for theirs, ours in _SPELLINGS:
        text = text.replace(theirs, ours)
    return " ".join(text.split())


def _data(text: str, path: Path) -> tuple[list[str], np.ndarray]:
    """Return the names of the columns, the target first, and the rows."""
    lines = text.splitlines()
    head = max(i for i, line in enumerate(lines) if line.startswith("Data:"))
    names = lines[head].removeprefix("Data:").split()
    rows = [
        [float(part.replace("D", "E")) for part in line.split()]
        for line in lines[head + 1 :]
        if line.strip()
    ]
    table = np.array(rows)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(f"{path} has columns {names}, but rows such as {rows[:1]}")
    return names, table
