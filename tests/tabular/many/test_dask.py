"""Dask: the same bits on any number of workers, and when a worker is killed."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.tabular.many import _engines, _mixin

from .conftest import chunked

distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
OPTIONS = {"pairs": 1, "refinements": 0}
ROWS = 20_000  # two blocks, and rows beside them


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def large(monkeypatch):
    monkeypatch.setattr(_mixin, "LARGE", 1000)
    monkeypatch.setattr(_engines, "LEAST", 4000)  # so that there are several tasks


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(2)
    X = pd.DataFrame({"a": random.normal(size=ROWS), "c": random.choice(list("uvw"), ROWS)})
    y = np.sin(X.a) * X.c.map({"u": 0.0, "v": 0.5, "w": 1.0}) + 0.2 * random.normal(size=ROWS)
    return X.assign(y=y)


@pytest.fixture
def here(rows):
    """What one process says."""
    return ra.RANRegressor(**OPTIONS).fit(chunked(rows, 3001), "y").predict(rows[["a", "c"]])


def test_a_frame_of_dask(client, rows, here):
    frame = dd.from_pandas(rows, npartitions=5)
    model = ra.RANRegressor(**OPTIONS).fit(frame, "y")
    assert (model.predict(rows[["a", "c"]]) == here).all()
    lazy = model.predict(frame)
    assert isinstance(lazy, dd.Series)
    assert (lazy.compute() == here).all()


def test_files_read_by_workers(client, rows, here, tmp_path):
    for n, part in enumerate(chunked(rows, 4000)):
        part.to_parquet(tmp_path / f"{n}.parquet", index=False)
    model = ra.RANRegressor(**OPTIONS).fit(tmp_path, "y", engine="dask")
    assert (model.predict(rows[["a", "c"]]) == here).all()


def test_a_table_in_memory(client, rows, here):
    model = ra.RANRegressor(**OPTIONS).fit(rows[["a", "c"]], rows["y"], engine="dask")
    assert (model.predict(rows[["a", "c"]]) == here).all()


def deadly(n, rows, marks):
    """Return a partition; the worker that makes the third one dies when it does so again."""
    mark = marks / f"{os.getpid()}"
    if n == 2:
        seen = len(list(marks.iterdir()))
        mark.touch()
        if seen == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    return rows[n * 4000 : (n + 1) * 4000]


def test_a_worker_that_is_killed(client, rows, here, tmp_path):
    meta = rows[:0]
    frame = dd.from_map(deadly, range(5), rows=rows, marks=tmp_path, meta=meta)
    model = ra.RANRegressor(**OPTIONS).fit(frame, "y")
    assert len(list(tmp_path.iterdir())) > 1, "nobody died"
    assert (model.predict(rows[["a", "c"]]) == here).all()


def test_errors_name_the_partition(client, rows):
    bad = rows.copy()
    bad.loc[17_000, "a"] = np.inf
    model = ra.RANRegressor(**OPTIONS)
    with pytest.raises(ValueError, match="partition 5: column 'a' contains infinity"):
        model.fit(dd.from_pandas(bad, npartitions=5), "y")
    assert not hasattr(model, "model_")


def test_bags_sweeps_and_laws_go_through_joblib(client, rows):
    import joblib
    from sklearn.ensemble import BaggingRegressor
    from sklearn.model_selection import GridSearchCV

    small = rows[["a"]][:200]
    with joblib.parallel_config(backend="dask"):
        sweep = GridSearchCV(ra.RANRegressor(refinements=0), {"pairs": [0, 1]}, cv=2, n_jobs=2).fit(
            small, rows["y"][:200]
        )
        bags = BaggingRegressor(ra.RANRegressor(refinements=0), 2, n_jobs=2).fit(
            small, rows["y"][:200]
        )
        x = {"x": np.linspace(1, 3, 30)}
        laws = joblib.Parallel(n_jobs=2)(
            joblib.delayed(ra.discover)(x, target) for target in (2 * x["x"], x["x"] ** 2)
        )
    assert sweep.best_estimator_.predict(small).shape == (200,)
    assert bags.predict(small).shape == (200,)
    assert [law.grade is not None for law in laws] == [True, True]
