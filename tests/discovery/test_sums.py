"""Sums of unlike parts: terms found together, numbers inside of functions to the last digit."""

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import discover
from rational_anova.discovery.search import Data, Template, permitted
from rational_anova.discovery.sums import Atom, Effort, pursued
from rational_anova.discovery.sums._atoms import RATE, B, Scale, X, of_one, of_two
from rational_anova.discovery.sums._dictionary import Dictionary, Factor, product_of

RNG = np.random.default_rng(0)
A, T, V = RNG.uniform(0.5, 10, 300), RNG.uniform(0.5, 20, 300), RNG.uniform(-2.5, 2.5, 300)


def last(columns, y, **options):
    *_, found = pursued(np.column_stack(columns), y, **options)
    return found


def error(found, y):
    return np.sqrt(found.squares / len(found.residual)) / y.std()


@pytest.mark.parametrize(
    ("columns", "y", "terms"),
    [
        ((A,), -0.33 * np.sqrt(A) + 0.52 * np.cbrt(A), 2),
        ((A,), -0.232 * A + 0.396 * np.sin(0.527 * A), 2),
        ((A,), -0.19 * A**2 + 0.46 * A**2 / (0.75 * A**4 + 1), 2),
        ((A,), -0.77 * A**2 - 0.77 * A + 0.74 * np.cos(np.log(A + 1)), 3),
        ((A, T), -0.45 * A * np.exp(-0.087 * T) + 0.99 * np.sin(np.sqrt(A)), 2),
        ((V, T), 0.35 * np.sin(T) - 0.6 * np.abs(V) ** (1 / 3) - 1.1 * V**3, 3),
        ((V, T), 0.8 * V * np.exp(-np.abs(V)) - 0.3 * V * T, 2),
    ],
)
def test_exact_sums(columns, y, terms):
    found = last(columns, y)
    assert error(found, y) < 1e-13
    assert len(found.terms) == terms


def test_a_term_that_shows_only_beside_another():
    """Alone, an exponential does what a cube and a root do together."""
    y = 0.42 * np.sin(T) - 0.05 * V**3 - 0.29 * np.abs(V) ** (1 / 3) + 0.023 * T * A + 2.06 * A
    assert error(last((A, T, V), y), y) < 1e-13


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e3])
def test_units_do_not_matter(scale):
    y = 0.4 * np.sqrt(A) + 2 * np.exp(-0.15 * A**2)
    assert error(last((scale * A,), y), y) < 1e-13


def test_a_kink_on_one_column():
    law = discover({"V": V}, 0.8 * V * np.exp(-np.abs(V)) - 0.3 * V**3, target="y")
    assert law.equals("0.8*V*exp(-Abs(V)) - 0.3*V**3")


def test_functions_that_are_forbidden_in_a_law():
    without = ["sin", "cos", "exp", "log", "sqrt", "tanh", "power"]
    law = discover({"x": A}, 0.8 * np.arctan(0.7 * A) + 0.1 * A, without=without, time_limit=10)
    assert not law.formula.has(sp.atan, sp.sin, sp.exp)


def test_few_rows_and_nothing_to_pair():
    for rows in (1, 2, 3, 5):
        list(pursued(A[:rows, None], np.sin(A[:rows])))
    assert list(pursued(A[:40, None], A[:40], allowed=lambda f: False)) != []
    assert len(list(pursued(A[:, None], np.full(300, 2.5)))) == 1


def test_noise_ends_it():
    y = 2 * np.sqrt(A) + RNG.normal(0, 0.3, 300)
    sums = list(pursued(A[:, None], y))
    best = min(sums, key=lambda s: s.score)
    assert len(sums) < 7
    assert len(best.terms) <= 2


def test_time_that_is_up():
    assert list(pursued(A[:, None], np.sin(A) + A, over=lambda: True)) == []


def test_what_is_forbidden():
    y = -0.232 * A + 0.396 * np.sin(0.527 * A)
    effort = Effort(terms=2)
    sums = pursued(
        A[:, None], y, allowed=lambda f: permitted(f, frozenset({"sin", "cos"})), effort=effort
    )
    for found in sums:
        assert not found.formula(sp.symbols("x:1")).has(sp.sin, sp.cos)


