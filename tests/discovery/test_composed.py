"""Products of functions on one column, and candidates that are dropped."""

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import Grade, discover, fit_law
from rational_anova.discovery.claims import composed, ranked, undetermined, wild
from rational_anova.discovery.claims._weigh import Candidate
from rational_anova.discovery.fitting import Form, NoiseShape, Rows, fitted

x = np.linspace(0.1, 8, 60)
CURVES = {
    "3*x*exp(-0.8*x) + 0.4*x": 3 * x * np.exp(-0.8 * x) + 0.4 * x,
    "2*sin(1.3*x)/x": 2 * np.sin(1.3 * x) / x,
    "4*log(1 + 2*x)/(1 + 0.5*x)": 4 * np.log(1 + 2 * x) / (1 + 0.5 * x),
}


@pytest.mark.parametrize("truth", CURVES)
def test_a_product_of_functions_is_found(truth):
    y = CURVES[truth]
    noisy = y + 0.01 * y.std() * np.random.default_rng(1).normal(size=len(y))
    found = composed(Rows(x[:, None], noisy), sp.Symbol("x"), NoiseShape())
    best = min(found, key=lambda c: c.score)
    error = np.sqrt(np.mean((best.fit.predict(x[:, None]) - y) ** 2))
    assert error < 0.01 * y.std()
    exact = composed(Rows(x[:, None], y), sp.Symbol("x"), NoiseShape())
    assert min(c.fit.scale for c in exact) < 1e-9 * y.std()


def test_forbidden_functions_are_left_out():
    y = CURVES["2*sin(1.3*x)/x"]
    found = composed(
        Rows(x[:, None], y), sp.Symbol("x"), NoiseShape(), forbidden=frozenset({"sin", "cos"})
    )
    assert found
    assert not any(c.fit.form.expression.has(sp.sin, sp.cos) for c in found)


@pytest.mark.slow
def test_a_law_without_a_name_is_one_of_several():
    y = 5 * np.exp(-0.3 * x) * np.log(1 + 2 * x)
    noisy = y + 0.005 * y.std() * np.random.default_rng(2).normal(size=len(y))
    law = discover({"x": x}, noisy)
    assert law.equals("a*exp(-b*x)*log(1 + c*x)")
    assert law.grade is Grade.SEVERAL
    assert law.evidence.stage == "products of functions"


def test_numbers_that_the_rows_do_not_see_have_infinite_errors():
    y = 3 * np.exp(-0.5 * x)
    law = fit_law("a*b*exp(-k*x)", {"x": x}, y + 0.01 * np.sin(50 * x))
    assert [np.isinf(p.stderr) for p in law.parameters] == [True, True, False]
    assert "do not determine a and b" in law.trust


def test_a_form_at_its_limit_is_undetermined():
    rows = Rows(x[:, None], 2 * x + 1 + 0.01 * np.random.default_rng(0).normal(size=len(x)))
    form = Form.of("a*x/(1 + b*x) + c", ["x"])
    fit = fitted(form, rows, values=np.array([2.0, 1e-9, 1.0]))
    assert not undetermined(fitted(Form.of("a*x + c", ["x"]), rows, values=np.array([2.0, 1.0])))
    assert undetermined(fitted(Form.of("a*b*x + c", ["x"]), rows, values=np.array([2.0, 1.0, 1.0])))
    assert not undetermined(fit)  # one number that may be zero is no reason to drop a form


def test_of_equal_functions_one_stays():
    s = np.linspace(0.1, 8, 900)
    rows = Rows(s[:, None], 5 * s / (2 + s) + 0.02 * np.random.default_rng(0).normal(size=len(s)))
    free = fitted(Form.of("v*x/(k + x)", ["x"]), rows, values=np.array([5.0, 2.0]))
    round_ = fitted(Form.of("5*x/(2 + x)", ["x"]), rows, values=np.zeros(0))
    other = fitted(Form.of("v*x**n", ["x"]), rows, values=np.array([2.0, 0.4]))
    kept = ranked([Candidate(f, 10.0) for f in (free, round_, other)], rows.X)
    assert len(kept) == 2


def test_inputs_that_go_together_are_looked_at_where_rows_are():
    rng = np.random.default_rng(3)
    u = rng.uniform(0.1, 4, 300)
    near = u + rng.uniform(-0.01, 0.01, 300)
    rows = Rows(np.column_stack([u, near]), u / near**2)
    fit = fitted(Form.of("u/near**2", ["u", "near"]), rows, values=np.zeros(0))
    assert not wild(fit, rows)


@pytest.mark.parametrize("rows", [450, 700])
def test_many_rows_of_a_wave(rows):
    t = np.linspace(0, 20, rows)
    y = 2 * np.sin(1.3 * t) + 1 + np.random.default_rng(4).normal(0, 0.1, rows)
    assert discover({"t": t}, y).is_("sine with offset")


def test_few_rows_get_few_numbers():
    t = np.arange(6.0)
    law = discover({"t": t}, 2 * t + 1 + np.random.default_rng(0).normal(0, 0.1, 6))
    assert law.is_("line")
    assert all(r.parameters <= 3 for r in law.rivals)


def test_a_negative_row_that_was_held_out():
    s = np.linspace(1, 20, 60)
    y = 3 * s**1.5 * np.exp(0.2 * np.random.default_rng(0).normal(size=60))
    held = np.random.default_rng(0).permutation(60)[0]  # of the seventh that the search leaves out
    y[held] = -5.0
    assert np.isfinite(discover({"s": s}, y).predict(s[:, None])).all()
