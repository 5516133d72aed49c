"""The deep part of the estimators for tables: gains, harmlessness, saving, odd rows."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from rational_anova.tabular import RANClassifier, RANRegressor
from rational_anova.tabular._fitting import problem_of
from rational_anova.tabular.deep._ensemble import (
    Blend,
    Deep,
    choose,
    deepen,
    fit_deep,
    left_out,
    share,
    variance,
)
from rational_anova.tabular.fit import Logistic
from rational_anova.tabular.fit._recipe import Options
from rational_anova.tabular.model._columns import read
from rational_anova.tabular.model._terms import Rows

Array = np.ndarray
NETWORK = "rational_anova.tabular.deep._network"


def _fitted(estimator, X, y, loss, refit=None, seed=0, weight=None) -> tuple[Deep, Array, Rows]:
    """Return the deep part, the left-out decisions and the rows of a fitted estimator."""
    rows = read(estimator.model_.features, X)
    weight = np.ones(len(X)) if weight is None else weight
    offset = left_out(estimator.model_, rows, y, weight, loss)
    deep = fit_deep(estimator.model_.features, rows, y, weight, offset, loss, seed, refit)
    return deep, offset, rows


def _refit(kind, X, y, **options):
    def refit(keep: Array) -> Array:
        again = kind(**options).fit(X[keep], y[keep])
        return again.model_.decision(read(again.model_.features, X))

    return refit


def _numbers(rng, rows: int, columns: int = 4) -> pd.DataFrame:
    names = [f"x{k}" for k in range(columns)]
    return pd.DataFrame(rng.uniform(-1, 1, (rows, columns)), columns=names)


def _three_way(rng, rows: int) -> tuple[pd.DataFrame, Array]:
    X = _numbers(rng, rows)
    f = 3 * X.x0 * X.x1 * X.x2 + X.x3
    return X, (f + 0.05 * rng.normal(size=rows)).to_numpy()


@pytest.fixture(scope="module")
def three_way():
    rng = np.random.default_rng(0)
    X, y = _three_way(rng, 1200)
    shallow = RANRegressor(link="identity", refinements=0).fit(X, y)
    refit = _refit(RANRegressor, X, y, link="identity", refinements=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{NETWORK}.EPOCHS_RANGE", (8, 25))
        deep, offset, _ = _fitted(shallow, X, y[:, None], "squared", refit)
    return shallow, deep, offset, _three_way(rng, 600), (X, y)


def test_it_learns_what_pairs_cannot(three_way):
    shallow, deep, _, (X, y), _ = three_way
    rows = read(shallow.model_.features, X)
    f = shallow.model_.decision(rows)
    total = f + deep.decision(rows, f)
    before, after = (float(np.mean((y - g[:, 0]) ** 2)) for g in (f, total))
    assert deep.weight_ > 0.5
    assert after < 0.4 * before
    assert 0 < deep.share_ < 1
    assert deep.share_ == pytest.approx(share(f, total, np.ones(len(f))), abs=0.1)


def test_held_decisions_are_honest(three_way):
    _, deep, offset, _, (_, y) = three_way
    assert deep.held_.shape == offset.shape
    assert np.mean((y - deep.held_[:, 0]) ** 2) < np.mean((y - offset[:, 0]) ** 2)


def test_pickle_and_arrays(three_way):
    shallow, deep, _, (X, _), _ = three_way
    rows = read(shallow.model_.features, X)
    f = shallow.model_.decision(rows)
    expected = deep.decision(rows, f)
    before = torch.get_rng_state()
    arrays = deep.to_arrays()
    assert all(isinstance(a, np.ndarray) and a.dtype.kind in "fiub" for a in arrays.values())
    mixed_up = dict(sorted(arrays.items(), reverse=True))
    for again in (pickle.loads(pickle.dumps(deep)), Deep.from_arrays(mixed_up)):
        assert np.array_equal(again.decision(rows, f), expected)
        assert (again.weight_, again.share_) == (deep.weight_, deep.share_)
    assert torch.equal(before, torch.get_rng_state())


def test_additive_rows_are_left_in_peace(monkeypatch):
    monkeypatch.setattr(f"{NETWORK}.EPOCHS_RANGE", (8, 20))
    rng = np.random.default_rng(1)
    X, new = _numbers(rng, 500), _numbers(rng, 2000)

    def law(X: pd.DataFrame) -> Array:
        return (np.sin(2 * X.x0) + X.x1**2 - X.x2).to_numpy()

    y = law(X) + 0.3 * rng.normal(size=len(X))
    shallow = RANRegressor(link="identity", refinements=0).fit(X, y)
    refit = _refit(RANRegressor, X, y, link="identity", refinements=0)
    deep, _, _ = _fitted(shallow, X, y[:, None], "squared", refit)
    rows = read(shallow.model_.features, new)
    f = shallow.model_.decision(rows)
    total = f + deep.decision(rows, f)
    target = law(new) + 0.3 * rng.normal(size=len(new))
    before, after = (float(np.sqrt(np.mean((target - g[:, 0]) ** 2))) for g in (f, total))
    assert after < 1.02 * before


@pytest.fixture(scope="module")
def mixed():
    """A table with numbers, gaps, few and many levels, for two and for three classes."""
    rng = np.random.default_rng(2)
    n = 300
    X = _numbers(rng, n, 2)
    X.loc[rng.uniform(size=n) < 0.1, "x0"] = np.nan
    X["few"] = rng.choice(["a", "b", "c"], n)
    X["many"] = [f"level {k}" for k in rng.integers(0, 60, n)]
    X["constant"] = 1.0
    X["gone"] = np.nan
    score = X.x1 + (X.few == "a") + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, [0.0, 0.7])


@pytest.fixture
def short(monkeypatch):
    """Few epochs, for what does not depend on a good fit."""
    monkeypatch.setattr(f"{NETWORK}.EPOCHS_RANGE", (2, 3))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_gaps_and_unseen_levels(mixed, classes):
    X, codes = mixed
    codes = np.minimum(codes, classes - 1)
    model = RANClassifier(refinements=0).fit(X, codes)
    loss, y = ("softmax", np.eye(3)[codes]) if classes == 3 else ("logistic", codes[:, None] * 1.0)
    deep, offset, rows = _fitted(model, X, y, loss)
    deep = replace(deep, blend=Blend(0.5, 0.9)) if deep.networks else deep
    assert np.isfinite(offset).all()
    odd = X[:4].copy()
    odd.loc[0, ["x0", "x1"]] = np.nan
    odd.loc[1, ["few", "many"]] = ["never seen", None]
    odd.loc[2, "x1"] = 1e9
    rows = read(model.model_.features, odd)
    f = model.model_.decision(rows)
    correction = deep.decision(rows, f)
    assert correction.shape == (4, 1 if classes == 2 else 3)
    assert np.isfinite(correction).all()


@pytest.mark.usefixtures("short")
def test_a_seed_gives_the_same_model_and_leaves_torch_alone(mixed):
    X, codes = mixed
    y = (codes > 0)[:, None] * 1.0
    model = RANClassifier(refinements=0).fit(X, codes > 0).model_
    problem = problem_of(model.features, X, y, np.ones(len(X)), Logistic(), 5)
    rows = read(model.features, X)
    f = model.decision(rows)
    found, stages = [], []
    options = Options(pairs=0, refinements=0, report=stages.append)
    for noise in (1, 2):
        torch.manual_seed(noise)
        state = torch.get_rng_state()
        deep = deepen(model, problem, [(1.0, options)], 5)
        assert torch.equal(state, torch.get_rng_state())
        found.append(replace(deep, blend=Blend(0.5, 1.0)).decision(rows, f))
    assert np.array_equal(*found)
    assert stages[0] == "network 1 of 6"


def test_few_rows_and_constant_targets_have_no_deep_part():
    rng = np.random.default_rng(3)
    X = _numbers(rng, 150, 2)
    for count, y in ((30, rng.normal(size=150)), (150, np.ones(150))):
        model = RANRegressor(refinements=0).fit(X[:count], y[:count])
        deep, _, rows = _fitted(model, X[:count], y[:count, None], "squared")
        f = model.model_.decision(rows)
        assert deep.weight_ == 0
        assert deep.share_ == 1
        assert not deep.decision(rows, f).any()
        again = Deep.from_arrays(deep.to_arrays())
        assert not again.decision(rows, f).any()


def test_left_out_decisions_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(4)
    X = _numbers(rng, 39, 1)  # so few that all refits have a model of the same size
    y = (X.x0**2).to_numpy() + 0.2 * rng.normal(size=39)
    model = RANRegressor(link="identity", refinements=0).fit(X, y)
    rows = read(model.model_.features, X)
    inside = model.model_.decision(rows)[:, 0]
    near = left_out(model.model_, rows, y[:, None], np.ones(39), "squared")[:, 0]
    exact = np.empty(39)
    for k in range(39):
        keep = np.arange(39) != k
        again = RANRegressor(link="identity", refinements=0).fit(X[keep], y[keep])
        exact[k] = again.model_.decision(read(again.model_.features, X[k : k + 1]))[0, 0]
    assert np.corrcoef(near - inside, exact - inside)[0, 1] > 0.8


def test_share_of_what_can_be_read():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, 10_000, 1))
    ones = np.ones(len(a))
    assert share(a, 3 * a + 1, ones) == pytest.approx(1)
    assert share(a, a + b, ones) == pytest.approx(0.5, abs=0.02)
    assert share(0 * a, a, ones) == 0
    assert share(a, 0 * a, ones) == 1


def test_two_networks_tell_what_their_mean_gains():
    rng = np.random.default_rng(7)
    truth, ones = rng.normal(size=(20_000, 1)), np.ones(20_000)
    one, other = (truth + 0.3 * rng.normal(size=truth.shape) for _ in range(2))
    assert variance("squared", one, other, ones) == pytest.approx(0.09, rel=0.05)
    y = (truth > rng.logistic(size=truth.shape)).astype(float)
    gain = Logistic().mean(y, one, ones) - Logistic().mean(y, (one + other) / 2, ones)
    assert variance("logistic", one, other, ones) / 2 == pytest.approx(gain, rel=0.5)
    both = [np.concatenate([np.zeros_like(f), f], 1) for f in (one, other)]
    expected = variance("logistic", one, other, ones)
    assert variance("softmax", *both, ones) == pytest.approx(expected)


def test_the_mixture_follows_the_better_of_two():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(2000, 1))
    good, bad = truth + 0.1 * rng.normal(size=truth.shape), rng.normal(size=truth.shape)
    ones = np.ones(len(truth))
    y = truth + 0.1 * rng.normal(size=truth.shape)
    assert choose("squared", y, ones, bad, good).weight > 0.9
    assert choose("squared", y, ones, good, bad) == Blend(0.0, 1.0)
    classes = (3 * truth > rng.logistic(size=truth.shape)).astype(float)
    sure = choose("logistic", classes, ones, 0 * truth, 6 * truth)  # twice as sure as it may be
    assert sure.weight * sure.temper < 0.7


def test_what_would_leave_the_networks_out_is_refused():
    rng = np.random.default_rng(0)
    X = _numbers(rng, 300, 3)
    y = (X.x0 * X.x1 * X.x2).to_numpy()
    model = RANRegressor(depth="deep").fit(X, y)
    assert model.deep_.weight_ > 0
    for call in (
        model.to_python,
        model.to_sql,
        model.to_network,
        model.symbolic_formula,
        lambda: model.predict(X, return_std=True),
        lambda: model.prove_monotone("x0", 1),
        lambda: model.drop_term("x0"),
    ):
        with pytest.raises(ValueError, match="depth='shallow'"):
            call()
    table = model.explain_local(X)
    np.testing.assert_allclose(table["prediction"], model.predict_link(X), atol=1e-10)
    assert table["(networks)"].abs().max() > 0
