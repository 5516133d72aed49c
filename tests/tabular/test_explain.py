"""Explanations of the estimators for tables: pure effects, exact shares, sums, bands, pictures."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rational_anova import RANClassifier, RANRegressor
from rational_anova.tabular.explain._statistics import measure
from rational_anova.tabular.model._additive import Additive, Part, compact
from rational_anova.tabular.model._bases import Constant, Heads, Levels, Missing
from rational_anova.tabular.model._columns import MISSING, Feature
from rational_anova.tabular.model._purify import purify
from rational_anova.tabular.model._terms import Rows, Term

DRAWS = 7


def heads(rng, count, odd=False, values=None, gaps=False):
    size = count * (2 if odd else 1)
    centre, width = np.sort(rng.uniform(-2, 2, count)), rng.uniform(0.3, 1.5, count)
    return Heads(centre, width, odd, rng.uniform(0, 1, size) if gaps else None, values)


def sum_of_parts(seed=0, outputs=1, count=500, mains=(0, 1, 2, 3)):
    """Return a model of random parts and dependent rows: numbers, gaps, few and many levels."""
    rng = np.random.default_rng(seed)
    x = rng.multivariate_normal(np.zeros(2), [[1, 0.7], [0.7, 1]], count)
    values = np.column_stack([x, np.digitize(x[:, 0], [-0.5, 0.8]), rng.integers(0, 90, count)])
    values[rng.random(count) < 0.1, 1] = np.nan
    codes = rng.normal(size=91)
    features = [
        Feature("a", 0, "number", clip=(-4, 4)),
        Feature("b", 1, "number", clip=(-4, 4), gaps=True),
        Feature("c", 2, "category", levels=("x", "y", "z"), values=rng.normal(size=4)),
        Feature("d", 3, "category", levels=tuple(f"l{k}" for k in range(90)), values=codes),
    ]
    wide = heads(rng, 4, values=codes)
    terms = [
        Term((0,), (heads(rng, 8, True),)), Term((0,), (heads(rng, 40),)),
        Term((1,), (heads(rng, 6, True, gaps=True),)), Term((1,), (Missing(),)),
        Term((2,), (Levels(3),)), Term((3,), (Levels(90),)), Term((3,), (wide,)),
    ]  # fmt: skip
    terms = [term for term in terms if term.axes[0] in mains]
    terms += [
        Term((0, 1), (heads(rng, 4), heads(rng, 4, gaps=True))),
        Term((0, 1), (heads(rng, 6), heads(rng, 5, gaps=True))),
        Term((0, 2), (heads(rng, 4), Levels(3))), Term((1, 3), (heads(rng, 3, gaps=True), wide)),
        Term((2, 3), (Levels(3), wide)),
    ]  # fmt: skip
    parts = [
        Part(t, rng.normal(size=(t.size, outputs)), rng.normal(size=(t.size, outputs, DRAWS)))
        for t in terms
    ]
    model = Additive(
        features, rng.normal(size=outputs), parts, rng.normal(size=(outputs, DRAWS)), 1.0, 9.0, []
    )
    return model, Rows(values), rng.uniform(0.2, 3, count)


def independent(rows):
    """Return rows with the values of each input in an order of their own."""
    rng = np.random.default_rng(0)
    return Rows(np.stack([rng.permutation(column) for column in rows.values.T], 1))


def values_of(model, rows):
    return {axes: sum(part.at(rows) for part in model.effect(axes)) for axes in model.axes}


def worst_correlation(model, rows, weight):
    """Return the largest of a pair with a main effect of its inputs."""
    effects, w, worst = values_of(model, rows), weight / weight.sum(), 0.0
    for axes, pair in effects.items():
        for i in axes if len(axes) == 2 else ():
            main = effects[i,]
            norm = np.sqrt((w @ pair**2) * (w @ main**2))
            worst = max(worst, np.abs((w @ (pair * main)) / norm).max())
    return worst


def explained(model, X, y, weight=None):
    """Fit a model, with pure effects and what is measured of them."""
    model.fit(X, y, weight)
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    rows = model._rows(X)[weight > 0]
    model.model_ = purify(model.model_, rows, weight[weight > 0])
    model.measured_ = measure(model.model_, rows, weight[weight > 0])
    return model


def draws_at(model, rows):
    return model.intercept_draws + sum(part.drawn(rows) for part in model.parts)


# -- purification


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("mains", [(0, 1, 2, 3), (2,), ()])
def test_purify_keeps_the_sum_and_makes_pairs_orthogonal(outputs, mains):
    model, rows, weight = sum_of_parts(1, outputs, mains=mains)
    pure = purify(model, rows, weight)
    # Also at rows that were not there: gaps, unseen levels, far away.
    other = sum_of_parts(2)[1]
    other.values[:5, 1], other.values[5:9, 3], other.values[9, 0] = np.nan, 90, 50.0
    for some in (rows, other):
        before = model.decision(some)
        assert np.abs(pure.decision(some) - before).max() < 1e-10 * before.std()
        np.testing.assert_allclose(draws_at(pure, some), draws_at(model, some), atol=1e-9)
    # One input is a number and another one that number in three bins: what the rows can hardly
    # tell apart stays in the pair.
    assert worst_correlation(pure, rows, weight) < 0.1
    alone = independent(rows)
    assert worst_correlation(purify(model, alone, weight), alone, weight) < 1e-8
    if len(mains) == 4:
        assert worst_correlation(model, rows, weight) > 0.05
    for value in values_of(pure, rows).values():
        assert np.abs(np.average(value, axis=0, weights=weight)).max() < 1e-9 * before.std()
    assert {axes for axes in pure.axes if len(axes) == 1} == {(0,), (1,), (2,), (3,)}


def test_a_pair_is_orthogonal_to_simple_functions_of_its_inputs():
    # y = x0 x1 with x1 = x0 + noise has a main part, x0 ** 2, that must not stay in the pair.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 1)) + 0.5 * rng.normal(size=(800, 2))
    model = explained(RANRegressor(link="identity"), x, x[:, 0] * x[:, 1])
    pair = model.effects_["x0 x x1"].at(model._rows(x).values)[:, 0]
    for k in (0, 1):
        for function in (x[:, k], x[:, k] ** 2, np.cos(x[:, k])):
            assert abs(np.corrcoef(pair, function)[0, 1]) < 0.02


def test_draws_go_through_the_same_map():
    model, rows, weight = sum_of_parts(3)
    # A draw that equals the numerators must stay equal to them.
    same = replace(
        model,
        parts=[replace(p, draws=np.repeat(p.numerators[:, :, None], 3, 2)) for p in model.parts],
        intercept_draws=np.repeat(model.intercept[:, None], 3, 1),
    )
    pure = purify(same, rows, weight)
    for part in pure.parts:
        np.testing.assert_allclose(part.draws, np.repeat(part.numerators[:, :, None], 3, 2))


def test_a_weight_of_two_is_two_rows():
    model, rows, _ = sum_of_parts(4)
    weight = np.ones(len(rows))
    weight[::3] = 2
    twice = np.repeat(np.arange(len(rows)), weight.astype(int))
    one, two = purify(model, rows, weight), purify(model, rows[twice], np.ones(len(twice)))
    shares = measure(one, rows, weight).share, measure(two, rows[twice], np.ones(len(twice))).share
    np.testing.assert_allclose(*shares, atol=1e-7)
    for axes, value in values_of(one, rows).items():
        np.testing.assert_allclose(value, values_of(two, rows)[axes], atol=1e-6)


def test_purify_twice_changes_nothing():
    model, rows, weight = sum_of_parts(5)
    once = purify(model, rows, weight)
    again = purify(once, rows, weight)
    for axes, value in values_of(once, rows).items():
        np.testing.assert_allclose(values_of(again, rows)[axes], value, atol=1e-8)


def test_purify_without_pairs_and_without_parts():
    model, rows, weight = sum_of_parts(6)
    mains = replace(model, parts=[p for p in model.parts if len(p.term.axes) == 1])
    pure = purify(mains, rows, weight)
    np.testing.assert_allclose(pure.decision(rows), mains.decision(rows), atol=1e-11)
    for value in values_of(pure, rows).values():
        assert abs(np.average(value[:, 0], weights=weight)) < 1e-12
    empty = replace(model, parts=[])
    assert purify(empty, rows, weight) is empty
    assert measure(empty, rows, weight).shares().shape == (0,)


def test_pairs_of_an_input_and_its_copy():
    model, rows, weight = sum_of_parts(7)
    rows.values[:, 1] = rows.values[:, 0]
    pure = purify(model, rows, weight)
    assert np.abs(pure.decision(rows) - model.decision(rows)).max() < 1e-9
    assert worst_correlation(pure, rows, weight) < 0.1


def test_compact_is_the_same_function_in_as_few_parts_as_before():
    model, rows, weight = sum_of_parts(8, 2)
    short = compact(purify(model, rows, weight))
    assert len(short.parts) <= len(model.parts) + 1
    np.testing.assert_allclose(short.decision(rows), model.decision(rows), atol=1e-10)
    np.testing.assert_allclose(draws_at(short, rows), draws_at(model, rows), atol=1e-9)


def test_constant_is_one_everywhere():
    for x in (np.arange(4.0), np.array([0.0, np.nan, 1e12, -3.0])):
        assert (Constant().at(x) == np.ones((4, 1))).all()


# -- shares


def test_shares_add_up_to_one():
    for outputs in (1, 3):
        model, rows, weight = sum_of_parts(9, outputs)
        measured = measure(purify(model, rows, weight), rows, weight)
        np.testing.assert_allclose(measured.share.sum(0), 1, atol=1e-12)
        assert measured.shares().sum() == pytest.approx(1, abs=1e-12)
        f = model.decision(rows)
        mean = np.average(f, axis=0, weights=weight)
        variance = np.average((f - mean) ** 2, axis=0, weights=weight)
        np.testing.assert_allclose(measured.total, variance)


def test_shares_are_sobol_indices_where_inputs_are_independent():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (3000, 3))
    y = 2 * x[:, 0] + 3 * x[:, 1] ** 2 + 3 * x[:, 0] * x[:, 1]
    model = explained(RANRegressor(link="identity"), x, y + 0.05 * rng.normal(size=3000))
    parts = np.array([4 / 3, 9 * 4 / 45, 9 / 9])  # variances of 2a, 3b^2, 3ab on [-1, 1]
    truth = dict(zip(["x0", "x1", "x0 x x1"], parts / parts.sum(), strict=True))
    table = model.explain_global().set_index("effect")["share"]
    assert table.sum() == pytest.approx(1, abs=1e-12)
    for name, share in truth.items():
        # The standard error of a covariance's share over n rows is about 1/sqrt(n).
        assert table[name] == pytest.approx(share, abs=2 / np.sqrt(3000))
    assert table.drop(list(truth)).abs().max() < 1e-3
    assert list(model.effects_)[:3] == sorted(truth, key=lambda name: -truth[name])


# -- bands


def test_bands_cover_a_known_function():
    """Share of points of two curves inside their 95 % bands, on average over eight tables."""
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-2, 2, (300, 2))
        true = [lambda u: np.sin(2 * u), lambda u: 1 / (1 + 2 * u**2)]
        y = true[0](x[:, 0]) + true[1](x[:, 1]) + 0.3 * rng.normal(size=300)
        model = explained(RANRegressor(link="identity", pairs=0), x, y)
        for k, function in enumerate(true):
            table = model.effects_[f"x{k}"].curve(60)
            truth = function(table["value"]) - function(x[:, k]).mean()
            inside.append(((table["lower"] <= truth) & (truth <= table["upper"])).mean())
    assert 0.8 <= np.mean(inside) <= 0.995


# -- tables of explanations


def people(count=500, seed=0):
    """Return a table with gaps and categories, and an income."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.uniform(18, 80, count).round(1),
        "city": rng.choice(["Rome", "Oslo", "Lima"], count, p=[0.5, 0.3, 0.2]),
        "rooms": rng.integers(1, 6, count),
    }, index=np.arange(count) + 100)  # fmt: skip
    income = (
        np.exp(-(((frame["age"] - 50) / 15) ** 2)) + 0.3 * frame["rooms"]
        + frame["city"].map({"Rome": 0.0, "Oslo": 1.0, "Lima": -1.0})
        + (frame["city"] == "Oslo") * (frame["age"] > 40) + 0.1 * rng.normal(size=count)
    ).rename("income")  # fmt: skip
    frame.loc[frame.index[::6], "age"] = np.nan
    frame.loc[frame.index[::9], "city"] = None
    return frame, income


