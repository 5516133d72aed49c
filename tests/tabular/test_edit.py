"""Edits of fitted models: what changes, what stays, and what is refused."""

import copy
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import PchipInterpolator
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rational_anova import RANClassifier, RANRegressor
from rational_anova.tabular.edit._curve import own_parts
from rational_anova.tabular.model._terms import Rows

N = 800


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, N),
            "income": rng.lognormal(0, 0.7, N),
            "city": rng.choice(["a", "b", "c"], N),
        }
    )
    X.loc[rng.uniform(size=N) < 0.1, "income"] = np.nan
    f = 0.05 * (X.age - 50) + np.sqrt(X.income.fillna(2)) * (X.age > 50) + (X.city == "a")
    return X, f + 0.2 * rng.normal(size=N)


@pytest.fixture(scope="module")
def model(table):
    return RANRegressor(link="identity").fit(*table)


@pytest.fixture(scope="module")
def additive(table):
    return RANRegressor(link="identity", pairs=0).fit(*table)


def effect(model, name, x):
    names = [f.name for f in model.features_]
    i = names.index(name)
    rows = np.zeros((len(x), len(names)))
    rows[:, i] = x
    parts = model.model_.effect((i,))
    return sum((p.at(Rows(rows)) for p in parts), np.zeros((len(x), model.model_.outputs)))


def effect_names(model):
    names = [f.name for f in model.features_]
    return [" x ".join(names[i] for i in axes) for axes in model.model_.axes]


# -- drop


def test_drop_takes_one_effect_and_leaves_the_original(model, table):
    X, _ = table
    before, parts = model.predict_link(X), list(model.model_.parts)
    new = model.drop_term("age x income")
    assert effect_names(new) == [n for n in effect_names(model) if n != "age x income"]
    rows = model._rows(X)
    gone = sum(p.at(rows)[:, 0] for p in model.model_.effect((0, 1)))
    np.testing.assert_allclose(new.predict_link(X), before - gone, atol=1e-10)
    np.testing.assert_array_equal(model.predict_link(X), before)
    assert model.model_.parts == parts
    assert not getattr(model, "edits_", [])
    assert new.edits_ == [{"edit": "drop_term", "term": "age x income", "refit": False}]


def test_names_in_either_order_and_as_tuples(model):
    for term in ("income x age", ("age", "income"), (1, 0), ("income", 0)):
        assert "age x income" not in effect_names(model.drop_term(term))
    assert "city" not in effect_names(model.drop_term("city"))


def test_refit_makes_up_for_what_is_gone(model, table):
    X, y = table
    dropped, solved = model.drop_term("age x income"), model.drop_term("age x income", refit=table)
    assert "age x income" not in effect_names(solved)
    assert solved.score(X, y) >= dropped.score(X, y)
    assert solved.score(X, y) < model.score(X, y)
    np.testing.assert_allclose(np.mean(solved.predict(X)), np.mean(y), atol=1e-2)
    assert solved.edits_[-1]["refit"]
    assert solved.model_.history[-1][0] == "solved again"


def test_refit_without_an_edit_in_effect_changes_little(additive, table):
    X, y = table
    same = additive.forbid_pair("age", "city", refit=table)
    assert np.abs(same.predict(X) - additive.predict(X)).mean() < 0.1 * np.std(y)
    assert same.score(X, y) == pytest.approx(additive.score(X, y), abs=0.01)


def test_a_dropped_main_effect_does_not_come_back_through_pairs(model, table):
    new = model.drop_term("age", refit=table)
    assert "age" not in effect_names(new)
    assert "age x income" in effect_names(new)
    # What is left of age has no curve of its own.
    rows = model._rows(table[0])
    pair = sum(p.at(rows)[:, 0] for p in new.model_.effect((0, 1)))
    cuts = pd.cut(table[0].age, 6, labels=False)
    assert pd.Series(pair).groupby(cuts).mean().abs().max() < 0.15 * pair.std() + 0.05


def test_all_effects_may_go(additive, table):
    X, y = table
    model = additive
    for name in effect_names(additive):
        model = model.drop_term(name, refit=table)
    assert effect_names(model) == []
    np.testing.assert_allclose(model.predict(X), np.full(N, y.mean()), rtol=1e-6)


def test_links_are_kept(table):
    X, y = table
    positive = np.exp(y / 3)
    model = RANRegressor(link="log", pairs=0).fit(X, positive)
    new = model.drop_term("city", refit=(X, positive))
    assert new.link_.name == "log"
    assert new.score(X, positive) > 0.4
    assert np.average(new.predict(X)) == pytest.approx(positive.mean(), rel=0.05)


