"""Systems with a known answer come back, by every way that data come in."""

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import rational_anova as ra
from rational_anova.discovery import Grade
from rational_anova.motion._discover import FUNCTIONS


def path(rates, start, t):
    return solve_ivp(rates, (t[0], t[-1]), start, t_eval=t, rtol=1e-10, atol=1e-12).y.T


def predation(t, s):
    return [1.1 * s[0] - 0.4 * s[0] * s[1], 0.1 * s[0] * s[1] - 0.4 * s[1]]


def terms(formula):
    """The products of a sum, without their numbers."""
    return {t.as_independent(*t.free_symbols, as_Add=False)[1] for t in sp.Add.make_args(formula)}


@pytest.fixture(scope="module")
def prey_and_predator():
    t = np.linspace(0, 20, 100)
    X = path(predation, [10, 5], t)
    noisy = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    return ra.discover_dynamics(t, noisy, names=["x", "y"])


def test_exact_numbers_of_rows_without_noise():
    t = np.linspace(0, 6, 60)
    found = ra.discover_dynamics(t, 5 / (1 + 4 * np.exp(-t)), names=["N"])
    N = sp.Symbol("N")
    assert sp.simplify(found.formulas["N"] - (N - N**2 / 5)) == 0
    assert found.grade is Grade.ESTABLISHED


def test_predation_in_noise(prey_and_predator):
    x, y = sp.symbols("x y")
    found = prey_and_predator
    assert terms(found.formulas["x"]) == {x, x * y}
    assert terms(found.formulas["y"]) == {y, x * y}
    assert found.grade is Grade.ESTABLISHED
    truth = {("x", x): 1.1, ("x", x * y): -0.4, ("y", y): -0.4, ("y", x * y): 0.1}
    for (state, term), value in truth.items():
        number = float(sp.Poly(found.formulas[state], x, y).coeff_monomial(term))
        assert number == pytest.approx(value, rel=0.02)
    assert max(found.stderr.values()) < 0.02
    assert found.noise["x"] == pytest.approx(0.1, rel=0.3)


def test_saturation_in_two_runs_at_uneven_times():
    rng = np.random.default_rng(1)
    t = [np.sort(rng.uniform(0, 8, 60)), np.sort(rng.uniform(0, 5, 40))]
    paths = [path(lambda _, s: [0.5 - 1.2 * s[0] / (0.4 + s[0])], [x], np.r_[0, one])[1:]
             for x, one in zip((2.0, 0.1), t, strict=True)]  # fmt: skip
    rows = [X + 0.003 * rng.normal(size=X.shape) for X in paths]
    found = ra.discover_dynamics(t, rows, names=["S"])
    assert found.equations["S"].equals("a - b*S/(c + S)")
    assert [len(run.t) for run in found.data] == [60, 40]


def test_a_long_table_with_a_column_of_runs_and_gaps():
    t = np.linspace(0, 5, 40)
    frames = [pd.DataFrame({"time": t, "N": N * np.exp(-0.7 * t), "tank": tank})
              for tank, N in (("a", 3.0), ("b", 5.0))]  # fmt: skip
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[[3, 50, 51], "N"] = np.nan
    found = ra.discover_dynamics("time", frame, run="tank")
    assert [start.run for start in found.starts] == ["a", "b"]
    assert float(found.formulas["N"].coeff(sp.Symbol("N"))) == pytest.approx(-0.7, abs=1e-6)


def test_accelerations_from_positions():
    t = np.linspace(0, 10, 100)
    X = path(lambda _, s: [s[1], -2 * np.sin(s[0]) - 0.1 * s[1]], [1.5, 0], t)[:, 0]
    noisy = X + 0.003 * np.random.default_rng(0).normal(size=len(t))
    found = ra.discover_dynamics(t, noisy, names=["q"], order=2)
    q, v = sp.symbols("q q_dot")
    assert found.formulas["q"] == v
    assert terms(found.formulas["q_dot"]) == {sp.sin(q), v}


