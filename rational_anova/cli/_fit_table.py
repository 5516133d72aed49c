"""What `ran fit` takes from a file: inputs, target, and doubts about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .._validation import choice
from ..discovery.table._table import read_table
from ._columns import prepared
from ._where import listed


def read_inputs(
    path: Path, target: str, drop: Sequence[str], category: Sequence[str], date: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return inputs, target and what is to be said of them; columns are as typed, `a,b`."""
    frame = read_table(path)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    names = list(frame.columns)
    choice(target, names, "--target")
    gone = _known(drop, names, "--drop")
    if target in gone:
        raise ValueError(f"--drop leaves out the target {target!r}")
    inputs = [name for name in names if name not in (target, *gone)]
    if not inputs:
        raise ValueError(f"the table has no column but the target {target!r} to predict it from")
    texts = _known(category, inputs, "--category")
    dates = _known(date, inputs, "--date")
    notes = []
    gaps = frame[target].isna()
    if gaps.all():
        raise ValueError(f"the target {target!r} is missing in all rows")
    if gaps.any():
        notes.append(f"{gaps.sum()} rows without {target} were left out")
        frame = frame[~gaps].reset_index(drop=True)
    y = frame[target]
    frame = prepared(frame[inputs], texts, dates)
    notes += _doubts(frame)
    return frame, y, notes


def _doubts(frame: pd.DataFrame) -> list[str]:
    """Return what is odd about columns."""
    notes = []
    for name in frame.columns:
        column = frame[name]
        values = column.nunique()
        if column.isna().all():
            notes.append(f"{name} is missing in all rows and says nothing")
        elif values == 1 and not column.isna().any():
            notes.append(f"{name} is the same in all rows and says nothing")
        elif values == len(column) > 20 and column.dtype == object:
            notes.append(f"{name} is different in every row; if it only names rows, --drop {name}")
    return notes


def _known(given: Sequence[str], names: Sequence[str], option: str) -> list[str]:
    return [choice(name, names, option) for name in listed(given, names)]
