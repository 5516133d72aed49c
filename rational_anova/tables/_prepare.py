"""`prepare`: what can be used of a table, as numbers, with notes on what was left out and why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.checks import choice, real
from .._core.types import Array
from ._arrays import check_range
from ._cells import DAYS, NotNumbers, numbers, split_by
from ._files import NOTES
from ._frames import as_frame, split_target
from ._measurement import Measurement, read_measurement

if TYPE_CHECKING:
    import pandas as pd

    from ..symbols import Names

_LEAST = 5  # rows
_GLANCE = 64  # rows that tell most columns from constants and copies, before all are looked at
_MANY = 100  # columns: beyond, they are kept as columns in memory, which takes a copy less
_ROW_NAMES = re.compile(r"(unnamed: ?\d+|row_?(names?|id|number)?|index|idx|id|)[.]?", re.I)
_MAYBE_ROW_NAMES = re.compile(r"(nr|no|number|obs(ervation)?|case|sample|run|trial|#)[.]?", re.I)


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and target as numbers, and what was done to get them.

    Attributes:
        X: inputs (rows, columns).
        y: target (rows,).
        names: names of the columns of X.
        target: name of y.
        notes: sentences on what was left out or converted, and why.
        dropped: for every column left out, the reason in a word or two.
        known: constants whose values are given.
        sigma: standard error of each y (rows,), if given.
        x_sigma: standard errors of the inputs (rows, columns), 0 for those without; if given.
        groups: the experiment of each row as text (rows,), if there are several.
        by: name of the column that tells the experiments apart.
    """

    X: Array
    y: Array
    names: Names
    target: str
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, float] = field(default_factory=dict)
    sigma: Array | None = None
    x_sigma: Array | None = None
    groups: Array | None = None
    by: str = ""


def prepare(
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
    constants: Mapping[str, float] | None = None,
    *,
    sigma: Any = None,
    x_sigma: Any = None,
    by: Any = None,
    needed: Sequence[str] | None = None,
) -> Table:
    """Take what a law can be found from: columns of numbers that vary, rows without gaps.

    Args:
        X: inputs: an array (rows, columns), a single column, a list of rows, a tensor, a dict of
            columns or a DataFrame; or a `Table`, which is returned as it is.
        y: target: an array, a Series, or the name of a column of X.
        names: names of the columns of X (x0, x1, ... by default); of a DataFrame, the columns to
            use.
        target: name of y; by default that of the Series, else "y".
        constants: known constants by name, such as {"R": 8.314}.
        sigma: standard error of y: a number, an array, or the name of a column of X, which then is
            no input.
        x_sigma: standard errors of inputs in the same ways, by name: {"T": 0.5, "V": "error of V"};
            where there is one input, its error alone will do.
        by: which experiment a row belongs to: the name of a column of X, which then is no input,
            or labels.
        needed: the columns of a formula that is to be fitted: they alone are inputs, and stay so
            though they be constant or copies.

    Example:
        >>> table = prepare({"T": [1, 2, 3, 4, 5.0], "kind": ["a"] * 5}, [2, 4, 6, 8, 10.0])
        >>> table.names.columns, table.target, table.notes
        (('T',), 'y', ("kind was left out: it is 'a' in every row.",))
        >>> rows = {"S": [1, 2, 3, 1, 2, 3], "strain": list("aaabbb"), "error": [0.1] * 6}
        >>> table = prepare(rows, [2, 4, 6, 3, 6, 9.0], sigma="error", by="strain")
        >>> table.names.columns, table.groups.tolist()
        (('S',), ['a', 'a', 'a', 'b', 'b', 'b'])
    """
    if isinstance(X, Table):
        if any(given is not None for given in (y, names, target, constants, sigma, x_sigma, by)):
            raise TypeError(
                "X is a prepared table: it has y, names, target and constants already, and sigma, "
                "x_sigma and by"
            )
        return X
    if y is None:
        raise TypeError("y is missing: give the target, or the name of a column of X")
    from ..symbols import Names  # brings sympy

    frame, chosen = as_frame(X, names)
    index = frame.index
    frame, goal, target, notes = split_target(frame, y, target)
    notes += [f"{note}." for note in frame.attrs.get(NOTES, ())]
    measured = read_measurement(frame, index, sigma, x_sigma, by, notes)
    frame = frame.drop(columns=measured.columns)
    if needed is not None:
        frame = frame[[choice(name, frame.columns, "needed") for name in needed]]
    elif chosen is not None:
        frame = frame[[name for name in chosen if name in frame.columns]]
    work = _Columns(notes=notes)
    known = _constants(constants, [*frame.columns, target])
    outcome = numbers(goal, f"the target {target!r}", work.notes, target)
    work.read(frame, strict=needed is not None)
    if needed is None:
        work.leave_out_row_numbers(chosen is not None)
    work.check_finite({target: outcome, **work.columns})
    if needed is None:
        work.leave_out_copies(outcome, target)
    measured.settle(list(work.columns), work.dropped)
    rows = len(outcome)
    outcome = work.leave_out_rows(outcome, target, measured)
    if needed is None and len(outcome) < rows:
        work.leave_out_copies(outcome, target)
    work.check_any(target)
    if needed is None:
        measured.settle(list(work.columns), work.dropped)
        work.compare_with_target(outcome, target)
    columns = list(work.columns.values())
    inputs = np.stack(columns).T if len(columns) > _MANY else np.stack(columns, axis=1)
    return Table(inputs, outcome, Names(list(work.columns)), target, tuple(work.notes),
                 dict(work.dropped), known, measured.sigma,
                 measured.matrix(list(work.columns), len(outcome)), measured.groups,
                 measured.by)  # fmt: skip