def test_forcing_by_an_input():
    t = np.linspace(0, 10, 100)
    u = np.sin(t) + (t > 4)
    X = path(lambda time, s: [-s[0] + 2 * np.interp(time, t, u)], [1.0], t)
    noisy = X[:, 0] + 0.01 * np.random.default_rng(0).normal(size=len(t))
    found = ra.discover_dynamics(t, {"x": noisy, "u": u}, inputs=["u"], without=FUNCTIONS)
    assert terms(found.formulas["x"]) == set(sp.symbols("x u"))
    again = found.simulate([1.0], t, inputs=u)
    assert np.abs(again - X).max() < 0.05


def test_a_map():
    x = [0.3]
    for _ in range(60):
        x.append(3.7 * x[-1] * (1 - x[-1]))
    found = ra.discover_dynamics(np.arange(61), x, names=["x"], discrete=True)
    s = sp.Symbol("x")
    numbers = sp.Poly(found.formulas["x"], s).as_dict()
    assert {k: float(v) for k, v in numbers.items()} == pytest.approx({(1,): 3.7, (2,): -3.7})
    assert found.lyapunov(length=2000)[0] == pytest.approx(0.35, abs=0.05)


def test_known_parts_stay(prey_and_predator):
    run = prey_and_predator.data[0]
    known = {"x": "a*x - b*x*y", "y": "f - m*y"}
    found = ra.discover_dynamics(run.t, run.X, names=["x", "y"], known=known)
    x, y = sp.symbols("x y")
    assert terms(found.formulas["x"]) == {x, x * y}
    assert y in terms(found.formulas["y"])


def test_noise_is_nothing():
    rows = np.random.default_rng(0).normal(size=(80, 2))
    found = ra.discover_dynamics(np.arange(80.0), rows, without=FUNCTIONS)
    assert found.grade is Grade.NOTHING
    assert str(found) == "no equations of motion"


def test_a_random_walk_is_not_claimed():
    walk = np.cumsum(np.random.default_rng(3).normal(size=100))
    found = ra.discover_dynamics(np.arange(100.0), walk, without=FUNCTIONS)
    assert not found.grade.claimed


def test_a_callback_ends_the_search():
    stages = []

    def stop(now):
        stages.append(now.stage)
        return len(stages) > 1

    t = np.linspace(0, 5, 50)
    rows = np.exp(-t) + 0.01 * np.random.default_rng(0).normal(size=50)
    ra.discover_dynamics(t, rows, callbacks=[stop])
    assert stages == ["equations of polynomials", "equations of functions"]


T = np.arange(20.0)
X = np.c_[np.sin(T), np.cos(T)]


@pytest.mark.parametrize(
    ("t", "rows", "options", "words"),
    [
        (T[:10], X[:10], {}, "there are 10 rows"),
        (T[::-1], X, {}, "time falls from 19 to 18 in row 2"),
        (np.r_[T[:10], T[9:19]], X, {}, "time 9 occurs twice"),
        (np.r_[T[:19], np.nan], X, {}, "time must be a number"),
        (T, np.c_[X[:, 0], np.r_[X[:19, 1], np.inf]], {}, "'x1' is infinite in row 20"),
        (T, np.c_[X[:, 0], np.ones(20)], {}, "'x1' is constant"),
        (T[:15], X, {}, "t has 15 rows, but X has 20"),
        ("time", {"t": T, "x": X[:, 0]}, {}, "t must be one of 't', 'x'"),
        (T, X, {"order": 3}, "order must be 1 or 2"),
        (T, X, {"discrete": True, "order": 2}, "discrete cannot go with"),
        (T, X, {"known": {"z": "x0"}}, "known must be one of"),
        (T, X, {"known": {"x0": "2*f*x1"}}, "may only be added"),
        (T, X, {"without": ["sinh"]}, "without must be one of"),
        (T, X, {"inputs": ["x0", "x1"]}, "no state is left"),
        ([T, T], [X, X[:, :1]], {}, "give all runs the same"),
        (T, X, {"time_limit": 0}, "time_limit must be"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(t, rows, options, words):
    with pytest.raises(ValueError, match=words):
        ra.discover_dynamics(t, rows, **options)