@pytest.fixture(scope="module")
def regressor():
    frame, income = people()
    model = explained(RANRegressor(link="identity", refinements=0), frame, income)
    model.target_name_ = "income"
    return model


@pytest.fixture(scope="module")
def multiclass():
    frame, income = people()
    kind = np.array(["low", "mid", "high"])[np.digitize(income, [0.7, 1.6])]
    return explained(RANClassifier(refinements=0, pairs=4), frame, kind)


def test_local_terms_add_up(regressor):
    frame = people(40, seed=5)[0]
    frame.iloc[0, 1] = "Paris"  # not seen
    table = regressor.explain_local(frame)
    assert list(table.index) == list(frame.index)
    assert list(table.columns) == ["intercept", *regressor.effects_, "prediction"]
    f = regressor.predict_link(frame)
    np.testing.assert_allclose(table.drop(columns="prediction").sum(axis=1), f, atol=1e-10, rtol=0)
    np.testing.assert_allclose(table["prediction"], f, atol=1e-10, rtol=0)
    assert "f" in regressor.explain_local(frame, total="f")
    with pytest.raises(ValueError, match="total='age'"):
        regressor.explain_local(frame, total="age")
    with pytest.raises(ValueError, match="output='x'"):
        regressor.explain_local(frame, output="x")


