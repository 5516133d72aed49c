"""Error bars of laws: intervals of parameters, profiles, and predictions under each noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy import optimize, stats

from rational_anova.discovery.law import Evidence, Law, Noise, Parameter, Sample, profile
from rational_anova.discovery.law._errors import _root
from rational_anova.symbols import Names

a, b, x = sp.symbols("a b x")
LINE = Evidence(rows=50, noise=0.01, error=0.01, spread=2.0)
T = float(stats.t.ppf(0.975, 48))


def line(**options):
    numbers = (Parameter("a", 2.0, 0.1), Parameter("b", 1.0, 0.2))
    options = {"evidence": LINE, "parameters": numbers, **options}
    return Law(
        a * x + b, options.pop("parameters"), Names(["x"]), "y", ((0.0, 4.0),),
        np.diag([0.01, 0.04]), options.pop("evidence"), **options,
    )  # fmt: skip


def saturating(rows=12, seed=0, sigma=0.05):
    """A law of two numbers, fitted by least squares."""
    X = np.linspace(0.2, 3, rows)[:, None]
    y = 2 * X[:, 0] / (0.5 + X[:, 0]) + sigma * np.random.default_rng(seed).normal(size=rows)
    return fitted(a * x / (b + x), X, y, [2.0, 0.5])


def fitted(template, X, y, start, **options):
    function = sp.lambdify((x, a, b), template)
    found = optimize.least_squares(
        lambda p: function(X[:, 0], *p) - y, start, xtol=1e-15, ftol=1e-15
    )
    freedom = len(y) - 2
    covariance = np.linalg.inv(found.jac.T @ found.jac) * 2 * found.cost / freedom
    numbers = tuple(
        Parameter(name, value, math.sqrt(error))
        for name, value, error in zip("ab", found.x, np.diag(covariance), strict=True)
    )
    evidence = Evidence(
        len(y), math.sqrt(2 * found.cost / freedom) / np.std(y), 0.1, spread=float(np.std(y))
    )
    box = ((X.min(), X.max()),)
    return Law(
        template,
        numbers,
        Names(["x"]),
        "y",
        box,
        covariance,
        evidence,
        data=Sample(X, y),
        **options,
    )


def test_wald():
    law = line()
    assert law.intervals()["a"] == pytest.approx((2 - 0.1 * T, 2 + 0.1 * T))
    low, high = law.predict_interval([3.0])
    assert high[0] == pytest.approx(7 + T * math.hypot(0.3, 0.2))
    assert low[0] == pytest.approx(14 - high[0])
    low, high = law.predict_interval([3.0], noise=True)
    assert high[0] == pytest.approx(7 + T * math.sqrt(0.3**2 + 0.2**2 + 0.02**2))
    few = replace(law, evidence=replace(LINE, rows=2))
    assert math.isnan(few.intervals()["a"][0])
    for level in (95, 0, 1.0):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            law.intervals(level)
    with pytest.raises(
        ValueError, match="method must be one of 'profile', 'wald', got 'bootstrap'"
    ):
        law.intervals(method="bootstrap")


def test_what_was_not_fitted_has_no_width_and_costs_no_freedom():
    t = float(stats.t.ppf(0.975, 49))
    exact = (Parameter("a", 2.0, 0.1), Parameter("b", 1.0, 0.2, sp.Integer(1)))
    given = (Parameter("a", 2.0, 0.1), Parameter("b", 1.0, 0.0, given=True))
    for numbers in (exact, given):
        law = line(parameters=numbers)
        assert law.intervals()["a"] == pytest.approx((2 - 0.1 * t, 2 + 0.1 * t))
        assert law.intervals()["b"] == (1, 1)
        assert law.predict_interval([3.0])[1][0] == pytest.approx(7 + 0.3 * t)
        assert list(law.correlation) == ["a"]
    known = (Parameter("a", 2.0, given=True), Parameter("b", 1.0, 0.2, sp.Integer(1)))
    low, high = line(parameters=known).predict_interval([3.0])
    assert low[0] == high[0] == 7


def test_coefficients_and_correlation():
    law = replace(saturating(), units={})
    table = law.coefficients
    assert list(table) == ["value", "exact", "stderr", "low", "high", "unit", "meaning"]
    found = law.correlation
    assert found.loc["a", "a"] == pytest.approx(1)
    assert found.loc["a", "b"] == found.loc["b", "a"]
    assert 0.5 < found.loc["a", "b"] < 1


def test_profile_of_a_line_is_wald():
    X = np.linspace(0, 4, 20)[:, None]
    y = 2 * X[:, 0] + 1 + 0.1 * np.random.default_rng(0).normal(size=20)
    law = fitted(a * x + b, X, y, [2.0, 1.0])
    wald, profiled = law.intervals(0.9, "wald"), law.intervals(0.9, "profile")
    for name in "ab":
        assert profiled[name] == pytest.approx(wald[name], rel=1e-5)


def test_profile_rises_by_the_quantile():
    law = saturating()
    X, y = law.data.X, law.data.y
    low, high = law.intervals(0.95, "profile")["b"]
    wald = law.intervals(0.95, "wald")["b"]
    assert high - law.parameters[1].value > wald[1] - law.parameters[1].value  # longer on this side

    def least(value):
        f = X[:, 0] / (value + X[:, 0])
        return float(np.sum((y - f * (f @ y) / (f @ f)) ** 2))

    best = least(law.parameters[1].value)
    t = stats.t.ppf(0.975, 10)
    for end in (low, high):
        assert least(end) == pytest.approx(best * (1 + t**2 / 10), rel=1e-4)


def test_stored_profiles_come_first():
    law = saturating()
    kept = tuple(replace(p, low=p.value - 1, high=p.value + 3) for p in law.parameters)
    law = replace(law, parameters=kept)
    assert law.intervals()["a"] == (kept[0].value - 1, kept[0].value + 3)
    assert law.coefficients.loc["a", "high"] == kept[0].value + 3
    assert law.intervals(method="wald")["a"] == saturating().intervals(method="wald")["a"]
    other = law.intervals(0.8)
    assert other == law.intervals(0.8, "profile")
    assert other["b"] != law.intervals(0.8, "wald")["b"]
    loaded = Law.from_json(law.to_json())
    assert loaded.intervals() == law.intervals()
    assert loaded.intervals(0.8) == law.intervals(0.8, "wald")
    with pytest.raises(
        ValueError, match=r"level 0.8 cannot be computed, since .* no data.*method='wald'"
    ):
        loaded.intervals(0.8, "profile")


def test_profiles_follow_the_noise():
    X = np.geomspace(0.01, 100, 40)[:, None]
    y = 3 * X[:, 0] ** 0.75 * np.exp(0.2 * np.random.default_rng(0).normal(size=40))
    design = np.stack([np.ones(40), np.log(X[:, 0])], 1)
    beta, left = np.linalg.lstsq(design, np.log(y), rcond=None)[:2]
    covariance = np.linalg.inv(design.T @ design) * left[0] / 38
    scale = math.exp(beta[0])
    numbers = (Parameter("a", scale, scale * math.sqrt(covariance[0, 0])),
               Parameter("b", beta[1], math.sqrt(covariance[1, 1])))  # fmt: skip
    law = Law(
        a * x**b, numbers, Names(["x"]), "y", ((0.01, 100),), np.diag([p.stderr**2 for p in numbers]),
        Evidence(40, 0.3, 0.3), noise=Noise("log-normal", 0.2), data=Sample(X, y),
    )  # fmt: skip
    found = law.intervals(0.95, "profile")
    assert found["b"] == pytest.approx(law.intervals(0.95, "wald")["b"], rel=1e-4)
    width = stats.t.ppf(0.975, 38) * math.sqrt(covariance[0, 0])
    assert np.log(found["a"]) == pytest.approx((beta[0] - width, beta[0] + width), abs=1e-4)


def test_open_profiles_are_infinite():
    X = np.linspace(0.01, 0.02, 10)[:, None]  # a straight line: only a/b is known
    y = 4 * X[:, 0] + 1e-3 * np.random.default_rng(0).normal(size=10)
    numbers = (Parameter("a", 40.0, 1.0), Parameter("b", 10.0, 1.0))
    found = profile(a * x / (b + x), numbers, Names(["x"]), X, y)
    assert found["a"][1] == found["b"][1] == math.inf


@pytest.mark.parametrize("level", [0.68, 0.95])
def test_noise_of_new_measurements(level):
    t = float(stats.t.ppf(0.5 + level / 2, 48))
    sure = line()
    sure = replace(sure, covariance=np.zeros((2, 2)))
    at = np.array([0.0, 1.0, 10.0])
    centre = sure.predict(at)

    def ends(noise, **options):
        return replace(sure, noise=noise).predict_interval(at, level, noise=True, **options)

    low, high = ends(Noise("constant", 0.5))
    np.testing.assert_allclose(high, centre + 0.5 * t)
    low, high = ends(Noise("proportional", 0.1))
    np.testing.assert_allclose(low, centre * (1 - 0.1 * t))
    low, high = ends(Noise("proportional", 0.1, 0.3))
    np.testing.assert_allclose(high - centre, t * np.hypot(0.1 * centre, 0.3))
    low, high = ends(Noise("log-normal", 1.5))
    np.testing.assert_allclose(low, centre * math.exp(-1.5 * t))
    np.testing.assert_allclose(high, centre * math.exp(1.5 * t))
    low, high = ends(Noise("Poisson", 1.0))
    np.testing.assert_allclose(high, centre + t * np.sqrt(centre))
    assert (low >= 0).all()
    low, high = ends(Noise("given", 2.0), sigma=0.1)
    np.testing.assert_allclose(high, centre + 0.2 * t)


def test_given_errors_need_sigma():
    law = line(noise=Noise("given", 1.0))
    with pytest.raises(ValueError, match="needs its error: give sigma="):
        law.predict_interval([1.0], noise=True)
    with pytest.raises(ValueError, match="one for each of 1 rows, got"):
        law.predict_interval([1.0], noise=True, sigma=[0.1, 0.2])
    data = Sample(np.ones((3, 1)), np.ones(3), np.array([0.1, 0.2, 5.0]))
    with_data = replace(law, data=data).predict_interval([1.0], noise=True)
    assert with_data == law.predict_interval([1.0], noise=True, sigma=0.2)
    law.predict_interval([1.0])  # that of the law needs none


def test_bands_of_positive_laws_stay_positive():
    law = replace(line(noise=Noise("log-normal", 0.1)), covariance=np.diag([4.0, 4.0]))
    low, high = law.predict_interval([1.0])
    assert 0 < low[0] < 3 < high[0]
    assert low[0] * high[0] == pytest.approx(9)


def test_slopes_of_kinks():
    template = sp.Abs(x - a) * b + sp.Max(x, a)
    law = Law(
        template, (Parameter("a", 1.0, 0.1), Parameter("b", 2.0, 0.1)), Names(["x"]), "y",
        ((0, 3),), np.diag([0.01, 0.01]), LINE,
    )  # fmt: skip
    _, high = law.predict_interval([3.0])
    assert high[0] - 7 == pytest.approx(T * math.hypot(0.2, 0.2))


def test_an_end_that_depends_on_the_way_there():
    assert _root(lambda distance: -1.0, 0.0, 2.0, 1.0) == 2.0
    assert _root(lambda distance: distance - 1.5, 0.0, 2.0, 1.0) == pytest.approx(1.5)
