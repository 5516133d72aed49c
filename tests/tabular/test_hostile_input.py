"""Estimators: odd input is told of, a failed fit changes nothing, rows have no order."""

import numpy as np
import pandas as pd
import pytest

from rational_anova import RANClassifier, RANRegressor
from rational_anova._core.files import foreign

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
QUICK = {"pairs": 0, "refinements": 0}


@pytest.fixture(scope="module")
def fitted():
    return RANRegressor(**QUICK).fit(X, Y)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_the_target_does_not_matter(fitted, unit):
    other = RANRegressor(**QUICK).fit(X, Y * unit).predict(X) / unit
    np.testing.assert_allclose(other, fitted.predict(X), rtol=0, atol=1e-8)


def test_the_order_of_rows_does_not_matter(fitted):
    order = RNG.permutation(90)
    other = RANRegressor(**QUICK).fit(X[order], Y[order]).predict(X)
    np.testing.assert_allclose(other, fitted.predict(X), rtol=0, atol=1e-8)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = RANRegressor(**QUICK).fit(X, Y)
    before = model.predict(X)

    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(pd.DataFrame({"a": X[:, 0]}), Y, callbacks=[interrupt])
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_time_limit_ends_in_a_model():
    model = RANRegressor(time_limit=0.0).fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="time_limit must be >= 0"):
        RANRegressor(time_limit=-1).fit(X, Y)


@pytest.mark.parametrize("labels", [[(1, 2), "a"], [b"a", b"b"], [1, "a"], [frozenset(), 1]])
def test_classes_of_odd_types(labels):
    y = np.empty(90, object)
    y[:] = [labels[k % 2] for k in range(90)]
    with pytest.raises(TypeError, match="classes are all text, or all numbers"):
        RANClassifier().fit(X, y)


def test_odd_names_and_sizes():
    with pytest.raises(TypeError, match="all text or all of another kind, got 1 of type int"):
        RANRegressor().fit(pd.DataFrame(X, columns=[1, "a"]), Y)
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match="in another unit"):
            RANRegressor().fit(X, Y * size)
        with pytest.raises(ValueError, match="in another unit"):
            RANRegressor().fit(X * size, Y)


def test_what_others_may_write_is_foreign(tmp_path):
    tmp_path.chmod(0o700)
    assert not foreign(tmp_path)
    tmp_path.chmod(0o777)
    assert "may be written by others" in foreign(tmp_path)
