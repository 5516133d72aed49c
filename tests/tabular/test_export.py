"""Exports of estimators compute what the estimators compute."""

import copy
import datetime
import math
import os
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy
import torch

import rational_anova as ra
from rational_anova.tabular import RANClassifier, RANRegressor
from rational_anova.tabular.fit._links import Link
from rational_anova.tabular.model._additive import Additive, Part
from rational_anova.tabular.model._bases import Constant, Heads, Levels, Missing
from rational_anova.tabular.model._columns import Feature
from rational_anova.tabular.model._terms import Term

# pandas 3 renames it
pytestmark = pytest.mark.filterwarnings("ignore:Series.dt.weekday is deprecated")

NAME = 'in"come €'  # of a column


def table(count, seed=0):
    """Rows with gaps, a date, and a category of many levels; and what they say."""
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2019-01-01")
    seconds = pd.to_timedelta(rng.integers(0, 3 * 365 * 86400, count), unit="s")
    zips = rng.integers(0, 40, count)
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, count),
            NAME: rng.lognormal(3, 1, count),
            "rooms": rng.integers(0, 5, count),
            "city": rng.choice(np.array(["Zürich", "O'Hara", 'a"b', ""], object), count),
            "zip": np.array([f"z{k}" for k in zips], object),
            "sold": start + seconds,
        }
    )
    X.loc[rng.random(count) < 0.1, "age"] = np.nan
    X.loc[rng.random(count) < 0.1, "city"] = None
    X.loc[rng.random(count) < 0.05, "sold"] = pd.NaT
    age = X["age"].fillna(60).to_numpy()
    f = np.sin(age / 15) + 0.3 * np.log(X[NAME]) + 0.4 * np.sin(zips) + 0.1 * X["rooms"]
    f += (X["city"] == "O'Hara") * age / 50 + X["sold"].dt.month.fillna(3) / 12
    return X, f.to_numpy(float) + 0.05 * rng.normal(size=count)


def odd_rows(X):
    """Rows with what training did not have: new levels, gaps, numbers beyond the range."""
    X = X.copy()
    X.loc[X.index[:5], "city"] = "new"
    X.loc[X.index[3:8], "zip"] = None
    X.loc[X.index[8:11], "age"] = 500.0
    X.loc[X.index[10:14], NAME] = -3.0
    X["rooms"] = X["rooms"].astype(float)
    X.loc[X.index[14:17], "rooms"] = np.nan
    return X


X, F = table(900)
TEST = odd_rows(X[700:])
WHOLE = X[700:].dropna(subset=["age", "sold"])


@pytest.fixture(scope="module")
def regression():
    return RANRegressor(link="log", pairs=8).fit(X[:700], np.exp(F[:700]))


@pytest.fixture(scope="module")
def binary():
    noise = np.random.default_rng(1).logistic(scale=0.3, size=700)
    return RANClassifier(pairs=5).fit(X[:700], np.where(F[:700] + noise > 2, "y'es", "no"))


@pytest.fixture(scope="module")
def classes():
    codes = np.digitize(F[:700] + np.random.default_rng(2).normal(0, 0.2, 700), [1.5, 2.3])
    return RANClassifier(pairs=3).fit(X[:700], codes * 10)


def close(found, expected, relative=1e-9):
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=relative, atol=0)


# -- Python


def module(model):
    names = {}
    text = model.to_python()
    exec(compile(text, "exported", "exec"), names)
    assert [line for line in text.splitlines() if "import" in line] == ["import math"]
    return names


def test_python_predicts_numbers(regression):
    predict = module(regression)["predict"]
    close([predict(row) for row in TEST.to_dict("records")], regression.predict(TEST))


def test_python_predicts_probabilities(binary, classes):
    for model in (binary, classes):
        predict = module(model)["predict"]
        found = [predict(row) for row in TEST.to_dict("records")]
        assert list(found[0]) == model.classes_.tolist()
        close([list(row.values()) for row in found], model.predict_proba(TEST))


