"""`prepare`: what can be used of a table, as numbers, with notes on what was left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .._core.checks import real
from .._core.types import Array
from ..symbols import Names
from ._cells import NotNumbers, counts_rows, numbers
from ._frames import as_frame, split_target
from ._selection import Selection


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
    """

    X: Array
    y: Array
    names: Names
    target: str
    notes: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, float] = field(default_factory=dict)


def prepare(
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    target: str | None = None,
    constants: Mapping[str, float] | None = None,
) -> Table:
    """Take what a law can be found from: columns of numbers that vary, rows without gaps.

    Args:
        X: inputs: an array (rows, columns), a single column, a list of rows, a tensor, a dict of
            columns or a DataFrame.
        y: target: an array, a Series, or the name of a column of X.
        names: names of the columns of X (x0, x1, ... by default); of a DataFrame, the columns to
            use.
        target: name of y; by default that of the Series, else "y".
        constants: known constants by name, such as {"R": 8.314}.

    Example:
        >>> table = prepare({"T": [1, 2, 3, 4, 5.0], "kind": ["a"] * 5}, [2, 4, 6, 8, 10.0])
        >>> table.names.columns, table.target, table.notes
        (('T',), 'y', ("kind was left out: it is 'a' in every row.",))
    """
    frame, chosen = as_frame(X, names)
    frame, goal, target, notes = split_target(frame, y, target)
    if chosen is not None:
        frame = frame[[name for name in chosen if name in frame.columns]]
    work = Selection(notes=notes)
    known = _constants(constants, [*frame.columns, target])
    outcome = _target(goal, target, work.notes)
    for name in frame.columns:
        try:
            work.columns[name] = numbers(frame[name], name, work.notes)
        except NotNumbers as error:
            work.leave_out(name, error.reason, str(error))
    for name, values in list(work.columns.items()):
        if np.isnan(values).all():
            work.leave_out(name, "empty", f"{name} was left out: all its cells are missing.")
    rows = [name for name, values in work.columns.items() if counts_rows(values, name)]
    if chosen is None and len(rows) < len(work.columns):
        for name in rows:
            sentence = f"{name or 'a column without a name'} was left out: it numbers the rows."
            work.leave_out(name, "row number", sentence)
    work.check_finite({target: outcome, **work.columns})
    work.leave_out_copies(outcome, target)
    outcome = work.leave_out_rows(outcome, target)
    work.leave_out_copies(outcome, target)
    if not work.columns:
        reasons = "; ".join(f"{name} ({why})" for name, why in work.dropped.items())
        raise ValueError(
            f"no input is left to find a law of {target} from: {reasons or 'no columns'}"
        )
    work.compare_with_target(outcome, target)
    inputs = np.stack(list(work.columns.values()), axis=1)
    return Table(inputs, outcome, Names(list(work.columns)), target, tuple(work.notes),
                 dict(work.dropped), known)  # fmt: skip


def _target(column: pd.Series, name: str, notes: list[str]) -> Array:
    try:
        return numbers(column, name, notes)
    except NotNumbers as error:
        why = str(error).removeprefix(f"{name} was left out: ").removesuffix(".")
        raise ValueError(f"the target {name!r} must be numbers: {why}") from None


def _constants(constants: Mapping[str, float] | None, columns: Sequence[str]) -> dict[str, float]:
    if constants is not None and not isinstance(constants, Mapping):
        raise TypeError(f'constants must be a dict such as {{"R": 8.314}}, got {constants!r}')
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
