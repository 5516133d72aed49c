"""The parts of the search: smoothing, integral form, shooting, each with an answer known."""

import numpy as np
import pytest
import sympy as sp

from rational_anova.motion import smooth
from rational_anova.motion._runs import Run
from rational_anova.motion._shooting import Rows, shot
from rational_anova.motion._system import System
from rational_anova.motion.search import Smoothed, equations, fitted_terms, library, problems

T = np.linspace(0, 8, 90)


@pytest.mark.parametrize("noise", [0.003, 0.1])
def test_noise_is_estimated(noise):
    rows = np.sin(T) + noise * np.random.default_rng(0).normal(size=len(T))
    curve = smooth(T, rows)
    assert curve.noise == pytest.approx(noise, rel=0.25)
    assert np.sqrt(np.mean((curve(T) - np.sin(T)) ** 2)) < 0.6 * noise


def test_rows_without_noise_are_interpolated():
    curve = smooth(T, np.sin(T))
    middle = (T[1:] + T[:-1]) / 2
    assert np.abs(curve(middle) - np.sin(middle)).max() < 1e-6
    assert np.abs(curve.slope(middle) - np.cos(middle)).max() < 1e-4


def run_of(X):
    return Run("0", T, X.reshape(len(T), -1), np.empty((len(T), 0)))


def test_the_integral_form_finds_the_terms():
    x = sp.Symbol("x")
    data = Smoothed.of([run_of(3 / (1 + 2 * np.exp(-0.9 * T)))])
    (problem,) = problems(data, (x,))
    terms = [t for t in library((x,), problem.values) if t.kind == "polynomial"]
    found = equations(problem, terms, 3, fitted_terms(problem, ()))
    best = min((e for e in found if len(e.terms) == 2), key=lambda e: e.squares)
    assert best.key == {x, x**2}
    numbers = np.linalg.lstsq(best.columns, problem.y, rcond=None)[0]
    assert sorted(numbers) == pytest.approx([-0.3, 0.9], abs=1e-3)


def test_shooting_finds_numbers_and_starts_from_afar():
    x, a, k = sp.symbols("x a k")
    rng = np.random.default_rng(0)
    truth = 2 * np.exp(-0.7 * T) + 0.5 * (1 - np.exp(-0.7 * T))
    rows = truth + 0.01 * rng.normal(size=len(T))
    found = shot(System((x,), (), (a, k), (a - k * x,)), Rows.of([run_of(rows)]),
                 np.array([1.0, 3.0]), rows[:, None], np.array([0.01]))  # fmt: skip
    errors = np.sqrt(np.diag(found.covariance))
    assert abs(found.theta[1] - 0.7) < 4 * errors[2]
    assert abs(found.nodes[0, 0] - 2) < 4 * errors[0]
    assert found.noise[0] == pytest.approx(0.01, rel=0.2)


def test_shooting_gives_up_on_what_has_no_solution():
    x, a = sp.symbols("x a")
    rows = np.sin(T)
    found = shot(System((x,), (), (a,), (a / x,)), Rows.of([run_of(rows)]),
                 np.array([1.0]), rows[:, None], np.array([0.01]))  # fmt: skip
    assert np.isinf(found.squares).all()


def test_curves_along_a_solution_have_its_noise():
    t = np.linspace(0, 3, 40)
    clean = np.exp(-t)[:, None]
    rows = clean + 0.1 * np.random.default_rng(0).normal(size=clean.shape)
    smoothed = Smoothed.of([Run("0", t, rows, np.empty((40, 0)))])
    along = smoothed.along(clean, np.array([0.1]))
    np.testing.assert_allclose(along.nodes, clean, atol=1e-9)
    assert along.noise == pytest.approx([0.1])
    assert not along.clean.any()
    assert along.part([0]).noise == pytest.approx([0.1])
