"""Oscillations: phases of several columns, chirps, damped waves, and what they are not."""

import numpy as np
import pytest
import sympy as sp

import rational_anova as ra
from rational_anova.discovery.waves import Phase, phases, spectral_lines


def table(columns, rows=600, seed=0, **ranges):
    """Columns drawn uniformly from their ranges."""
    random = np.random.default_rng(seed)
    return {name: random.uniform(*ranges.get(name, (1, 3)), rows) for name in columns}


@pytest.mark.parametrize(
    ("columns", "law", "found"),
    [
        ("abc", lambda a, b, c: np.sin(3 * a * b / c), ((1, 1, -1),)),
        ("abc", lambda a, b, c: 2 + c * np.cos(5 * a**2), ((2, 0, 0),)),
        ("abcd", lambda a, b, c, d: d * np.sin(2 * a - 2 * b) + c, ((1, 0, 0, 0), (0, 1, 0, 0))),
        ("abcd", lambda a, b, c, d: np.cos(a * b - c * d), ((1, 1, 0, 0), (0, 0, 1, 1))),
    ],
)
def test_phases(columns, law, found):
    data = table(columns, **dict.fromkeys(columns, (0.5, 4)))
    y = law(**data)
    first = phases(np.column_stack(list(data.values())), y, np.ones(len(y)))[0]
    assert set(first.products) == set(found)


def test_nothing_oscillates():
    data = np.random.default_rng(1).uniform(1, 3, (500, 4))
    noise = np.random.default_rng(2).normal(size=500)
    assert phases(data, data[:, 0] * data[:, 1] + 0.1 * noise, np.ones(500)) == []
    assert phases(data, data[:, 0] + data[:, 1], np.ones(500)) == []


@pytest.mark.parametrize(("rows", "columns"), [(8, 2), (40, 3), (400, 14)])
def test_noise_has_no_phase(rows, columns):
    random = np.random.default_rng(rows)
    U, y = random.uniform(1, 3, (rows, columns)), random.normal(size=rows)
    assert phases(U, y, np.ones(rows)) == []


def test_time_is_up():
    U = np.random.default_rng(4).uniform(1, 3, (300, 3))
    y = np.sin(5 * U[:, 0] * U[:, 1])
    assert phases(U, y, np.ones(300), over=lambda: True) == []


def test_phase_as_formula():
    x, y = sp.symbols("x y")
    phase = Phase(((1, 1), (0, 2)), (1, -1), 2.5)
    assert float(phase.expression((x, y)).subs({x: 3, y: 4})) == -10.0
    U = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert phase.argument(U).tolist() == [-2.0, -4.0]
    assert phase.places == (0, 1)
    assert Phase(((1, 0),), (1,), 1.0).expression((x, y)) == x


def same(law, truth, data):
    """Whether a law is the truth to rounding, and claimed."""
    columns = np.column_stack([data[name] for name in data])
    apart = np.abs(law.predict(columns) - truth).max()
    return law.grade.claimed and apart < 1e-9 * np.abs(truth).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "law", "ranges"),
    [
        (
            "Akxwt",
            lambda A, k, x, w, t: A * np.sin(k * x - w * t),
            {"A": (0.5, 3), "x": (0, 3), "t": (0, 3)},
        ),
        (
            "abndw",
            lambda a, b, n, d, w: a**2 + b**2 + 2 * a * b * np.cos(4 * np.pi * n * d / w),
            {"a": (0.2, 1), "b": (0.2, 1), "n": (1.2, 1.8), "d": (0.2, 0.6), "w": (0.4, 0.8)},
        ),
        ("at", lambda a, t: a * np.cos(2 * t + 0.3 * t**2), {"t": (0, 6)}),
        ("t", lambda t: 2 * np.exp(-0.3 * t) * np.sin(2.4 * t) + 0.5, {"t": (0, 12)}),
    ],
    ids=["travelling", "film", "chirp", "damped"],
)
def test_laws(columns, law, ranges):
    data = table(columns, rows=1500, **ranges)
    truth = law(**data)
    assert same(ra.discover(data, truth, target="y"), truth, data)


def test_without_waves():
    """Functions that are forbidden stay out, whatever oscillates."""
    data = table("kxt", rows=300, x=(0, 4), t=(0, 4))
    y = np.sin(data["k"] * data["x"] - data["t"])
    law = ra.discover(data, y, without=["sin", "cos"], time_limit=5)
    assert not law.formula.has(sp.sin, sp.cos)


@pytest.mark.slow
def test_wave_at_noise():
    data = table("kxt", rows=800, x=(0, 4), t=(0, 4))
    truth = np.sin(data["k"] * data["x"] - data["t"])
    y = truth + 0.02 * np.random.default_rng(3).normal(size=len(truth))
    law = ra.discover(data, y, target="y")
    columns = np.column_stack([data[name] for name in data])
    assert np.sqrt(np.mean((law.predict(columns) - truth) ** 2)) < 0.004


T = np.sort(np.random.default_rng(5).uniform(0, 5, 400))


def test_lines_of_a_modulated_wave():
    y = 0.2 + 3 * (1 + 0.4 * np.cos(2.3 * T)) * np.cos(21 * T)
    *_, found = spectral_lines(T, y, np.ones(len(T)))
    assert sorted(found.rates) == pytest.approx([18.7, 21, 23.3])
    assert found.error < 1e-12
    plain, modulated = found.formulas(sp.Symbol("t"))
    for formula in (plain, modulated):
        np.testing.assert_allclose(sp.lambdify("t", formula)(T), y, atol=1e-11)
    assert modulated.count(sp.cos) == 2


def test_lines_with_phases():
    y = 2 * np.sin(9 * T + 1) + np.cos(15 * T - 0.5)
    *_, found = spectral_lines(T, y, np.ones(len(T)))
    (formula,) = found.formulas(sp.Symbol("t"))
    np.testing.assert_allclose(sp.lambdify("t", formula)(T), y, atol=1e-11)


@pytest.mark.parametrize("y", [T**2, np.exp(-T), np.random.default_rng(6).normal(size=len(T))])
def test_no_lines(y):
    assert not [found for found in spectral_lines(T, y, np.ones(len(T))) if found.error < 0.5]


def test_modulated_wave_in_noise():
    y = 3 * (1 + 0.4 * np.cos(2.3 * T)) * np.cos(21 * T)
    noisy = y + 0.02 * np.random.default_rng(7).normal(size=len(T))
    *_, found = spectral_lines(T, noisy, np.ones(len(T)))
    _, modulated = found.formulas(sp.Symbol("t"))
    assert len(modulated.atoms(sp.Float)) == 4  # two amplitudes and two rates: no phase, no number
