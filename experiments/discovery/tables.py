"""Tables of the experiments of discovery, for the docs: made of the CSVs, nothing else.

`experiments.tables` asks for `TABLES` and `lines`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from statistics import median

from experiments.results import FOLDER

Cells = list[str]
Recorded = list[dict[str, str]]

_SETS = {
    "feynman": "60 Feynman equations",
    "harder_tune": "harder laws, tuned on",
    "harder_held": "harder laws, held out",
}


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


def rates() -> Iterator[Cells]:
    yield [
        "set",
        "noise",
        "solved",
        "right structure",
        "no law claimed",
        "seconds: median, longest",
    ]
    for name, words in _SETS.items():
        for (noise,), rows in by(rows_of(name), "noise").items():
            seconds = [float(row["seconds"]) for row in rows]
            silent = len(rows) - count(rows, "found")
            yield [
                words, noise, share(rows, "solved"), share(rows, "structure"), str(silent),
                f"{median(seconds):.1f}, {max(seconds):.0f}",
            ]  # fmt: skip


def groups() -> Iterator[Cells]:
    yield ["field", "noise", "tuned on: solved", "held out: solved"]
    halves = [by(rows_of(f"harder_{split}"), "group", "noise") for split in ("tune", "held")]
    for key in dict.fromkeys([*halves[0], *halves[1]]):
        found = [half.get(key, []) for half in halves]
        yield [*key, *(f"{count(rows, 'solved')} of {len(rows)}" for rows in found)]


def selector() -> Iterator[Cells]:
    yield ["set", "noise", "runs", "law on the front", "chosen", "on the front, not chosen"]
    for name, words in _SETS.items():
        for (noise,), rows in by(rows_of(name), "noise").items():
            front, chosen = count(rows, "structure_on_front"), count(rows, "structure")
            missed = f"{front - chosen} ({(front - chosen) / len(rows):.1%})"
            yield [words, noise, str(len(rows)), str(front), str(chosen), missed]


def paper() -> Iterator[Cells]:
    head = ["law", "exact", "test RMSE", "RMSE / spread", "seconds"]
    yield [*head, "paper's RAN", "paper's KAN", "paper's MLP", "found"]
    for row in rows_of("paper"):
        exact = "yes" if row["solved"] == row["exact"] == "True" else "no"
        beside = [row.get(f"paper_{name}", "") for name in ("ran", "kan", "mlp")]
        numbers = [f"{float(row[name]):.1e}" for name in ("rmse", "error")]
        seconds = f"{float(row['seconds']):.1f}"
        yield [row["problem"], exact, *numbers, seconds, *beside, _code(row["formula"])]


def peers() -> Iterator[Cells]:
    yield [
        "peer", "noise", "budget (s)", "laws", "solved", "on its front", "right structure",
        "structure on its front", "failed",
    ]  # fmt: skip
    columns = ("solved", "on_front", "structure", "structure_on_front")
    for (peer, noise, budget), rows in by(rows_of("peers"), "peer", "noise", "budget").items():
        failed = sum(bool(row["failure"]) for row in rows)
        counts = [str(count(rows, column)) for column in columns]
        yield [peer, noise, budget, str(len(rows)), *counts, str(failed)]


def extrapolation() -> Iterator[Cells]:
    yield ["noise", "right structure", "error inside, median", "outside, median", "ratio, median"]
    for (noise,), rows in by(rows_of("extrapolation"), "noise").items():
        done = [row for row in rows if row.get("ratio")]
        middle = [median(float(row[c]) for row in done) for c in ("inner", "outer", "ratio")]
        yield [noise, share(rows, "exact"), *(f"{value:.1e}" for value in middle)]


def real() -> Iterator[Cells]:
    yield ["table", "rows", "law found", "RMSE", "textbook, fitted", "its RMSE", "numbers apart"]
    for row in rows_of("real"):
        law = _code(row["law"]) if row["found"] == "True" else f"none claimed; {_code(row['law'])}"
        book, rmse = _code(row["textbook"]), row["textbook_rmse"]
        yield [row["measured"], row["rows"], law, row["rmse"], book, rmse, row["off"]]


def checks() -> Iterator[Cells]:
    yield ["check", "result"]
    covered = [row for row in rows_of("coverage") if row["structure"] == "True"]
    if covered:
        numbers, inside = (sum(int(row[k]) for row in covered) for k in ("numbers", "inside"))
        words = f"{inside} of {numbers} ({inside / numbers:.1%}), from {len(covered)} tables"
        yield ["95% intervals that hold the truth", words]
    for (noise,), rows in by(
        [r for r in rows_of("irrelevant") if ", 12" in r["problem"]], "noise"
    ).items():
        longest = max(float(row["seconds"]) for row in rows)
        words = f"{share(rows, 'solved')}, longest {longest:.0f} s"
        yield [f"Van der Waals with 12 idle columns, noise {noise}", words]
    if rows := rows_of("nothing"):
        yield ["law claimed in pure noise", share(rows, "found")]


def _code(text: str) -> str:
    return f"`{text.replace('|', '/')}`" if text else ""


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "discovery_rates": rates,
    "discovery_groups": groups,
    "discovery_selector": selector,
    "discovery_paper": paper,
    "discovery_peers": peers,
    "discovery_extrapolation": extrapolation,
    "discovery_real": real,
    "discovery_checks": checks,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    return list(TABLES[name]())
