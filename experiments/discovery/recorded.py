"""Recorded results of discovery: rows, and how often something was so."""

from __future__ import annotations

import csv

from experiments.results import FOLDER

Cells = list[str]
Recorded = list[dict[str, str]]


def rows_of(name: str) -> Recorded:
    """Return the recorded rows of an experiment, none if it has not been run."""
    path = FOLDER / f"discovery_{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def count(rows: Recorded, column: str) -> int:
    """Return how many rows have True in a column."""
    return sum(row[column] == "True" for row in rows)


def by(rows: Recorded, *columns: str) -> dict[tuple[str, ...], Recorded]:
    """Return rows by their values of some columns, in order of appearance."""
    result: dict[tuple[str, ...], Recorded] = {}
    for row in rows:
        result.setdefault(tuple(row[column] for column in columns), []).append(row)
    return result


def share(rows: Recorded, column: str) -> str:
    """Return a rate as '57 of 60 (95%)'."""
    return f"{count(rows, column)} of {len(rows)} ({count(rows, column) / len(rows):.1%})"


def code(text: str) -> str:
    """Return text as code in a cell; a bar would end the cell."""
    return f"`{text.replace('|', '/')}`" if text else ""
