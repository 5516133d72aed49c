"""Columns with units: found in groups, put back, numbers with units."""

import time

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import Law, find, fit_law
from rational_anova.discovery._run import Options
from rational_anova.discovery.dimensions import Unsound
from rational_anova.discovery.known import discovered_with_units, with_parameter_units
from rational_anova.discovery.known._restored import squares
from rational_anova.tables import prepare

RNG = np.random.default_rng(0)
M, V, C = RNG.uniform(1, 5, 120), RNG.uniform(1, 2, 120), RNG.uniform(3, 10, 120)
ENERGY = {"m": "kg", "v": "m/s", "E": "J"}


def law_of(columns, y, units, target, *, noise=0.0, absorb=False, forms=(), constants=None, **more):
    y = y + noise * np.std(y) * np.random.default_rng(1).normal(size=len(y))
    table = prepare(columns, y, target=target, constants=constants)
    now = time.monotonic()
    options = Options(forms=[find(n) for n in forms], start=now, limit=now + 15, **more)
    with np.errstate(all="ignore"):
        return discovered_with_units(table, options, units, absorb)


def test_a_number_times_the_scale():
    law = law_of({"m": M, "v": V}, M * V**2 / 2, ENERGY, "E", noise=0.02)
    assert law.equals("m*v**2/2")
    assert law.units == ENERGY
    assert law.names.columns == ("m", "v")
    assert law.target == "E"
    assert law.grade.claimed
    assert len(law.predict({"m": M, "v": V})) == 120


def test_units_that_are_not_of_one_system():
    law = law_of({"m": M, "v": V}, M * V**2 / 2000, {**ENERGY, "E": "kJ"}, "E")
    assert law.equals("m*v**2/2000")
    law = law_of({"m": M, "v": V * 3.6}, M * V**2 / 2, {**ENERGY, "v": "km/hour"}, "E")
    assert law.predict({"m": [2.0], "v": [3.6]}) == pytest.approx(1.0)


def test_one_group():
    units = {"m_0": "kg", "v": "m/s", "c": "m/s", "m": "kg"}
    law = law_of({"m_0": M, "v": V, "c": C}, M / np.sqrt(1 - V**2 / C**2), units, "m")
    assert law.equals("m_0/sqrt(1 - v**2/c**2)")
    assert str(law.grade) == "established"
    assert law.box[1] == (V.min(), V.max())
    assert "v/c" in law.evidence.route[0]
    assert all(not entry.formula.free_symbols - set(law.names.symbols) for entry in law.pareto)
    assert all(not rival.formula.free_symbols - set(law.names.symbols) for rival in law.rivals)
    assert Law.from_json(law.to_json()).units == units


def test_named_laws_of_groups():
    S, K, vmax = RNG.uniform(0.2, 3, 100), RNG.uniform(0.5, 2, 100), RNG.uniform(1, 2, 100)
    units = {"S": "mol/L", "K": "mmol/L", "vmax": "mol/L/s", "v": "mol/L/s"}
    forms = ("Michaelis-Menten", "power law", "straight line")
    columns = {"S": S, "K": 1000 * K, "vmax": vmax}
    law = law_of(columns, vmax * S / (K + S), units, "v", noise=0.01, forms=forms)
    truth = vmax * S / (K + S)
    assert np.abs(law.predict(columns) - truth).max() < 0.02
    assert any(rival.name == "Michaelis-Menten" for rival in law.rivals)
    assert all(p.unit == "1" for p in law.parameters)


