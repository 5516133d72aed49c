"""Runs: rows of states and inputs at rising times, one or several, however they come in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import interp1d

from .._core.checks import choice
from .._core.types import Array
from ..tables import as_column, as_frame, as_text, check_unique, numbers

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 12  # of all runs: with fewer, every curve is a law
LEAST_ROWS_OF_KNOWN = 6  # ... where all equations are known but for their numbers
_LEAST_ROWS_A_RUN = 4


@dataclass(frozen=True, eq=False)
class Run:
    """One trajectory.

    Attributes:
        label: its name.
        t: times, rising, (rows,).
        X: states that were measured, nan where one is missing, (rows, states).
        U: inputs, known at all times, (rows, inputs).
        group: what has numbers of its own, such as a subject; "" if nothing has.
    """

    label: str
    t: Array
    X: Array
    U: Array
    group: str = ""

    def until(self, row: int) -> Run:
        """The rows before one."""
        return Run(self.label, self.t[:row], self.X[:row], self.U[:row], self.group)


@dataclass(frozen=True, eq=False)
class Series:
    """All runs, and what their columns are called.

    Attributes:
        runs: at least one.
        states: names of the measured states.
        inputs: names of the inputs.
        time: name of the column of times.
        notes: what is to be said of the table.
        by: name of the column that tells groups apart; "" if there are none.
    """

    runs: tuple[Run, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    time: str
    notes: tuple[str, ...] = ()
    by: str = ""

    @property
    def groups(self) -> tuple[str, ...]:
        """All groups, in the order of the runs; none if numbers are the same for all."""
        found = tuple(dict.fromkeys(run.group for run in self.runs)) if self.by else ()
        return found if len(found) > 1 else ()


def with_indicators(runs: Sequence[Run], groups: Sequence[str]) -> tuple[Run, ...]:
    """Runs with further inputs, one a group: 1 in its own runs, 0 in others."""
    own = [np.array([float(run.group == group) for group in groups]) for run in runs]
    return tuple(
        replace(run, U=np.c_[run.U, np.tile(one, (len(run.t), 1))])
        for run, one in zip(runs, own, strict=True)
    )


def input_at(run: Run, times: Array, timed: bool) -> Array:  # (..., inputs)
    """Inputs of a run at times, straight between rows, and time itself if it is wanted."""
    line = interp1d(run.t, run.U, axis=0, bounds_error=False, fill_value=(run.U[0], run.U[-1]))
    held = line(times)
    return np.concatenate([held, times[..., None]], axis=-1) if timed else held


def read_series(
    t: Any,
    X: Any,
    names: Sequence[str] | None = None,
    inputs: Sequence[str] = (),
    run: Any = None,
    by: Any = None,
    least: int = LEAST_ROWS,
) -> Series:
    """Read trajectories.

    Args:
        t: times: of one run, of each of several in a list, or the name of a column of X.
        X: states and inputs by column: one table, or a list of tables, one a run.
        names: of the columns of X, if it has none.
        inputs: columns that are inputs rather than states.
        run: the column that names the run of each row, or such labels.
        by: the column that names the group of each row, or such labels; a label for each run, if
            there is a list of them. A group without names of runs is one run.
        least: how many rows there must be.
    """
    if isinstance(inputs, str):
        raise TypeError(f"inputs must be a list of names of columns, got {inputs!r}")
    tables = list(_tables(t, X, names, run, by))
    columns = list(tables[0].frame.columns)
    for table in tables[1:]:
        if list(table.frame.columns) != columns:
            raise ValueError(
                f"run {table.label!r} has the columns {list(table.frame.columns)}, but run "
                f"{tables[0].label!r} has {columns}; give all runs the same"
            )
    given = [choice(name, columns, "inputs") for name in inputs]
    states = [name for name in columns if name not in given]
    if not states:
        raise ValueError("no state is left: all columns are inputs; leave one out of inputs")
    notes: list[str] = []
    runs = tuple(_read(table, states, given, notes) for table in tables)
    _check_all(runs, states, given, least)
    column = "" if by is None else by if isinstance(by, str) else "group"
    return Series(runs, tuple(states), tuple(given), tables[0].time, tuple(notes), column)


@dataclass(frozen=True, eq=False)
class _Table:
    """A run as it was given."""

    label: str
    time: str
    t: pd.Series
    frame: pd.DataFrame
    group: str = ""


def _tables(t: Any, X: Any, names: Sequence[str] | None, run: Any, by: Any) -> Iterator[_Table]:
    """One table a run."""
    if _is_list_of_tables(X):
        if run is not None:
            raise ValueError("run cannot go with a list of tables: each is a run of its own")
        times = t if _is_list_of_tables(t, 1) else [t] * len(X)
        if len(times) != len(X):
            raise ValueError(f"there are {len(X)} tables, but {len(times)} columns of times")
        if isinstance(by, str) or (by is not None and len(by) != len(X)):
            raise ValueError(f"there is a list of {len(X)} tables; by must have a label for each")
        for k, (one, table) in enumerate(zip(times, X, strict=True)):
            group = "" if by is None else str(by[k])
            yield _timed(one, as_frame(table, names)[0], str(k), group)
        return
    frame = as_frame(X, names)[0]
    runs = None if run is None else _labels(frame, run, "run")
    groups = None if by is None else _labels(frame, by, "by")
    words = groups if runs is None else runs
    if words is None:
        yield _timed(t, frame, "0")
        return
    frame = frame.drop(columns={column for column in (run, by) if isinstance(column, str)})
    for label in dict.fromkeys(words):
        here = np.array([word == label for word in words])
        one = t if isinstance(t, str) else as_column(t, "t")[here]
        own = {"": None} if groups is None else dict.fromkeys(np.array(groups)[here].tolist())
        if len(own) > 1:
            first, second, *_ = own
            raise ValueError(
                f"run {label!r} has rows of two groups, {first!r} and {second!r}; a run is of one"
            )
        yield _timed(one, frame[here].reset_index(drop=True), label, next(iter(own)))


def _labels(frame: pd.DataFrame, given: Any, option: str) -> list[str]:
    """The label of each row, by the name of a column or as they are."""
    column = frame[choice(given, frame.columns, option)] if isinstance(given, str) else given
    labels = as_text(as_column(column))
    if len(labels) != len(frame):
        raise ValueError(f"X has {len(frame)} rows, but {option} has {len(labels)}")
    words = labels.to_numpy(dtype=object).tolist()
    if None in words:
        row = words.index(None) + 1
        raise ValueError(f"{option} is missing in row {row}; name it, or leave the row out")
    return [str(word) for word in words]


def _is_list_of_tables(values: Any, dimensions: int = 2) -> bool:
    """Whether this is a list of tables (or of columns), rather than one table as nested lists."""
    if not isinstance(values, list | tuple) or not values:
        return False
    first = values[0]
    table = hasattr(first, "columns") or isinstance(first, dict)
    return table or (hasattr(first, "shape") and len(first.shape) >= 1 and dimensions <= 2
                     and (len(first.shape) == dimensions or len(first) > 1))  # fmt: skip


def _timed(t: Any, frame: pd.DataFrame, label: str, group: str = "") -> _Table:
    if isinstance(t, str):
        name = choice(t, frame.columns, "t")
        return _Table(label, name, frame[name], frame.drop(columns=name), group)
    column = as_column(t, "t").reset_index(drop=True)
    if len(column) != len(frame):
        raise ValueError(f"run {label!r}: t has {len(column)} rows, but X has {len(frame)}")
    check_unique(frame.columns)
    return _Table(label, str(column.name or "t"), column, frame, group)


def _read(table: _Table, states: Sequence[str], inputs: Sequence[str], notes: list[str]) -> Run:
    """One run as numbers, with times that rise."""
    t = numbers(table.t, "t")
    _check_times(t, table.label)
    columns = {n: numbers(table.frame[n], repr(n), notes, n) for n in (*states, *inputs)}
    for name, values in columns.items():
        wrong = np.flatnonzero(np.isinf(values))
        if wrong.size:
            raise ValueError(
                f"column {name!r} is infinite in row {wrong[0] + 1} of run {table.label!r}; "
                "correct the cell, or leave it empty"
            )
    for name in inputs:
        gap = np.flatnonzero(np.isnan(columns[name]))
        if gap.size:
            raise ValueError(
                f"input {name!r} is missing in row {gap[0] + 1} of run {table.label!r}: inputs "
                "must be known at all times; fill the cell, or leave the row out"
            )
    X = np.stack([columns[n] for n in states], axis=1)
    U = np.stack([columns[n] for n in inputs], axis=1) if inputs else np.empty((len(t), 0))
    missing = np.isnan(X).sum(axis=0)
    for name, count in zip(states, missing, strict=True):
        if len(t) - count < _LEAST_ROWS_A_RUN:
            raise ValueError(
                f"run {table.label!r} has {len(t) - count} values of {name!r}; at least "
                f"{_LEAST_ROWS_A_RUN} are needed, so leave the run or the column out"
            )
    return Run(table.label, t, X, U, table.group)


def _check_times(t: Array, label: str) -> None:
    if not np.isfinite(t).all():
        row = int(np.flatnonzero(~np.isfinite(t))[0])
        raise ValueError(f"time must be a number, got {t[row]:g} in row {row + 1} of run {label!r}")
    steps = np.diff(t)
    if (steps < 0).any():
        row = int(np.flatnonzero(steps < 0)[0]) + 1
        raise ValueError(
            f"time falls from {t[row - 1]:g} to {t[row]:g} in row {row + 1} of run {label!r}; "
            "sort the rows by time, or name the runs by run= if there are several"
        )
    if (steps == 0).any():
        row = int(np.flatnonzero(steps == 0)[0]) + 1
        raise ValueError(
            f"time {t[row]:g} occurs twice in run {label!r}, in rows {row} and {row + 1}; keep one "
            "row of each time, or name the runs by run= if there are several"
        )


def _check_all(
    runs: Sequence[Run], states: Sequence[str], inputs: Sequence[str], least: int
) -> None:
    rows = sum(len(run.t) for run in runs)
    if rows < least:
        raise ValueError(
            f"there are {rows} rows, and an equation of motion needs {least} at least: any "
            "smooth curve through so few is the solution of many; measure more, or fit a form of "
            "your own with ra.fit_law"
        )
    for names, part in ((states, "X"), (inputs, "U")):
        values = np.concatenate([getattr(run, part) for run in runs])
        for k, name in enumerate(names):
            if np.nanmin(values[:, k]) == np.nanmax(values[:, k]):
                raise ValueError(
                    f"column {name!r} is constant, {np.nanmin(values[:, k]):g}; nothing can be "
                    "learned of it, so leave it out"
                )
