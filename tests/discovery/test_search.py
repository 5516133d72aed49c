"""The parts of the search: each stage alone, and the numerics that they stand on."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import sympy as sp

from rational_anova._core.least_squares import levenberg_marquardt, standard_errors
from rational_anova.discovery import (
    auto_rational,
    discover,
    equivalent,
    few_terms,
    lifted,
    project,
    refine,
    structure,
    symmetries,
)
from rational_anova.discovery._assemble import in_order
from rational_anova.discovery._route import Linked
from rational_anova.discovery.finish._forms import forms, monic, partial_fractions
from rational_anova.discovery.finish._simplify import simplified
from rational_anova.discovery.search._beam import System, best_of
from rational_anova.discovery.search._rates import scanned_rates
from rational_anova.discovery.search._reduce import reduce_table
from rational_anova.discovery.search._reduced_table import OutOfTime, ReducedTable
from rational_anova.discovery.search._separate import sums, varying
from rational_anova.discovery.search._stages import monomial_terms
from rational_anova.discovery.search._surrogate import fit_surrogate, leave_one_out
from rational_anova.discovery.search._template import Data, Template
from rational_anova.discovery.search._vocabulary import LINKS, USUAL, polynomial
from rational_anova.symbols import Names

a, b, c, d, x = sp.symbols("a b c d x")


def draw(*ends, rows=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(*e, rows) for e in ends])


def state(U, y, symbols):
    return ReducedTable(y, U, y.copy(), np.ones(len(y)), tuple(symbols)).fitted()


def data(U, y, symbols):
    return Data(U, y, tuple(symbols), float(np.std(y)), np.ones(len(y)))


def one_of(formulas, truth):
    """Whether the truth is among the first formulas."""
    return any(equivalent(formula, sp.sympify(truth)) for formula in formulas[:3])


# ---- structure


def test_structure_of_a_sum():
    X = draw((1, 3), (1, 3), (1, 3))
    found = structure(X, X[:, 0] ** 2 + np.sin(X[:, 1]), names=["a", "b", "c"])
    assert set(found.columns) == {"a", "b", "c"}
    assert found.columns["a"] > found.columns["b"] > 0.05
    assert found.columns["c"] < 1e-3  # it does not matter
    assert max(found.pairs.values()) < 1e-3  # no two columns act together
    assert found.products["a", "b"] > 1e-2  # but it is no product
    assert found.noise < 1e-3


def test_structure_of_a_product():
    X = draw((1, 3), (1, 3))
    found = structure(X, np.exp(X[:, 0]) * X[:, 1], names=["a", "b"])
    assert found.products["a", "b"] < 1e-6
    assert found.pairs["a", "b"] > 0.1


@pytest.mark.parametrize("level", [0.01, 0.1])
def test_structure_tells_the_noise(level):
    X = draw((1, 3), (1, 3), rows=400)
    y = X[:, 0] * X[:, 1]
    y = y + level * np.std(y) * np.random.default_rng(1).normal(size=400)
    assert structure(X, y).noise == pytest.approx(level, rel=0.2)


# ---- symmetries


@pytest.mark.parametrize(
    ("f", "variables"),
    [
        (lambda p, q, r: np.exp(-p) * np.sin(q - r), 2),  # a difference
        (lambda p, q, r: np.tanh(p * q / r), 1),  # one number of three
        (lambda p, q, r: p * q**2 / np.sqrt(r), 0),  # powers only
        (lambda p, q, r: np.cosh(np.sqrt(p**2 + q**2)) / r, 1),  # a distance
        (lambda p, q, r: np.exp(np.sin(p)) + 0 * q + 0 * r, 1),  # columns that do not matter
    ],
    ids=["difference", "ratio", "powers", "distance", "irrelevant"],
)
def test_symmetries(f, variables):
    """What is left is a table of fewer columns, from which the target can be made again."""
    X = draw((1, 3), (1, 3), (1, 3), rows=300)
    y = f(*X.T)
    found = symmetries(X, y, names=["p", "q", "r"])
    assert len(found.variables) == variables
    assert found.values.shape == (300, variables)
    assert len(found.route) >= 1
    symbols = sp.symbols("p q r")
    factor = sp.lambdify(symbols, found.factor)(*X.T)
    np.testing.assert_allclose(factor * found.target, y, rtol=1e-9)
    for expression, values in zip(found.variables, found.values.T, strict=True):
        np.testing.assert_allclose(sp.lambdify(symbols, expression)(*X.T), values, rtol=1e-9)


def test_no_symmetry_where_there_is_none():
    X = draw((1, 3), (1, 3), rows=300)
    y = np.sin(X[:, 0] * X[:, 1]) + X[:, 0] ** 2 - np.exp(X[:, 1] / 2)
    found = symmetries(X, y)
    assert len(found.variables) == 2
    assert found.factor == 1


def test_symmetries_under_noise():
    X = draw((1, 5), (1, 5), (1, 5), rows=400)
    y = X[:, 0] * np.exp(-X[:, 1] / X[:, 2])
    y = y + 0.01 * np.std(y) * np.random.default_rng(1).normal(size=400)
    found = symmetries(X, y, names=["a", "b", "c"])
    assert len(found.variables) == 1
    assert found.noise == pytest.approx(0.01, rel=0.3)


def test_symmetries_keep_their_time():
    X = draw(*[(1, 3)] * 6, rows=400)
    start = time.monotonic()
    symmetries(X, np.sin(X.prod(1)) + X[:, 0], time_limit=0.5)
    assert time.monotonic() - start < 5


def test_no_fit_is_begun_after_the_time():
    X = draw((1, 3), (1, 3), rows=100)
    table = ReducedTable(X.sum(1), X, X.sum(1), np.ones(100), (a, b))
    assert table.smooth is table.smooth
    late = replace(table, until=time.monotonic() - 1)
    P, Q = monomial_terms(table)
    for begin in (
        late.fitted,
        lambda: System(late, LINKS["y"], P, Q),
        lambda: list(sums(replace(table.smooth, until=late.until), list(LINKS))),
        lambda: list(varying(replace(table.smooth, until=late.until))),
    ):
        with pytest.raises(OutOfTime):
            begin()


def test_chain_never_gets_worse():
    """Every table of the chain predicts about as well as the first, with no more columns."""
    X = draw((1, 3), (1, 3), (1, 3), rows=300)
    start = ReducedTable(X.sum(1) ** 2, X, X.sum(1) ** 2, np.ones(300), (a, b, c))
    chain = reduce_table(start, time.monotonic() + 20)
    sizes = [s.U.shape[1] for s in chain]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 1
    assert all(s.loo < 1e-6 for s in chain)


# ---- stages


def test_projection():
    X = draw((1, 3), (1, 3))
    y = (X[:, 0] ** 2 + X[:, 1]) / (X[:, 0] * X[:, 1] + 3)
    found = project(X, y, names=["a", "b"])
    assert one_of(found, (a**2 + b) / (a * b + 3))
    assert one_of(project(X, np.sqrt(y), names=["a", "b"]), sp.sqrt((a**2 + b) / (a * b + 3)))


def test_projection_says_nothing_under_noise():
    X = draw((1, 3), (1, 3))
    y = X[:, 0] / X[:, 1] + 0.01 * np.random.default_rng(1).normal(size=200)
    assert project(X, y) == []


def test_few_terms_under_noise():
    X = draw((0.1, 4))
    y = 3 * X[:, 0] / (X[:, 0] + 0.5)
    y = y + 0.01 * np.std(y) * np.random.default_rng(1).normal(size=200)
    best = few_terms(X, y, names=["x"])[0]
    f = sp.lambdify(x, best)
    np.testing.assert_allclose(f(X[:, 0]), 3 * X[:, 0] / (X[:, 0] + 0.5), atol=0.02)
    np.testing.assert_allclose(f(1e6), 3.0, rtol=0.02)  # and not only on the data


def test_lifts():
    X = draw((0.2, 3))
    assert one_of(lifted(X, 2 * np.sin(X[:, 0]) + X[:, 0], names=["x"], rates=False),
                  2 * sp.sin(x) + x)  # fmt: skip
    assert one_of(lifted(X, X[:, 0] * np.log(X[:, 0]), names=["x"], rates=False), x * sp.log(x))


@pytest.mark.slow
def test_rates():
    X = draw((0.2, 3))
    y = 2 * np.exp(-1.37 * X[:, 0]) + 0.5
    best = lifted(X, y, names=["x"])[0]
    np.testing.assert_allclose(sp.lambdify(x, best)(X[:, 0]), y, rtol=1e-9)


@pytest.mark.parametrize("rate", [0.7, 2.3, 9.1])
def test_scanned_rates_find_the_frequency(rate):
    X = draw((0.2, 3))
    table = state(X, 3 * np.sin(rate * X[:, 0]), [x])
    errors = [c.error for f in scanned_rates(table, ("y",), time.monotonic() + 20) for c in f]
    assert min(errors) < 1e-9


def test_stages_take_what_discover_takes():
    columns = {"T": np.arange(1.0, 31), "kind": ["a", "b"] * 15}
    assert one_of(few_terms(columns, 2 * np.arange(1.0, 31)), 2 * sp.Symbol("T"))
    with pytest.raises(ValueError, match="at least 5 rows"):
        structure([1.0, 2, 3], [1.0, 2, 3])
    with pytest.raises(ValueError, match="rows"):
        symmetries(np.ones((10, 2)), np.ones(9))


def test_stages_on_a_constant():
    """Nothing to find, and nothing to fail at."""
    X = draw((1, 3), (1, 3))
    assert max(structure(X, np.full(200, 2.0)).columns.values()) < 1e-6
    assert symmetries(X, np.full(200, 2.0)).variables == ()


# ---- the surrogate


def test_leave_one_out_is_what_it_says():
    """The formula gives what leaving out each row in turn does."""
    rng = np.random.default_rng(0)
    M, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    left = []
    for i in range(30):
        rest = np.arange(30) != i
        left.append(y[i] - M[i] @ np.linalg.lstsq(M[rest], y[rest], rcond=None)[0])
    error, coefficients = leave_one_out(M, y)
    assert error == pytest.approx(np.sqrt(np.mean(np.square(left))), rel=1e-9)
    np.testing.assert_allclose(coefficients, np.linalg.lstsq(M, y, rcond=None)[0], rtol=1e-9)


def test_leave_one_out_of_dependent_columns():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(30, 3))
    M = np.column_stack([M, M[:, 0] + M[:, 1]])
    error, coefficients = leave_one_out(M, M[:, 0] - 2 * M[:, 2])
    assert error < 1e-10
    np.testing.assert_allclose(M @ coefficients, M[:, 0] - 2 * M[:, 2], atol=1e-10)


def test_surrogate_slopes():
    U = draw((1, 3), (1, 3), rows=400)
    f = U[:, 0] ** 2 * np.exp(-U[:, 1])
    surrogate = fit_surrogate(U, f, np.ones(400))
    inner = surrogate.interior
    assert inner.sum() > 100
    np.testing.assert_allclose(surrogate.values, f, rtol=1e-6)
    G = np.column_stack([2 * f / U[:, 0], -f])
    np.testing.assert_allclose(surrogate.gradients[inner], G[inner], rtol=1e-5)
    mixed = surrogate.hessian[inner, 0, 1]
    np.testing.assert_allclose(mixed, (-2 * f / U[:, 0])[inner], rtol=1e-4)


def test_the_form_with_plain_numbers_is_chosen():
    """Of V - 0.043 n and n - V/0.043 in a denominator, the one that can be written down."""
    U = draw((1, 3), (250, 400), (1, 5), rows=300)
    n, T, V = U.T
    law = discover(U, 0.0821 * n * T / (V - 0.043 * n) - 3.6 * n**2 / V**2, names=["n", "T", "V"])
    assert {str(p.exact) for p in law.parameters} == {"821/10000", "-43/1000", "-18/5"}


def test_slopes_where_rows_are_few():
    """Rows are scattered evenly, and the surrogate is of logarithms: few are at the low ends."""
    U = draw((0.5, 15), (10, 500), rows=1700, seed=3)
    inner = 0.159 / U[:, 0] ** 2 + 4 / U[:, 1]
    truth = np.column_stack([-0.318 / U[:, 0] ** 3, -4 / U[:, 1] ** 2]) / inner[:, None]
    surrogate = fit_surrogate(U, np.log(inner), np.ones(len(U)))
    assert surrogate.basis.logs
    inside = np.abs(surrogate.basis.T).max(1) < 0.9

    def error(rows):
        left = surrogate.gradients[rows] - truth[rows]
        return np.linalg.norm(left) / np.linalg.norm(truth[rows])

    assert surrogate.interior.sum() > 0.5 * len(U)
    assert error(surrogate.interior) < 1e-5 < 1e-3 < error(inside)


def test_surrogate_does_not_fit_noise():
    rng = np.random.default_rng(0)
    surrogate = fit_surrogate(rng.uniform(0, 1, (100, 3)), rng.normal(size=100), np.ones(100))
    assert surrogate.loo > 0.9


@pytest.mark.parametrize("rows", [5, 6, 9])
def test_surrogate_of_few_rows(rows):
    U = draw((1, 3), (1, 3), rows=rows)
    surrogate = fit_surrogate(U, U[:, 0] * U[:, 1], np.ones(rows))
    assert surrogate is None or np.isfinite(surrogate.loo)


# ---- links, supports, parts


@pytest.mark.parametrize("name", LINKS)
def test_links_and_their_inverses(name):
    link = LINKS[name]
    f = np.linspace(0.2, 0.8, 50)
    t = link.forward(f)
    np.testing.assert_allclose(link.inverse(t), f, rtol=1e-12)
    step = 1e-6
    rise = (link.forward(f + step) - link.forward(f - step)) / (2 * step)
    np.testing.assert_allclose(np.abs(link.slope(f)), np.abs(rise), rtol=1e-6)
    back = (link.inverse(t + step * rise) - link.inverse(t - step * rise)) / (2 * step * rise)
    np.testing.assert_allclose(np.abs(link.inverse_slope(t)), np.abs(back), rtol=1e-5)
    symbolic = sp.lambdify(x, link.expression(x))
    np.testing.assert_allclose(symbolic(t), f, rtol=1e-12)
    assert link.allowed(f)


def test_links_are_refused_where_they_have_no_value():
    f = np.linspace(-1, 1, 50)
    assert LINKS["y"].allowed(f)
    assert not LINKS["log y"].allowed(f)
    assert not LINKS["1/y"].allowed(f)


def test_beam_finds_the_terms():
    """Of all quotients of quadratics in two variables, the one that made the data."""
    U = draw((1, 3), (1, 3))
    y = (2 * U[:, 0] ** 2 - U[:, 1]) / (1 + 0.5 * U[:, 0] * U[:, 1])
    terms = polynomial(2, 2)
    system = System(state(U, y, [a, b]), LINKS["y"], terms, terms[1:])
    single = [(), *((j,) for j in range(len(system.Q)))]
    best = min(best_of(system, single, 3, 10, 3), key=lambda t: t[0])
    candidate = system.candidate(best[1], exact=True)
    assert candidate.measured().error < 1e-10
    assert equivalent(candidate.expression(), (2 * a**2 - b) / (1 + a * b / 2))


def test_sums_are_cut_where_they_come_apart():
    U = draw((1, 3), (1, 3), (1, 3), (1, 3), rows=400)
    y = U[:, 0] * np.sin(U[:, 1]) + U[:, 2] ** 2 / U[:, 3]
    first = next(sums(state(U, y, [a, b, c, d]), USUAL))
    assert first.link is not None
    assert first.link.name == "y"
    assert {first.left, first.right} == {(0, 1), (2, 3)}
    part = U[:, 2] ** 2 / U[:, 3] if first.right == (2, 3) else U[:, 0] * np.sin(U[:, 1])
    off = first.part - part
    assert np.std(off) < 1e-3 * np.std(part)  # up to a constant


def test_products_are_cut_where_they_come_apart():
    U = draw((1, 3), (1, 3), rows=300)
    y = (1 + np.sin(U[:, 0]) ** 2) * (2 + np.exp(-U[:, 1]))
    first = next(sums(state(U, y, [a, b]), ("y",)))
    assert first.link is None
    truth = 2 + np.exp(-U[:, 1]) if first.right == (1,) else 1 + np.sin(U[:, 0]) ** 2
    ratio = first.part / truth
    assert np.std(ratio) < 1e-5 * np.abs(np.mean(ratio))


def test_what_does_not_come_apart_is_not_cut():
    U = draw((1, 3), (1, 3), rows=300)
    y = np.sin(3 * U[:, 0] * U[:, 1]) + U[:, 0]
    assert list(sums(state(U, y, [a, b]), ("y",))) == []


# ---- least squares


def test_levenberg_marquardt_agrees_with_scipy():
    rng = np.random.default_rng(0)
    t = np.linspace(0, 3, 60)
    y = 2 * np.exp(-1.3 * t) + 0.4 + 0.05 * rng.normal(size=60)

    def residual(p):
        return p[0] * np.exp(-p[1] * t) + p[2] - y

    def jacobian(p):
        e = np.exp(-p[1] * t)
        return np.column_stack([e, -p[0] * t * e, np.ones(60)])

    start = np.array([1.0, 0.5, 0.0])
    theta, error = levenberg_marquardt(residual, jacobian, start, 50)
    best = scipy.optimize.least_squares(residual, start, jacobian, xtol=1e-14, ftol=1e-14)
    np.testing.assert_allclose(theta, best.x, rtol=1e-6)
    assert error == pytest.approx(np.sqrt(np.mean(best.fun**2)), rel=1e-9)
    np.testing.assert_array_equal(start, [1.0, 0.5, 0.0])
    errors = standard_errors(jacobian(theta), theta, error)
    J = jacobian(theta)
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(J.T @ J))) * error, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_levenberg_marquardt_does_not_mind_units(scale):
    t = np.linspace(0.1, 3, 40)
    y = 2 * t / (t + 0.7)

    def residual(p):
        return p[0] * t / (t + p[1] / scale) - y

    def jacobian(p):
        q = t + p[1] / scale
        return np.column_stack([t / q, -p[0] * t / q**2 / scale])

    theta, error = levenberg_marquardt(residual, jacobian, np.array([1.0, 0.3 * scale]), 60)
    assert error < 1e-13
    np.testing.assert_allclose(theta, [2, 0.7 * scale], rtol=1e-10)


def test_levenberg_marquardt_gives_up_in_peace():
    theta, error = levenberg_marquardt(
        lambda p: np.full(5, np.nan), lambda p: np.ones((5, 1)), np.array([1.0])
    )
    assert theta[0] == 1.0
    assert error == np.inf


def test_refine():
    X = draw((0.1, 4))
    y = 2.5 * X[:, 0] / (0.8 + X[:, 0])
    fitted = refine(sp.Float(2) * x / (x + sp.Float(0.5)), X, y, names=["x"])
    assert equivalent(fitted, 2.5 * x / (0.8 + x), digits=9)
    # exact numbers are not touched
    assert refine(2 * x, X, y, names=["x"]) == 2 * x


# ---- exact numbers and forms


def test_exact_numbers():
    X = draw((0.5, 4))
    t = X[:, 0]
    found = auto_rational(
        sp.Float(2.49) * x / (x + sp.Float(0.81)), X, 2.5 * t / (t + 0.8), names=["x"]
    )
    assert not found.has(sp.Float)
    assert equivalent(found, sp.Rational(5, 2) * x / (x + sp.Rational(4, 5)))
    circle = auto_rational(sp.Float(3.1) * x**2, X, np.pi * t**2, names=["x"], constants=["pi"])
    assert circle == sp.pi * x**2


def test_numbers_that_are_not_simple_stay():
    """Under noise a number becomes exact only where that number lies within its error."""
    X = draw((0.5, 4))
    y = 0.7317 * X[:, 0] + 0.001 * np.random.default_rng(0).normal(size=200)
    found = auto_rational(sp.Float(0.7) * x, X, y, names=["x"])
    assert float(found.coeff(x)) == pytest.approx(0.7317, abs=2e-4)
    y = 2 * X[:, 0] + 0.001 * np.random.default_rng(0).normal(size=200)
    assert auto_rational(sp.Float(2.1) * x, X, y, names=["x"]) == 2 * x


def test_simplification_leaves_out_what_is_not_needed():
    X = draw((0.5, 4), (0.5, 4))
    y = 3 * X[:, 0] / X[:, 1] + 0.01 * np.random.default_rng(0).normal(size=200)
    template = Template.of(sp.Float(3.01) * a / b + sp.Float(0.003) * b + sp.Float(1e-4))
    rows = data(X, y, [a, b])
    short = simplified(template.refined(rows), rows, (), {})
    assert equivalent(short.law, 3 * a / b)
    assert short.error <= template.refined(rows).error * 1.02


LAWS = [
    2.5 * x / (0.8 + x),
    0.083 * a / (b - 0.043) - 3.59 / b**2,
    (1.5 * x + 2.2) / (0.3 * x**2 + 1.7 * x + 0.9),
    sp.sqrt(2.2 * a**2 + 1.3 * b) / (1.1 + 0.7 * a),
    3.3 * sp.exp(-0.7 * x) / (1.2 + 2.1 * x),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_forms_are_the_same_law(law):
    """Whatever the form, the values are those of the law."""
    symbols = sorted(law.free_symbols, key=str)
    points = draw(*[(1.0, 3.0)] * len(symbols), rows=20).T
    values = sp.lambdify(symbols, law)(*points)
    shown = [form.law for form in forms(Template.of(law))]
    assert shown
    assert len(set(shown)) == len(shown)
    for form in (*shown, monic(law), *partial_fractions(law)):
        np.testing.assert_allclose(sp.lambdify(symbols, form)(*points), values, rtol=1e-9)


def test_forms_of_textbooks():
    assert equivalent(monic(2.0 * x / (1 + 4.0 * x)), 0.5 * x / (x + 0.25)).identical
    assert sp.fraction(monic(2.0 * x / (1 + 4.0 * x)))[1].coeff(x) == 1


def test_forms_off_the_main_thread():
    """Where no timer can be set there are fewer forms, and none of them wrong."""
    out = []
    template = Template.of(2.5 * x / (0.8 + x))
    thread = threading.Thread(target=lambda: out.extend(form.law for form in forms(template)))
    thread.start()
    thread.join()
    assert out
    assert all(equivalent(form, 2.5 * x / (0.8 + x)) for form in out)


def test_templates_read_the_numbers_of_a_formula():
    formula = sp.Float(2.5) * x**2 / (x + sp.Float(0.8))
    template = Template.of(formula)
    assert sorted(template.values) == [0.8, 2.5]
    assert template.law.xreplace({}) == formula or equivalent(template.law, formula)
    assert Names(["x"]).parse(str(template.law)).free_symbols == {x}


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("a*x + b*y", {"b": 1.5, "a": 11.5}),  # the digits of one in those of the other
        ("a*x + b*y", {"b": 11.5, "a": 1.5}),
        ("a*x + b*y", {"b": 2.5, "a": 2.5}),
        ("a*x + b*y + c", {"c": -2.5, "b": 2.5, "a": -2.5}),
        ("a*x/(y + b)", {"b": 1e-300, "a": -1e-300}),
        ("a + b*exp(-c*x)", {"c": 3e-9, "b": 3.1, "a": 3e-9}),
        ("a - b*x", {"b": 0.5, "a": 0.5}),  # as it is written: 0.5 - 0.5*x
        ("a*(x + b)", {"b": 0.5, "a": 5.0}),  # b is lost in the product, so it comes last
        ("a*x**b", {"b": 0.37, "a": 0.37}),
    ],
)
def test_parameters_are_in_the_order_of_the_formula(formula, values):
    own = {sp.Symbol(name): value for name, value in values.items()}
    assert "".join(map(str, in_order(sp.sympify(formula), own))) == "abc"[: len(own)]


def test_a_link_is_a_step_of_the_route():
    state = ReducedTable(np.ones(20), np.ones((20, 1)), np.ones(20), np.ones(20), sp.symbols("x,"))
    (step,) = state.linked(LINKS["log y"]).route
    assert step == Linked("log y")
    assert step.text == "seen as log y"


def test_monomials_of_many_variables_are_not_looked_for_among_all_powers():
    from rational_anova.discovery.search._vocabulary import monomials, polynomial

    assert len(polynomial(30, 2)) == 32 * 31 // 2  # of 3**30 products
    assert len(monomials(np.full((5, 30), 2.0), 1)) == 61