def test_weights_of_a_refit(additive, table):
    X, y = table
    weight = np.where(X.city == "a", 0.0, 1.0)
    new = additive.drop_term("city", refit=(X, y, weight))
    there = weight > 0
    assert np.mean(new.predict(X)[there]) == pytest.approx(y[there].mean(), abs=1e-2)


# -- fix


def test_a_curve_goes_through_its_points(model):
    points = {20: -1.0, 40: 0.5, 50: 0.6, 60: 2.0, 80: 2.0}
    new = model.fix_term("age", points)
    inner = [40, 50, 60]
    np.testing.assert_allclose(
        effect(new, "age", inner)[:, 0], [points[x] for x in inner], atol=1e-9
    )
    edit = new.edits_[-1]
    assert edit["term"] == "age"
    assert 0 <= edit["error"] < 0.05
    x = np.linspace(25, 75, 1001)
    goal = PchipInterpolator(list(points), list(points.values()))(x)
    # It is measured elsewhere, at 100 places between any two points.
    assert np.abs(effect(new, "age", x)[:, 0] - goal).max() < 1.01 * edit["error"]


@pytest.mark.parametrize("count", [2, 3, 10, 50, 150])
def test_smooth_curves_are_met_closely(model, count):
    x = np.linspace(20, 80, count)
    new = model.fix_term("age", pd.Series(np.sin(x / 10), index=x))
    assert new.edits_[-1]["error"] < 0.02
    inside = x[1:-1]
    np.testing.assert_allclose(effect(new, "age", inside)[:, 0], np.sin(inside / 10), atol=1e-7)


def test_beyond_the_points_nothing_changes(model, table):
    new = model.fix_term("age", {40: 1.0, 60: 2.0})
    ends = effect(new, "age", np.array([21.0, 30.0, 39.0, 61.0, 70.0, 79.0]))[:, 0]
    np.testing.assert_allclose(ends, [1, 1, 1, 2, 2, 2], atol=new.edits_[-1]["error"])
    low, high = new.predict(table[0].assign(age=-1e6)), new.predict(table[0].assign(age=1e6))
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()


def test_gaps(model):
    given = model.fix_term("income", {0.1: 0.0, 2: 1.0, 9: 2.0, np.nan: -3.0})
    assert effect(given, "income", np.array([np.nan]))[0, 0] == -3
    left = model.fix_term("income", {0.1: 0.0, 2: 1.0, 9: 2.0})
    assert effect(left, "income", np.array([np.nan]))[0, 0] == 0


def test_levels(model, table):
    new = model.fix_term("city", {"a": 1.0, "b": -1.0, "c": 0.25})
    levels = model.features_[2].levels
    np.testing.assert_array_equal(
        effect(new, "city", np.arange(3.0))[:, 0],
        [{"a": 1.0, "b": -1.0, "c": 0.25}[level] for level in levels],
    )
    assert np.isfinite(new.predict(table[0].assign(city="new"))).all()


def test_tables_as_explanations_give_them(model):
    frame = pd.DataFrame({"value": [20.0, 50.0, 80.0], "effect": [0.0, 1.0, 3.0], "lower": 0.0})
    new = model.fix_term("age", frame)
    assert effect(new, "age", np.array([50.0]))[0, 0] == pytest.approx(1.0)
    frame = pd.DataFrame({"level": ["a", "b", "c"], "effect": [0.0, 1.0, 2.0]})
    assert effect(model.fix_term("city", frame), "city", np.arange(3.0)).sum() == 3


def test_others_are_solved_around_what_is_fixed(additive, table):
    X, y = table
    age = np.linspace(20, 80, 7)
    points = dict(zip(age, 0.1 * (age - 50), strict=True))
    alone, around = additive.fix_term("age", points), additive.fix_term("age", points, refit=table)
    assert around.score(X, y) >= alone.score(X, y)
    np.testing.assert_allclose(effect(around, "age", age[1:-1]), effect(alone, "age", age[1:-1]))
    later = around.drop_term("city", refit=table)
    np.testing.assert_allclose(effect(later, "age", age[1:-1]), effect(alone, "age", age[1:-1]))
    assert [e["edit"] for e in later.edits_] == ["fix_term", "drop_term"]


def test_pairs_do_not_undo_what_is_fixed(model, table):
    new = model.fix_term("age", {20: 0.0, 80: 0.0}, refit=table)
    assert np.abs(effect(new, "age", np.linspace(20, 80, 50))).max() < 1e-9
    rows = model._rows(table[0])
    total = sum(p.at(rows)[:, 0] for p in new.model_.parts if 0 in p.term.axes)
    # Over all rows of an age, nothing is left of it.
    by_age = pd.Series(total).groupby(pd.cut(table[0].age, 6, labels=False)).mean()
    assert by_age.abs().max() < 0.3 * table[1].std()


