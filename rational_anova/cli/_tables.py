"""Tables as the commands take them: columns as they are typed, inputs as a model wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .._core.checks import choice
from ..tables import (
    as_dates,
    as_text,
    listed,
    read_table,
    rows_where,
    select_columns,
)


def as_fitted(frame: pd.DataFrame, model: Any) -> pd.DataFrame:
    """Return the columns that a model wants of a table, in its order and of its kinds."""
    names = list(getattr(model, "feature_names_in_", ()))
    if not names:
        if frame.shape[1] != model.n_features_in_:
            raise ValueError(
                f"the model was fitted without names of columns and wants {model.n_features_in_} "
                f"of them, the table has {frame.shape[1]}"
            )
        names = list(frame.columns)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"the table lacks {', '.join(map(repr, missing))}, which the model was fitted with; it "
            f"has {', '.join(map(repr, frame.columns))}"
        )
    frame = frame[names].copy()
    for feature in model.features_:
        name = names[feature.column]
        if feature.kind == "date":
            frame[name] = as_dates(frame[name], name)
        elif feature.category and all(isinstance(level, str) for level in feature.levels):
            frame[name] = as_text(frame[name])
    return frame


@dataclass(frozen=True)
class Chosen:
    """What `--target`, `--inputs`, `--exclude` and `--where` choose of a table.

    Args:
        frame: the rows that meet the conditions, with all columns.
        inputs: the columns that are inputs, in order.
        named: whether `--inputs` named them.
    """

    frame: pd.DataFrame
    inputs: list[str]
    named: bool


def read_chosen(
    path: Path,
    target: str | None,
    inputs: Sequence[str] | None,
    exclude: Sequence[str] | None,
    where: Sequence[str] | None,
) -> Chosen:
    """Read a table and choose of it; options are as typed, columns as `a,b`."""
    return choose(read_named(path), target, inputs, exclude, where)


def read_named(path: Path) -> pd.DataFrame:
    """Read a table whose names are text."""
    frame = read_table(path)
    return frame.set_axis([str(column) for column in frame.columns], axis=1)


def choose(
    frame: pd.DataFrame,
    target: str | None,
    inputs: Sequence[str] | None,
    exclude: Sequence[str] | None,
    where: Sequence[str] | None,
) -> Chosen:
    """Choose columns and rows of a table; options are as typed, columns as `a,b`."""
    names = list(frame.columns)
    chosen = known(inputs, names, "--inputs")
    if target in chosen:
        raise ValueError(f"--inputs names the target {target!r}; leave it out of them")
    words = ("--target", "--inputs", "--exclude")
    left = select_columns(names, target, chosen, listed(exclude, names), words)
    frame, fixed = rows_where(frame, where or [], "--where")
    if target is not None and not chosen:
        # What is the same in every row explains nothing; a model that is there may still want it.
        left = [name for name in left if name not in fixed]
    return Chosen(frame, left, bool(chosen))


def read_inputs(
    chosen: Chosen, target: str, category: Sequence[str] | None, date: Sequence[str] | None
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return inputs, target and what is to be said of them."""
    from ..tabular.cards import inputs_and_target

    inputs = chosen.inputs
    texts = known(category, inputs, "--category")
    dates = known(date, inputs, "--date")
    frame, y, notes = inputs_and_target(chosen.frame, inputs, target, texts, dates)
    notes += _doubts(frame)
    return frame, y, notes


def _doubts(frame: pd.DataFrame) -> list[str]:
    """Return what is odd about columns."""
    notes = []
    for name in frame.columns:
        column = frame[name]
        values = column.nunique()
        if column.isna().all():
            notes.append(f"{name} is missing in all rows and has no information")
        elif values == 1 and not column.isna().any():
            notes.append(f"{name} is constant and has no information")
        elif values == len(column) > 20 and column.dtype == object:
            notes.append(
                f"{name} is different in every row; if it only names rows, --exclude {name}"
            )
    return notes


def known(given: Sequence[str] | None, names: Sequence[str], option: str) -> list[str]:
    """Return the names that an option lists, if there are such columns."""
    return [choice(name, names, option) for name in listed(given, names)]
