"""Tables as the commands take them: columns as they are typed, inputs as a model wants them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from .._core.checks import choice
from ..tables import as_dates, as_text, read_table, select_columns, typed_columns


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


def listed(texts: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """Split at commas, unless a text as a whole is one of the names."""
    found = []
    for text in texts or []:
        parts = [text] if text in names else text.split(",")
        found += [part if part in names else part.strip() for part in parts if part.strip()]
    return list(dict.fromkeys(found))


def read_inputs(
    path: Path, target: str, drop: Sequence[str], category: Sequence[str], date: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return inputs, target and what is to be said of them; columns are as typed, `a,b`."""
    frame = read_table(path)
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    names = list(frame.columns)
    words = ("--target", "--inputs", "--drop")
    inputs = select_columns(names, target, exclude=listed(drop, names), words=words)
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
    frame = typed_columns(frame[inputs], texts, dates)
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
