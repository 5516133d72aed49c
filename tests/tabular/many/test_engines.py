"""Threads and processes give the same bits, in memory that does not grow with the rows."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.tabular.many import _engines, _mixin, _scan

OPTIONS = {"pairs": 1, "refinements": 0}


def rows_of(start, count):
    random = np.random.default_rng([7, start])
    X = pd.DataFrame({"a": random.normal(size=count), "b": random.normal(size=count)})
    return X.assign(y=np.sin(X.a) + X.a * X.b + 0.2 * random.normal(size=count))


def source(rows, size=1500):
    """A function that makes chunks anew for each pass."""
    return lambda: (rows_of(at, min(size, rows - at)) for at in range(0, rows, size))


@pytest.fixture(autouse=True)
def large(monkeypatch):
    monkeypatch.setattr(_mixin, "LARGE", 1000)
    monkeypatch.setattr(_engines, "LEAST", 4000)  # so that there are several tasks


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_number_of_threads_leaves_no_trace(n_jobs):
    X = rows_of(0, 50)[["a", "b"]]
    expected = ra.RANRegressor(**OPTIONS).fit(source(70_000), "y").predict(X)
    assert (
        ra.RANRegressor(n_jobs=n_jobs, **OPTIONS).fit(source(70_000), "y").predict(X) == expected
    ).all()


@pytest.mark.slow
def test_processes(tmp_path):
    table = pd.concat(source(20_000)(), ignore_index=True)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=3000, index=False)
    expected = ra.RANRegressor(**OPTIONS).fit(source(20_000), "y").predict(table[["a", "b"]])
    model = ra.RANRegressor(n_jobs=2, **OPTIONS)
    model.fit(tmp_path / "t.parquet", "y", engine="processes")
    assert (model.predict(table[["a", "b"]]) == expected).all()


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(_scan, "STATISTICS", 2000)
    peaks = []
    for rows in (15_000, 60_000):
        tracemalloc.start()
        ra.RANRegressor(n_jobs=1, pairs=0, refinements=0).fit(source(rows), "y")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]


def test_predictions_of_pieces_are_those_of_the_whole(tmp_path):
    model = ra.RANRegressor(**OPTIONS).fit(source(5000), "y")
    table = pd.concat(source(5000)(), ignore_index=True)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=700, index=False)
    expected = model.predict(table[["a", "b"]])
    for X in (source(5000), tmp_path / "t.parquet", list(source(5000)())):
        assert (model.predict(X) == expected).all()
    low, high = model.predict_interval(source(5000))
    assert (low < expected).all()
    assert (expected < high).all()
    with pytest.raises(ValueError, match="chunk 1 of X"):
        model.predict([table[["a"]]])
