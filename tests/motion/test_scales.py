"""Units of the data change numbers, not laws; forecasts go on from the run as it was."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rational_anova as ra
from rational_anova.discovery import Grade
from rational_anova.motion._discover import FUNCTIONS

RNG = np.random.default_rng(3)
T = np.linspace(0, 6, 40)
GROWTH = 5 / (1 + 4 * np.exp(-T))
NOISE = RNG.normal(size=40)
FORM = {"N": "a*N - b*N**2"}


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e6, 1e12])
def test_numbers_and_errors_follow_the_unit_of_a_state(scale):
    rows = GROWTH + 0.01 * NOISE
    plain = ra.discover_dynamics(T, {"N": rows}, known=FORM)
    scaled = ra.discover_dynamics(T, {"N": scale * rows}, known=FORM)
    assert scaled.grade is plain.grade
    assert scaled.name == plain.name == "logistic growth"
    for one, other, power in zip(plain.parameters, scaled.parameters, (0, -1), strict=True):
        assert other.value == pytest.approx(one.value * scale**power, rel=1e-6)
        assert other.stderr == pytest.approx(one.stderr * scale**power, rel=1e-6)
    start = scaled.simulate([scale], [0.0, 6.0])[1, 0]
    assert start == pytest.approx(scale * plain.simulate([1.0], [0.0, 6.0])[1, 0], rel=1e-6)


def test_the_law_is_found_in_other_units_too():
    found = ra.discover_dynamics(T, {"N": 1e6 * (GROWTH + 0.01 * NOISE)}, without=FUNCTIONS)
    assert found.name == "logistic growth"
    assert found.grade is Grade.ESTABLISHED


def test_a_forecast_begins_with_the_inputs_that_the_run_had():
    u = (T < 3).astype(float)
    x = solve_ivp(lambda t, s: [2 * np.interp(t, T, u) - s[0] / 2], (0, 6), [0.0], t_eval=T,
                  max_step=0.05, rtol=1e-8).y[0]  # fmt: skip
    table = {"x": x + 0.003 * NOISE, "u": u}
    found = ra.discover_dynamics(T, table, inputs=["u"], known={"x": "a*u - b*x"})
    ahead = found.forecast([6.0, 6.5], inputs=[0.0, 0.0])["x"]
    assert ahead[0] == pytest.approx(x[-1], abs=0.02)
    assert ahead[1] == pytest.approx(x[-1] * np.exp(-0.25), abs=0.02)


def test_a_forecast_of_a_map_counts_steps():
    x = [0.5]
    for _ in range(29):
        x.append(1.5 * x[-1] - 0.1 * x[-1] ** 2)
    rows = np.array(x) + 1e-3 * NOISE[:30]
    found = ra.discover_dynamics(np.arange(30.0), {"x": rows}, discrete=True,
                                 known={"x": "a*x - b*x**2"})  # fmt: skip
    assert found.forecast([29.0])["x"][0] == pytest.approx(x[29], abs=0.01)
    with pytest.raises(ValueError, match="whole steps after 0"):
        found.forecast([29.5])


def test_a_search_that_is_ended_early_keeps_what_it_has():
    calls = []
    rows = {"N": GROWTH * np.exp(0.08 * NOISE)}
    found = ra.discover_dynamics(T, rows, known=FORM, noise_model="proportional",
                                 callbacks=[lambda _: calls.append(1) or len(calls) > 1])  # fmt: skip
    assert found.name == "logistic growth"
    assert ra.discover_dynamics(T, rows, known=FORM, time_limit=1e-3).name == "logistic growth"


def test_a_group_at_rest_and_groups_without_numbers():
    cooling = 20 + 50 * np.exp(-0.5 * T) + 0.1 * NOISE
    tanks = [cooling[:, None], np.full((40, 1), 20.0)]
    found = ra.discover_dynamics([T, T], tanks, names=["T"], by=["a", "b"], known={"T": "a - b*T"})
    assert found.for_group("a").parameters[1].value == pytest.approx(0.5, abs=0.02)
    given = ra.discover_dynamics([T, T], [np.exp(-T)[:, None], 2 * np.exp(-T)[:, None]],
                                 names=["x"], by=["a", "b"], known={"x": "-x"})  # fmt: skip
    assert str(given) == "dx/dt = -x"


def test_few_rows_of_a_group_are_a_doubt():
    tanks = [20 + 70 * np.exp(-0.3 * T[:25]) + 0.3 * NOISE[:25],
             20 + 60 * np.exp(-0.6 * T[:4]) + 0.3 * NOISE[:4]]  # fmt: skip
    found = ra.discover_dynamics([T[:25], T[:4]], [x[:, None] for x in tanks], names=["T"],
                                 by=["many", "few"], known={"T": "a - b*T"})  # fmt: skip
    assert any("few rows of few" in doubt for doubt in found.doubts)
    assert found.grade is Grade.SEVERAL


@pytest.mark.parametrize("rows", [np.r_[0, GROWTH[1:]], -GROWTH])
def test_noise_in_proportion_to_states_of_no_sign_is_refused(rows):
    with pytest.raises(ValueError, match="needs states above 0, but 'N' has"):
        ra.discover_dynamics(T, {"N": rows}, noise_model="proportional")