def test_python_takes_dates_as_texts_and_objects(regression):
    predict = module(regression)["predict"]
    row = {**TEST.iloc[-1].to_dict(), "sold": "2020-02-29T23:30:15.250+01:00"}
    expected = regression.predict(pd.DataFrame([row]).assign(sold=pd.Timestamp(row["sold"])))[0]
    stamp = datetime.datetime(2020, 2, 29, 22, 30, 15, 250000)
    same = [row["sold"], stamp, pd.Timestamp(stamp), np.datetime64(stamp), stamp.isoformat() + "Z"]
    for sold in same:
        assert predict({**row, "sold": sold}) == pytest.approx(expected, rel=1e-12)
    day = datetime.date(2020, 2, 29)
    assert predict({**row, "sold": day}) == predict({**row, "sold": "2020-02-29 00:00"})
    for gap in (None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT")):
        assert predict({**row, "sold": gap}) == predict({**row, "sold": None})


def test_every_day_of_four_centuries_is_found():
    from rational_anova.tabular.export import _runtime

    first = datetime.date(1600, 1, 1)
    for k in range(0, 366 * 500, 7):
        day = first + datetime.timedelta(k)
        count = (day - datetime.date(1970, 1, 1)).days
        assert _runtime._seconds(str(day)) == (86400 * count, 0.0)
        assert _runtime._month(count) == day.month
        assert (count + 3) % 7 == day.weekday()


def test_python_names_the_column_that_is_wrong(regression):
    predict = module(regression)["predict"]
    row = TEST.iloc[-1].to_dict()
    with pytest.raises(KeyError, match="no column 'age'"):
        predict({k: v for k, v in row.items() if k != "age"})
    with pytest.raises(ValueError, match="'age' must be a number, got 'old'"):
        predict({**row, "age": "old"})
    with pytest.raises(ValueError, match="'age' is infinite"):
        predict({**row, "age": float("inf")})
    for wrong in ("2021-02-30", "May", "2021-13-01"):
        with pytest.raises(ValueError, match="'sold' must be a date"):
            predict({**row, "sold": wrong})


# -- SQL


def sqlite(frame, *expressions):
    base = sqlite3.connect(":memory:")
    try:
        base.execute("SELECT EXP(1), POWER(2, 2)")
    except sqlite3.OperationalError:  # built without them
        base.create_function("EXP", 1, math.exp)
        base.create_function("POWER", 2, math.pow)
    frame = frame.copy()
    if "sold" in frame:
        frame["sold"] = frame["sold"].astype(str).where(frame["sold"].notna(), None)
    frame.to_sql("t", base, index=False)
    rows = base.execute(f"SELECT {', '.join(expressions)} FROM t").fetchall()
    base.close()
    return np.array(rows, object)


def test_sqlite_predicts(regression, binary, classes):
    close(sqlite(TEST, regression.to_sql("sqlite"))[:, 0], regression.predict(TEST))
    for model in (binary, classes):
        each = [model.to_sql("sqlite", one) for one in model.classes_]
        close(sqlite(TEST, *each), model.predict_proba(TEST))
        found = sqlite(TEST, model.to_sql("sqlite"))[:, 0]
        assert found.tolist() == model.predict(TEST).tolist()


def test_duckdb_predicts(regression, classes):
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.register("t", TEST)
    found = base.execute(f"SELECT {regression.to_sql('duckdb')} FROM t").fetchall()
    close(np.array(found)[:, 0], regression.predict(TEST))
    found = base.execute(f"SELECT {classes.to_sql('duckdb', 10)} FROM t").fetchall()
    close(np.array(found)[:, 0], classes.predict_proba(TEST)[:, 1])


def test_sql_of_other_dialects(regression, classes):
    text = regression.to_sql("postgres")
    assert "EXTRACT(EPOCH FROM" in text
    assert "'NaN'" in text
    assert "'O''Hara'" in text
    assert '"in""come €"' in text
    with pytest.raises(
        ValueError, match="the day of the date 'sold' cannot be written in .*'ansi'"
    ):
        regression.to_sql()
    with pytest.raises(ValueError, match="did you mean 'sqlite'"):
        regression.to_sql("sqlite3")
    with pytest.raises(ValueError, match=r"one of the classes \[0, 10, 20\], got 11"):
        classes.to_sql("sqlite", 11)
    with pytest.raises(ValueError, match="only 'prediction'"):
        regression.to_sql("sqlite", "age")


def made(features, parts, intercept=0.25, link=None):
    """Return a fitted estimator of given parts."""
    model = RANRegressor()
    draws = [Part(t, np.asarray(n, float), np.zeros((t.size, 1, 2))) for t, n in parts]
    model.model_ = Additive(features, np.array([intercept]), draws, np.zeros((1, 2)), 1.0, 1.0, [])
    model.link_ = link or Link()
    model.n_features_in_ = len(features)
    model.feature_names_in_ = np.array([f.name for f in features], object)
    return model


def heads(rng, count, odd=False):
    fill = rng.normal(size=count * (1 + odd))
    return Heads(rng.uniform(0, 1, count), rng.uniform(0.01, 0.3, count), odd, fill)


def test_a_large_model_is_no_problem(tmp_path):
    rng = np.random.default_rng(0)
    features = [Feature(name, k, "number", clip=(0.0, 1.0)) for k, name in enumerate("abcd")]
    levels = tuple(f"level {k}" for k in range(3000))
    features.append(Feature("e", 4, "category", levels=levels, values=rng.normal(size=3001)))
    terms = [Term((i, j), (heads(rng, 24), heads(rng, 24))) for i, j in ((0, 1), (1, 2), (2, 3))]
    terms += [Term((i,), (heads(rng, 256, True),)) for i in range(4)]
    terms.append(Term((4,), (Levels(2500),)))
    model = made(features, [(t, rng.normal(size=(t.size, 1))) for t in terms])
    X = pd.DataFrame(rng.uniform(-0.1, 1.1, (20, 4)), columns=list("abcd"))
    X["e"] = rng.choice(np.array([*levels, "new"], object), 20)
    X.iloc[3, 1] = np.nan
    f = model.predict(X)
    size = np.abs(f).max()
    np.testing.assert_allclose(sqlite(X, model.to_sql())[:, 0].astype(float), f, atol=1e-11 * size)
    predict = module(model)["predict"]
    np.testing.assert_allclose(
        [predict(r) for r in X.to_dict("records")], f, rtol=0, atol=1e-11 * size
    )


# -- every export, on parts as purification and editing may leave them


def test_constants_in_pairs_and_odd_pairs(tmp_path):
    rng = np.random.default_rng(0)
    features = [
        Feature("a", 0, "number", clip=(0.0, 1.0), gaps=True),
        Feature("b", 1, "category", levels=("p", "q", "(missing)"), values=rng.normal(size=4)),
        Feature("node_0", 2, "number", clip=(0.0, 1.0)),
    ]
    typical = Heads(rng.normal(size=2), np.ones(2), True, values=features[1].values)
    bases = [
        ((0, 1), (heads(rng, 3, True), Constant())),
        ((0, 1), (Constant(), Levels(3))),
        ((0, 1), (Constant(), Constant())),
        ((0, 1), (heads(rng, 3, True), typical)),
        ((0, 2), (heads(rng, 3, True), heads(rng, 4))),
        ((0, 2), (Missing(), heads(rng, 2))),
        ((1,), (typical,)),
        ((1,), (Levels(2),)),
        ((2,), (Constant(),)),
    ]
    terms = [Term(*each) for each in bases]
    model = made(
        features, [(t, rng.normal(size=(t.size, 1))) for t in terms], link=Link("sqrt", -1, 9, 0.1)
    )
    X = pd.DataFrame(rng.uniform(-0.1, 1.1, (50, 3)), columns=["a", "b", "node_0"])
    X["b"] = rng.choice(np.array(["p", "q", None, "new"], object), 50)
    X.loc[:10, "a"] = np.nan
    X.loc[8:12, "node_0"] = np.nan
    y = model.predict(X)
    predict = module(model)["predict"]
    close([predict(row) for row in X.to_dict("records")], y)
    close(sqlite(X, model.to_sql("sqlite"))[:, 0], y)
    close(run_onnx(model, X, tmp_path)[:, 0], y)
    inside = X.dropna(subset=["a", "node_0"])
    inside = inside.assign(a=inside["a"].clip(0, 1), node_0=inside["node_0"].clip(0, 1))
    f = model.predict_link(inside)
    np.testing.assert_allclose(run_network(model.to_network(), model, inside), f, atol=1e-9)
    np.testing.assert_allclose(run_formula(model.symbolic_formula(), model, inside), f, atol=1e-9)


def test_a_model_without_effects(tmp_path):
    model = made([Feature("a", 0, "number")], [])
    X = pd.DataFrame({"a": [1.0, 2.0]})
    assert sqlite(X, model.to_sql())[:, 0].tolist() == [0.25, 0.25]
    assert module(model)["predict"]({}) == 0.25
    assert run_onnx(model, X, tmp_path).tolist() == [[0.25], [0.25]]
    assert run_network(model.to_network(), model, X).tolist() == [0.25, 0.25]
    assert model.symbolic_formula() == 0.25


# -- ONNX


def run_onnx(model, X, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path = folder / "model.onnx"
    model.to_onnx(path)
    session = runtime.InferenceSession(path)
    (found,) = session.run(None, model.onnx_inputs(X))
    assert found.dtype == np.float64
    return found


def test_onnx_predicts(regression, binary, classes, tmp_path):
    close(run_onnx(regression, TEST, tmp_path)[:, 0], regression.predict(TEST))
    for model in (binary, classes):
        close(run_onnx(model, TEST, tmp_path), model.predict_proba(TEST))
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_levels_that_are_the_same_text_are_refused(tmp_path):
    pytest.importorskip("onnx")
    feature = Feature("a", 0, "category", levels=("1", 1), values=np.zeros(3))
    model = made([feature], [(Term((0,), (Levels(2),)), np.ones((2, 1)))])
    with pytest.raises(ValueError, match="two levels that read '1' as text"):
        model.to_onnx(tmp_path / "model.onnx")
    assert module(model)["predict"]({"a": 1}) == 1.25
    feature = Feature("a", 0, "category", levels=((1, 2), "b"), values=np.zeros(3))
    model = made([feature], [(Term((0,), (Levels(2),)), np.ones((2, 1)))])
    with pytest.raises(TypeError, match=r"'?a'? has the level \(1, 2\) of type tuple"):
        model.to_python()


# -- networks


def run_network(net, model, X):
    with torch.no_grad():
        return net(model.network_inputs(X))[:, 0].numpy()


def test_a_network_of_the_core_computes_the_decision(regression, binary, classes):
    for model, output, f in [
        (regression, None, regression.predict_link(WHOLE)),
        (binary, None, binary.decision_function(WHOLE)),
        (binary, "no", -binary.decision_function(WHOLE)),
        (classes, 20, classes.decision_function(WHOLE)[:, 2]),
    ]:
        net = model.to_network(output)
        np.testing.assert_allclose(run_network(net, model, WHOLE), f, rtol=0, atol=1e-10 * f.std())
        assert isinstance(net[1], ra.RAN)
        assert net[1].main.denominator_min(torch.randn(50, net[1].main.units).double()).min() >= 1
    with pytest.raises(ValueError, match="its own network: pass output=one of"):
        classes.to_network()


def test_the_network_can_be_saved(regression, tmp_path):
    net = regression.to_network()
    ra.save(net[1], tmp_path / "net.safetensors")
    again = copy.deepcopy(net)
    again[1] = ra.load(tmp_path / "net.safetensors")
    expected = run_network(net, regression, WHOLE)
    for name, value in net.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
    # The order of torch's sums depends on where in memory the numbers are.
    np.testing.assert_allclose(run_network(again, regression, WHOLE), expected, rtol=1e-15)


# -- formulas


def run_formula(formula, model, X):
    rows = model._rows(X).values
    symbols = ra.symbols.Names([f.name for f in model.features_]).symbols
    function = sympy.lambdify(symbols, formula, "numpy")
    return np.broadcast_to(function(*rows.T), len(rows))


@pytest.fixture(scope="module")
def small():
    return RANClassifier(pairs=2, refinements=0).fit(X[:300], np.digitize(F[:300], [1.5, 2.3]))


def test_formulas_are_the_decision(small):
    f = small.decision_function(WHOLE)
    each = small.symbolic_formula()
    assert len(each) == 3
    np.testing.assert_allclose(run_formula(each[1], small, WHOLE), f[:, 1], rtol=0, atol=1e-12)
    expanded = small.symbolic_formula(simplify=True, output=1)
    np.testing.assert_allclose(run_formula(expanded, small, WHOLE), f[:, 1], rtol=0, atol=1e-8)
    rough = small.symbolic_formula(digits=6, output=1)
    np.testing.assert_allclose(run_formula(rough, small, WHOLE), f[:, 1], rtol=0, atol=1e-3)


def test_effects_one_by_one(small):
    names = [tuple(small.features_[i].name for i in axes) for axes in small.model_.axes]
    total = small.model_.intercept[0]
    for name in names:
        given = name[0] if len(name) == 1 else name
        formula = small.symbolic_formula(output=0, effect=given)
        total = total + run_formula(formula, small, WHOLE)
    f = small.decision_function(WHOLE)[:, 0]
    np.testing.assert_allclose(total, f, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="no effect 'nothing'; there are 'age'"):
        small.symbolic_formula(effect="nothing")


def test_latex_names_the_columns(small):
    text = small.latex(output=0, effect="age")
    assert r"\frac" in text
    assert "age" in text
    assert isinstance(small.latex(effect="age"), list)


def test_binary_formulas_have_signs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 1))
    model = RANClassifier(refinements=0).fit(x, np.where(x[:, 0] > rng.normal(size=200), "b", "a"))
    f = model.decision_function(x)
    np.testing.assert_allclose(run_formula(model.symbolic_formula(), model, x), f, atol=1e-12)
    found = run_formula(model.symbolic_formula(output="a"), model, x)
    np.testing.assert_allclose(found, -f, atol=1e-12)