def test_atoms_of_ones_own():
    y = 2 * sp.lambdify(X, sp.erf(0.4 * X), "scipy")(A) - 0.1 * A
    found = last((A,), y, atoms=[Atom(sp.erf(B * X), (RATE,))])
    assert error(found, y) < 1e-13
    assert found.formula(sp.symbols("x:1")).has(sp.erf)


def test_gains_are_those_of_least_squares():
    """What a term is said to gain is what it gains, beside others and with weights."""
    U, w = np.column_stack([A, T])[:80], RNG.uniform(0.5, 2, 80)
    y = RNG.normal(size=80)
    basis = np.linalg.qr(np.column_stack([np.ones(80), A[:80]]) * w[:, None])[0].T
    residual = w * y - basis.T @ (basis @ (w * y))
    for gain, term in Dictionary(U, w).best(residual, basis, 5):
        columns = np.column_stack([np.ones(80), A[:80], product_of(term, U)]) * w[:, None]
        left = w * y - columns @ np.linalg.lstsq(columns, w * y, rcond=None)[0]
        assert residual @ residual - left @ left == pytest.approx(gain, rel=1e-6)


def test_gains_of_two_are_those_of_least_squares():
    U, w, y = np.column_stack([A, T])[:80], np.ones(80), RNG.normal(size=80)
    basis = np.zeros((0, 80))
    for gain, one, two in Dictionary(U, w).best_two(y, basis, 5):
        columns = np.column_stack([product_of(one, U), product_of(two, U)])
        left = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
        assert y @ y - left @ left == pytest.approx(gain, rel=1e-6)


@pytest.mark.parametrize("x", [A, V, T - 20.5, np.abs(V) * (np.abs(V) > 0.5)])
def test_atoms_have_values_on_the_columns_they_suit(x):
    scale = Scale.of(x)
    for atom in {*of_one(), *of_two()}:
        if atom.suits(scale):
            for numbers in atom.starts(scale, 8):
                value = Factor(0, atom, tuple(numbers)).value(x[:, None])
                assert not np.isnan(value).any(), atom.formula


def test_discovered():
    law = discover({"A": A}, -0.232366 * A + 0.395876 * np.sin(0.526565 * A), target="r")
    assert law.equals("-0.232366*A + 0.395876*sin(0.526565*A)")
    assert str(law.grade) == "established"


def test_a_long_sum_that_comes_near_is_not_called_exact():
    """Seven terms may come to 1e-11 of a function that they are not."""
    import scipy.special as special

    law = discover({"x": A}, special.j0(A), target="y", time_limit=20)
    assert str(law.grade) in ("interpolation", "nothing")


def test_numbers_for_rounding_alone_are_dropped():
    """A small term that the rows do have stays; one that only fits rounding goes."""
    x, t = sp.Symbol("x"), A / 4
    y = 2 * t + 0.5 * np.sqrt(t) + 2e-9 * np.cos(t)
    data = Data(t[:, None], y, (x,), float(y.std()), np.ones(len(y)))
    kept = Template.of(2.0 * x + 0.5 * sp.sqrt(x) + 2e-9 * sp.cos(x)).refined(data).pruned(data)
    assert len(kept.parameters) == 3
    padded = Template.of(2.0 * x + 0.5 * sp.sqrt(x) + 2e-9 * sp.cos(x) + 1e-17 / x**2)
    assert padded.refined(data).pruned(data).law.has(sp.cos)
    assert len(padded.refined(data).pruned(data).parameters) == 3


@pytest.mark.parametrize("seed", [6, 8])
def test_a_function_that_the_rows_do_not_ask_for_is_dropped_wherever_it_stands(seed):
    """Above two, tanh(u) is nearly one: with noise, a sum may have it in one place or in two."""
    rng = np.random.default_rng(seed)
    U = np.column_stack([rng.uniform(2, 40, 400), rng.uniform(0, 15, 400)])
    y = 1 + (U[:, 0] - 1) * np.exp(-U[:, 1])
    noisy = y + 0.01 * y.std() * rng.standard_normal(400)
    found = last(U.T, noisy, effort=Effort(first=30, kept=6, tried=8, terms=3, inner=2))
    assert not found.formula(sp.symbols("u v")).has(sp.tanh, sp.atan)
