"""`discover(loss="robust")`: rows that do not belong to the rest are named, and no others."""

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import Grade, discover
from rational_anova.discovery.claims import far_from_law, far_from_surrogate, price_of_outliers
from rational_anova.discovery.fitting import THOROUGH, Form, NoiseShape, Rows, fitted
from rational_anova.discovery.search import ReducedTable

SYMBOLS = sp.symbols("x y z")
FORM = Form.of("a*x*y/z**2", ["x", "y", "z"])


def table(seed=0, rows=200, relative=False):
    """x*y/z**2 with 1% of noise, of the spread or of each value."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 5, (rows, 3))
    truth = X[:, 0] * X[:, 1] / X[:, 2] ** 2
    size = truth if relative else np.std(truth)
    return X, truth + 0.01 * size * rng.normal(size=rows)


def spoilt(y, kind, count=6, seed=1):
    """Some rows moved by 15 to 40 deviations of the noise, by many spreads, or by a factor."""
    rng = np.random.default_rng(seed)
    rows, signs = np.sort(rng.choice(len(y), count, replace=False)), rng.choice([-1, 1], count)
    y = y.copy()
    if kind == "mild":
        y[rows] += 0.01 * np.std(y) * rng.uniform(15, 40, count) * signs
    elif kind == "gross":
        y[rows] += np.std(y) * rng.uniform(3, 30, count) * signs
    else:
        y[rows] *= rng.choice([-1, 0.1, 3, 10], count)
    return y, tuple(rows.tolist())


def law_of(X, y, **options):
    return discover(X, y, names=["x", "y", "z"], target="f", loss="robust", **options)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("kind", ["mild", "gross", "factor"])
def test_spoilt_rows_of_three_columns_are_named(kind, relative):
    X, y = table(relative=relative)
    y, rows = spoilt(y, kind)
    law = law_of(X, y)
    assert law.outliers == rows
    assert law.equals("x*y/z**2")
    assert law.grade is Grade.ESTABLISHED
    assert (law.noise.model == "constant") is not relative


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_clean_tables_name_none(seed, relative):
    X, y = table(seed, relative=relative)
    law = law_of(X, y)
    assert law.outliers == ()
    assert law.equals("x*y/z**2")


def test_without_noise():
    X, _ = table()
    y = X[:, 0] * X[:, 1] / (X[:, 2] + 1)
    assert law_of(X, y).outliers == ()
    y, rows = spoilt(y, "mild")
    law = law_of(X, y)
    assert law.outliers == rows
    assert law.equals("x*y/(z + 1)")


def test_noise_alone_has_no_outliers():
    X, _ = table()
    law = law_of(X, np.random.default_rng(5).normal(size=len(X)))
    assert (law.outliers, law.grade) == ((), Grade.NOTHING)


def test_rows_of_a_surrogate_come_back_with_the_law():
    X, y = table()
    y, rows = spoilt(y, "mild")
    fit = fitted(FORM, Rows(X, y), NoiseShape(), THOROUGH)
    out = np.zeros(len(y), dtype=bool)
    out[[0, 1, 2]] = True  # good rows that were set aside
    far, again = far_from_law(fit, Rows(X, y), out)
    assert tuple(np.flatnonzero(far)) == rows
    assert again.values[0] == pytest.approx(1, rel=0.01)


def test_a_wrong_form_has_no_outliers():
    X, y = table()
    line = fitted(Form.of("a + b*x", ["x", "y", "z"]), Rows(X, y), NoiseShape(), THOROUGH)
    assert far_from_law(line, Rows(X, y), np.zeros(len(y), dtype=bool)) is None


def test_a_surrogate_sees_gross_errors():
    X, y = table()

    def reduced(y):
        return ReducedTable(y, X, y.copy(), np.ones(len(y)), SYMBOLS)

    assert not far_from_surrogate(reduced(y)).any()
    y, rows = spoilt(y, "gross")
    assert set(rows) <= set(np.flatnonzero(far_from_surrogate(reduced(y))).tolist())


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_of_the_target_do_not_matter(unit):
    rng = np.random.default_rng(0)
    x = np.linspace(0.2, 8, 60)
    y = 2.5 * x / (0.8 + x) + rng.normal(0, 0.01, 60)
    y[[7, 33]] += [0.3, -0.25]
    law = discover({"x": x}, unit * y, target="v", loss="robust")
    assert law.outliers == (7, 33)
    assert law.name == "Michaelis-Menten"


def test_the_price_of_outliers_follows_the_unit():
    X, y = table()
    change = price_of_outliers(Rows(X, 10 * y), 3) - price_of_outliers(Rows(X, y), 3)
    assert change == pytest.approx(3 * 2 * np.log(10))  # as the deviance of three rows does