def test_main_effects_as_short_quotients():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (300, 2))
    model = RANRegressor(pairs=0, link="identity")
    model.fit(x, 1 / (1 + x[:, 0] ** 2) + 0.3 * x[:, 1])
    table = model.rational_effects(precision=1e-2)
    rows = model._rows(x)
    for name, degrees, error, reached, formula in table.itertuples(index=False):
        axes = (int(name[1:]),)
        truth = sum(part.at(rows)[:, 0] for part in model.model_.effect(axes))
        gap = np.abs(run_formula(formula, model, x) - truth).max() / np.ptp(truth)
        assert gap <= error * 1.001 + 1e-9
        assert reached == (error <= 1e-2)
        assert max(degrees) <= 12
    assert table["reached"][0]
    assert sum(table["degrees"][0]) <= 6
    assert model.rational_effects(precision=1e-9)["error"][0] < 1e-3


def test_exports_need_a_fit():
    for method in ("symbolic_formula", "to_python", "to_sql", "to_network"):
        with pytest.raises(Exception, match="not fitted"):
            getattr(RANRegressor(), method)()


# -- a real table

DATA = Path(os.environ.get("RAN_DATA", "nowhere")) / "tabular" / "tabarena"


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("miami_housing", "SALE_PRC"),
        ("HR_Analytics_Job_Change_of_Data_Scientists", "LookingForJobChange"),
    ],
)
def test_real_tables(name, target, tmp_path):
    paths = list(DATA.glob(f"{name}*.csv*"))
    if not paths:
        pytest.skip("needs RAN_DATA")
    frame = pd.read_csv(paths[0]).sample(700, random_state=0).reset_index(drop=True)
    y = frame.pop(target)
    regression = name == "miami_housing"
    options = {"pairs": 6, "refinements": 1}
    model = RANRegressor(link="log", **options) if regression else RANClassifier(**options)
    model.fit(frame[:500], y[:500])
    rows = frame[500:]
    wanted = model.predict(rows) if regression else model.predict_proba(rows)[:, 1]
    output = "prediction" if regression else model.classes_[1]
    close(sqlite(rows, model.to_sql("sqlite", output))[:, 0], wanted)
    close(run_onnx(model, rows, tmp_path)[:, -1], wanted)
    predict = module(model)["predict"]
    found = [predict(row) for row in rows[:30].to_dict("records")]
    close(found if regression else [list(p.values())[1] for p in found], wanted[:30])
    whole = rows.dropna()
    f = model.predict_link(whole) if regression else model.decision_function(whole)
    found = run_network(model.to_network(), model, whole)
    np.testing.assert_allclose(found, f, rtol=0, atol=1e-8 * f.std())


