"""Tables of the experiments of discovery, for the docs: made of the CSVs, nothing else.

`experiments.tables` asks for `TABLES` and `lines`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median

from experiments.discovery import kan as kan_examples
from experiments.discovery import tables_of_checks as checked
from experiments.discovery.recorded import Cells, by, code, count, rows_of, share

_SETS = {
    "feynman": "60 Feynman equations",
    "harder_tune": "harder laws, tuned on",
    "harder_held": "harder laws, held out",
}


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


def first() -> Iterator[Cells]:
    yield ["noise", "laws", "solved at first", "solved now", "only at first"]
    now = {(row["problem"], float(row["noise"])): row for row in rows_of("harder_tune")}
    for (noise,), rows in by(rows_of("harder_tune_first"), "noise").items():
        both = [row for row in rows if (row["problem"], float(noise)) in now]
        if not both:
            continue
        later = [now[row["problem"], float(noise)] for row in both]
        lost = sum(
            old["solved"] == "True" != new["solved"] for old, new in zip(both, later, strict=True)
        )
        counts = [count(both, "solved"), count(later, "solved"), lost]
        yield [f"{float(noise):g}", str(len(both)), *map(str, counts)]


def selector() -> Iterator[Cells]:
    yield ["set", "noise", "runs", "law on the front", "chosen", "on the front, not chosen"]
    for name, words in _SETS.items():
        for (noise,), rows in by(rows_of(name), "noise").items():
            front, chosen = count(rows, "structure_on_front"), count(rows, "structure")
            missed = f"{front - chosen} ({(front - chosen) / len(rows):.1%})"
            yield [words, noise, str(len(rows)), str(front), str(chosen), missed]


def lsr() -> Iterator[Cells]:
    yield ["rows", "noise", "kind of law", "solved", "right structure", "seconds: median, longest"]
    for (rows, noise), every in by(rows_of("lsr"), "rows", "noise").items():
        kinds = {"all": every, **{group: own for (group,), own in by(every, "group").items()}}
        for kind, some in kinds.items():
            seconds = [float(row["seconds"]) for row in some]
            yield [
                rows, noise, kind.replace("_", " "), share(some, "solved"),
                share(some, "structure"), f"{median(seconds):.1f}, {max(seconds):.0f}",
            ]  # fmt: skip


def kan() -> Iterator[Cells]:
    head = ["function", "from", "solved", "right structure", "law claimed", "seconds", "found"]
    yield head
    sources = {example.name: example.source for example in kan_examples.EXAMPLES}
    for row in rows_of("kan"):
        columns = ("solved", "structure", "found")
        said = ["yes" if row[column] == "True" else "no" for column in columns]
        seconds = f"{float(row['seconds']):.1f}"
        found = code(row["formula"]) or row["failure"]
        yield [row["problem"], sources.get(row["problem"], ""), *said, seconds, found]


def chapters() -> Iterator[Cells]:
    yield [
        "chapter", "noise", "solved", "right structure", "no law claimed",
        "seconds: median, longest",
    ]  # fmt: skip
    for (noise,), every in by(rows_of("chapters"), "noise").items():
        parts = {"all": every, **{group: own for (group,), own in by(every, "group").items()}}
        for chapter, rows in parts.items():
            seconds = [float(row["seconds"]) for row in rows]
            yield [
                chapter, noise, share(rows, "solved"), share(rows, "structure"),
                str(len(rows) - count(rows, "found")), f"{median(seconds):.1f}, {max(seconds):.0f}",
            ]  # fmt: skip


def paper() -> Iterator[Cells]:
    head = ["law", "exact", "test RMSE", "RMSE / spread", "seconds"]
    yield [*head, "paper's RAN", "paper's KAN", "paper's MLP", "found"]
    for row in rows_of("paper"):
        exact = "yes" if row["solved"] == row["exact"] == "True" else "no"
        beside = [row.get(f"paper_{name}", "") for name in ("ran", "kan", "mlp")]
        numbers = [f"{float(row[name]):.1e}" for name in ("rmse", "error")]
        seconds = f"{float(row['seconds']):.1f}"
        yield [row["problem"], exact, *numbers, seconds, *beside, code(row["formula"])]


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "discovery_rates": rates,
    "discovery_groups": groups,
    "discovery_first": first,
    "discovery_selector": selector,
    "discovery_lsr": lsr,
    "discovery_kan": kan,
    "discovery_chapters": chapters,
    "discovery_paper": paper,
    "discovery_peers": checked.peers,
    "discovery_lsr_peers": checked.lsr_peers,
    "discovery_extrapolation": checked.extrapolation,
    "discovery_real": checked.real,
    "discovery_checks": checked.checks,
    "discovery_outside": checked.outside,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    return list(TABLES[name]())