def test_the_truth_as_a_fixed_term_costs_nothing(additive, table):
    X, _ = table
    ages = np.linspace(20, 80, 40)
    new = additive.fix_term(
        "age", dict(zip(ages, effect(additive, "age", ages)[:, 0], strict=True))
    )
    np.testing.assert_allclose(new.predict(X), additive.predict(X), atol=0.1)


def test_a_monotone_effect_stays_proved(table):
    X, y = table
    model = RANRegressor(link="identity", pairs=0, monotone={"age": 1}).fit(X, y)
    new = model.fix_term("age", {20: 0.0, 40: 0.0, 41: 2.0, 60: 2.0, 80: 2.0}, refit=table)
    assert new.monotone_["age"]
    assert new.prove_monotone("age", 1)
    # A stair between flat pieces costs heads without dips.
    assert effect(new, "age", np.array([30.0, 50.0]))[:, 0] == pytest.approx([0, 2], abs=0.05)
    with pytest.raises(ValueError, match="must not fall .* from 40 to 60"):
        model.fix_term("age", {20: 0.0, 40: 1.0, 60: 0.5})
    solved = model.drop_term("city", refit=table)
    assert solved.monotone_["age"]


# -- classes


def test_two_classes(table):
    X, y = table
    label = np.where(y > y.median(), "high", "low")
    model = RANClassifier(pairs=0).fit(X, label)
    points = {20: 3.0, 50: 0.0, 80: -3.0}
    alone, around = model.fix_term("age", points), model.fix_term("age", points, refit=(X, label))
    assert effect(around, "age", np.array([50.0]))[0, 0] == pytest.approx(0, abs=1e-9)
    assert around.score(X, label) > alone.score(X, label) - 0.02
    assert around.score(X, label) > 0.75
    rate = around.predict_proba(X)[:, 1].mean()
    assert rate == pytest.approx(np.mean(label == "low"), abs=0.02)
    dropped = model.drop_term("city", refit=(X, label))
    assert dropped.score(X, label) > 0.7
    with pytest.raises(ValueError, match="the class 'other'"):
        model.drop_term("city", refit=(X, np.where(y > 0, "other", "low")))
    with pytest.raises(ValueError, match="no rows of the class 'low'"):
        model.drop_term("city", refit=(X, np.full(N, "high")))


def test_several_classes(table):
    X, y = table
    label = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = RANClassifier(pairs=0, refinements=0).fit(X, label)
    points = {20: (2, 0, -2), 50: (0, 1, 0), 80: (-2, 0, 2)}
    new = model.fix_term("age", points, refit=(X, label))
    np.testing.assert_allclose(effect(new, "age", np.array([50.0]))[0], [0, 1, 0], atol=1e-9)
    assert new.score(X, label) > 0.6
    with pytest.raises(ValueError, match="1 numbers for a value, and the model 3 outputs"):
        model.fix_term("age", {20: 0.0, 80: 1.0})
    with pytest.raises(ValueError, match="3 classes"):
        model.prove_monotone("age", 1)


# -- forbid


def test_a_forbidden_pair_stays_away(model, table):
    new = model.forbid_pair("income", "age", refit=table)
    assert "age x income" not in effect_names(new)
    assert new.forbid == (("age", "income"),)
    assert model.forbid == ()
    assert "age x income" not in effect_names(clone(new).fit(*table))
    assert new.edits_[-1]["edit"] == "forbid_pair"
    assert new.forbid_pair("age", "city").forbid == (("age", "income"), ("age", "city"))


# -- proofs


def test_prove_monotone(additive, model):
    proof = additive.prove_monotone("age", 1)
    assert proof.input == "age"
    assert proof.verdict in ("proved", "refuted")
    against = additive.prove_monotone("age", -1)
    assert against.verdict == "refuted"
    assert proof.low <= against.witness <= proof.high
    step = np.array([against.witness - 1e-4, against.witness + 1e-4])
    assert np.diff(effect(additive, "age", step)[:, 0])[0] > 0
    assert model.prove_monotone("age", 1).verdict == "not decided"
    with pytest.raises(ValueError, match="'city' is a category"):
        additive.prove_monotone("city", 1)
    with pytest.raises(ValueError, match="got 0"):
        additive.prove_monotone("age", 0)