@dataclass
class _Columns:
    """Columns that are still in use, and the record of the others."""

    columns: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)

    def read(self, frame: pd.DataFrame, strict: bool) -> None:
        """Read the columns of numbers; others are left out or, if strict, an error."""
        for name in frame.columns:
            try:
                read = numbers(frame[name], f"column {name!r}", self.notes, name)
                # A column of rows in memory is slow to go through, and that is done many times.
                self.columns[name] = np.ascontiguousarray(read)
            except NotNumbers as error:
                # complex numbers are no column to leave out, but a table of another kind
                if strict or error.reason == "complex":
                    raise
                self.leave_out(name, error.reason, _sentence(error, name, frame[name]))
        for name, values in list(self.columns.items()):
            if np.isnan(values).all() and not strict:
                self.leave_out(name, "empty", f"{name} was left out: all its cells are missing.")

    def leave_out_row_numbers(self, chosen: bool) -> None:
        """Leave out columns that number the rows, unless the user chose them or has no others."""
        rows = [name for name, values in self.columns.items() if _counts_rows(values, name)]
        if chosen or len(rows) == len(self.columns):
            return
        for name in rows:
            called = name or "a column without a name"
            self.leave_out(name, "row number", f"{called} was left out: it numbers the rows.")

    def check_any(self, target: str) -> None:
        """Refuse a table of which no input is left."""
        if not self.columns:
            reasons = "; ".join(f"{name} ({why})" for name, why in self.dropped.items())
            raise ValueError(
                f"no input is left to find a law of {target} from: {reasons or 'no columns'}"
            )

    def leave_out(self, name: str, reason: str, sentence: str) -> None:
        """Leave a column out, for a reason in a word or two and in a sentence."""
        self.columns.pop(name, None)
        self.dropped[name] = reason
        self.notes.append(sentence)

    def check_finite(self, columns: Mapping[str, Array]) -> None:
        """Refuse infinite cells, and numbers at the ends of what float64 can hold."""
        for name, values in columns.items():
            infinite = np.flatnonzero(np.isinf(values))
            if infinite.size:
                raise ValueError(
                    f"column {name!r} is infinite in row {infinite[0] + 1}; "
                    "correct the cell or leave the row out"
                )
            check_range(values, f"column {name!r}")

    def leave_out_copies(self, outcome: Array, target: str) -> None:
        """Leave out columns that are constant, or that say what another column says."""
        before: dict[frozenset[int], dict[str, Array]] = defaultdict(dict)
        for name, values in list(self.columns.items()):
            if _is_constant(values):
                value = f"{values[~np.isnan(values)][0]:.12g}"
                reason, relation = f"constant: {value}", value
            elif _affine(values, outcome) == (1.0, 0.0):
                reason, relation = f"copy of {target}", f"a copy of the target {target}"
            else:
                ends = frozenset((int(np.nanargmin(values)), int(np.nanargmax(values))))
                alike = before[ends]  # copies have their ends in the same rows
                first = next((f for f, other in alike.items() if _affine(values, other)), None)
                if first is None:
                    alike[name] = values
                    continue
                if _counts(alike[first]) and not _counts(values):  # the number of the row goes
                    alike[name], name, first, values = values, first, name, alike.pop(first)
                found = _affine(values, alike[first])
                relation = _relation(found, first) if found else f"a copy of {first}"
                reason = f"copy of {first}"
            self.leave_out(name, reason, f"{name} was left out: it is {relation} in every row.")

    def leave_out_rows(self, outcome: Array, target: str, measured: Measurement) -> Array:
        """Leave out rows with missing cells, in every column; return what is left of y."""
        missing = {target: np.isnan(outcome)}
        missing.update((name, np.isnan(values)) for name, values in self.columns.items())
        missing.update(measured.missing())
        kept = ~np.logical_or.reduce(list(missing.values()))
        count = int(kept.sum())
        cells = ", ".join(f"{name}: {m.sum()}" for name, m in missing.items() if m.any())
        if count < len(kept):
            gone = len(kept) - count
            self.notes.append(f"{gone} of {len(kept)} rows {'was' if gone == 1 else 'were'} left "
                              f"out: cells are missing ({cells}).")  # fmt: skip
        if count < _LEAST:
            why = f", as cells are missing ({cells})" if cells else ""
            raise ValueError(
                f"a law needs at least {_LEAST} rows, and {count} of {len(kept)} can be used{why}"
            )
        measured.rows(kept)
        if count == len(kept):
            return outcome
        self.columns = {name: values[kept] for name, values in self.columns.items()}
        return outcome[kept]

    def compare_with_target(self, outcome: Array, target: str) -> None:
        """Note inputs that determine the target by themselves: perhaps it in another unit."""
        for name, values in self.columns.items():
            found = None if _is_constant(outcome) else _affine(outcome, values)
            if found and len(self.columns) > 1:
                self.notes.append(
                    f"{target} is {_relation(found, name)} in every row. If {name} is only "
                    f"{target} in another unit, leave it out to find a law in the other columns."
                )


