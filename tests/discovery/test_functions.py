"""Functions of the user's own: read, tried in sums, and kept by the law that has them."""

import shutil
import subprocess

import numpy as np
import pytest
import scipy.special as special
import sympy as sp

import rational_anova as ra
from rational_anova.discovery import discover
from rational_anova.discovery.sums import pursued, read_functions
from rational_anova.discovery.sums._atoms import Scale

RNG = np.random.default_rng(0)
X, Z, W = RNG.uniform(0.1, 4, 200), RNG.uniform(1, 3, 200), RNG.uniform(0.5, 9, 200)
T = np.linspace(0, 12, 90)
DAMPED = "exp(-b*x)*sin(c*x)"
x, b, t, tau = sp.symbols("x b t tau")


def noisy(y, part):
    return y + np.random.default_rng(1).normal(0, part * y.std(), len(y))


@pytest.fixture(scope="module")
def error_function():
    return discover({"x": X}, 2 * special.erf(0.7 * X) + 0.3 * X, functions=["erf(b*x)"])


@pytest.fixture(scope="module")
def damped_sine():
    y = 1.7 * np.exp(-0.25 * T) * np.sin(2.3 * T) + 0.3 * np.sqrt(T)
    return discover({"t": T}, noisy(y, 0.01), functions=[DAMPED])


# -- laws


def test_an_error_function(error_function):
    assert error_function.equals("2*erf(0.7*x) + 0.3*x")
    assert str(error_function.grade) == "established"
    assert error_function.domain.certified
    assert error_function.provenance["options"]["functions"] == ["erf(b*x)"]


def test_a_damped_sine_with_noise(damped_sine):
    law = damped_sine
    assert law.equals("a*sqrt(t) + b*exp(-c*t)*sin(d*t)")
    assert law.grade.claimed
    truth = sorted([0.3, 1.7, 0.25, 2.3])
    found = sorted(law.parameters, key=lambda p: p.value if p.value > 0 else -p.value)
    for number, parameter in zip(truth, found, strict=True):
        assert 0 < parameter.stderr < 0.05
        assert abs(abs(parameter.value) - number) < 4 * parameter.stderr


def test_a_product_across_two_columns():
    y = 2 * special.erf(0.7 * X) * Z**2 + 0.5 * Z
    law = discover({"x": X, "z": Z}, y, functions=["erf(b*x)"])
    assert law.equals("2*erf(0.7*x)*z**2 + 0.5*z")


def test_columns_that_symmetries_would_mix():
    """With noise, a ratio of columns may seem to hold; the functions are of the columns."""
    y = 2 * W**2 / (3.7 + W**2) * Z - 0.4 * np.sqrt(X)
    law = discover(
        {"w": W, "z": Z, "x": X}, noisy(y, 0.01), functions=["x**2/(k + x**2)"], time_limit=20
    )
    assert law.equals("a*z*w**2/(b + w**2) + c*sqrt(x)")


def test_a_function_in_a_hole():
    y = 2 * Z * special.erf(0.7 * X)
    law = discover(
        {"x": X, "z": Z}, y, template="z*f(x)", functions=[sp.erf(tau * x)], time_limit=20
    )
    assert law.equals("2*z*erf(0.7*x)")


def test_functions_of_groups_without_units():
    pytest.importorskip("pint")
    y = 5 * Z * special.erf(X / Z)
    law = discover(
        {"x": X, "L": Z}, y, target="d", functions=["erf(x)"], time_limit=20,
        units={"x": "m", "L": "m", "d": "m"},
    )  # fmt: skip
    assert law.equals("5*L*erf(x/L)")


# -- what becomes of them


@pytest.mark.parametrize("name", ["error_function", "damped_sine"])
def test_laws_keep_the_functions(name, request, tmp_path):
    law = request.getfixturevalue(name)
    rows = law.data.X[:20]
    law.save(tmp_path / "law.json")
    again = ra.load(tmp_path / "law.json")
    assert again.formula == law.formula
    np.testing.assert_array_equal(again.predict(rows), law.predict(rows))
    scope = {}
    exec(law.to_python(), scope)
    np.testing.assert_allclose(scope["law"](rows[:, 0]), law.predict(rows), rtol=1e-12)
    low, high = law.predict_interval(rows)
    assert (low <= law.predict(rows)).all()
    assert (law.predict(rows) <= high).all()
    assert ("erf" if name == "error_function" else r"\sin") in law.latex(errors=True)
    assert np.isfinite(list(law.stderr.values())).all()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("text", ["erf(0.7*x)", "exp(-x/3)*sin(2*x)", "besselj(0, 2*x)"])
def test_code_in_c(text, tmp_path):
    law = ra.fit_law(f"a*{text}", {"x": X}, 2 * X)
    main = f'#include <stdio.h>\nint main(void) {{ printf("%.15g", law({float(X[0])!r})); return 0; }}\n'
    (tmp_path / "law.c").write_text(law.to_c() + main)
    command = ["cc", "-std=c99", "-Werror", "-Wall", "law.c", "-o", "law", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "law"], capture_output=True, check=True).stdout
    assert float(printed) == pytest.approx(law.predict(X[:1, None])[0], rel=1e-12)


# -- how they are read


