"""Systems of textbooks, subjects with numbers of their own, units, noise that grows."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import rational_anova as ra
from rational_anova.discovery import Grade
from rational_anova.motion._discover import FUNCTIONS
from rational_anova.motion.known import named_systems
from rational_anova.motion.search import library

X, Y = sp.symbols("p q")
VALUES = np.random.default_rng(0).uniform(0.5, 3, (50, 2))
NAMED = named_systems([X, Y], library([X, Y], VALUES), 1)
RNG = np.random.default_rng(0)


def path(rates, start, t):
    return solve_ivp(rates, (t[0], t[-1]), start, t_eval=t, rtol=1e-10, atol=1e-12).y.T


# -- named systems


def test_named_systems_are_tried_in_all_orders_of_the_states():
    keys = {system.key for system in NAMED if system.name == "Lotka-Volterra"}
    assert keys == {
        (frozenset([X, X * Y]), frozenset([Y, X * Y])),
        (frozenset([X, X * Y]), frozenset([X * Y, Y])),
    }
    pendulums = {system.key for system in NAMED if system.name == "pendulum"}
    assert pendulums == {
        (frozenset([Y]), frozenset([sp.sin(X)])),
        (frozenset([sp.sin(Y)]), frozenset([X])),
    }


def test_prior_probabilities_of_named_systems_add_up_to_one():
    assert len({system.key for system in NAMED}) == len(NAMED)
    assert 0.5 < sum(np.exp(-system.price) for system in NAMED) <= 1 + 1e-9


def test_terms_of_named_systems_are_those_of_the_search_where_it_has_them():
    known = set(library([X, Y], VALUES))
    prey = next(s for s in NAMED if s.name == "Rosenzweig-MacArthur")
    assert known.issuperset(prey.sides[0])


def test_sharp_peaks_of_predation_in_noise_are_named():
    t = np.linspace(0, 10, 150)
    rows = path(
        lambda _, s: [1.84 * s[0] - 1.45 * s[0] * s[1], 1.62 * s[0] * s[1] - 3 * s[1]],
        [8.3, 3.4],
        t,
    )
    noise = (
        0.03 * np.sqrt(np.mean(rows**2, axis=0)) * np.random.default_rng(27).normal(size=(150, 2))
    )
    found = ra.discover_dynamics(t, rows + noise, names=["x", "y"], without=FUNCTIONS)
    assert found.name == "Lotka-Volterra"
    assert found.grade is Grade.ESTABLISHED
    assert "Lotka-Volterra" in found.summary()


def test_a_quotient_far_below_the_rows_is_found_without_noise():
    t = np.linspace(0, 8, 60)
    rows = path(lambda _, s: [0.6 * s[0] - 0.02 * s[0] ** 2 - 1.5 * s[0] ** 2 / (4 + s[0] ** 2)],
                [20.0], t)  # fmt: skip
    found = ra.discover_dynamics(t, rows, names=["N"], without=FUNCTIONS[:-1])
    assert found.name == "spruce budworm"
    assert found.equations["N"].equals("3*N/5 - N**2/50 - 3*N**2/(2*(N**2 + 4))")


def test_the_docs_count_the_named_systems():
    text = Path(ra.__file__).parents[1].joinpath("docs", "concepts", "motion.md").read_text()
    count = text.partition("with a name in textbooks (")[2].split()[0]
    systems = files("rational_anova.motion.known").joinpath("systems.toml").read_text()
    assert int(count) == systems.count("[[system]]")


# -- groups


@pytest.fixture(scope="module")
def tanks():
    """Three tanks that cool to one temperature at rates of their own."""
    t = np.linspace(0, 8, 25)
    frames = []
    for tank, rate, start in (("a", 0.3, 90.0), ("b", 0.6, 80.0), ("c", 1.0, 95.0)):
        clean = 20 + (start - 20) * np.exp(-rate * t)
        noisy = clean + 0.3 * RNG.normal(size=len(t))
        frames.append(pd.DataFrame({"time": t, "T": noisy, "tank": tank}))
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def cooled(tanks):
    known = {"T": "a - b*T"}
    return ra.discover_dynamics("time", tanks, by="tank", known=known)


def test_groups_have_rates_of_their_own(cooled):
    assert list(cooled.groups.values.index) == ["a", "b", "c"]
    rates = cooled.groups.values["b"].to_numpy()
    assert rates == pytest.approx([0.3, 0.6, 1.0], rel=0.05)
    one = cooled.for_group("b")
    assert one.groups is None
    assert one.simulate([80.0], [0.0, 1.0])[1, 0] == pytest.approx(20 + 60 * np.exp(-0.6), abs=0.5)
    assert [start.run for start in one.starts] == ["b"]
    assert cooled.forecast([10.0], run="c")["T"][0] == pytest.approx(20, abs=1)
    assert "of their own for 3 of tank" in cooled.summary()


def test_what_groups_share_is_one_number():
    t = np.linspace(0, 6, 30)
    rows = [np.c_[K / (1 + (K / 0.5 - 1) * np.exp(-0.9 * t))] for K in (3.0, 5.0)]
    rows = [r + 0.03 * np.random.default_rng(k).normal(size=r.shape) for k, r in enumerate(rows)]
    found = ra.discover_dynamics([t, t], rows, names=["N"], by=["x", "y"], without=FUNCTIONS)
    assert found.name == "logistic growth"
    assert len(found.groups.shared) == 1
    assert len(found.groups.own) == 1


def test_groups_are_kept_in_files(cooled, tmp_path):
    ra.save(cooled, tmp_path / "tanks.json")
    again = ra.load(tmp_path / "tanks.json")
    pd.testing.assert_frame_equal(again.groups.values, cooled.groups.values)
    assert str(again.for_group("a")) == str(cooled.for_group("a"))
    assert again.noise_model == cooled.noise_model


def test_a_run_of_two_groups_is_refused(tanks):
    with pytest.raises(ValueError, match="run '0' has rows of two groups, 'a' and 'b'"):
        ra.discover_dynamics("time", tanks, by="tank", run=np.zeros(len(tanks), dtype=int))
    with pytest.raises(ValueError, match="by must have a label for each"):
        ra.discover_dynamics([np.arange(20.0)] * 2, [np.eye(20)[:, :2]] * 2, by=["a"])


# -- numbers with the user's names


@pytest.mark.parametrize(
    ("formula", "numbers"),
    [
        ("a - b*T", {"a": 6.0, "b": 0.3}),
        ("k*(Ta - T)", {"Ta": 20.0, "k": 0.3}),
        ("k*Ta*(1 - T/Ta)", {"k": 0.3, "Ta": 20.0}),
        ("f - b*T", {"b": 0.3, "c0": 6.0}),
    ],
)
def test_numbers_keep_the_names_that_they_were_given(formula, numbers):
    t = np.linspace(0, 8, 40)
    rows = {"T": 20 + 70 * np.exp(-0.3 * t) + 0.1 * np.random.default_rng(2).normal(size=40)}
    found = ra.discover_dynamics(t, rows, known={"T": formula}, without=FUNCTIONS)
    values = {p.name: p.value for p in found.parameters}
    assert values == pytest.approx(numbers, rel=0.03)
    assert set(found.stderr) == set(numbers)


def test_one_name_in_two_equations_is_one_number():
    t = np.linspace(0, 8, 40)
    rows = path(lambda _, s: [-0.5 * s[0], 0.5 * s[0] - 0.2 * s[1]], [3.0, 0.5], t)
    rows += 0.01 * np.random.default_rng(4).normal(size=rows.shape)
    known = {"x": "-k*x", "y": "k*x - m*y"}
    found = ra.discover_dynamics(t, rows, names=["x", "y"], known=known)
    assert {p.name: p.value for p in found.parameters} == pytest.approx(
        {"k": 0.5, "m": 0.2}, rel=0.03
    )


def test_names_of_groups_and_of_doubts(tanks):
    found = ra.discover_dynamics("time", tanks, by="tank", known={"T": "k*(Ta - T)"})
    assert found.groups.shared == ("Ta",)
    assert list(found.groups.values) == ["k", "k stderr"]
    with pytest.raises(ValueError, match=r"known= has a\*b, of which only the value can be fitted"):
        ra.discover_dynamics("time", tanks, run="tank", known={"T": "a*b - k*T"})


# -- units and noise


def test_numbers_get_units_and_unsound_terms_are_left_out():
    t = np.linspace(0, 20, 60)
    S = path(lambda _, s: [-0.8 * s[0] / (0.5 + s[0])], [5.0], t)[:, 0]
    rows = {"S": S + 0.02 * RNG.normal(size=60)}
    found = ra.discover_dynamics(t, rows, units={"S": "mmol/L", "t": "min"})
    assert found.name == "Michaelis-Menten elimination"
    assert found.coefficients["unit"].tolist() == ["mmol/L/min", "mmol/L"]
    waves = {wave for rival in found.rivals for f in rival.formulas for wave in f.atoms(sp.sin)}
    assert all(wave.args[0].atoms(sp.Float) for wave in waves)  # sin(k*S), never sin(S)
    with pytest.raises(ValueError, match="units says nothing of 't'"):
        ra.discover_dynamics(t, rows, units={"S": "mmol/L"})


def test_noise_that_grows_with_the_state_is_seen():
    t = np.linspace(0, 8, 60)
    N = 5 / (1 + 40 * np.exp(-t)) * np.exp(0.08 * np.random.default_rng(1).normal(size=60))
    found = ra.discover_dynamics(t, {"N": N}, without=FUNCTIONS)
    assert found.noise_model == {"N": "proportional"}
    assert found.noise["N"] == pytest.approx(0.08, rel=0.3)
    assert found.name == "logistic growth"
    plain = ra.discover_dynamics(t, {"N": N}, noise_model="constant", without=FUNCTIONS)
    assert plain.noise_model == {"N": "constant"}
    band = found.forecast([8.0], noise=True)
    assert band["N high"][0] - band["N low"][0] == pytest.approx(4 * 0.08 * 5, rel=0.5)
    with pytest.raises(ValueError, match="noise_model must be one of"):
        ra.discover_dynamics(t, {"N": N}, noise_model="log")