def test_effects_have_names_shares_and_curves(regressor):
    effects = regressor.effects_
    shares = [effect.share for effect in effects.values()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert effects["city"].kind == "main"
    assert effects["age x city"].inputs == ("age", "city")
    assert effects["city x age"] is not None  # in whatever order
    curve = effects["age"].curve(50)
    assert list(curve.columns) == ["value", "effect", "lower", "upper", "shared"]
    assert curve["value"].isna().tolist() == [False] * (len(curve) - 1) + [True]
    assert (curve["lower"] < curve["upper"]).all()
    levels = effects["city"].curve()
    assert set(levels["level"]) == {"Rome", "Oslo", "Lima", MISSING}
    by_level = levels.set_index("level")["effect"]
    assert by_level["Lima"] < by_level["Rome"] < by_level["Oslo"]
    assert effects["rooms"].curve()["value"].tolist() == [1, 2, 3, 4, 5]
    grid = effects["age x city"].grid(10)
    assert grid.pivot(index="age", columns="city", values="effect").shape == (10, 4)
    with pytest.raises(ValueError, match=r"use grid\(\)"):
        effects["age x city"].curve()
    with pytest.raises(ValueError, match=r"use curve\(\)"):
        effects["age"].grid()
    with pytest.raises(KeyError, match="did you mean 'age'"):
        effects["agee"]


@pytest.mark.filterwarnings("ignore:Series.dt.weekday is deprecated")
def test_curves_of_dates_have_dates():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D")
    y = np.where(days > "2021-06-01", 5.0, 0.0) + 0.1 * rng.normal(size=300)
    model = explained(RANRegressor(refinements=0, pairs=0), pd.DataFrame({"since": days}), y)
    curve = model.effects_["since"].curve(20)
    assert curve["value"].min() >= days.min()
    assert curve["effect"].iloc[-1] > curve["effect"].iloc[0] + 3
    model.plot_anova().canvas.draw()


def test_global_table(regressor, multiclass):
    table = regressor.explain_global()
    assert list(table.columns) == ["effect", "kind", "inputs", "share", "std", "covariance"]
    rows = regressor._rows(people()[0])
    for name, std in zip(table["effect"], table["std"], strict=True):
        assert regressor.effects_[name].at(rows.values).std() == pytest.approx(
            std, rel=1e-6, abs=1e-12
        )
    table = multiclass.explain_global()
    assert list(table.columns) == [
        "effect",
        "kind",
        "inputs",
        "class",
        "share",
        "std",
        "covariance",
    ]
    np.testing.assert_allclose(table.groupby("class")["share"].sum(), 1)


def test_many_classes(multiclass):
    frame = people(30, seed=6)[0]
    table = multiclass.explain_local(frame)
    assert table.columns.names == ["class", "effect"]
    f = multiclass.decision_function(frame)
    for k, name in enumerate(multiclass.classes_):
        terms = table[name].drop(columns="prediction").sum(axis=1)
        np.testing.assert_allclose(terms, f[:, k], atol=1e-10, rtol=0)
        one = multiclass.explain_local(frame, output=name)
        pd.testing.assert_frame_equal(one, table[name], check_names=False)
    curve = multiclass.effects_["age"].curve(20)
    assert set(curve["class"]) == {"low", "mid", "high"}
    assert worst_correlation(multiclass.model_, multiclass._rows(people()[0]), np.ones(500)) < 1e-8
    with pytest.raises(ValueError, match="output='none'"):
        multiclass.plot_anova(output="none")


def test_weights_count_in_shares():
    frame, income = people(300)
    weight = np.where(np.arange(300) < 150, 2.0, 0.0)
    model = explained(RANRegressor(refinements=0, link="identity"), frame, income, weight)
    half = model._rows(frame.iloc[:150])
    for effect in model.effects_.values():
        assert abs(effect.at(half.values).mean()) < 1e-10
    assert sum(effect.share for effect in model.effects_.values()) == pytest.approx(1)


def test_inputs_may_have_the_names_of_columns_of_explanations():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["intercept", "prediction", "effect"])
    y = frame["intercept"] * frame["effect"] + frame["prediction"]
    model = explained(RANRegressor(refinements=0), frame, y)
    table = model.explain_local(frame)
    assert table.columns.is_unique
    np.testing.assert_allclose(table["prediction"], model.predict_link(frame), atol=1e-10)
    assert model.effects_["intercept x effect"].grid(5).columns.is_unique


