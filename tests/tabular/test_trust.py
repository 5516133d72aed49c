"""Effects that an auditor can trust: special values, shares, intervals, few effects, stability."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova import RANClassifier, RANRegressor
from rational_anova.anova import split
from rational_anova.tabular.explain import agreement


def credit(rows=400, seed=0):
    """Return columns of one factor with codes that stand in several at once, and a target."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    table = pd.DataFrame(
        {name: np.round(50 + 15 * z + 8 * rng.normal(size=rows)).clip(0, 110) for name in "abc"}
    )
    y = 0.1 * table["a"].to_numpy()
    none, light = rng.random(rows) < 0.1, rng.random(rows) < 0.1
    table.loc[light, ["b", "c"]] = -8
    table.loc[none] = -9
    y = np.where(none, 2.0, y + 3 * light)
    table["sign"] = rng.normal(size=rows)
    return table, y + 0.3 * rng.normal(size=rows)


@pytest.fixture(scope="module")
def coded():
    table, y = credit()
    return RANRegressor(link="identity", pairs=2, refinements=0).fit(table, y), table, y


def test_special_values_are_found(coded):
    model, table, _ = coded
    assert [f.special for f in model.features_] == [(-9,), (-9, -8), (-9, -8), ()]
    assert model.features_[0].clip[0] >= 0
    assert "special values" in model.summary()
    curve = model.effects_["b"].curve()
    assert curve["value"].tolist()[-2:] == [-9, -8]
    # What the codes say is not smoothed into the numbers beside them.
    new = table.iloc[:2].copy()
    new["sign"] = 0.0
    new.iloc[0, :3], new.iloc[1, :3] = -9, 0
    coded_row, low_row = model.predict(new)
    assert coded_row == pytest.approx(2.0, abs=0.4)
    assert low_row < 1.5


def test_special_values_named_and_turned_off():
    table, y = credit(150)
    quick = {"link": "identity", "pairs": 0, "refinements": 0}
    found = RANRegressor(**quick, special_values={"b": -8}).fit(table, y).features_
    assert [f.special for f in found] == [(), (-8,), (), ()]
    found = RANRegressor(**quick, special_values=[-9, 7777]).fit(table, y).features_
    assert [f.special for f in found] == [(-9,), (-9,), (-9,), ()]
    assert not any(f.special for f in RANRegressor(**quick, special_values=None).fit(table, y)
                   .features_)  # fmt: skip
    for wrong in ("all", {"z": 1}, [np.nan], ["x"]):
        with pytest.raises(ValueError, match="special_values"):
            RANRegressor(special_values=wrong).fit(table, y)


def test_ordinary_numbers_are_not_special():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "celsius": rng.integers(-3, 30, 300), "change": rng.normal(size=300),
        "count": rng.poisson(3, 300), "delay": rng.integers(-1, 12, 300),
        "late": rng.integers(-1, 12, 300),
    })  # fmt: skip
    model = RANRegressor(pairs=0, refinements=0).fit(table, table["celsius"] + 0.0)
    assert not any(f.special for f in model.features_)


def test_special_values_in_exports_and_files(coded, tmp_path):
    model, table, _ = coded
    some = table.head(60).copy()
    some.loc[3, "a"] = np.nan
    expected = model.predict(some)
    space = {}
    exec(model.to_python(), space)
    found = [space["predict"](row) for row in some.to_dict("records")]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    connection = sqlite3.connect(":memory:")
    some.to_sql("t", connection)
    sql = model.to_sql(dialect="sqlite")
    found = [row[0] for row in connection.execute(f"SELECT {sql} FROM t ORDER BY rowid")]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    connection.close()
    model.save(tmp_path / "m.ran")
    same = ra.load(tmp_path / "m.ran")
    assert (same.predict(some) == expected).all()


def test_special_values_and_proofs_and_edits(coded):
    _, table, y = coded
    model = RANRegressor(
        link="identity", pairs=0, refinements=0, monotone={"a": 1}
    ).fit(table, y)  # fmt: skip
    assert model.monotone_["a"].verdict == "proved"
    flat = model.fix_term("b", {0: 1.0, 100: 1.0, -9: 5.0})
    curve = flat.effects_["b"].curve()
    inside = curve["effect"].to_numpy()[:-2]
    assert np.ptp(inside) < 1e-3  # heads follow the points closely, not exactly
    assert curve["effect"].iloc[-2] - inside[0] == pytest.approx(4.0, abs=1e-3)


def test_shares_do_not_grow_by_cancelling(coded):
    model, table, _ = coded
    shown = model.explain_global()
    assert shown["share"].between(0, 1).all()
    assert shown["share"].sum() == pytest.approx(1)
    assert shown["covariance"].sum() == pytest.approx(1)
    spread = model.predict_link(table).std()
    assert shown["std"].max() <= 1.05 * spread
    assert split(np.diag([1.0, 3.0])) == pytest.approx([0.25, 0.75])
    assert split(np.array([[1.0, 0.001], [0.001, 1e-6]]))[1] < 1e-5  # small, though alike
    assert not split(np.array([[1.0, -1.0], [-1.0, 1.0]])).any()


def test_few_effects_keep_the_variance(coded):
    model, table, _ = coded
    few, every = model.explain_global("few"), model.explain_global()
    assert few["share"].sum() == pytest.approx(1)
    assert len(few) <= len(every)
    count = model.measured_.few()
    parts = model.explain_local(table)
    f = parts["prediction"]
    rest = f - parts["intercept"] - parts[list(model.effects_)[:count]].sum(axis=1)
    assert rest.var() <= 0.00201 * f.var()
    assert model.plot_anova(mode="tradeoff").axes[0].get_yscale() == "log"
    assert model.plot_anova(effects="few")


def test_intervals():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (900, 1))
    y = np.exp(x[:, 0] + 0.2 * rng.normal(size=900))
    model = RANRegressor(link="log", refinements=0).fit(x[:300], y[:300])
    inside = []
    for calibration in (None, (x[300:600], y[300:600])):
        low, high = model.predict_interval(x[600:], 0.9, calibration)
        inside.append(((low <= y[600:]) & (y[600:] <= high)).mean())
        assert (low > 0).all()
    assert np.abs(np.array(inside) - 0.9).max() < 0.06
    with pytest.raises(ValueError, match="19 rows or more"):
        model.predict_interval(x, 0.95, (x[:5], y[:5]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(x, 95)


def test_stability():
    table, y = credit(160)
    classes = np.where(y > 5, "high", "low")
    model = RANClassifier(pairs=0, refinements=0).fit(table, classes)
    found = model.stability(table, classes, times=1).set_index("effect")
    assert found["found"].between(0, 1).all()
    assert 0 < model.stability(table, classes, times=1).attrs["score"] <= 1
    same = {"a": np.arange(5.0)[:, None]}
    assert agreement(same, same)["a"] == 1
    assert agreement(same, {})["a"] == pytest.approx(0, abs=0.01)
    assert agreement(same, {"a": -same["a"]})[""] == pytest.approx(-1)