# -- what is refused


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda m: m.drop_term("height"),
            "no effect 'height'; there are \\['age', 'income', 'city'",
        ),
        (lambda m: m.drop_term(("age", "height")), "'height', which is no input"),
        (lambda m: m.fix_term("height", {1: 1, 2: 2}), "'height', which is no input"),
        (lambda m: m.fix_term("age", [1, 2]), "must be a dict, a Series or a DataFrame"),
        (lambda m: m.fix_term("age", {1: 1.0}), "takes 2 to 400 points, got 1"),
        (lambda m: m.fix_term("age", {}), "got 0"),
        (lambda m: m.fix_term("age", {1: 1.0, 2: np.nan}), "at 2 is not a finite number"),
        (lambda m: m.fix_term("age", pd.Series([1.0, 2, 3], index=[1, 1, 2])), "the value 1 twice"),
        (lambda m: m.fix_term("age", {"old": 1.0, 2: 1.0}), "'old'"),
        (lambda m: m.fix_term("city", {"a": 1.0, "b": 0.0}), "lacks the levels \\['c'\\]"),
        (lambda m: m.fix_term("city", {"a": 1, "b": 0, "c": 0, "d": 0}), "'d' is no level"),
        (lambda m: m.forbid_pair("age", "age"), "'age' twice"),
        (lambda m: m.forbid_pair("age", "height"), "'height', which is no input"),
        (lambda m: m.drop_term("age", refit=[1, 2]), "takes \\(X, y\\)"),
    ],
)
def test_refusals(model, edit, message):
    with pytest.raises(ValueError, match=message):
        edit(model)


def test_a_bad_refit_is_told(additive, table):
    X, y = table
    with pytest.raises(ValueError, match="NaN or infinite"):
        additive.drop_term("age", refit=(X, y.where(y.index > 0)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        additive.drop_term("age", refit=(X, y[:-1]))


def test_unfitted_and_deep(model):
    with pytest.raises(NotFittedError):
        RANRegressor().drop_term("age")
    deep = copy.copy(model)
    deep.deep_ = SimpleNamespace(weight_=0.5)
    with pytest.raises(ValueError, match="deep model cannot be edited"):
        deep.drop_term("age")


def test_measures_follow_edits(model, table):
    new = model.drop_term("city", refit=table)  # a refit measures
    assert new.measured_.share.sum() == pytest.approx(1)
    less = new.drop_term("age x income")
    assert set(less.measured_.axes) == set(less.model_.axes)
    assert less.measured_.share.sum() == pytest.approx(1)
    more = less.fix_term("city", {"a": 1.0, "b": 0.0, "c": 0.0})
    assert set(more.measured_.axes) == set(more.model_.axes)
    assert more.measured_.share.sum() == pytest.approx(1)
    at = more.measured_.axes.index((2,))
    assert more.measured_.std[at, 0] == pytest.approx(np.std(table[0].city == "a"), rel=1e-6)


def test_edits_are_saved(model, table, tmp_path):
    new = model.fix_term("age", {20: 0.0, 80: 1.0}).drop_term("city")
    new.save(tmp_path / "model.ran")
    back = RANRegressor.load(tmp_path / "model.ran")
    assert back.edits_ == new.edits_
    np.testing.assert_allclose(back.predict(table[0]), new.predict(table[0]))


def test_dates_as_keys():
    from rational_anova.tabular.model._columns import Feature

    day = Feature("when", 0, "date", "day", clip=(18262.0, 18300.0))
    points = {pd.Timestamp("2020-01-01"): 0.0, pd.Timestamp("2020-02-01"): 1.0}
    parts, error = own_parts(day, 0, points, (), 10)
    rows = Rows(np.array([[18262.0], [18262.0 + 31]]))
    np.testing.assert_allclose(sum(p.at(rows)[:, 0] for p in parts), [0, 1], atol=1e-9)
    assert error < 0.02


def test_a_fitted_effect_is_made_to_rise_and_says_why():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 6, 150), "b": rng.uniform(0, 1, 150)})
    fitted = RANRegressor(pairs=0, time_limit=0).fit(X, np.sin(X["a"]) + X["a"] / 2 + X["b"])
    new = fitted.make_monotone("a", 1, reason="more is never less")
    assert new.monotone_["a"]
    assert new.monotone == {"a": 1}
    assert new.edits_[-1]["reason"] == "more is never less"
    assert (np.diff(new.effects_["a"].curve()["effect"]) > -1e-9).all()
    assert fitted.monotone is None
    with pytest.raises(ValueError, match=r"no input.*\['a', 'b'\]"):
        fitted.make_monotone("c", 1)