def _relation(found: tuple[float, float], name: str) -> str:
    a, b = found
    if found == (1.0, 0.0):
        return f"a copy of {name}"
    times = name if a == 1 else f"{a:.6g}*{name}"
    return times if b == 0 else f"{times} {'+' if b > 0 else '-'} {abs(b):.6g}"


def _sentence(error: NotNumbers, name: str, column: pd.Series) -> str:
    """Say why a column was left out, and what to do; rows count from 1, as in a file."""
    text = f"{name} was left out: {error.why}"
    if error.reason == "text among numbers" and error.row is not None:
        return (
            f"{text}, such as {error.cell!r} in row {error.row + 1}. "
            "Correct or empty these cells to use it."
        )
    if error.reason == "dates":
        return f"{text}. To use it, give it as a number, such as {DAYS}."
    level = split_by(column) if error.reason == "text" else None
    if level is None:
        return f"{text}."
    return (
        f'{text}. To find one law with numbers for each of them, give by="{name}" (in the shell '
        f"--by {name}); for a law of one of them alone, --where {name}={level}."
    )


def _constants(constants: Mapping[str, float] | None, columns: Sequence[str]) -> dict[str, float]:
    if constants is not None and not isinstance(constants, Mapping):
        raise TypeError(f'constants must be a dict such as {{"R": 8.314}}, got {constants!r}')
    from ..symbols import Names  # brings sympy

    known = {}
    for name, value in (constants or {}).items():
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a constant needs a name, got {name!r}")
        if name in columns:
            raise ValueError(f"the constant {name!r} has the name of a column; rename one of them")
        own = Names([name])
        if (own.symbols[0].name, own.identifiers[0]) != (name, name):
            raise ValueError(
                f"constant {name!r} needs another name: a formula, Python or C reads it otherwise"
            )
        known[name] = real(value, f"constant {name!r}")
        if known[name] == 0:
            raise ValueError(f"constant {name!r} is 0, of which no law can have a multiple")
    return known


def _counts_rows(values: Array, name: str) -> bool:
    """Tell whether a column is a row number by its name and by its values."""
    if np.array_equal(values, np.round(values)) and len(values) > 1:
        if _ROW_NAMES.fullmatch(name.strip()):
            return bool(np.all(np.diff(values) > 0))  # perhaps of a part of the rows
        if _MAYBE_ROW_NAMES.fullmatch(name.strip()):
            return _counts(values)
    return False


def _counts(values: Array) -> bool:
    """Tell whether a column counts the rows, 1, 2, 3, ..., whatever its name."""
    return bool(values[0] in (0, 1) and np.all(np.diff(values) == 1))


def _is_constant(values: Array) -> bool:
    """Tell whether all present values are equal, up to rounding."""
    some = values[:: max(1, len(values) // _GLANCE)]
    if np.ptp(some) > 8 * np.finfo(np.float64).eps * np.abs(some).max():  # not so of gaps
        return False
    present = values[~np.isnan(values)]
    spread = np.ptp(present)
    return bool(spread <= 4 * np.finfo(np.float64).eps * np.abs(present).max())


def _affine(values: Array, other: Array) -> tuple[float, float] | None:
    """Return (a, b) if values = a * other + b in every row up to rounding, else None."""
    if _unlike(values, other):
        return None
    known = ~np.isnan(other)
    if not np.array_equal(known, ~np.isnan(values)):
        return None
    x, y = other[known], values[known]
    if np.array_equal(x, y):
        return 1.0, 0.0
    low, high = np.argmin(x), np.argmax(x)
    if len(x) < 3 or x[low] == x[high]:
        return None
    with np.errstate(all="ignore"):
        a = (y[high] - y[low]) / (x[high] - x[low])
        b = y[low] - a * x[low]
        size = np.abs(y).max() + np.abs(a * x).max()
        b = 0.0 if abs(b) <= 1e-13 * size else b
        close = np.abs(a * x + b - y).max() <= 1e-13 * size
    return (float(a), float(b)) if close and a != 0 else None


def _unlike(values: Array, other: Array) -> bool:
    """Tell by some rows that two columns are not on a line; False if these do not show it."""
    step = max(1, len(values) // _GLANCE)
    x, y = other[::step], values[::step]
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(x) < 3:
        return False
    for part in (x, y):
        if np.ptp(part) <= 1e-6 * np.abs(part).max():  # what differs may be rounding
            return False
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    x, y = x - x.mean(), y - y.mean()
    return bool(abs(x @ y) < 0.99 * np.sqrt((x @ x) * (y @ y)))