# -- exact numbers


def test_numbers_become_exact_and_predictions_stay(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.uniform(0, 9, 200).round(2)})
    X["c"] = rng.choice(["x", "y"], 200)
    y = X["a"] + np.sin(X["b"]) + (X["c"] == "y") + 0.1 * rng.normal(size=200)
    model = RANRegressor(refinements=0, pairs=1, link="identity").fit(X, y)
    before, far = model.predict_link(X), X.assign(a=X["a"] * 3)
    beyond = model.predict_link(far)
    snaps = model.auto_rational(precision=1e-4)
    for table, old in ((X, before), (far, beyond)):  # proved wherever the inputs are
        assert np.abs(model.predict_link(table) - old).max() <= 1e-4 * before.std()
    assert snaps.snapped
    assert not snaps.refused
    assert not model.symbolic_formula(effect="a").has(sympy.Float)
    count = len(str(model.symbolic_formula(effect="a")))
    model.auto_rational(X, precision=1e-2)
    assert 1e-4 * before.std() < np.abs(model.predict_link(X) - before).max() <= 0.0101 * y.std()
    found = model.symbolic_formula(effect="a")
    assert not found.has(sympy.Float)
    assert len(str(found)) < count
    value = model.effects_["a"].at(model._rows(X).values[:3])[:, 0]
    told = [float(found.subs(sympy.Symbol("a"), number)) for number in X["a"][:3]]
    np.testing.assert_allclose(told, value, atol=1e-12)
    expanded = model.symbolic_formula(simplify=True, effect="a")
    assert float(expanded.subs(sympy.Symbol("a"), X["a"][0])) == pytest.approx(value[0])
    model.save(tmp_path / "model.ran")
    assert RANRegressor.load(tmp_path / "model.ran").symbolic_formula(effect="a") == found


def test_effects_that_are_proved_monotone_stay():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    model = RANRegressor(monotone={"a": 1}, refinements=0).fit(X, X["a"] + X["b"] ** 2)
    before = model.effects_["a"].curve(20)["effect"].to_numpy()
    snaps = model.auto_rational(X, precision=1e-2)
    assert [name for name, _, _ in snaps.refused] == ["a"]
    assert (model.effects_["a"].curve(20)["effect"] == before).all()
    assert model.monotone_["a"]
    with pytest.raises(ValueError, match="below 1"):
        model.auto_rational(precision=2.0)
