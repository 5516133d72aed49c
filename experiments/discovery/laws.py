"""Known laws: a formula, the box its variables live in, and where it comes from.

The sixty Feynman equations are read from RAN_DATA, the laws of the paper stand here.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import sympy as sp

PAPER_FOURTEEN = (
    "I.16.6", "I.9.18", "I.27.6", "I.18.4", "II.11.27", "I.15.3x", "II.36.38",
    "I.6.2", "I.12.11", "I.37.4", "II.2.42", "I.44.4", "III.10.19", "I.40.1",
)  # fmt: skip
_SPELLINGS = (("arcsin", "asin"), ("arccos", "acos"), ("ln(", "log("))
_TRIES = 200

Box = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Problem:
    """A law to be found again.

    Args:
        name: of the law; unique in its set.
        group: which set or field it belongs to.
        target: name of what is computed.
        text: the formula.
        variables: name, lowest and highest value of each input.
        source: where the law comes from.
    """

    name: str
    group: str
    target: str
    text: str
    variables: tuple[tuple[str, float, float], ...]
    source: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the inputs, in the order of the columns."""
        return [name for name, _, _ in self.variables]

    @property
    def box(self) -> Box:
        """Range of each input."""
        return tuple((low, high) for _, low, high in self.variables)

    @cached_property
    def formula(self) -> sp.Expr:
        """The law in plain symbols, one for each input, whatever its name means elsewhere."""
        text = self.text
        for old, new in _SPELLINGS:
            text = text.replace(old, new)
        return sp.sympify(text, locals={name: sp.Symbol(name) for name in self.names})

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return the law's value at each row; nan or inf where it has none."""
        symbols = [sp.Symbol(name) for name in self.names]
        with np.errstate(all="ignore"):
            value = sp.lambdify(symbols, self.formula, "numpy")(*X.T)
        return np.broadcast_to(np.asarray(value, dtype=np.float64), len(X)).copy()

    def sample(
        self, rows: int, random: np.random.Generator, box: Box | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows uniformly in the box (or in another); those without a finite y again."""
        low, high = np.array(box or self.box).T
        parts: list[np.ndarray] = []
        for _ in range(_TRIES):
            X = random.uniform(low, high, (rows, len(low)))
            parts.append(X[np.isfinite(self(X))])
            if sum(map(len, parts)) >= rows:
                X = np.concatenate(parts)[:rows]
                return X, self(X)
        raise ValueError(f"{self.name} is finite almost nowhere in its box: check the ranges")


def feynman() -> list[Problem]:
    """Return the sixty equations of FeynmanEquations.csv in RAN_DATA."""
    root = os.environ.get("RAN_DATA")
    path = Path(root or "$RAN_DATA") / "ai_feynman" / "FeynmanEquations.csv"
    if root is None or not path.exists():
        state = "is not set" if root is None else f"is {root}"
        raise FileNotFoundError(
            f"{path} is missing. The environment variable RAN_DATA {state}; it must name the "
            "folder of the data, with the table of equations of AI Feynman in ai_feynman/."
        )
    with path.open(newline="") as file:
        return [_feynman_row(row) for row in csv.DictReader(file)]


def _feynman_row(row: dict[str, str]) -> Problem:
    variables = tuple(
        (row[f"v{i}_name"], float(row[f"v{i}_low"]), float(row[f"v{i}_high"]))
        for i in range(1, 11)
        if row[f"v{i}_name"]
    )
    name = row["Filename"]
    return Problem(name, "feynman", row["Output"], row["Formula"], variables, "AI Feynman")


def paper_fourteen() -> list[Problem]:
    """Return the fourteen Feynman equations of the paper's last table, in its order."""
    known = {problem.name: problem for problem in feynman()}
    return [known[name] for name in PAPER_FOURTEEN]


def paper_three(columns: bool = False) -> list[Problem]:
    """Return Van der Waals, Michaelis-Menten and Breit-Wigner.

    The paper states neither constants nor ranges. So: carbon dioxide in MPa and cm^3 a mole, and
    constants of an ordinary size for the two others; or, with `columns`, every constant a column.
    """
    return list(_COLUMNS if columns else _CONSTANTS)


def _of_paper(name: str, target: str, text: str, *variables: tuple[str, float, float]) -> Problem:
    return Problem(name, "paper", target, text, variables, "the paper")


_CONSTANTS = (
    _of_paper(
        "Van der Waals", "P", "8.314*T/(V - 42.7) - 364000/V**2",
        ("T", 280, 450), ("V", 100, 1000),
    ),
    _of_paper("Michaelis-Menten", "v", "2.5*S/(0.8 + S)", ("S", 0.05, 10)),
    _of_paper("Breit-Wigner", "f", "1/((E**2 - 2.25)**2 + 0.5625)", ("E", 0, 4)),
)  # fmt: skip
_COLUMNS = (
    _of_paper(
        "Van der Waals, columns", "P", "R*T/(V - b) - a/V**2",
        ("R", 0.5, 2), ("T", 1, 3), ("V", 1, 4), ("a", 0.5, 2), ("b", 0.1, 0.5),
    ),
    _of_paper(
        "Michaelis-Menten, columns", "v", "Vmax*S/(Km + S)",
        ("Vmax", 1, 5), ("S", 0.1, 10), ("Km", 0.3, 3),
    ),
    _of_paper(
        "Breit-Wigner, columns", "f", "1/((E**2 - M**2)**2 + M**2*Gamma**2)",
        ("E", 0.5, 4), ("M", 1, 3), ("Gamma", 0.3, 1),
    ),
)  # fmt: skip
