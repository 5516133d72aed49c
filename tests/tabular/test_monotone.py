"""Effects that must rise or fall: the proofs, the constrained fit, and what it costs."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rational_anova.tabular._fitting import additive, learn_features, problem_of
from rational_anova.tabular.fit import Logistic, Softmax, Squared, solve
from rational_anova.tabular.fit._recipe import Options, Recipe
from rational_anova.tabular.model._bases import Heads
from rational_anova.tabular.model._terms import Rows
from rational_anova.tabular.monotone._cone import Cone, nearest
from rational_anova.tabular.monotone._constrain import as_signs, constrain, proofs
from rational_anova.tabular.monotone._proof import HeadSum, examine, proof_of, proved


class Fitted:
    """A fit without and with constraints, and their models."""

    def __init__(self, X, y, signs, loss=None, weight=None):
        frame = pd.DataFrame(X)
        y = np.asarray(y, float).reshape(len(frame), -1)
        weight = np.ones(len(y)) if weight is None else weight
        loss = loss or Squared()
        mean, scale = (y.mean(), y.std()) if loss.fixed_noise is None else (0.0, 1.0)
        self.features = learn_features(frame, y, weight)
        self.problem = problem_of(self.features, frame, (y - mean) / scale, weight, loss, 0)
        count = len(self.features)
        allowed = tuple((i, j) for j in range(count) for i in range(j) if not {i, j} & set(signs))
        self.free = Recipe(self.problem, self.features, Options(allowed=allowed)).run()
        self.fit = constrain(self.problem, self.free, signs)
        self.before = additive(self.free, self.features, scale, mean, 0)
        self.after = additive(self.fit, self.features, scale, mean, 0)
        self.proofs = proofs(self.after, signs)
        self.signs = signs

    def curve(self, i, x, model=None):
        rows = np.zeros((len(x), len(self.features)))
        rows[:, i] = x
        model = model or self.after
        return sum((p.at(Rows(rows))[:, 0] for p in model.effect((i,))), np.zeros(len(x)))

    def check(self):
        """All curves are proved, and 100 000 points do not say otherwise."""
        for i, sign in self.signs.items():
            proof = self.proofs[self.features[i].name]
            assert proof
            assert proof.least_slope >= 0
            low, high = self.features[i].clip
            assert (proof.low, proof.high) == (low, high)
            near = [
                (b.centre[:, None] + b.width[:, None] * np.linspace(-4, 4, 41)).ravel()
                for p in self.after.effect((i,))
                for b in p.term.bases
                if isinstance(b, Heads)
            ]
            x = np.unique(
                np.clip(np.concatenate([np.linspace(low, high, 100_000), *near]), low, high)
            )
            y = sign * self.curve(i, x)
            # A sum of many numbers rounds.
            assert np.diff(y).min() >= -1e-13 * (1 + np.abs(y).max())
        return self

    def error(self, truth, model):
        return float(np.sqrt(np.mean((model.decision(self.problem.rows)[:, 0] - truth) ** 2)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# -- proofs


def slope(heads, numerators, x):
    """The slope with 50 digits of one head at a time would be too slow: complex steps are exact."""
    z = x + 1e-30j
    u = (z[:, None] - heads.centre) / heads.width
    phi = 1 / (1 + u * u)
    columns = np.concatenate([phi, phi * u], 1) if heads.odd else phi
    return (columns @ numerators).imag / 1e-30


@pytest.mark.parametrize("count", [1, 3, 20, 150])
@pytest.mark.parametrize("odd", [True, False])
def test_verdicts_agree_with_dense_slopes(count, odd):
    rng = np.random.default_rng(count)
    for _ in range(10):
        heads = Heads(np.sort(rng.normal(size=count)), rng.uniform(0.5, 2, count) / count, odd)
        numerators = rng.normal(size=heads.size)
        wide = Heads(np.zeros(1), np.full(1, 20.0), True)
        x = np.unique(np.append(np.linspace(-2, 2, 4001), np.clip(heads.centre, -2, 2)))
        least = slope(heads, numerators, x).min()
        for push in (0.9, 1.1):
            both = [
                (heads, numerators),
                (wide, np.array([0.0, -least * push * 20 * 1.0001 / 0.97])),
            ]
            found = proved(both, -2.0, 2.0, 1)
            dense = slope(*both[0], x) + slope(*both[1], x)
            if found.verdict == "proved":
                assert dense.min() >= found.least_slope
            else:
                assert found.verdict == "refuted"
                at = np.array([found.witness])
                assert (slope(*both[0], at) + slope(*both[1], at))[0] < 0


def test_bounds_hold_on_every_piece(rng):
    heads = Heads(np.sort(rng.normal(size=12)), rng.uniform(0.05, 0.5, 12), True)
    numerators = rng.normal(size=24)
    x = np.linspace(-2, 2, 20_001)
    least = slope(heads, numerators, x).min()
    wide = Heads(np.zeros(1), np.full(1, 1e4), True)
    lift = np.array([0.0, (1e-3 - least) * 1e4])
    found = examine(HeadSum.of([(heads, numerators), (wide, lift)], 1), -2.0, 2.0)
    assert found.proved
    assert 0 <= found.least <= (slope(heads, numerators, x) + slope(wide, lift, x)).min()


def test_one_narrow_dip_is_found():
    wide = Heads(np.array([0.5]), np.array([50.0]), True)
    dip = Heads(np.array([np.pi / 10]), np.array([1e-7]))
    found = proved([(wide, np.array([0.0, 50.0])), (dip, np.array([1e-6]))], 0.0, 1.0, 1, "x")
    assert found.verdict == "refuted"
    assert abs(found.witness - np.pi / 10) < 1e-6
    assert found.least_slope < 0
    assert not found
    assert proved([(wide, np.array([0.0, 50.0])), (dip, np.array([1e-8]))], 0.0, 1.0, 1)


def test_scale_and_place_do_not_matter():
    for unit, at in ((1e-150, 0.0), (1e150, 0.0), (1.0, 1e6), (1e-9, 1.0)):
        heads = Heads(np.array([at, at + unit]), np.array([unit, unit]), True)
        rising = np.array([-1.0, 1.0, 0.0, 0.0])
        assert proved([(heads, rising)], at, at + unit, 1)
        assert proved([(heads, -rising)], at, at + unit, -1)
        assert proved([(heads, rising)], at, at + unit, -1).verdict == "refuted"


def test_nothing_rises_and_falls():
    for sign in (1, -1):
        found = proved([], 0.0, 1.0, sign)
        assert found
        assert found.least_slope == 0


def test_interior_method_meets_the_conditions_of_a_minimum(rng):
    system, goal = rng.normal(size=(8, 30)), rng.normal(size=8)
    least = system.T @ rng.normal(size=8) - rng.uniform(0, 1, 30)
    v = nearest(system, least, goal)
    slack = system.T @ v - least
    assert slack.min() >= -1e-10
    active = slack < 1e-6
    force = np.linalg.lstsq(system[:, active], v - goal, rcond=None)[0]
    np.testing.assert_allclose(system[:, active] @ force, v - goal, atol=1e-6)
    assert force.min() > -1e-6


def test_nothing_where_there_is_nothing():
    assert nearest(np.array([[1.0, -1.0]]), np.array([1.0, 1.0]), np.zeros(1)) is None


# -- constrained fits


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_better_than_the_free_curve_against_the_truth(noise):
    before, after = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-3, 3, (800, 2))
        truth = np.tanh(2 * X[:, 0]) + np.sin(X[:, 1])
        found = Fitted(X, truth + noise * rng.normal(size=800), {0: 1}).check()
        before.append(found.error(truth, found.before))
        after.append(found.error(truth, found.after))
    assert np.mean(after) < np.mean(before)


def test_a_curve_that_already_rises_stays(rng):
    X = rng.uniform(0, 1, (500, 1))
    found = Fitted(X, 3 * X[:, 0] + 0.01 * rng.normal(size=500), {0: 1})
    if proof_of(found.before, 0, 1):
        np.testing.assert_allclose(found.after.intercept, found.before.intercept, rtol=1e-6)
    assert found.error(3 * X[:, 0], found.after) < 0.01


@pytest.mark.parametrize("sign", [1, -1])
def test_against_the_data_the_curve_is_constant(rng, sign):
    X = rng.uniform(-3, 3, (600, 2))
    y = -sign * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=600)
    found = Fitted(X, y, {0: sign}).check()
    assert np.ptp(found.curve(0, np.linspace(-3, 3, 500))) < 1e-3
    # The noise that is told is what is left over.
    assert found.after.noise > 2


def test_waves_become_stairs(rng):
    X = rng.uniform(-3, 3, (1000, 1))
    found = Fitted(X, X[:, 0] + np.sin(5 * X[:, 0]) + 0.05 * rng.normal(size=1000), {0: 1}).check()
    from sklearn.isotonic import IsotonicRegression

    best = IsotonicRegression().fit_transform(X[:, 0], X[:, 0] + np.sin(5 * X[:, 0]))
    assert found.error(best, found.after) < 0.1


def test_two_inputs_at_once(rng):
    X = rng.uniform(-3, 3, (1200, 3))
    truth = np.tanh(X[:, 0]) - X[:, 1] ** 3 / 9 + X[:, 2] ** 2
    found = Fitted(X, truth + 0.5 * rng.normal(size=1200), {0: 1, 1: -1}).check()
    assert found.error(truth, found.after) <= found.error(truth, found.before) * 1.01


def test_classes(rng):
    X = rng.uniform(-3, 3, (1500, 2))
    truth = 2 * np.tanh(2 * X[:, 0]) + X[:, 1]
    y = rng.uniform(size=1500) < 1 / (1 + np.exp(-truth))
    found = Fitted(X, y, {0: 1, 1: 1}, Logistic()).check()
    assert found.error(truth, found.after) <= found.error(truth, found.before) * 1.02
    against = Fitted(X, y, {0: -1}, Logistic()).check()
    assert np.ptp(against.curve(0, np.linspace(-3, 3, 300))) < 1e-3


def test_newton_ends_at_the_constrained_minimum(rng):
    X = rng.uniform(-3, 3, (800, 1))
    y = rng.uniform(size=800) < 1 / (1 + np.exp(-np.sin(2 * X[:, 0])))
    found = Fitted(X, y, {0: 1}, Logistic()).check()
    again = constrain(found.problem, found.fit, {0: 1})
    assert np.abs(again.f - found.fit.f).mean() < 2e-3


def test_gaps_stay_free(rng):
    X = rng.uniform(-3, 3, (1500, 2))
    X[rng.uniform(size=1500) < 0.2, 0] = np.nan
    truth = np.where(np.isnan(X[:, 0]), -4.0, np.tanh(2 * X[:, 0]))
    found = Fitted(X, truth + 0.3 * rng.normal(size=1500), {0: 1}).check()
    low, gap = found.curve(0, np.array([-2.9, np.nan]))
    assert low - gap == pytest.approx(3, abs=0.2)
    assert found.error(truth, found.after) < 0.1


@pytest.mark.parametrize("jump", [-1.0, 1.0])
def test_zero_inflated_inputs(rng, jump):
    amount = np.where(rng.uniform(size=1500) < 0.5, 0.0, rng.exponential(size=1500))
    truth = np.sqrt(amount) + np.where(amount == 0, jump, 0.0)
    found = Fitted(amount[:, None], truth + 0.3 * rng.normal(size=1500), {0: 1}).check()
    if jump < 0:
        assert found.error(truth, found.after) < 0.1
    else:  # the zeros may not be higher than the smallest amounts
        best = np.where(amount == 0, 0.5, np.maximum(np.sqrt(amount), 0.9))
        assert found.error(best, found.after) < 0.35


def test_an_atom_in_the_middle(rng):
    x = np.where(rng.uniform(size=1500) < 0.4, 0.0, rng.normal(size=1500))
    truth = x + np.where(x == 0, 1.0, 0.0)
    found = Fitted(x[:, None], truth + 0.3 * rng.normal(size=1500), {0: 1}).check()
    assert np.ptp(found.curve(0, np.array([-2.0, 2.0]))) > 2


@pytest.mark.parametrize("sign", [1, -1])
def test_heavy_tails(sign):
    rng = np.random.default_rng(3)
    x = 1e3 * rng.standard_cauchy(1500)
    x[:2] = -1e6, 1e6
    truth = sign * np.arctan(x / 1e3)
    found = Fitted(x[:, None], truth + 0.3 * rng.normal(size=1500), {0: sign}).check()
    assert found.error(truth, found.after) < 0.15
    assert found.error(truth, found.after) < found.error(truth, found.before)


def test_few_levels_rise_by_stairs(rng):
    x = rng.integers(0, 6, 1500)
    truth = np.array([0, 0, 1, 1, 2, 2.0])[x]
    found = Fitted(x[:, None].astype(float), truth + 0.3 * rng.normal(size=1500), {0: 1}).check()
    assert found.error(truth, found.after) < 0.05


def test_booleans_and_dates(rng):
    frame = pd.DataFrame(
        {
            "flag": rng.uniform(size=600) < 0.5,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 600), "D"),
        }
    )
    days = (frame.when - frame.when.min()) / pd.Timedelta(days=1)
    y = 2 * frame.flag + days / 300 + 0.2 * rng.normal(size=600)
    features = learn_features(frame, y.to_numpy()[:, None], np.ones(600))
    signs = as_signs({"flag": 1, "when": 1}, features)
    Fitted(frame, y, signs).check()


def test_a_weight_of_two_is_two_rows(rng):
    X = rng.uniform(0, 1, (300, 1))
    y = (np.sin(7 * X) + 0.1 * rng.normal(size=(300, 1))) / 0.7
    twice = rng.integers(1, 4, 300)
    frame = pd.DataFrame(X)
    known = learn_features(frame, y, np.ones(300))
    one = problem_of(known, frame, y, twice.astype(float), Squared(), 0)
    frame, repeated = frame.loc[frame.index.repeat(twice)], np.repeat(y, twice, 0)
    other = problem_of(known, frame, repeated, np.ones(len(frame)), Squared(), 0)
    terms = Recipe(one, known, Options()).mains()
    fits = [constrain(p, solve(p, terms, 4), {0: 1}) for p in (one, other)]
    np.testing.assert_allclose(np.repeat(fits[0].f, twice), fits[1].f[:, 0], atol=1e-5)


def test_where_rounds_do_not_suffice_the_curve_is_still_proved(rng, monkeypatch):
    X = rng.uniform(-3, 3, (800, 1))
    monkeypatch.setattr("rational_anova.tabular.monotone._cone.MARGINS", (1e-7,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last resort, a constant, is proved, too
        Fitted(X, np.sin(3 * X[:, 0]) + X[:, 0] + 0.1 * rng.normal(size=800), {0: 1}).check()
    monkeypatch.setattr(Cone, "_nearest", lambda self, margin: None)
    monkeypatch.setattr("rational_anova.tabular.monotone._cone.BLENDS", ())
    with pytest.warns(UserWarning, match="its effect is constant"):
        Fitted(X, np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=800), {0: 1}).check()


def test_the_free_fit_is_left_alone(rng):
    X = rng.uniform(0, 1, (300, 1))
    found = Fitted(X, -X[:, 0] + 0.1 * rng.normal(size=300), {0: 1})
    assert found.free.solutions[0].theta is not found.fit.solutions[0].theta
    assert found.before.decision(found.problem.rows).std() > 0.1
    assert found.fit.history[-1][0] == "monotone"


def test_an_input_without_an_effect_is_proved(rng):
    X = np.column_stack([np.ones(200), rng.uniform(size=200)])
    found = Fitted(X, X[:, 1] + 0.1 * rng.normal(size=200), {0: 1})
    assert found.proofs["0"]


# -- options and errors


def features(**kinds):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            k: rng.choice(list("ab"), 50) if v == "category" else rng.normal(size=50)
            for k, v in kinds.items()
        }
    )
    return learn_features(frame, rng.normal(size=(50, 1)), np.ones(50))


def test_signs_by_name_and_position():
    known = features(age="number", income="number", city="category")
    assert as_signs(None, known) == {}
    assert as_signs({"age": 1, 1: -1}, known) == {0: 1, 1: -1}
    assert as_signs({"age": np.int64(1), "income": 0, "city": 0}, known) == {0: 1}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"height": 1}, "'height', which is no input; there are \\['age', 'city'\\]"),
        ({7: 1}, "7, which is no input"),
        ({"age": 2}, "must be 1 .* got 2"),
        ({"age": "up"}, "got 'up'"),
        ({"age": True}, "got True"),
        ({"city": 1}, "'city', a category"),
        ({"age": 1, 0: -1}, "'age' twice"),
        ([1, 0], "takes a dict"),
    ],
)
def test_bad_options(option, message):
    with pytest.raises(ValueError, match=message):
        as_signs(option, features(age="number", city="category"))


def test_several_classes_and_pairs_are_refused(rng):
    X = rng.uniform(-1, 1, (300, 2))
    frame = pd.DataFrame(X)
    y = np.eye(3)[rng.integers(0, 3, 300)]
    known = learn_features(frame, y, np.ones(300))
    problem = problem_of(known, frame, y, np.ones(300), Softmax(3), 0)
    fit = Recipe(problem, known, Options(pairs=0, refinements=0)).run()
    with pytest.raises(ValueError, match="one output, got 3"):
        constrain(problem, fit, {0: 1})
    with pytest.raises(ValueError, match="3 classes"):
        proof_of(additive(fit, known, 1.0, 0.0, 0), 0, 1)
    y = (X[:, :1] * X[:, 1:]) / 0.33
    problem = problem_of(known, frame, y, np.ones(300), Squared(), 0)
    fit = Recipe(problem, known, Options(refinements=0)).run()
    with pytest.raises(ValueError, match="no part in pairs"):
        constrain(problem, fit, {0: 1})
    found = proof_of(additive(fit, known, 1.0, 0.0, 0), 0, 1)
    assert found.verdict == "not decided"
    assert "0 x 1" in found.reason
    assert not found


def test_no_warning_in_extreme_units(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit in (1e-100, 1e100):
            X = unit * rng.uniform(size=(300, 1))
            Fitted(X, np.sin(5 * X[:, 0] / unit) + 0.1 * rng.normal(size=300), {0: 1}).check()
