"""The tables of real measurements in RAN_DATA/science_laws, and what the textbooks say of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Measured:
    """A table, its target, and the law that the textbooks have for it.

    Args:
        name: of the table.
        file: in science_laws/.
        inputs: columns to predict from.
        target: column to predict.
        textbook: the law, in the inputs and in the numbers to be fitted.
        start: these numbers, as the textbook has them or nearly so.
        where: which rows, as a pandas query.
        rows: the table itself, if it is in no file.
    """

    name: str
    file: str
    inputs: tuple[str, ...]
    target: str
    textbook: str
    start: tuple[tuple[str, float], ...]
    where: str = ""
    rows: tuple[tuple[float, ...], ...] = ()

    def read(self) -> pd.DataFrame:
        """Return the columns as numbers."""
        columns = [*self.inputs, self.target]
        if self.rows:
            return pd.DataFrame(self.rows, columns=columns)
        root = os.environ.get("RAN_DATA")
        path = Path(root or "$RAN_DATA") / "science_laws" / self.file
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing. RAN_DATA must name the folder of the data; see README, Data."
            )
        table = pd.read_csv(path)
        if self.where:
            table = table.query(self.where)
        return table[columns].astype(np.float64).reset_index(drop=True)


_ENZYME = ("datasets_Puromycin.csv", ("conc",), "rate", "Vm*conc/(K + conc)")
_PLANETS = "solar_system_planets.csv"
_NO_MOON = "planet != 'Moon'"

TABLES = (
    # The certified optima of the textbook of Bates and Watts.
    Measured(
        "Puromycin, treated", *_ENZYME, (("Vm", 212.7), ("K", 0.0641)), "state == 'treated'"
    ),
    Measured(
        "Puromycin, untreated", *_ENZYME, (("Vm", 160.3), ("K", 0.0477)), "state == 'untreated'"
    ),
    Measured(
        "Planets, period", _PLANETS, ("distance_from_sun",), "orbital_period",
        "k*distance_from_sun**1.5", (("k", 0.2),), _NO_MOON,
    ),
    Measured(
        "Planets, orbital velocity", _PLANETS, ("distance_from_sun",), "orbital_velocity",
        "k/sqrt(distance_from_sun)", (("k", 364.0),), _NO_MOON,
    ),
    Measured(
        "Planets, density", _PLANETS, ("mass", "diameter"), "density",
        "k*mass/diameter**3", (("k", 1.9e15),),
    ),
    Measured(
        "Planets, gravity", _PLANETS, ("mass", "diameter"), "gravity",
        "k*mass/diameter**2", (("k", 2.7e8),),
    ),
    Measured(
        "Planets, escape velocity", _PLANETS, ("mass", "diameter"), "escape_velocity",
        "k*sqrt(mass/diameter)", (("k", 516.0),),
    ),
    Measured(
        "Planets, escape velocity by density", _PLANETS, ("density", "diameter"),
        "escape_velocity", "k*diameter*sqrt(density)", (("k", 1.2e-5),),
    ),
    Measured(
        "Rumford, cooling", "bateswatts_Rumford.csv", ("time",), "temp",
        "60 + 70*exp(-theta*time)", (("theta", 0.01),),
    ),
    # Clausius and Clapeyron in degrees Fahrenheit; and Forbes' own line for log(pres).
    Measured(
        "Forbes, absolute temperature", "MASS_forbes.csv", ("bp",), "pres",
        "a*exp(b*(1/659.67 - 1/(bp + 459.67)))", (("a", 23.0), ("b", 9000.0)),
    ),
    Measured(
        "Forbes, exponential", "MASS_forbes.csv", ("bp",), "pres",
        "a*exp(b*(bp - 200))", (("a", 23.0), ("b", 0.02)),
    ),
    Measured(
        "Cars", "datasets_cars.csv", ("speed",), "dist", "a*speed + b*speed**2",
        (("a", 1.24), ("b", 0.09)),
    ),
)  # fmt: skip


def made_up() -> Measured:
    """Return a table that needs no file: an enzyme, with a little noise."""
    random = np.random.default_rng(0)
    conc = np.tile([0.02, 0.06, 0.11, 0.22, 0.56, 1.1], 4)
    rate = 200 * conc / (0.06 + conc) + random.normal(0, 4, len(conc))
    rows = tuple(zip(map(float, conc), map(float, rate), strict=True))
    start = (("Vm", 200.0), ("K", 0.06))
    return Measured("made up", "", ("conc",), "rate", "Vm*conc/(K + conc)", start, rows=rows)