def test_effects_survive_pickling(regressor):
    again = pickle.loads(pickle.dumps(regressor.effects_))
    assert list(again) == list(regressor.effects_)
    pd.testing.assert_frame_equal(again["age"].curve(), regressor.effects_["age"].curve())
    model = pickle.loads(pickle.dumps(regressor))
    pd.testing.assert_frame_equal(model.explain_global(), regressor.explain_global())
    assert "share=" in repr(again)


def test_a_model_of_a_constant_has_no_effects():
    x = np.random.default_rng(0).normal(size=(50, 2))
    model = explained(RANRegressor(), x, np.full(50, 3.0))
    assert model.explain_local(x)["prediction"].to_numpy() == pytest.approx(3.0)
    assert abs(model.explain_global()["share"].sum()) <= 1 + 1e-9


# -- pictures


def labels_of(figure):
    return [text for axis in figure.axes for text in (axis.get_xlabel(), axis.get_ylabel()) if text]


def texts_of(figure):
    ticks = [
        t.get_text() for a in figure.axes for t in (*a.get_xticklabels(), *a.get_yticklabels())
    ]
    return ticks + [text.get_text() for axis in figure.axes for text in axis.texts]


def test_pictures_of_a_regressor(regressor):
    frame = people()[0]
    main = regressor.plot_anova(mode="main")
    assert {"effect on income", "age", "city", "rooms"} <= set(labels_of(main))
    main.canvas.draw()
    assert any(text.startswith("Rome (") for text in texts_of(main))
    assert "missing" in texts_of(main)
    pair = regressor.plot_anova(mode="interaction", effects=["age x city"])
    pair.canvas.draw()
    assert {"age", "city", "effect on income"} <= set(labels_of(pair))
    assert "Oslo" in texts_of(pair)
    shares = regressor.plot_anova(mode="importance", top=2)
    assert "share of the variance of income" in labels_of(shares)
    assert any("more effects" in text for text in texts_of(shares))
    local = regressor.plot_anova(frame.iloc[[0]], "local", top=3)
    assert "income" in labels_of(local)
    assert "age = missing" in texts_of(local) or any("more effects" in t for t in texts_of(local))
    for figure in (main, pair, shares, local):
        figure.canvas.draw()


