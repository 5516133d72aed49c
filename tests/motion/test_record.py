"""What a system can do: simulate, forecast, fixed points, conserved sums, exports, files."""

import subprocess
from shutil import which

import numpy as np
import pytest
import sympy as sp

import rational_anova as ra
from rational_anova.discovery import Evidence, Grade, Law, Parameter
from rational_anova.motion.record import Start
from rational_anova.symbols import Names

T = np.linspace(0, 3, 31)


def system(formulas, start, box, discrete=False):
    """A system by formulas with numbers, as if it had been found."""
    names, numbers, laws = Names(list(formulas)), [], {}
    for state, formula in formulas.items():
        own = []
        for number in sorted(formula.atoms(sp.Float), key=str):
            own.append(Parameter(f"c{len(numbers) + len(own)}", float(number), 0.01))
        template = formula.xreplace({sp.Float(p.value): p.symbol for p in own})
        numbers += own
        laws[state] = Law(template, tuple(own), names, f"d{state}/dt", box,
                          1e-4 * np.eye(len(own)), Evidence(31, 0.01, 0.01))  # fmt: skip
    size = len(start) + len(numbers)
    first = Start("0", (0.0, 3.0), np.array(start), np.array(start), np.full(len(start), 0.01))
    return ra.Dynamics(
        laws, tuple(formulas), (), "t", tuple(numbers), 1e-4 * np.eye(size), (first,),
        dict.fromkeys(formulas, 0.01), dict.fromkeys(formulas, 1.0), 31, Grade.ESTABLISHED,
        discrete=discrete,
    )  # fmt: skip


x, v = sp.symbols("x v")
DECAY = system({"x": sp.Float(-0.5) * x}, [2.0], ((0.1, 2.0),))
PENDULUM = system({"x": v, "v": sp.Float(-0.9) * sp.sin(x)}, [1.0, 0.0], ((-2, 2), (-2, 2)))


def test_simulate_is_the_solution():
    found = DECAY.simulate({"x": 2.0}, T)
    assert found.shape == (31, 1)
    assert np.allclose(found[:, 0], 2 * np.exp(-0.5 * T), rtol=1e-6)


def test_simulate_ends_with_nan_where_the_solution_ends():
    blows_up = system({"x": sp.Float(1.0) * x**2}, [1.0], ((0, 1),))
    found = blows_up.simulate([1.0], np.linspace(0, 2, 21))
    assert np.isfinite(found[:8]).all()
    assert np.isnan(found[-1, 0])


@pytest.mark.parametrize("rate", [1e308, 1e155])
def test_simulate_ends_where_no_step_is_small_enough(rate, monkeypatch):
    monkeypatch.setattr("rational_anova.motion._simulate._PATIENCE", 2000)
    turns = system({"x": sp.Float(rate) * sp.cos(sp.Float(1e25) * x)}, [1.0], ((0, 1),))
    found = turns.simulate([1.0], np.linspace(0, 2, 5))
    assert found[0, 0] == 1.0
    assert np.isnan(found[-1, 0])
    late = system({"x": sp.Max(x - 2, 0) * sp.Float(rate) + 1}, [1.0], ((0, 1),))
    found = late.simulate([1.0], np.linspace(0, 2, 5))
    np.testing.assert_allclose(found[:3, 0], [1.0, 1.5, 2.0], rtol=1e-6)


@pytest.mark.parametrize("start", [[1.0, 2.0], {"y": 1.0}, [np.nan]])
def test_a_start_must_fit(start):
    with pytest.raises(ValueError, match="x0"):
        DECAY.simulate(start, T)


def test_the_band_of_a_forecast_holds_the_solution_and_widens_with_noise():
    band = DECAY.forecast([1.0, 2.0])
    truth = 2 * np.exp(-0.5 * np.array([1.0, 2.0]))
    assert ((band["x low"] < truth) & (truth < band["x high"])).all()
    wide = DECAY.forecast([1.0, 2.0], noise=True)
    assert (wide["x high"] - wide["x low"] > band["x high"] - band["x low"]).all()


def test_fixed_points_have_their_kinds():
    points = PENDULUM.fixed_points(box=[(-1, 4), (-1, 1)])
    assert [p.kind for p in points] == ["centre", "saddle"]
    assert points[1].state[0] == pytest.approx(np.pi)
    (origin,) = DECAY.fixed_points(box=[(-1, 1)])
    assert origin.stable


def test_energy_is_conserved():
    (energy,) = PENDULUM.conserved()
    found = sp.expand(energy.formula)
    ratio = found.coeff(sp.cos(x)) / found.coeff(v**2)
    assert float(ratio) == pytest.approx(-1.8, rel=1e-5)


def test_nothing_is_conserved_in_decay():
    assert DECAY.conserved() == []


def test_a_dimensionless_form_has_factors_of_one():
    formulas, scales = system(
        {"x": sp.Float(2.0) * x - sp.Float(0.25) * x**2}, [1.0], ((0, 8),)
    ).dimensionless()
    assert sp.simplify(formulas["x"] - (x - x**2)) == 0
    assert scales == pytest.approx({"x": 8.0, "t": 0.5})


def test_python_code_computes_the_rates():
    space = {}
    exec(PENDULUM.to_python(), space)
    assert np.allclose(space["rates"](0.0, [0.3, 0.8]), [0.8, -0.9 * np.sin(0.3)])


@pytest.mark.skipif(which("cc") is None, reason="no C compiler")
def test_c_code_compiles(tmp_path):
    (tmp_path / "rates.c").write_text(PENDULUM.to_c())
    subprocess.run(["cc", "-Wall", "-Werror", "-c", "rates.c"], cwd=tmp_path, check=True)


def test_files_hold_everything(tmp_path):
    PENDULUM.save(tmp_path / "pendulum.json")
    again = ra.load(tmp_path / "pendulum.json")
    assert again.formulas == PENDULUM.formulas
    assert again.grade is PENDULUM.grade
    assert np.array_equal(again.covariance, PENDULUM.covariance)
    assert np.array_equal(again.simulate([1, 0], T), PENDULUM.simulate([1, 0], T))


def test_words_and_latex():
    assert str(PENDULUM) == "dx/dt = v\ndv/dt = -0.9*sin(x)"
    assert "Established" in PENDULUM.summary()
    assert r"\frac{\mathrm{d} v}{\mathrm{d} t} &= - 0.9 \sin{\left(x \right)}" in PENDULUM.latex()
    assert '"rateRule"' in PENDULUM.to_sbml_json()


def test_a_plot_has_all_panels():
    assert len(PENDULUM.plot().axes) == 5
    assert len(DECAY.plot().axes) == 2