def test_differences_of_columns():
    x1, x2, y1, y2 = RNG.uniform(1, 5, (4, 200))
    units = dict.fromkeys(("x1", "x2", "y1", "y2", "d"), "m")
    columns = {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
    law = law_of(columns, np.hypot(x1 - x2, y1 - y2), units, "d")
    assert law.equals("sqrt((x1 - x2)**2 + (y1 - y2)**2)")
    assert law.complexity < 12  # and not in ratios to one of them


def test_squares_are_written_as_such():
    x, y, z = sp.symbols("x y z")
    three = (x - 2 * y) ** 2 + 1
    assert squares(sp.expand(3 * (x + z) ** 2) + y**2) == 3 * (x + z) ** 2 + y**2
    assert squares(sp.sqrt(sp.expand((x - z) ** 2) + y)) == sp.sqrt((x - z) ** 2 + y)
    assert squares(sp.expand(three)) == sp.expand(three)  # only of columns themselves


def test_constants_carry_units():
    T, p, amount = (
        RNG.uniform(250, 400, (1, 100))[0],
        RNG.uniform(1, 9, 100),
        RNG.uniform(1, 2, 100),
    )
    units = {"T": "K", "p": "kPa", "n": "mol", "V": "L", "R": "J/(mol K)"}
    columns = {"T": T, "p": p, "n": amount}
    law = law_of(columns, amount * 8.314 * T / p, units, "V", constants={"R": 8.314})
    assert law.equals("n*R*T/p")
    assert next(p for p in law.parameters if p.name == "R").unit == "J/(mol K)"


def test_the_one_form_that_units_allow():
    """It has no name of a textbook, yet no rival; the constant that was given keeps its name."""
    length = np.linspace(0.2, 2, 30)
    period = 2 * np.pi * np.sqrt(length / 9.81)
    units = {"L": "m", "T": "s", "g": "m/s**2"}
    law = law_of({"L": length}, period, units, "T", noise=0.02, constants={"g": 9.81})
    assert law.name == "dimensional analysis"
    assert len(law.rivals) == 1
    assert {s.name for s in law.rounded().free_symbols} == {"L", "g"}
    assert "g" in law.latex(errors=True)
    assert "c0          6.2" in law.summary()
    assert " 1 [" not in law.summary()
    assert law.equals("a*sqrt(L)")


def test_rows_without_a_value_are_left_out():
    units = {"x": "m", "z": "m", "y": "m"}
    x, z = RNG.uniform(1, 2, 80), RNG.uniform(1, 2, 80)
    x[:4] = z[4:8] = 0.0
    law = law_of({"x": x, "z": z}, x**2 / (x + z), units, "y", forms=("straight line",))
    assert law.equals("x**2/(x + z)")
    assert law.evidence.rows == 76
    assert "4 rows were left out" in law.provenance["notes"][0]


def test_nothing_has_the_units_of_the_target():
    with pytest.raises(Unsound, match="absorb_units=True"):
        law_of({"m": M}, 2 * M, {"m": "kg", "y": "J"}, "y")


def test_numbers_absorb_units():
    S = np.linspace(0.2, 8, 40)
    units = {"S": "mmol/L", "v": "mmol/L/min"}
    rate = 2.5 * S / (0.8 + S)
    law = law_of({"S": S}, rate, units, "v", noise=0.01, absorb=True, forms=("Michaelis-Menten",))
    assert law.is_("Michaelis-Menten")
    assert {p.unit for p in law.parameters} == {"mmol/L/min", "mmol/L"}
    assert law.units == units


def test_a_form_that_no_unit_of_its_numbers_makes_sound():
    S = np.linspace(0.2, 8, 40)
    law = fit_law("a + b*log(S)", {"S": S}, 1 + 2 * np.log(S) + 0.01 * np.sin(9 * S), target="y")
    given = with_parameter_units(law, {"S": "m", "y": "1"})
    assert "no law" in given.doubts[-1]
    assert not given.grade.claimed


def test_units_of_a_form():
    x = np.linspace(1, 9, 30)
    law = fit_law("a*exp(-x/tau)", {"x": x}, 3 * np.exp(-x / 2), target="y")
    given = with_parameter_units(law, {"x": "s", "y": "V"})
    assert {p.name: p.unit for p in given.parameters} == {"a": "V", "tau": "s"}
    assert given.grade is law.grade


def test_units_of_a_form_with_a_constant():
    T, V = RNG.uniform(250, 400, 40), RNG.uniform(1, 2, 40)
    columns, p = {"T": T, "V": V}, 8.314 * T / (V - 0.04)
    law = fit_law("R*T/(V - b)", columns, p, target="p", constants={"R": 8.314})
    units = {"T": "K", "V": "L/mol", "p": "kPa", "R": "J/(mol K)"}
    given = with_parameter_units(
        law, units, prepare(columns, p, target="p", constants={"R": 8.314})
    )
    assert next(p for p in given.parameters if p.name == "b").unit == "L/mol"
    assert given.grade is law.grade


def test_units_must_be_complete():
    with pytest.raises(ValueError, match="says nothing of 'v'"):
        law_of({"m": M, "v": V}, M * V**2, {"m": "kg", "E": "J"}, "E")
    with pytest.raises(ValueError, match="no column"):
        law_of({"m": M, "v": V}, M * V**2, {**ENERGY, "w": "J"}, "E")
