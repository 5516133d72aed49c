"""Mixtures of models for small tables, and pairs of which one input is missing."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from rational_anova.tabular import RANClassifier, RANRegressor
from rational_anova.tabular._fitting import choose_mixture, fit_mixture, learn_features, problem_of
from rational_anova.tabular.fit import Squared
from rational_anova.tabular.fit._recipe import Options
from rational_anova.tabular.model._bases import Missing


def small(rows, inputs=3, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(rows, inputs)), columns=[f"x{k}" for k in range(inputs)])
    y = np.sin(2 * X["x0"]) + X["x0"] * X["x1"] + 0.1 * random.normal(size=rows)
    return X, y.to_numpy()


def posed(X, y):
    y = ((y - y.mean()) / y.std())[:, None]
    weight = np.ones(len(X))
    features = learn_features(X, y, weight)
    return features, problem_of(features, X, y, weight, Squared(), 0)


def gappy(rows, seed=0):
    """y follows b where a is missing, and a where it is not."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows))
    gone = random.random(rows) < 0.4
    y = np.where(gone, 2 * b, a) + 0.1 * random.normal(size=rows)
    return pd.DataFrame({"a": np.where(gone, np.nan, a), "b": b}), y


def test_shares_are_positive_and_add_up():
    features, problem = posed(*small(300))
    mixture = choose_mixture(problem, features, Options(), 0)
    shares = [share for share, _ in mixture]
    assert min(shares) > 0
    assert sum(shares) == pytest.approx(1)


def test_one_model_where_rows_are_many():
    features, problem = posed(*small(1600))
    assert choose_mixture(problem, features, Options(), 0) == [(1.0, Options())]


def test_halves_where_inputs_are_many():
    features, problem = posed(*small(1600, inputs=20))
    assert [share for share, _ in choose_mixture(problem, features, Options(), 0)] == [0.5, 0.5]


def test_a_mixture_is_the_weighted_sum_of_its_models():
    features, problem = posed(*small(200))
    sizes = [Options(lean=True, pairs=0), Options(rich=True)]
    mixed = fit_mixture([(0.3, sizes[0]), (0.7, sizes[1])], features, problem, 0)
    lean, rich = (fit_mixture([(1.0, s)], features, problem, 0) for s in sizes)
    expected = 0.3 * lean.decision(problem.rows) + 0.7 * rich.decision(problem.rows)
    np.testing.assert_allclose(mixed.decision(problem.rows), expected, atol=1e-10)


def test_bands_of_a_mixture_are_not_narrower_than_those_of_one_model():
    features, problem = posed(*small(200))
    one = fit_mixture([(1.0, Options())], features, problem, 0)
    same = fit_mixture([(0.5, Options()), (0.5, Options())], features, problem, 0)
    assert same.spread(problem.rows).mean() >= 0.99 * one.spread(problem.rows).mean()


def test_no_pairs_asked_for_means_none_in_any_model():
    X, y = small(250)
    assert all(len(axes) == 1 for axes in RANRegressor(pairs=0).fit(X, y).model_.axes)
    only = RANRegressor(pairs=[("x1", "x2")]).fit(X, y).model_.axes
    assert {axes for axes in only if len(axes) == 2} <= {(1, 2)}


@pytest.mark.parametrize("rows", [600, 2500])
def test_what_one_input_says_where_another_is_missing(rows):
    X, y = gappy(rows)
    train = slice(0, rows * 3 // 4)
    test = slice(rows * 3 // 4, None)
    model = RANRegressor().fit(X[train], y[train])
    assert any(isinstance(b, Missing) for p in model.model_.parts for b in p.term.bases)
    # Without such terms b has one slope for all rows, and a third of the variance is lost.
    assert model.score(X[test], y[test]) > 0.9


def test_such_a_pair_is_explained_and_exported():
    X, y = gappy(400)
    model = RANRegressor().fit(X, y)
    local = model.explain_local(X).drop(columns="prediction")
    np.testing.assert_allclose(local.sum(axis=1), model.predict_link(X), atol=1e-9)
    space = {}
    exec(model.to_python(), space)
    found = [space["predict"](row) for row in X.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9, atol=1e-12)
    base = sqlite3.connect(":memory:")
    X.to_sql("t", base, index=False)
    rows = base.execute(f"SELECT {model.to_sql('sqlite')} FROM t").fetchall()
    base.close()
    np.testing.assert_allclose(np.ravel(rows), model.predict(X), rtol=1e-9, atol=1e-12)


def test_such_a_pair_of_a_classifier():
    X, y = gappy(600)
    model = RANClassifier().fit(X[:450], y[:450] > 0)
    assert model.score(X[450:], y[450:] > 0) > 0.9
    local = model.explain_local(X).drop(columns="prediction")
    np.testing.assert_allclose(local.sum(axis=1), model.decision_function(X), atol=1e-9)
