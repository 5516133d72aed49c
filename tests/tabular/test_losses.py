"""Losses of counts, amounts, shares, quantiles, ordered classes and waiting times."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import rational_anova as ra
from rational_anova import RANClassifier, RANOrdinal, RANRegressor, RANSurvival
from rational_anova.tabular.fit import (
    Binomial,
    Cox,
    Huber,
    NegativeBinomial,
    Offset,
    Ordinal,
    Quantiles,
    Tweedie,
    class_shares,
    likeliest,
    uncrossed,
)
from rational_anova.tabular.fit._families import _log_density

RNG = np.random.default_rng(0)
ROWS = 1200
X = RNG.uniform(-2, 2, (ROWS, 3))
F = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
YEARS = RNG.uniform(0.1, 2, ROWS)
COUNTS = RNG.poisson(np.exp(F) * YEARS)
AMOUNTS = RNG.gamma(3, np.exp(F) / 3)
WAIT = RNG.exponential(np.exp(-F))
END = RNG.exponential(2, ROWS)
GRADES = np.digitize(F + RNG.logistic(size=ROWS), [-1.5, 0, 1.5])
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])


def targets(loss):
    return {
        "poisson": COUNTS,
        "negative_binomial": RNG.poisson(np.exp(F) * RNG.gamma(2, 0.5, ROWS)),
        "gamma": AMOUNTS,
        "tweedie": AMOUNTS * (RNG.random(ROWS) < 0.7),
        "binomial": RNG.binomial(10, expit(F)) / 10,
        "huber": F + 0.2 * RNG.standard_t(1.5, ROWS),
        "quantile": F + 0.3 * RNG.normal(size=ROWS),
    }[loss]


NAMES = ("poisson", "negative_binomial", "gamma", "tweedie", "binomial", "huber", "quantile")


@pytest.fixture(scope="module")
def models():
    found = {}
    for name in NAMES:
        known = {"exposure": YEARS} if name == "poisson" else {}
        more = {"quantiles": (0.1, 0.5, 0.9)} if name == "quantile" else {}
        model = RANRegressor(loss=name, refinements=0, **more)
        found[name] = model.fit(TABLE, targets(name), **known)
    found["several"] = RANRegressor(refinements=0).fit(
        TABLE, pd.DataFrame({"first": F, "second": 100 * X[:, 0] ** 2})
    )
    found["ordinal"] = RANOrdinal().fit(TABLE, GRADES)
    found["cox"] = RANSurvival().fit(TABLE, np.minimum(WAIT, END), END > WAIT)
    return found


# -- the losses themselves


def of_loss(name):
    y, f = targets(name) if name in NAMES else COUNTS, 0.3 * F[:, None]
    y = np.asarray(y, float)[:, None]
    weight = RNG.uniform(0.5, 2, ROWS)
    if name == "quantile":
        spread = RNG.uniform(0.5, 2, ROWS)[:, None]
        loss = Quantiles((0.2, 0.7), 0.1, np.array([0.3, 0.4]))
        return loss, np.concatenate([y, spread], 1), np.repeat(f, 2, 1), weight
    if name == "ordinal":
        return Ordinal(4), np.stack([GRADES, weight], 1), f, weight
    if name == "cox":
        return Cox(), np.stack([np.round(WAIT, 1) + 0.1, END > WAIT, weight], 1), f, weight
    if name == "offset":
        return Offset(Tweedie(1.0)), np.stack([COUNTS, np.log(YEARS)], 1), f, weight
    loss = {
        "poisson": Tweedie(1.0), "gamma": Tweedie(2.0), "tweedie": Tweedie(1.6),
        "negative_binomial": NegativeBinomial(0.7), "binomial": Binomial(), "huber": Huber(0.8),
    }[name]  # fmt: skip
    return loss, y, f, weight


@pytest.mark.parametrize("name", [*NAMES, "ordinal", "cox", "offset"])
def test_working_response_is_the_slope_of_the_loss(name):
    loss, y, f, weight = of_loss(name)
    along = 0.1 * np.cos(3 * X[:, :1])
    for output in range(loss.outputs):
        step = np.zeros_like(f)
        step[:, output] = along[:, 0]
        e = 1e-4
        slope = (loss.mean(y, f + e * step, weight) - loss.mean(y, f - e * step, weight)) / (2 * e)
        r, h = loss.working(y, f, output)
        expected = -2 * np.average(h * r * along[:, 0], weights=weight)
        assert slope == pytest.approx(expected, rel=1e-4)
        assert (h > 0).all()


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_density_of_tweedie_adds_up_to_one(power):
    mean, phi = 2.0, 0.8
    y = np.linspace(1e-4, 60, 60_001)
    own = np.exp(_log_density(y, np.full(y.shape, mean), power, phi))
    zero = np.exp(-(mean ** (2 - power)) / (phi * (2 - power)))
    assert np.trapezoid(own, y) + zero == pytest.approx(1, abs=4e-3)
    assert np.trapezoid(y * own, y) == pytest.approx(mean, rel=4e-3)


def test_power_and_extra_variance_are_found():
    mean = np.exp(F)
    random = np.random.default_rng(1)
    amounts = np.array([random.gamma(1.5, 1, k).sum() for k in random.poisson(2 * mean)])
    found = Tweedie(1.5, free=True).tuned(
        amounts[:, None], np.log(3 * mean)[:, None], np.ones(ROWS)
    )
    assert found.power == pytest.approx(1.4, abs=0.1)  # (shape + 2)/(shape + 1)
    counts = random.poisson(mean * random.gamma(2, 0.5, ROWS))
    loss = NegativeBinomial().tuned(counts[:, None].astype(float), F[:, None], np.ones(ROWS))
    assert loss.extra == pytest.approx(0.5, abs=0.15)


def test_cox_agrees_with_statsmodels():
    ph = pytest.importorskip("statsmodels.duration.api").PHReg
    time, event = np.round(WAIT, 1) + 0.1, (END > WAIT).astype(float)
    loss = Cox()
    f = 0.7 * X[:, :1]
    y = np.stack([time, event, np.ones(ROWS)], 1)
    theirs = ph(time, X[:, :1], status=event, ties="breslow")
    ours = [-ROWS / 2 * loss.mean(y, g, np.ones(ROWS)) for g in (f, 0 * f)]
    assert ours[0] - ours[1] == pytest.approx(theirs.loglike([0.7]) - theirs.loglike([0.0]))


def test_likeliest_class_changes_at_the_borders():
    cuts = np.array([-1.0, -0.9, 2.0])
    *borders, (_, last) = likeliest(cuts)
    assert last == 3
    for end, k in borders:
        best = class_shares(np.array([end - 1e-6, end + 1e-6]), cuts).argmax(1)
        assert best[0] == k != best[1]
    assert [k for _, k in borders] == [0, 2]  # the second class is never the likeliest


def test_uncrossed_keeps_the_middle():
    found = uncrossed(np.array([[3.0, 1.0, 2.0, 1.5]]), (0.1, 0.5, 0.8, 0.9))
    assert found.tolist() == [[1.0, 1.0, 2.0, 2.0]]


# -- models


@pytest.mark.parametrize("name", NAMES)
def test_curves_are_those_of_the_truth(models, name):
    f = models[name].predict_link(TABLE)
    f = f[:, 1] if f.ndim == 2 else f
    assert np.corrcoef(f, F)[0, 1] > 0.9
    assert models[name].deviance_explained_ > 0.1


def test_exposure_is_a_factor_of_the_mean(models):
    model = models["poisson"]
    once = model.predict(TABLE)
    np.testing.assert_allclose(model.predict(TABLE, exposure=YEARS), once * YEARS)
    np.testing.assert_allclose(model.predict(TABLE, offset=np.log(YEARS)), once * YEARS)
    assert (COUNTS.sum() / (once * YEARS).sum()) == pytest.approx(1, rel=1e-3)
    assert model.score(TABLE, COUNTS, exposure=YEARS) == pytest.approx(
        model.deviance_explained_, abs=0.01
    )
    assert 0.8 < model.dispersion_ < 1.2


def test_units_of_the_target_do_not_matter():
    y = targets("tweedie")
    one = RANRegressor(loss="tweedie", power=1.5, refinements=0).fit(TABLE, y)
    other = RANRegressor(loss="tweedie", power=1.5, refinements=0).fit(TABLE, 1000 * y)
    np.testing.assert_allclose(other.predict(TABLE), 1000 * one.predict(TABLE), rtol=1e-6)


def test_offset_of_squared_errors_is_added():
    model = RANRegressor(refinements=0).fit(TABLE, F + 5 * X[:, 0], offset=5 * X[:, 0])
    found = model.predict(TABLE, offset=5 * X[:, 0])
    plain = RANRegressor(refinements=0, link="identity").fit(TABLE, F)
    np.testing.assert_allclose(model.predict(TABLE), plain.predict(TABLE), atol=1e-6)
    np.testing.assert_allclose(found - model.predict(TABLE), 5 * X[:, 0])


def test_quantiles_hold_their_shares_and_do_not_cross(models):
    random = np.random.default_rng(2)
    Z = random.uniform(-2, 2, (4000, 3))
    y = np.sin(2 * Z[:, 0]) + np.exp(0.5 * Z[:, 1]) * random.normal(size=4000)
    model = RANRegressor(loss="quantile", quantiles=(0.05, 0.5, 0.95), refinements=0)
    model.fit(Z[:2000], y[:2000])
    found = model.predict(Z[2000:])
    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_allclose((y[2000:, None] < found).mean(0), (0.05, 0.5, 0.95), atol=0.03)
    low, high = model.predict_interval(Z[2000:], level=0.9)
    np.testing.assert_array_equal(np.stack([low, high], 1), found[:, [0, 2]])
    with pytest.raises(ValueError, match=r"quantiles=\(0.025, 0.975\)"):
        model.predict_interval(Z[:5])


def test_huber_is_not_ruled_by_far_targets():
    y = F + 0.1 * RNG.normal(size=ROWS)
    y[::20] += 200
    huber = RANRegressor(loss="huber", refinements=0).fit(TABLE, y).predict(TABLE)
    squared = RANRegressor(refinements=0).fit(TABLE, y).predict(TABLE)
    assert np.abs(huber - F).mean() < 0.15 < np.abs(squared - F).mean()


@pytest.mark.parametrize("name", ["poisson", "negative_binomial", "gamma", "binomial"])
def test_intervals_hold_new_targets(models, name):
    y = targets(name)
    known = {"exposure": YEARS} if name == "poisson" else {}
    if name == "poisson":
        y = RNG.poisson(np.exp(F) * YEARS)
    low, high = models[name].predict_interval(TABLE, 0.9, **known)
    inside = np.mean((low <= y) & (y <= high))
    assert inside > 0.85  # counts have no interval of exactly 90 %
    both = (
        models[name].predict_interval(TABLE[:300], 0.9, (TABLE[300:], y[300:])) if not known else 0
    )
    if not known:
        assert np.mean((both[0] <= y[:300]) & (y[:300] <= both[1])) > 0.8


@pytest.mark.parametrize("name", ["tweedie", "huber"])
def test_intervals_by_calibration_alone(models, name):
    with pytest.raises(ValueError, match="calibration"):
        models[name].predict_interval(TABLE)
    y = targets(name)
    low, high = models[name].predict_interval(TABLE[:300], 0.9, (TABLE[300:], y[300:]))
    assert np.mean((low <= y[:300]) & (y[:300] <= high)) > 0.8
    assert name == "huber" or (low >= 0).all()


def test_several_targets(models):
    model = models["several"]
    mean, spread = model.predict(TABLE, return_std=True)
    assert mean.shape == spread.shape == (ROWS, 2)
    assert model.noise_.shape == (2,)
    assert model.score(TABLE, np.stack([F, 100 * X[:, 0] ** 2], 1)) > 0.98
    assert set(model.explain_global()["class"]) == {"first", "second"}
    assert model.predict_interval(TABLE)[0].shape == (ROWS, 2)
    assert "predicts first, second" in model.summary()


def test_ordered_classes(models):
    model = models["ordinal"]
    proba = model.predict_proba(TABLE)
    np.testing.assert_allclose(proba.sum(1), 1)
    assert np.corrcoef(model.predict_link(TABLE), F)[0, 1] > 0.9
    np.testing.assert_allclose(proba.mean(0), np.bincount(GRADES) / ROWS, atol=0.02)
    words = pd.Series(np.array(["bad", "poor", "fair", "good"])[GRADES])
    ranked = RANOrdinal(order=["bad", "poor", "fair", "good"]).fit(TABLE, words)
    np.testing.assert_allclose(ranked.predict_proba(TABLE), proba)
    kind = pd.CategoricalDtype(["bad", "poor", "fair", "good"], ordered=True)
    assert RANOrdinal().fit(TABLE, words.astype(kind)).classes_.tolist() == list(kind.categories)
    with pytest.warns(UserWarning, match="bad < fair < good < poor"):
        RANOrdinal(pairs=0).fit(TABLE, words)
    with pytest.raises(ValueError, match="lacks the class 'poor'"):
        RANOrdinal(order=["bad", "fair", "good"]).fit(TABLE, words)


def test_waiting_times(models):
    model = models["cox"]
    f, time, event = model.predict(TABLE), np.minimum(WAIT, END), END > WAIT
    assert np.corrcoef(f, F)[0, 1] > 0.95
    assert model.score(TABLE, time, event) > 0.7
    survival = model.predict_survival(TABLE, [0.5, 1.0])
    truth = np.exp(-np.exp(F)[:, None] * [0.5, 1.0])
    assert np.abs(survival - truth).mean() < 0.06
    assert (np.diff(model.predict_survival(TABLE[:5]), axis=1) <= 0).all()
    record = np.array(list(zip(event, time, strict=True)), dtype=[("e", bool), ("t", float)])
    for given in (record, np.stack([time, event], 1)):
        np.testing.assert_allclose(clone(model).fit(TABLE, given).predict(TABLE), f)
    assert cross_val_score(RANSurvival(pairs=2), TABLE, record, cv=3).mean() > 0.7


# -- monotone effects, files, exports


def test_effects_that_rise_are_proved():
    for model, y in (
        (RANRegressor(loss="poisson", monotone={"a": 1}), (COUNTS,)),
        (RANRegressor(loss="huber", monotone={"a": 1}), (F,)),
        (RANOrdinal(monotone={"a": 1}), (GRADES,)),
        (RANSurvival(monotone={"a": 1}), (WAIT,)),
    ):
        assert model.fit(TABLE, *y).monotone_["a"].verdict == "proved"


@pytest.mark.parametrize("name", [*NAMES, "several", "ordinal", "cox"])
def test_files_and_exports_are_the_model(models, name, tmp_path):
    model = models[name]
    some = TABLE[:60]
    ordered = name == "ordinal"
    given = model.predict_proba(some) if ordered else model.predict(some)
    model.save(tmp_path / "model.ran")
    again = ra.load(tmp_path / "model.ran")
    np.testing.assert_array_equal(
        again.predict_proba(some) if ordered else again.predict(some), given
    )
    assert model.summary() == again.summary()
    space = {}
    exec(model.to_python(), space)
    rows = [space["predict"](row) for row in some.to_dict("records")]
    rows = np.array([list(row.values()) if isinstance(row, dict) else row for row in rows])
    np.testing.assert_allclose(rows, given, rtol=1e-9, atol=1e-12)
    onnx = pytest.importorskip("onnxruntime")
    model.to_onnx(tmp_path / "model.onnx")
    session = onnx.InferenceSession(tmp_path / "model.onnx")
    found = session.run(None, model.onnx_inputs(some))[0]
    np.testing.assert_allclose(found.reshape(given.shape), given, rtol=1e-9, atol=1e-12)
    if ordered:
        wanted = {one: model.to_sql("sqlite", probability=one) for one in model.classes_.tolist()}
        assert (sql(some, [model.to_sql("sqlite")])[:, 0] == model.predict(some)).all()
    else:
        names = getattr(model, "output_names_", ()) or ("prediction",)
        wanted = {one: model.to_sql("sqlite", one) for one in names}
    np.testing.assert_allclose(
        sql(some, wanted.values()).reshape(given.shape), given, rtol=1e-9, atol=1e-12
    )


def sql(frame, expressions):
    base = sqlite3.connect(":memory:")
    try:
        base.execute("SELECT EXP(1), POWER(2, 3)")
    except sqlite3.OperationalError:  # built without them
        base.create_function("EXP", 1, np.exp)
        base.create_function("POWER", 2, lambda a, b: a**b)
    frame.to_sql("t", base, index=False)
    return np.array(base.execute(f"SELECT {', '.join(expressions)} FROM t").fetchall())


def test_an_input_alone_is_kept_out_of_all_pairs():
    model = RANRegressor(forbid=["b"], refinements=0).fit(TABLE, F)
    assert not any("b" in e.inputs for e in model.effects_.values() if e.kind == "pair")
    with pytest.raises(ValueError, match="forbid names 'd', which is no input"):
        RANRegressor(forbid=["d"]).fit(TABLE, F)


# -- what does not go


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"loss": "poisson"}, [1, 2, -3], "not negative, got -3 in row 2"),
        ({"loss": "negative_binomial"}, [1, -2.5, 3], "not negative, got -2.5 in row 1"),
        ({"loss": "gamma"}, [1, 0, 3], "positive, got 0 in row 1.*tweedie"),
        ({"loss": "tweedie", "power": 2}, [1, 0, 3], "positive, got 0 in row 1"),
        ({"loss": "binomial"}, [0, 1.5, 1], "shares from 0 to 1, got 1.5 in row 1"),
        ({"loss": "poisson"}, [0, 0, 0], "all targets are 0"),
        ({"loss": "poison"}, [1, 2, 3], "did you mean 'poisson'"),
        ({"loss": "tweedie", "power": 3}, [1, 2, 3], "from 1 .* to 2 .*got 3"),
        ({"power": 1.5}, [1, 2, 3], "power=1.5 is for loss='tweedie'"),
        ({"loss": "poisson", "link": "sqrt"}, [1, 2, 3], "has no link 'sqrt'"),
        ({"loss": "quantile", "quantiles": (0.5, 1.5)}, [1, 2, 3], "between 0 and 1"),
        ({"loss": "quantile", "quantiles": (0.5, 0.1)}, [1, 2, 3], "must rise"),
        ({"loss": "poisson", "depth": "deep"}, [1, 2, 3], "depth='deep' is for loss='squared'"),
        ({"loss": "huber"}, [[1, 2], [3, 4], [5, 6]], "2 columns takes loss='squared'"),
    ],
)
def test_what_a_loss_does_not_take(options, y, message):
    with pytest.raises(ValueError, match=message):
        RANRegressor(**options).fit([[0.0], [1.0], [2.0]], np.array(y))


def test_exposures_that_are_none(models):
    rows = [[0.0], [1.0], [2.0]]
    model = RANRegressor(loss="poisson")
    with pytest.raises(ValueError, match="exposure must be positive, got 0 in row 1"):
        model.fit(rows, [1, 2, 3], exposure=[1, 0, 1])
    with pytest.raises(ValueError, match="exposure has 2 numbers for 3 rows"):
        model.fit(rows, [1, 2, 3], exposure=[1, 1])
    with pytest.raises(ValueError, match="log link"):
        RANRegressor(link="identity").fit(rows, [1, 2, 3], exposure=[1, 1, 1])
    with pytest.raises(ValueError, match="refit solves models of one target"):
        models["poisson"].drop_term("b", refit=(TABLE, COUNTS))


@pytest.mark.parametrize(
    ("time", "event", "message"),
    [
        ([1, 0, 2], None, "positive, got 0 in row 1"),
        ([1, 2, 3], [0, 2, 1], "1 .seen. or 0 .not yet., got 2 in row 1"),
        ([1, 2, 3], [0, 0, 0], "no event was seen"),
        ([2, 2, 2], None, "all times are 2"),
        ([1, np.nan, 2], None, "finite, got nan in row 1"),
    ],
)
def test_times_that_are_none(time, event, message):
    with pytest.raises(ValueError, match=message):
        RANSurvival().fit([[0.0], [1.0], [2.0]], time, event)


# -- weights of classes, and the contract


def test_weights_of_classes():
    rare = F > 1.5
    even = RANClassifier(class_weight="balanced", refinements=0).fit(TABLE, rare)
    assert (
        even.predict_proba(TABLE)[:, 1].mean()
        > RANClassifier(refinements=0).fit(TABLE, rare).predict_proba(TABLE)[:, 1].mean()
    )
    by_hand = RANClassifier(class_weight={True: 3.0}, refinements=0).fit(TABLE, rare)
    weighted = RANClassifier(refinements=0).fit(TABLE, rare, np.where(rare, 3.0, 1.0))
    assert np.abs(by_hand.predict_proba(TABLE) - weighted.predict_proba(TABLE)).max() < 0.2
    with pytest.raises(ValueError, match="class_weight names 'x'"):
        RANClassifier(class_weight={"x": 1.0}).fit(TABLE, rare)


@parametrize_with_checks(
    [RANRegressor(loss="poisson"), RANRegressor(loss="quantile"), RANOrdinal()]
)
def test_checks_of_scikit_learn(estimator, check):
    if getattr(check, "func", check).__name__ == "check_array_api_input":
        return  # test_contract.py has it
    check(estimator)
