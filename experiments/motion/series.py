"""Measured time series: lynx and hare, a cooling cannon, theophylline in twelve people.

What is found, or fitted where so few rows can only be fitted, with error bars and the grade.
Needs RAN_DATA for all but the first.

python -m experiments.motion.series [--smoke]
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rational_anova as ra
from experiments.table import Row, Table, arguments, run

KEY = ("series", "way")
# Thousands of pelts of the Hudson's Bay Company, 1900 to 1920, as Howard (2009), "Modeling basics",
# prints them after Odum (1953).
HARE = (30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5,
        11.2, 7.6, 14.6, 16.2, 24.7)  # fmt: skip
LYNX = (4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8,
        9.7, 10.1, 8.6)  # fmt: skip
_LONG = 600


def pelts() -> tuple[pd.DataFrame, dict[str, Any]]:
    years = np.arange(21.0)
    return pd.DataFrame({"year": years, "hare": HARE, "lynx": LYNX}), {"t": "year"}


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(os.environ["RAN_DATA"]) / "science_laws" / f"{name}.csv")


def cooling() -> tuple[pd.DataFrame, dict[str, Any]]:
    return table("bateswatts_Rumford"), {"t": "time"}


def theophylline() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Two compartments: the gut empties as exp(-k*Time), and what it gives to the blood is lost."""
    frame = table("datasets_Theoph")[["Subject", "Time", "conc"]]
    known = {"conc": "a*exp(-k*Time) - e*conc"}
    return frame, {"t": "Time", "autonomous": False, "known": known}


def tasks() -> list[Row]:
    forms = {"hare": "a*hare - b*hare*lynx", "lynx": "c*hare*lynx - d*lynx"}
    return [
        {"series": "lynx and hare", "way": "found", "extra": {}},
        {"series": "lynx and hare", "way": "fitted", "extra": {"known": forms}},
        {"series": "cooling", "way": "found", "extra": {}},
        {
            "series": "theophylline, one set of numbers",
            "way": "fitted",
            "extra": {"run": "Subject"},
        },
        {"series": "theophylline, by subject", "way": "fitted", "extra": {"by": "Subject"}},
    ]


def data(series: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    if series == "lynx and hare":
        return pelts()
    return cooling() if series == "cooling" else theophylline()


def one(series: str, way: str, extra: dict[str, Any]) -> Row:
    """Return what is found or fitted, in words and numbers."""
    frame, options = data(series)
    start = time.process_time()
    row: Row = {"series": series, "way": way, "rows": len(frame)}
    try:
        found = ra.discover_dynamics(options.pop("t"), frame, **options, **extra)
    except ValueError as error:
        return {**row, "seconds": time.process_time() - start, "failure": str(error)[:_LONG]}
    numbers = [f"{p.name}={p.value:.4g}+-{p.stderr:.2g}" for p in found.parameters]
    if found.groups is not None:
        table = found.groups.values
        numbers += [f"{n}: {table[n].min():.3g} to {table[n].max():.3g}" for n in found.groups.own]
    return {
        **row, "seconds": time.process_time() - start, "grade": str(found.grade),
        "name": found.name,
        "noise": " ".join(f"{n}={found.noise_model[n]} {s:.3g}" for n, s in found.noise.items()),
        "found": str(found).replace("\n", "; ")[:_LONG], "numbers": " ".join(numbers),
        "explained": " ".join(f"{n}={s:.3f}" for n, s in found.explained.items()),
        "doubts": " ".join(found.doubts), "failure": "",
    }  # fmt: skip


def main() -> None:
    options = arguments(__doc__, jobs=1).parse_args()
    results = Table("series_smoke" if options.smoke else "series", KEY, options.smoke, "motion")
    run(results, one, tasks()[1:2] if options.smoke else tasks(), options.jobs)
    for row in results.rows:
        print(row["series"], row["way"], row.get("grade"), row.get("found"), row.get("failure"))


if __name__ == "__main__":
    main()