@pytest.mark.parametrize(
    ("given", "formula", "kinds"),
    [
        (DAMPED, "exp(-b*x)*sin(c*x)", [("rate", 1), ("wave", 1)]),
        ("exp(-x/tau)", "exp(-x/b)", [("rate", -1)]),
        ("x**2/(b + x**2)", "x**2/(b + x**2)", [("rate", -2)]),
        ("besselj(0, x)", "besselj(0, x)", []),
        ("exp(-((x - m)/s)**2)", "exp(-(x - b)**2/c**2)", [("place", 1), ("steep", -1)]),
        ("sin(w*x + phi)", "sin(b + c*x)", [("phase", 1), ("wave", 1)]),
        ("x**n", "x**b", [("size", 1)]),
        ("a*erf(x)", "erf(x)", []),  # every term has a factor of its own
        ("exp(-0.5*x)", "exp(-x/2)", []),  # numbers that are given stay
        (sp.besselj(1, t), "besselj(1, x)", []),
        (sp.exp(-sp.Symbol(r"\tau") * x), "exp(-b*x)", [("rate", 1)]),
    ],
)
def test_inner_numbers(given, formula, kinds):
    (atom,) = read_functions([given])
    wanted = sp.sympify(formula, {n: sp.Symbol(n, real=True) for n in "xbc"})
    assert atom.formula == wanted
    assert [(grid.kind, grid.degree) for grid in atom.grids] == kinds


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("exp(-((x - m)/s)**2)", lambda x: 3 * np.exp(-(((x - 104.3) / 0.6) ** 2)) + 0.02 * x),
        ("sin(w*x + p)", lambda x: 2 * np.sin(3.1 * x + 0.8) - np.log(x)),
        ("x**2/(b + x**2)", lambda x: 2 * x**2 / (11000 + x**2) + 0.01 * x),
    ],
)
def test_a_column_far_from_zero(text, y):
    column = np.linspace(100, 110, 120)
    *_, found = pursued(column[:, None], y(column), atoms=read_functions([text]))
    assert np.sqrt(found.squares / 120) < 1e-12 * y(column).std()


@pytest.mark.parametrize(
    "text", [DAMPED, "x**2/(b + x**2)", "exp(-((x - m)/s)**2)", "x**n", "erf(b*x)"]
)
@pytest.mark.parametrize("column", [X, -X, 1e-6 * (X - 2), 1e5 + X])
def test_starts_are_sensible_and_not_many(text, column):
    (atom,) = read_functions([text])
    scale = Scale.of(column)
    starts = atom.starts(scale, 32)
    assert starts.shape[1] == len(atom.numbers)
    assert len(starts) < 1000
    assert np.mean([atom.sensible(scale, s) for s in starts.tolist()]) > 0.9
    assert not any(atom.sensible(scale, [np.nan] * len(s)) for s in starts[:1])
    assert not any(atom.sensible(scale, [1e300] * len(s)) for s in starts[:1])


def test_a_function_without_a_value_on_some_rows_is_left_out():
    y = 0.4 * np.abs(X - 2) + 2 * X
    sums = pursued((X - 2)[:, None], y, atoms=read_functions(["log(x)*x", "sqrt(b + x)"]))
    assert all(np.isfinite(one.residual).all() for one in sums)


def test_what_was_asked_for_is_weighed():
    y = noisy(np.tanh(0.7 * X), 0.2)
    sums = list(pursued(X[:, None], y, atoms=read_functions(["erf(b*x)"])))
    assert any(one.formula([x]).has(sp.erf) for one in sums)


# -- what is refused


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        ("erf(b*x)", TypeError, r"must be a list of formulas in x, got 'erf\(b\*x\)'"),
        (sp.erf(x), TypeError, "must be a list"),
        ([3], TypeError, "text or in sympy, got 3"),
        (["gamma(x)"], ValueError, r"'gamma\(x\)'.*unknown function 'gamma'; it may have .*erf"),
        ([sp.gamma(x)], ValueError, "unknown function 'gamma'; it may have .*erf"),
        ([sp.Piecewise((x, x > 0), (0, True))], ValueError, "unknown function 'Piecewise'"),
        (["besselj(b, x)"], ValueError, "whole number as its order"),
        (["sin(a*x + b) + x**c"], ValueError, "3 inner numbers, a, b, c; two are the most"),
        (["erf(b*t)"], ValueError, r"'erf\(b\*t\)'.* no x"),
        ([sp.erf(b * t)], ValueError, "no x; write x for the column"),
        (["3"], ValueError, "no x"),
        (["erf(b*x)", "erf(k*x)"], ValueError, "twice, first as"),
        ([sp.erf(b * x + sp.Symbol("b", real=True))], ValueError, "b, b, x have one name"),
        ([sp.I * x], ValueError, "real and finite"),
        (["x +"], ValueError, "cannot read"),
        (["open('x')"], ValueError, "unknown function 'open'"),
    ],
)
def test_bad_functions(functions, error, message):
    with pytest.raises(error, match=message):
        discover({"x": X}, X**2, functions=functions)


def test_options_that_contradict():
    with pytest.raises(
        ValueError, match=r"'exp\(-b\*x\)\*sin\(c\*x\)', which without=\['sin'\] for"
    ):
        discover({"x": X}, X**2, functions=[DAMPED], without=["sin", "tanh"])
    with pytest.raises(ValueError, match="by cannot go with functions.*forms="):
        discover({"x": X}, X**2, functions=[DAMPED], by=["a", "b"] * 100)
