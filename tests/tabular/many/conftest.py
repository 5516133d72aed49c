"""A table of every kind of column, and fits in pieces that take no more than a moment."""

import numpy as np
import pandas as pd
import pytest

from rational_anova.tabular.many import _mixin, _sums

ROWS = 3000


@pytest.fixture
def quick(monkeypatch):
    """Tables of few rows count as large ones, and blocks are small."""
    monkeypatch.setattr(_mixin, "LARGE", 1000)
    monkeypatch.setattr(_sums, "BLOCK", 256)


@pytest.fixture(scope="session")
def table():
    """Rows of numbers, gaps, levels and dates, with a target, classes and weights."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": random.normal(size=ROWS),
            "b": random.normal(size=ROWS),
            "c": random.choice(list("uvw"), ROWS),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 90, ROWS), "D"),
            "n": random.integers(0, 9, ROWS),
        }
    )
    X.loc[::17, "b"] = np.nan
    f = np.sin(2 * X.a) + X.b.fillna(0) * X.a + X.c.map({"u": 0.0, "v": 0.5, "w": 1.0})
    y = f + 0.3 * random.normal(size=ROWS)
    three = pd.cut(y, [-np.inf, 0, 1, np.inf], labels=["low", "middle", "high"]).astype(str)
    weight = random.integers(1, 4, ROWS)
    return X.assign(y=y, two=np.where(y > 0.5, "yes", "no"), three=three, weight=weight)


def chunked(frame, size):
    """The rows of a frame, some at a time."""
    for at in range(0, len(frame), size):
        yield frame.iloc[at : at + size]
