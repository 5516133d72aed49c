"""Edits that were kept, and how they are done again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Step:
    """An edit that was kept: enough to do it again, and what is to be said of it.

    Args:
        edit: a method of the estimators: `fix_term`, `drop_term`, `forbid_pair`, `make_monotone`.
        term: name of the effect.
        values: of `fix_term`: points (None for a gap), or None for a level, and what each adds.
        sign: of `make_monotone`.
        what: was done, for people.
        reason: why.
        when: date and time.
        measure: that errors are of.
        before: the error on the rows held out.
        after: the same, with the edit.
        moved: rows held out that got another prediction.
    """

    edit: str
    term: str
    values: tuple[Any, ...] = ()
    sign: int = 0
    what: str = ""
    reason: str = ""
    when: str = ""
    measure: str = ""
    before: str = ""
    after: str = ""
    moved: int = 0


def edited(model: Any, step: Step) -> Any:
    """Return a model with an edit, by the estimator's own methods."""
    reason = f"{step.what} ({step.reason})" if step.reason else step.what
    if step.edit == "drop_term":
        return model.drop_term(step.term, reason=reason)
    if step.edit == "make_monotone":
        return model.make_monotone(step.term, step.sign, reason=reason)
    if step.edit == "forbid_pair":
        first, second = model.effects_[step.term].axes
        return model.forbid_pair(first, second, reason=reason)
    feature = next(f for f in model.model_.features if f.name == step.term)
    keys = [key for key, _ in step.values]
    return model.fix_term(
        step.term, _values(feature, keys, [each for _, each in step.values]), reason=reason
    )


def _values(feature: Any, keys: Sequence[float | None], effects: Sequence[Sequence[float]]) -> Any:
    """Return what `fix_term` takes."""
    import pandas as pd

    if feature.category:
        return dict(zip(feature.levels, effects, strict=True))
    x = np.array([np.nan if key is None else key for key in keys])
    index = pd.to_datetime(x, unit="D") if feature.part == "day" else x
    return pd.DataFrame(np.array(effects)).assign(value=index)[["value", *range(len(effects[0]))]]
