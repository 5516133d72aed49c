"""Harder laws, written down before anything was tuned, in two halves that a hash decided.

`harder_tune.csv` may be looked at while the search is improved; `harder_held.csv` only measured. A
law is in the first if the SHA-256 of its name is even. Ranges of the Feynman equations follow AI
Feynman's; the others are of a realistic size in units that keep the constants short.
"""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

from experiments.discovery.laws import Problem

SPLITS = ("tune", "held")
_FOLDER = Path(__file__).parent


def split_of(name: str) -> str:
    """Return the half that a law belongs to, by its name alone."""
    return SPLITS[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2]


def harder(split: str) -> list[Problem]:
    """Return one half of the harder laws."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}, got {split!r}")
    with (_FOLDER / f"harder_{split}.csv").open(newline="") as file:
        return [_problem(row) for row in csv.DictReader(file)]


def _problem(row: dict[str, str]) -> Problem:
    variables = tuple(
        (name, float(low), float(high))
        for name, low, high in (part.split() for part in row["variables"].split(","))
    )
    source = "AI Feynman" if row["group"].startswith("feynman") else "textbooks"
    if row["group"] == "structure":
        source = "made up"
    target = row["target"]
    while target in {name for name, _, _ in variables}:
        target += "_"
    return Problem(row["name"], row["group"], target, row["formula"], variables, source)
