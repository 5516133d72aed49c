"""The estimators are estimators of scikit-learn, in all that it asks for."""

import os
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rational_anova import RANClassifier, RANRegressor

BOTH = [RANRegressor, RANClassifier]


def table(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=rows),
            "z": rng.uniform(size=rows),
            "g": rng.choice(["a", "b", "c"], rows),
        }
    )
    f = np.sin(2 * X["x"]) + (X["g"] == "a") * X["z"]
    X.loc[rng.random(rows) < 0.1, "x"] = np.nan
    X.loc[rng.random(rows) < 0.1, "g"] = None
    return X, f.to_numpy() + 0.2 * rng.normal(size=rows)


def target(cls, y):
    return y if cls is RANRegressor else np.where(y > 0.3, "high", "low")


def decision(model, X):
    return model.predict(X) if isinstance(model, RANRegressor) else model.predict_proba(X)


def needs_array_api(check):
    return getattr(check, "func", check).__name__ == "check_array_api_input"


@parametrize_with_checks([RANRegressor(), RANClassifier()])
def test_checks_of_scikit_learn(estimator, check):
    if needs_array_api(check):
        return  # runs below, where scipy is told before it is imported
    check(estimator)


def test_check_of_the_array_api():
    program = """
import warnings
from functools import partial
from sklearn.utils.estimator_checks import estimator_checks_generator
from rational_anova import RANClassifier, RANRegressor
ran = 0
for estimator in (RANRegressor(), RANClassifier()):
    for est, check in estimator_checks_generator(estimator):
        if getattr(check, "func", check).__name__ == "check_array_api_input":
            check(est)
            ran += 1
print(ran)
"""
    environment = dict(os.environ, SCIPY_ARRAY_API="1")
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", program],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2


@pytest.mark.parametrize("cls", BOTH)
def test_parameters(cls):
    model = cls(pairs=3, forbid=[("x", "z")], random_state=7)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert again.set_params(pairs=0, verbose=True) is again
    assert (again.pairs, again.verbose, model.pairs) == (0, True, 3)
    with pytest.raises(ValueError, match="Invalid parameter 'pair'"):
        model.set_params(pair=1)


@pytest.mark.parametrize("cls", BOTH)
def test_pipeline_with_tables_between_the_steps(cls):
    X, y = table()
    number = make_column_selector(dtype_include="number")
    steps = ColumnTransformer(
        [
            ("scaled", StandardScaler(), number),
            ("onehot", OneHotEncoder(sparse_output=False), ["g"]),
        ]
    )
    pipe = make_pipeline(steps, cls()).set_output(transform="pandas")
    pipe.fit(X, target(cls, y))
    assert "scaled__x" in pipe[-1].feature_names_in_
    assert pipe.score(X, target(cls, y)) > 0.6
    assert not hasattr(cls(), "set_output")  # it transforms nothing


@pytest.mark.parametrize("cls", BOTH)
def test_search_over_pairs(cls):
    X, y = table(150)
    search = GridSearchCV(cls(refinements=0), {"pairs": [0, 2]}, cv=2).fit(X, target(cls, y))
    assert search.best_params_["pairs"] in (0, 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert cross_val_score(cls(refinements=0), X, target(cls, y), cv=3).mean() > 0.3


@pytest.mark.parametrize("cls", BOTH)
def test_pickle_and_joblib(cls, tmp_path):
    X, y = table()
    model = cls().fit(X, target(cls, y))
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(decision(again, X), decision(model, X))


@pytest.mark.parametrize("cls", BOTH)
def test_weights_are_repeats_and_zero_is_absent(cls):
    X, y = table()
    y = target(cls, y)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    weighted = cls().fit(X, y, sample_weight=weight)
    spelled_out = cls().fit(X.iloc[repeated], y[repeated])
    some = weight > 0
    without = cls().fit(X[some], y[some], sample_weight=weight[some])
    for other in (spelled_out, without):
        np.testing.assert_allclose(decision(weighted, X), decision(other, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cls", BOTH)
def test_order_of_rows_does_not_matter(cls):
    X, y = table()
    y = target(cls, y)
    order = np.random.default_rng(2).permutation(len(X))
    one, other = cls().fit(X, y), cls().fit(X.iloc[order], y[order])
    np.testing.assert_allclose(decision(one, X), decision(other, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cls", BOTH)
def test_random_state_and_jobs(cls):
    X, y = table()
    y = target(cls, y)
    first = decision(cls(random_state=3).fit(X, y), X)
    np.testing.assert_array_equal(decision(cls(random_state=3).fit(X, y), X), first)
    state = np.random.RandomState(3)
    np.testing.assert_array_equal(decision(cls(random_state=state).fit(X, y), X), first)
    for n_jobs in (1, 2):
        same = cls(random_state=3, n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(decision(same, X), first)


@pytest.mark.parametrize("cls", BOTH)
def test_names_of_columns(cls):
    X, y = table()
    model = cls().fit(X, target(cls, y))
    assert model.feature_names_in_.tolist() == ["x", "z", "g"]
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(X[["z", "x", "g"]])
    with pytest.raises(ValueError, match=r"now missing:\n- g"):
        model.predict(X[["x", "z"]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- h"):
        model.predict(X.assign(h=1))


@pytest.mark.parametrize("cls", BOTH)
def test_the_index_does_not_matter(cls):
    X, y = table()
    y = target(cls, y)
    named = X.set_axis([f"row {k}" for k in range(len(X))][::-1])
    one = decision(cls().fit(X, y), X)
    np.testing.assert_array_equal(decision(cls().fit(named, pd.Series(y)), named), one)
    twice = X.set_axis(np.zeros(len(X), int))
    np.testing.assert_array_equal(decision(cls().fit(twice, y), twice), one)
