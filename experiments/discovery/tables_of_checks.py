"""Tables beside the rates: peers, extrapolation, real measurements, and checks of honesty."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from experiments.discovery.laws import paper_three
from experiments.discovery.recorded import Cells, Recorded, by, code, count, rows_of, share

_COUNTED = ("solved", "on_front", "structure", "structure_on_front")
_THREE = {problem.name for problem in paper_three()}


def peers() -> Iterator[Cells]:
    yield [
        "search", "laws of", "noise", "laws", "solved", "on its front", "right structure",
        "structure on its front", "failed", "seconds, median",
    ]  # fmt: skip
    for (peer, noise), rows in by(_ours() + rows_of("peers"), "peer", "noise").items():
        for words, three in (("Feynman", False), ("the paper's three", True)):
            some = [row for row in rows if (row["problem"] in _THREE) == three]
            if not some:
                continue
            yield [peer, words, noise, *_counts(some)]


def lsr_peers() -> Iterator[Cells]:
    yield [
        "search", "noise", "laws", "solved", "on its front", "right structure",
        "structure on its front", "failed", "seconds, median",
    ]  # fmt: skip
    theirs = rows_of("lsr_peers")
    tables = {(row["problem"], row["noise"], row["seed"]) for row in theirs}
    ours = [
        {**row, "peer": "`discover`"}
        for row in rows_of("lsr")
        if row["rows"] == "uniform" and (row["problem"], row["noise"], row["seed"]) in tables
    ]
    for (peer, noise), rows in by(ours + theirs, "peer", "noise").items():
        yield [peer, noise, *_counts(rows)]


def _counts(rows: Recorded) -> Cells:
    """How many laws, how often each column is true, how many failed, and the median time."""
    failed = sum(bool(row["failure"]) for row in rows)
    seconds = median(float(row["seconds"]) for row in rows)
    counts = [str(count(rows, column)) for column in _COUNTED]
    return [str(len(rows)), *counts, str(failed), f"{seconds:.1f}"]


def _ours() -> Recorded:
    """Our rows on the tables that the peers had: the same laws, noise and seed."""
    noises = {row["noise"] for row in rows_of("peers")}
    rows = [row for row in rows_of("feynman") if row["seed"] == "0" and row["noise"] in noises]
    rows += [row for row in rows_of("paper") if row["problem"] in _THREE]
    return [{**row, "peer": "`discover`"} for row in rows]


def extrapolation() -> Iterator[Cells]:
    yield ["noise", "right structure", "error inside, median", "outside, median", "ratio, median"]
    for (noise,), rows in by(rows_of("extrapolation"), "noise").items():
        done = [row for row in rows if row.get("ratio")]
        if not done:
            continue
        middle = [median(float(row[c]) for row in done) for c in ("inner", "outer", "ratio")]
        yield [noise, share(rows, "exact"), *(f"{value:.1e}" for value in middle)]


def real() -> Iterator[Cells]:
    yield ["table", "rows", "law found", "RMSE", "textbook, fitted", "its RMSE", "numbers apart"]
    for row in rows_of("real"):
        if row["failure"]:
            yield [row["measured"], row["rows"], row["failure"], *4 * [""]]
            continue
        law = code(row["law"]) if row["found"] == "True" else f"none claimed; {code(row['law'])}"
        book, rmse = code(row["textbook"]), row["textbook_rmse"]
        yield [row["measured"], row["rows"], law, row["rmse"], book, rmse, row["off"]]


def checks() -> Iterator[Cells]:
    yield ["check", "result"]
    covered = [row for row in rows_of("coverage") if row["structure"] == "True"]
    if covered:
        numbers, inside = (sum(int(row[k]) for row in covered) for k in ("numbers", "inside"))
        words = f"{inside} of {numbers} ({inside / numbers:.1%}), from {len(covered)} tables"
        yield ["95% intervals that hold the truth", words]
    for (noise, problem), rows in by(rows_of("irrelevant"), "noise", "problem").items():
        longest = max(float(row["seconds"]) for row in rows)
        words = f"{share(rows, 'structure')}, longest {longest:.0f} s"
        yield [f"right form of {problem}, noise {noise}", words]
    if rows := rows_of("nothing"):
        yield ["law claimed in pure noise", share(rows, "found")]


def outside() -> Iterator[Cells]:
    grades = ("established", "one of several", "interpolation", "nothing")
    yield ["table of", "tables", "law claimed", *grades, "failed", "seconds: median, longest"]
    every = rows_of("outside")
    clean = [row for row in every if row["kind"] != "noise"]
    kinds = {"all without noise": clean} if clean else {}
    kinds |= {kind: rows for (kind,), rows in by(every, "kind").items()}
    for kind, rows in kinds.items():
        said = [str(sum(row["grade"] == grade for row in rows)) for grade in grades]
        failed = sum(bool(row["failure"]) for row in rows)
        seconds = [float(row["seconds"]) for row in rows]
        yield [
            kind, str(len(rows)), share(rows, "found"), *said, str(failed),
            f"{median(seconds):.1f}, {max(seconds):.0f}",
        ]  # fmt: skip