def test_pictures_of_classes(multiclass):
    frame = people()[0]
    main = multiclass.plot_anova()
    assert [t.get_text() for t in main.legends[0].texts] == list(multiclass.classes_)
    assert "effect on softmax score of low" in labels_of(multiclass.plot_anova(output="low"))
    assert "softmax score of low" in labels_of(
        multiclass.plot_anova(frame.iloc[[3]], "local", output="low")
    )
    assert "share of the variance of all softmax scores" in labels_of(
        multiclass.plot_anova(mode="importance")
    )
    if any(effect.kind == "pair" for effect in multiclass.effects_.values()):
        multiclass.plot_anova(mode="interaction").canvas.draw()
    main.canvas.draw()


def test_two_classes_have_log_odds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=300) > 0, "yes", "no")
    model = explained(RANClassifier(refinements=0, pairs=0), x, y)
    assert "effect on log odds of yes" in labels_of(model.plot_anova())
    np.testing.assert_allclose(
        model.explain_local(x, output="yes")["prediction"], model.decision_function(x), atol=1e-10
    )
    with pytest.raises(ValueError, match="use mode='main'"):
        model.plot_anova(mode="interaction")
    with pytest.raises(ValueError, match="did you mean 'local'"):
        model.plot_anova(mode="locale")
    with pytest.raises(ValueError, match="draws one row, got 300 rows"):
        model.plot_anova(x, "local")
    with pytest.raises(ValueError, match="output='no'"):
        model.plot_anova(output="no")
