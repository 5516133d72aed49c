"""Spark: the same bits as one process, also when a task fails twice."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.tabular.many import _engines, _mixin

from .conftest import chunked

pyspark = pytest.importorskip("pyspark")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
OPTIONS = {"pairs": 1, "refinements": 0}
ROWS = 20_000


@pytest.fixture(scope="module")
def session():
    import shutil

    if shutil.which("java") is None:
        pytest.skip("Spark takes Java")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").appName("rational-anova")
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def large(monkeypatch):
    monkeypatch.setattr(_mixin, "LARGE", 1000)
    monkeypatch.setattr(_engines, "LEAST", 4000)  # so that there are several tasks


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    X = pd.DataFrame({"a": random.normal(size=ROWS), "c": random.choice(list("uvw"), ROWS)})
    y = np.sin(X.a) * X.c.map({"u": 0.0, "v": 0.5, "w": 1.0}) + 0.2 * random.normal(size=ROWS)
    return X.assign(y=y)


@pytest.fixture
def folder(rows, tmp_path):
    for n, part in enumerate(chunked(rows, 4000)):
        part.to_parquet(tmp_path / f"{n}.parquet", index=False)
    return tmp_path


@pytest.fixture
def here(rows):
    return ra.RANRegressor(**OPTIONS).fit(chunked(rows, 3001), "y").predict(rows[["a", "c"]])


def test_files_read_by_executors(session, rows, folder, here):
    model = ra.RANRegressor(**OPTIONS).fit(folder, "y", engine="spark")
    assert (model.predict(rows[["a", "c"]]) == here).all()


def test_a_frame_of_spark(session, rows, folder, here):
    frame = session.read.parquet(str(folder))
    order = frame.toPandas()  # Spark puts files in an order of its own
    expected = ra.RANRegressor(**OPTIONS).fit(chunked(order, 999), "y")
    model = ra.RANRegressor(**OPTIONS).fit(frame, "y")
    assert (model.predict(rows[["a", "c"]]) == expected.predict(rows[["a", "c"]])).all()
    assert np.abs(model.predict(rows[["a", "c"]]) - here).max() < 0.05  # another part chose
    made = model.predict(frame).toPandas()
    assert list(made.columns) == ["a", "c", "y", "prediction"]
    assert (made["prediction"] == model.predict(made[["a", "c"]])).all()


def test_a_task_that_fails_twice(session, rows, folder, tmp_path_factory):
    marks = tmp_path_factory.mktemp("marks")
    frame = session.read.parquet(str(folder))
    expected = ra.RANRegressor(**OPTIONS).fit(frame, "y").predict(rows[["a", "c"]])

    def shaky(frames):
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.partitionId() == 0 and context.attemptNumber() < 2:
            (marks / f"{context.taskAttemptId()}").touch()
            raise OSError("the disk is gone")
        yield from frames

    model = ra.RANRegressor(**OPTIONS).fit(frame.mapInPandas(shaky, frame.schema), "y")
    assert len(list(marks.iterdir())) >= 2
    assert (model.predict(rows[["a", "c"]]) == expected).all()


def test_errors_name_the_partition(session, rows, folder):
    bad = rows[:4000].assign(a=np.inf)
    bad.to_parquet(folder / "9.parquet", index=False)
    with pytest.raises(ValueError, match="9.parquet.*column 'a' contains infinity"):
        ra.RANRegressor(**OPTIONS).fit(folder, "y", engine="spark")
    with pytest.raises(ValueError, match="partition .*column 'a' contains infinity"):
        ra.RANRegressor(**OPTIONS).fit(session.read.parquet(str(folder)), "y")
