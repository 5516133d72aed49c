"""`fit_law`: the numbers of a form, without start values."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from rational_anova.discovery import Grade, catalogue, fit_law
from rational_anova.discovery.catalogue import recognised
from rational_anova.symbols import parse

X = np.linspace(0.2, 8, 40)
RNG = np.random.default_rng(0)
SCIENCE = Path(os.environ.get("RAN_DATA", "")) / "science_laws"
needs_data = pytest.mark.skipif(
    not os.environ.get("RAN_DATA"), reason="RAN_DATA names no folder with data"
)


def numbers(law):
    return {p.name: p.value for p in law.parameters}


@pytest.mark.parametrize(
    ("form", "true"),
    [
        ("a*x/(b + x)", {"a": 2.5, "b": 0.8}),
        ("a*exp(-b*x) + c*exp(-d*x)", {"a": 3.0, "b": 0.2, "c": 1.0, "d": 2.0}),
        ("a*sin(w*x) + b*cos(w*x) + c", {"a": 1.0, "w": 2.5, "b": -0.5, "c": 2.0}),
        ("a*exp(-(x - m)**2/(2*s**2)) + c", {"a": 2.0, "m": 3.0, "s": 0.7, "c": 0.5}),
        ("a*x**b", {"a": 0.7, "b": 1.7}),
        ("(a + b*x)/(1 + c*x + d*x**2)", {"a": 1.0, "b": 0.5, "c": -0.2, "d": 0.3}),
        ("a + b*x + c*max(0, x - d)", {"a": 1.0, "b": 0.5, "c": -2.0, "d": 3.1}),
    ],
)
def test_exact_data_give_the_numbers(form, true):
    symbols = {name: sp.Symbol(name) for name in [*true, "x"]}
    formula = parse(form, symbols).xreplace({symbols[n]: v for n, v in true.items()})
    y = np.array([float(formula.xreplace({symbols["x"]: x})) for x in X])
    assert numbers(fit_law(form, X, y)) == pytest.approx(true, rel=1e-6)


def test_linear_numbers_need_no_search():
    law = fit_law("a + b*x + c*x**2", X, 1 + 2 * X - 3 * X**2)
    assert numbers(law) == pytest.approx({"a": 1.0, "b": 2.0, "c": -3.0})


def test_errors_are_those_of_least_squares():
    y = 2 + 3 * X + RNG.normal(0, 0.1, len(X))
    law = fit_law("a + b*x", X, y, noise_model="constant")
    A = np.column_stack([np.ones_like(X), X])
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    expected = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (left @ left) / (len(X) - 2))
    assert [law.stderr["a"], law.stderr["b"]] == pytest.approx(expected)
    wald, profile = law.intervals(method="wald"), law.intervals(method="profile")
    assert profile["b"] == pytest.approx(wald["b"], rel=1e-3)  # a linear form: they are the same
    assert law.correlation.loc["a", "b"] < -0.5


def test_tied_numbers_stay_tied():
    y = 3 * (np.exp(-0.3 * X) - np.exp(-2 * X))
    law = fit_law("a*(exp(-b*x) - exp(-c*x))", X, y)
    assert len(law.parameters) == 3
    assert law.evidence.error < 1e-10


def test_fixed_numbers_and_bounds():
    y = 2 * (1 - np.exp(-0.5 * X)) + RNG.normal(0, 0.01, len(X))
    law = fit_law("a*(1 - exp(-b*x))", X, y, fixed={"a": 2.0})
    assert list(numbers(law)) == ["b"]
    bounded = fit_law("a*(1 - exp(-b*x))", X, y, bounds={"b": (1.0, None)})
    assert numbers(bounded)["b"] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match="'q'"):
        fit_law("a*x", X, y, fixed={"q": 1.0})
    with pytest.raises(ValueError, match="low < high"):
        fit_law("a*x + b", X, y, bounds={"b": (2, 1)})


def test_a_left_side():
    y = np.exp(1.5 - 0.4 * X)
    law = fit_law("log(y) = a - b*x", X, y)
    assert law.target == "log(y)"
    assert numbers(law) == pytest.approx({"a": 1.5, "b": 0.4})
    with pytest.raises(ValueError, match="no value in row 1"):
        fit_law("log(y) = a - b*x", X, -y)


def test_columns_of_a_frame_that_the_form_lacks_do_not_matter():
    frame = pd.DataFrame({"n.pent": X, "gap": np.nan, "kind": "a", "y": 2 * X / (1 + X)})
    law = fit_law("a*n_pent/(b + n_pent)", frame, "y")
    assert law.names.columns == ("n.pent",)
    assert numbers(law) == pytest.approx({"a": 2.0, "b": 1.0})
    with pytest.raises(ValueError, match="none of the columns"):
        fit_law("a*q", frame, "y")


def test_bad_forms():
    for form in ("a*", "a = b = c", "", "__import__('os')"):
        with pytest.raises((ValueError, TypeError)):
            fit_law(form, X, X)
    with pytest.raises(ValueError, match="cannot be fitted to"):
        fit_law("a + b*x + c*x**2 + d*x**3 + e*x**4 + f*x**5", X[:6], X[:6])
    with pytest.raises(ValueError, match="loss"):
        fit_law("a*x", X, X, loss="huber")
    with pytest.raises(ValueError, match="has no value"):
        fit_law("a*log(-x)", X, X)


def test_given_errors_weigh_the_rows():
    sigma = np.where(X < 4, 0.01, 1.0)
    y = 2 * X + RNG.normal(0, 1, len(X)) * sigma
    law = fit_law("a*x", X, y, sigma=sigma)
    assert law.noise.model == "given"
    assert numbers(law)["a"] == pytest.approx(2.0, abs=0.01)


def test_noise_models_are_told_apart():
    x = np.linspace(0.5, 30, 80)
    constant = 2 * x + RNG.normal(0, 0.5, len(x))
    log_normal = 2 * x * np.exp(RNG.normal(0, 0.1, len(x)))
    assert fit_law("a*x**b", x, constant).noise.model == "constant"
    assert fit_law("a*x**b", x, log_normal).noise.model in ("log-normal", "proportional")
    low, high = fit_law("a*x**b", x, log_normal).predict_interval([[0.5]], noise=True)
    assert 0.5 < low[0] < 1 < high[0] < 2


def test_outliers_are_named():
    y = 3 * X / (1 + X) + RNG.normal(0, 0.02, len(X))
    y[[5, 20]] += 2.0
    law = fit_law("a*x/(b + x)", X, y, loss="robust")
    assert law.outliers == (5, 20)
    assert numbers(law) == pytest.approx({"a": 3.0, "b": 1.0}, rel=0.05)


def test_errors_in_the_input_bias_less():
    true = np.linspace(0.5, 3, 60)
    x = true + RNG.normal(0, 0.15, 60)
    y = np.exp(1.2 * true) + RNG.normal(0, 0.05, 60)
    plain = numbers(fit_law("a*exp(b*x)", x, y, noise_model="constant"))["b"]
    better = numbers(fit_law("a*exp(b*x)", x, y, x_sigma=0.15))["b"]
    assert abs(better - 1.2) < abs(plain - 1.2)


def test_given_constants_keep_their_names():
    y = 2 * 8.314 * X + RNG.normal(0, 0.1, len(X))
    law = fit_law("a*x*R_gas", X, y, constants={"R_gas": 8.314})
    assert {s.name for s in law.rounded().free_symbols} == {"x", "R_gas"}
    assert [p.given for p in law.parameters] == [False, True]
    assert "R_{\\mathrm{gas}}" in law.latex(errors=True)
    np.testing.assert_allclose(law.predict(X[:, None]), law.parameters[0].value * 8.314 * X)


@pytest.mark.parametrize("stated", [0.05, 0.2])
def test_errors_of_the_input_that_are_misstated(stated):
    """What the rows say of the errors goes for those of the input as well."""
    rng = np.random.default_rng(5)
    t = rng.uniform(1, 9, 400)
    y = 5 * t + rng.normal(0, 0.02, 400)
    law = fit_law("a*x", t + rng.normal(0, 0.2, 400), y, sigma=0.02, x_sigma=stated)
    low, high = law.predict_interval((t + rng.normal(0, 0.2, 400))[:, None], noise=True)
    assert np.mean((low <= y) & (y <= high)) > 0.9


def test_errors_of_inputs_at_the_edge_of_the_domain():
    x, z = np.linspace(0, 4, 40), np.linspace(1, 2, 40)
    y = 3 * np.sqrt(x) * z + RNG.normal(0, 0.02, 40)
    law = fit_law("a*sqrt(x)*z", {"x": x, "z": z}, y, sigma=0.02, x_sigma={"z": 0.02})
    low, high = law.predict_interval(np.column_stack([x, z]), noise=True)
    assert np.isfinite([low, high]).all()


@pytest.mark.parametrize("sigma", [0.05, None])
def test_new_measurements_with_errors_in_the_input(sigma):
    """The interval of a new measurement allows for the error of its input."""
    rng = np.random.default_rng(11)

    def measured(rows):
        true = rng.uniform(0.5, 8, rows)
        y = 5 * np.exp(-0.5 * true) + rng.normal(0, 0.05, rows)
        return true + rng.normal(0, 0.2, rows), y

    law = fit_law("a*exp(-b*x)", *measured(200), sigma=sigma, x_sigma=0.2)
    x, y = measured(2000)
    low, high = law.predict_interval(x[:, None], noise=True)
    assert 0.92 < np.mean((low <= y) & (y <= high)) < 0.98


def test_the_grade_of_a_form_that_was_not_compared():
    y = 3 * X / (1 + X) + RNG.normal(0, 0.02, len(X))
    good, bad = fit_law("a*x/(b + x)", X, y), fit_law("a + b*x", X, y)
    assert good.grade is Grade.SEVERAL
    assert bad.grade is Grade.INTERPOLATION


def test_groups():
    frame = pd.DataFrame({"x": np.tile(X, 3), "run": np.repeat(["a", "b", "c"], len(X))})
    top = frame["run"].map({"a": 2.0, "b": 3.0, "c": 5.0})
    frame["y"] = top * frame["x"] / (0.7 + frame["x"]) + RNG.normal(0, 0.01, len(frame))
    law = fit_law("v*x/(k + x)", frame, "y", by="run")
    assert law.groups.shared == ("k",)
    assert law.groups.values["v"].tolist() == pytest.approx([2, 3, 5], rel=0.02)


@needs_data
def test_puromycin_as_r_has_it():
    frame = pd.read_csv(SCIENCE / "datasets_Puromycin.csv")
    treated = frame[frame["state"] == "treated"]
    law = fit_law("Vm*conc/(K + conc)", treated, "rate")
    assert numbers(law) == pytest.approx({"Vm": 212.7, "K": 0.06412}, rel=1e-3)
    assert law.stderr == pytest.approx({"Vm": 6.947, "K": 0.00828}, rel=1e-3)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("top*x/(half + x)", "Michaelis-Menten"),
        ("top/(1 + half/x)", "Michaelis-Menten"),
        ("a*exp(-x/tau)", "exponential"),
        ("b0 - b1*x", "line"),
        ("a - a*exp(-k*x)", "saturating exponential"),
        ("a*x**b + c*tanh(x)", ""),
    ],
)
def test_a_form_of_the_catalogue_has_its_name(form, name):
    law = fit_law(form, X, 2.5 * X / (0.8 + X) + 0.01 * np.cos(40 * X))
    assert law.name == law.rivals[0].name == name
    assert not name or law.is_(name)


def test_numbers_that_a_named_law_cannot_have():
    y = 2.5 * X / (12 - X) + 0.01 * np.cos(40 * X)
    assert fit_law("a*x/(b + x)", X, y).name == ""  # km and vmax are positive


def test_every_law_of_the_catalogue_is_recognised_under_other_names():
    def own(form):
        names = {sp.Symbol(p): sp.Symbol(f"q{k}") for k, p in enumerate(form.parameters)}
        values = {q: 1.37 + 0.2 * k for k, q in enumerate(names.values())}
        inputs = [sp.Symbol(name) for name in form.inputs]
        return recognised(form.expression.xreplace(names), inputs, values)

    lost = [f.name for f in catalogue() if len(f.parameters) <= 8 and own(f) is not f]
    assert lost == ["constant"]  # no column is in it


def test_stated_errors_hold_in_profiles():
    t = np.linspace(0, 12, 40)
    y = 1.2 + 4 * np.exp(-0.5 * t) + np.random.default_rng(1).normal(0, 0.05, 40)
    widths = []
    for sigma in (0.05, 0.2):
        k = fit_law("c0 + c1*exp(-k*t)", {"t": t}, y, sigma=sigma).parameters[2]
        assert k.high - k.low == pytest.approx(2 * 2.026 * k.stderr, rel=0.1)
        widths.append(k.high - k.low)
    assert widths[1] == pytest.approx(4 * widths[0], rel=0.1)


def test_intervals_end_at_bounds_and_say_so():
    t = np.linspace(0, 12, 40)
    y = 1.2 + 4 * np.exp(-0.5 * t) + np.random.default_rng(1).normal(0, 0.05, 40)
    law = fit_law("c0 + c1*exp(-k*t)", {"t": t}, y, bounds={"k": (0.6, None)})
    assert law.parameters[2].low == 0.6
    assert any("k lies at its bound 0.6" in doubt for doubt in law.doubts)


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        ("a*C + b*t", {}, "'C', which is the target"),
        ("a*T + b", {}, "none of the columns|for the column write 't'"),
        ("a*T + b*t", {}, "for the column write 't'"),
        ("a + k*t", {"fixed": {"k": -1}, "bounds": {"k": (0, None)}}, "outside of its bounds"),
    ],
)
def test_names_that_were_meant_otherwise(form, options, message):
    t = np.linspace(0, 12, 40)
    with pytest.raises(ValueError, match=message):
        fit_law(form, {"t": t}, 2 * t, target="C", **options)


def test_rounded_formulas_say_what_the_law_says():
    t = 2450000 + np.linspace(0, 8, 60)
    y = 3 * np.exp(-((t - 2450004) ** 2) / 0.5)
    law = fit_law("a*exp(-(t - m)**2/s)", {"t": t}, y + 0.01 * np.sin(40 * t))
    shown = law.rounded(3)
    said = [float(shown.subs("t", value)) for value in t]
    assert np.max(np.abs(said - law.predict(t[:, None]))) < 0.05
