"""The kernel for sums of effects computes what NumPy does, term by term."""

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.kernels import info, using


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    rows = 900
    X = pd.DataFrame(
        {
            "a": random.normal(size=rows),
            "b": np.where(random.random(rows) < 0.1, -9, random.random(rows)),
            "d": np.where(random.random(rows) < 0.1, -9, random.random(rows)),
            "c": random.choice(list("uvw"), rows),
            "s": [f"s{k}" for k in random.integers(0, 90, rows)],
        }
    )
    X.loc[::13, "a"] = np.nan
    y = X.a.fillna(0) * X.b + X.c.map({"u": 0, "v": 1, "w": 2}) + random.normal(size=rows)
    return X, y


def need_kernels():
    if info()["cpu"] != "c":
        pytest.skip("no C kernels here")


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_same_as_numpy(table, classes):
    need_kernels()
    X, y = table
    options = {"pairs": 4, "refinements": 0}
    if classes:
        target = pd.qcut(y, classes, labels=False)
        model = ra.RANClassifier(**options).fit(X, target)
        decide = model.decision_function
    else:
        model = ra.RANRegressor(**options).fit(X, y)
        decide = model.predict
    kinds = {type(b).__name__ for part in model.model_.parts for b in part.term.bases}
    assert {"Heads", "Levels", "Missing"} <= kinds
    rows = pd.concat([X, X.iloc[:3].assign(a=1e9, c="new", s="new")])
    fast = decide(rows)
    with using("torch"):
        slow = decide(rows)
    assert np.abs(fast - slow).max() < 1e-11 * np.abs(slow).max()


def test_a_row_does_not_depend_on_its_neighbours(table):
    X, y = table
    model = ra.RANRegressor(pairs=2, refinements=0).fit(X, y)
    whole = model.predict(X)
    for size in (1, 63, 65):
        parts = [model.predict(X[at : at + size]) for at in range(0, 200, size)]
        assert (np.concatenate(parts)[:200] == whole[:200]).all()
    model.n_jobs = 1
    assert (model.predict(X) == whole).all()


def test_single_precision(table):
    X, y = table
    model = ra.RANRegressor(pairs=2, refinements=0).fit(X, y)
    double, single = model.predict(X), model.predict(X, precision="single")
    assert np.abs(single - double).max() < 1e-4 * double.std()
    with pytest.raises(ValueError, match="precision"):
        model.predict(X, precision="half")
