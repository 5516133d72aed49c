"""Whether effects are the same when other rows of the same source are fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..._core.types import Array

Values = dict[str, Array]  # of each effect, (rows, outputs)


def effect_values(model: Any, X: Any) -> Values:
    """Return what each effect adds at the rows of a table."""
    rows = model._rows(X)
    return {name: effect.at(rows.values) for name, effect in model.effects_.items()}


def agreement(first: Values, second: Values) -> dict[str, float]:
    """Return how far two fits agree on each effect, and under "" on all together.

    That is 1 - |a - b|^2 / (|a|^2 + |b|^2) over the rows: 1 for the same values, 0 for effects that
    have nothing to do with one another or that one fit lacks, below 0 for effects that oppose.
    """
    away, size = 0.0, 0.0
    found = {}
    for name in {**first, **second}:
        a, b = (values.get(name, np.zeros(1)) for values in (first, second))
        a, b = np.broadcast_arrays(a - a.mean(0), b - b.mean(0))
        apart, both = float(((a - b) ** 2).sum()), float((a**2).sum() + (b**2).sum())
        away, size = away + apart, size + both
        found[name] = 1 - apart / both if both else 1.0
    return {"": 1 - away / size if size else 1.0, **found}


def stability(model: Any, X: Any, y: Any, times: int, seed: int) -> pd.DataFrame:
    """Fit both halves of the rows so many times; see `ExplainMixin.stability`."""
    random = np.random.default_rng(seed)
    frame, y = model._frame(X, reset=False), np.asarray(y)
    found: list[dict[str, float]] = []
    there: list[str] = []
    for _ in range(times):
        order = random.permutation(len(frame))
        values = []
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):
            fitted = clone(model).fit(frame.iloc[half], y[half])
            values.append(effect_values(fitted, frame))
            there += list(fitted.effects_)
        found.append(agreement(*values))
    lines = [
        {
            "effect": name,
            "share": effect.share,
            "agreement": float(np.mean([each.get(name, 0.0) for each in found])),
            "found": there.count(name) / (2 * times),
        }
        for name, effect in model.effects_.items()
    ]
    table = pd.DataFrame(lines, columns=["effect", "share", "agreement", "found"])
    table.attrs["score"] = float(np.mean([each[""] for each in found]))
    return table
