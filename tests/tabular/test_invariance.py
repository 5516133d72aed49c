"""Estimators: what must not change predictions changes them by rounding, or not by a bit."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from rational_anova import RANClassifier, RANRegressor

RNG = np.random.default_rng(0)
ROWS = 200
TABLE = pd.DataFrame({
    "a": RNG.normal(size=ROWS),
    "b": RNG.uniform(0, 4, ROWS),
    "c": RNG.choice(list("xyz"), ROWS),
    "when": pd.Timestamp("1800-01-01") + pd.to_timedelta(RNG.integers(0, 10**5, ROWS), "h"),
})  # fmt: skip
Y = np.sin(TABLE["a"]) + TABLE["a"] * TABLE["b"] + (TABLE["c"] == "x") + TABLE["when"].dt.month / 9
QUICK = {"pairs": 0, "refinements": 0}


def fit(table=TABLE, y=Y, **options):
    return RANRegressor(**(QUICK | options)).fit(table, y)


@pytest.fixture(scope="module")
def plain():
    return fit().predict(TABLE)


def agree(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * np.ptp(wanted))


@pytest.fixture
def by_row(monkeypatch):
    """Folds by the number of the row: the fit draws them by the values of its cells."""
    fixed = lambda values, count, seed: np.arange(len(values)) % count  # noqa: E731
    monkeypatch.setattr("rational_anova.tabular._fitting.folds", fixed)
    return fit().predict(TABLE)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_columns_but_for_the_folds(by_row, unit):
    table = TABLE.assign(a=TABLE["a"] * unit, b=TABLE["b"] / unit)
    agree(fit(table).predict(table), by_row)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_the_target(plain, unit):
    agree(fit(y=Y * unit).predict(TABLE) / unit, plain)


def test_the_order_of_columns_but_for_the_folds(by_row):
    table = TABLE[["when", "c", "b", "a"]]
    agree(fit(table).predict(table), by_row)


def test_the_order_of_rows(plain):
    order = RNG.permutation(ROWS)
    agree(fit(TABLE.iloc[order], Y.iloc[order]).predict(TABLE), plain)


def test_dates_of_other_centuries_but_for_the_folds(by_row):
    """In 400 years weekdays, months and leap years come round again."""
    table = TABLE.assign(when=TABLE["when"] + pd.Timedelta(days=146_097))
    agree(fit(table).predict(table), by_row)


# ---- threads


@pytest.fixture
def pieces(monkeypatch):
    """Gram matrices that come in many pieces."""
    monkeypatch.setattr("rational_anova.tabular.fit._design._CHUNK", 1)
    monkeypatch.setattr("rational_anova.tabular.fit._design.KEPT", 0)


@pytest.mark.parametrize("blas", [1, 2])
def test_the_number_of_threads_changes_no_bit(plain, blas):
    with threadpool_limits(blas):
        for n_jobs in (1, 2, None):
            np.testing.assert_array_equal(fit(n_jobs=n_jobs).predict(TABLE), plain)


def test_the_number_of_threads_changes_no_bit_of_many_rows(pieces):
    table, y = pd.concat([TABLE] * 4), pd.concat([Y] * 4)
    one = fit(table, y, n_jobs=1).predict(TABLE)
    np.testing.assert_array_equal(fit(table, y, n_jobs=2).predict(TABLE), one)


def test_the_number_of_threads_changes_no_bit_of_classes():
    with threadpool_limits(2):
        one, two = (
            RANClassifier(n_jobs=n, **QUICK).fit(TABLE, Y > 2).predict_proba(TABLE) for n in (1, 2)
        )
    np.testing.assert_array_equal(one, two)


def test_the_same_bits_in_a_second_run(plain):
    np.testing.assert_array_equal(fit().predict(TABLE), plain)


def test_the_same_bits_from_eight_threads(plain):
    model = fit()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.predict(TABLE), range(16)))
        fits = list(pool.map(lambda _: fit(n_jobs=1).predict(TABLE), range(8)))
    for one in (*found, *fits):
        np.testing.assert_array_equal(one, plain)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_the_same_bits_after_fork(plain):
    model = fit()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, model.predict(TABLE).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = np.frombuffer(pipe.read())
    os.waitpid(child, 0)
    np.testing.assert_array_equal(found, plain)
