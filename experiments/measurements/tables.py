"""Tables of the experiments with measurements, for the docs: made of the CSVs, nothing else.

`experiments.tables` asks for `TABLES` and `lines`. An experiment that was not run has a table with
one line that says so.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from experiments.discovery.recorded import Cells, Recorded, by, code, count, share
from experiments.measurements import coverage as intervals
from experiments.measurements import errors_in_x as input_errors
from experiments.measurements.nist import ENOUGH
from experiments.results import FOLDER

_KINDS = {"True": "in the catalogue", "False": "other forms"}
_GRADES = ("established", "one of several", "interpolation", "nothing")
_TABLES = {"smooth": "random smooth curves", "noise": "pure noise"}
_METHODS = {"profile": "numbers, profile", "wald": "numbers, Wald"}


def rows_of(name: str, study: str = "measurements") -> Recorded:
    """Return the recorded rows of an experiment, none if it has not been run."""
    path = FOLDER / f"{study}_{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# -- forms without start values


def nist() -> Iterator[Cells]:
    yield [
        "fit", "start", "sets", f"{ENOUGH:g} digits or more", "least digits",
        "least, standard errors", "failed", "seconds: median, longest",
    ]  # fmt: skip
    for (method, start), rows in by(rows_of("nist"), "method", "start").items():
        digits = _numbers(rows, "digits")
        good = sum(value >= ENOUGH for value in digits)
        errors = [float(row["error_digits"]) for row in rows if row["reached"] == "True"]
        yield [
            f"`{method}`", start, str(len(rows)), str(good), f"{min(digits):.1f}",
            f"{min(errors, default=0.0):.1f}", str(len(rows) - count(rows, "reached")),
            _seconds(rows, 2),
        ]  # fmt: skip


def nist_sets() -> Iterator[Cells]:
    yield [
        "set", "level", "digits", "of standard errors", "seconds", "`curve_fit`, far start",
        "`lmfit`, far start",
    ]  # fmt: skip
    for (name,), rows in by(rows_of("nist"), "certified").items():
        found = {(row["method"], row["start"]): row for row in rows}
        own = found.get(("fit_law", "none"))
        if own is None:
            continue
        numbers = [f"{float(own[c]):.1f}" for c in ("digits", "error_digits")]
        peers = [_reached(found.get((method, "far"))) for method in ("curve_fit", "lmfit")]
        yield [name, own["level"], *numbers, f"{float(own['seconds']):.2f}", *peers]


def _reached(row: dict[str, str] | None) -> str:
    if row is None:
        return ""
    return f"{float(row['digits']):.1f} digits" if row["reached"] == "True" else "failed"


# -- the right form


def textbook() -> Iterator[Cells]:
    yield [
        "list", "tables", "first or level", "the same, given numbers free", "in the first three",
        "rejected by the data", "one of the last two", "seconds: median, longest",
    ]  # fmt: skip
    for (source,), rows in by(rows_of("textbook"), "source").items():
        either = sum(row["three"] == "True" or row["rejected"] == "True" for row in rows)
        yield [
            source, str(len(rows)), share(rows, "level"), str(count(rows, "level_freed")),
            str(count(rows, "three")), str(count(rows, "rejected")),
            f"{either} ({either / len(rows):.1%})", _seconds(rows),
        ]  # fmt: skip


def textbook_tables() -> Iterator[Cells]:
    yield [
        "table", "rows", "textbook's form", "its rank", "its BIC less ours", "its error",
        "our error", "grade", "law",
    ]  # fmt: skip
    for row in rows_of("textbook"):
        name = row["measured"].removeprefix("datasets_")
        if row["failure"]:
            yield [name, row["rows"], code(row["textbook"]), row["failure"][:80], *5 * [""]]
            continue
        rank = row["rank"] if row["rank"] != "0" else "not among the rivals"
        level = ", level" if row["level"] == "True" and row["rank"] != "1" else ""
        rejected = ", rejected" if row["rejected"] == "True" else ""
        law = f"{row['name']}: {code(row['law'])}" if row["name"] else code(row["law"])
        yield [
            name, row["rows"], code(row["textbook"]), f"{rank}{level}{rejected}",
            _short(row["bic_behind"]), _percent(row["textbook_error"]), _percent(row["error"]),
            row["grade"], law,
        ]  # fmt: skip


def curves(file: str = "curves") -> Iterator[Cells]:
    yield [
        "forms", "noise", "first, where BIC can tell", "first, of all", "first or level",
        "wrongly established", "established", "failed", "seconds: median, longest",
    ]  # fmt: skip
    rows = rows_of(file)
    for (named, noise), some in sorted(by(rows, "named", "noise").items(), reverse=True):
        yield [_KINDS[named], noise, *_of_curves(some)]
    if rows:
        yield ["all", "both", *_of_curves(rows)]


def _of_curves(rows: Recorded) -> Cells:
    told = [row for row in rows if row["can_tell"] == "True"]
    wrong = sum(row.get("wrongly_established") == "True" for row in rows)
    return [
        share(told, "first") if told else "", share(rows, "first"), str(count(rows, "level")),
        f"{wrong} ({wrong / len(rows):.1%})", str(sum(r["grade"] == "established" for r in rows)),
        str(sum(bool(row["failure"]) for row in rows)), _seconds(rows),
    ]  # fmt: skip


def curves_peers() -> Iterator[Cells]:
    yield [
        "search", "noise", "tables", "true form chosen", "the same, up to a constant",
        "on its front", "failed", "seconds, median",
    ]  # fmt: skip
    peers = rows_of("curves_peers")
    had = {(row["curve"], row["noise"], row["seed"]) for row in peers}
    ours = [r for r in rows_of("curves") if (r["curve"], r["noise"], r["seed"]) in had]
    for (noise,), rows in by(ours, "noise").items():
        among = sum(int(row.get("rank") or 0) > 0 or row["first"] == "True" for row in rows)
        first = str(count(rows, "first"))
        yield ["`discover`", noise, str(len(rows)), first, first, str(among), *_ends(rows)]
    for (peer, noise), rows in by(peers, "peer", "noise").items():
        counts = [str(count(rows, c)) for c in ("first", "first_shifted", "on_front")]
        yield [peer, noise, str(len(rows)), *counts, *_ends(rows)]


def _ends(rows: Recorded) -> Cells:
    failed = sum(bool(row["failure"]) for row in rows)
    return [str(failed), f"{median(_numbers(rows, 'seconds')):.0f}"]


# -- honesty


def smooth() -> Iterator[Cells]:
    yield ["tables of", "tables", *_GRADES, "failed", "seconds: median, longest"]
    for (kind,), rows in by(rows_of("smooth"), "kind").items():
        grades = Counter(row["grade"] for row in rows)
        failed = sum(bool(row["failure"]) for row in rows)
        counts = [str(grades[grade]) for grade in _GRADES]
        yield [_TABLES[kind], str(len(rows)), *counts, str(failed), _seconds(rows)]


def coverage() -> Iterator[Cells]:
    yield ["noise", "tables", "form", "the curve", "a new measurement", *_METHODS.values()]
    rows = rows_of("coverage")
    kinds = [(noise, some) for (noise,), some in by(rows, "noise").items()]
    for noise, some in [*kinds, *([("all", rows)] if rows else [])]:
        right = f"found, right in {count(some, 'found_same')}"
        for what, words in (("told", "told"), ("found", right)):
            done = [row for row in some if row.get(f"{what}_curve")]
            asked = intervals.POINTS * len(done)
            numbers = _total(done, f"{what}_numbers")
            cells = [_rate(_total(done, f"{what}_{c}"), asked) for c in ("curve", "new")]
            cells += [_rate(_total(done, f"{what}_{m}"), numbers) for m in _METHODS]
            yield [noise, str(len(done)), words, *cells]


# -- tables as laboratories have them


def groups() -> Iterator[Cells]:
    yield ["table", "fit", "form", "shared", "own", "ours beside known numbers", "seconds"]
    for row in rows_of("groups"):
        name, seconds = row["study"].removeprefix("datasets_"), f"{float(row['seconds']):.1f}"
        if row["failure"]:
            yield [name, row["fit"], row["failure"][:80], "", "", "", seconds]
            continue
        beside = (row.get("beside") or "").replace(" | ", "; ")
        if row["fit"] == "found":
            rank = row.get("rank") or "0"
            place = rank if rank != "0" else "not among the rivals"
            beside = f"rank of the textbook's form: {place}; {row['grade']}"
        parts = [row.get("shared") or "", row.get("own") or ""]
        yield [name, row["fit"], code(row["form"]), *parts, beside, seconds]


def outliers() -> Iterator[Cells]:
    yield [
        "loss", "tables", "right form found", "largest error of a number, median",
        "rows named, rightly", "failed",
    ]  # fmt: skip
    rows = rows_of("outliers")
    if not rows:
        return
    spoilt = sum(len(row["spoilt"].split()) for row in rows)
    named = f"{_total(rows, 'named')}, {_total(rows, 'hit')} of {spoilt}"
    for loss, words in (("robust", named), ("squares", "")):
        errors = [e for e in _numbers(rows, f"{loss}_error") if math.isfinite(e)]
        failed = sum(bool(row["failure"]) for row in rows)
        yield [
            f"`{loss}`", str(len(rows)), share(rows, f"{loss}_same"), f"{median(errors):.2%}",
            words, str(failed),
        ]  # fmt: skip


def errors_in_x() -> Iterator[Cells]:
    yield ["form", "number", "tables", "bias by least squares", "bias with `x_sigma`"]
    for (form,), rows in by(rows_of("errors_in_x"), "form").items():
        for column in (c for c in rows[0] if c.startswith("with_") and c != "with_seconds"):
            name = column.removeprefix("with_")
            if not rows[0][column]:
                continue
            both = [input_errors.bias(rows, f"{what}_{name}") for what in input_errors.FITS]
            yield [form, name, str(len(rows)), *(f"{b:+.2%} ± {e:.2%}" for b, e in both)]


def units() -> Iterator[Cells]:
    yield ["units", "equations", "solved", "right structure", "seconds: median, longest"]
    for (way,), rows in by(rows_of("feynman_units", "discovery"), "units").items():
        words = "with" if way == "True" else "without"
        solved, structure = share(rows, "solved"), share(rows, "structure")
        yield [words, str(len(rows)), solved, structure, _seconds(rows)]


# -- cells


def _numbers(rows: Recorded, column: str) -> list[float]:
    return [float(row[column] or "nan") for row in rows]


def _total(rows: Recorded, column: str) -> int:
    return sum(int(row.get(column) or 0) for row in rows)


def _rate(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def _seconds(rows: Sequence[dict[str, str]], digits: int = 0) -> str:
    values = _numbers(list(rows), "seconds")
    return f"{median(values):.{digits or 1}f}, {max(values):.{digits}f}"


def _short(number: str) -> str:
    return f"{float(number):.1f}" if number else ""


def _percent(number: str) -> str:
    return f"{100 * float(number):.2g}%" if number else ""


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "measurements_nist": nist,
    "measurements_nist_sets": nist_sets,
    "measurements_textbook": textbook,
    "measurements_textbook_tables": textbook_tables,
    "measurements_curves": curves,
    "measurements_curves_fresh": lambda: curves("curves_fresh"),
    "measurements_curves_peers": curves_peers,
    "measurements_smooth": smooth,
    "measurements_coverage": coverage,
    "measurements_groups": groups,
    "measurements_outliers": outliers,
    "measurements_errors_in_x": errors_in_x,
    "measurements_units": units,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    head, *rows = TABLES[name]()
    return [head, *(rows or [["not recorded yet", *[""] * (len(head) - 1)]])]
