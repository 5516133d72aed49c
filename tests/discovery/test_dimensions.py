"""Units: read, used for groups without a unit, given to parameters; scales without any units."""

import os
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import dimensions
from rational_anova.discovery.dimensions import (
    Unsound,
    _units,
    check_sound,
    is_sound,
    parameter_units,
    pi_groups,
    read_units,
    scales,
    units_in_header,
)
from rational_anova.discovery.dimensions._exponents import combination, null_basis

GAS = {"T": "K", "V": "L/mol", "p": "kPa", "R": "J/(mol K)"}
needs_data = pytest.mark.skipif("RAN_DATA" not in os.environ, reason="needs RAN_DATA")


def formula(text, *names):
    """A formula in plain symbols, whatever their names mean to sympy."""
    plain = {name: sp.Symbol(name) for name in (*names, "S", "E", "I", "N", "gamma")}
    return sp.sympify(text, locals=plain)


def table(units, target, constants=None):
    columns = [name for name in units if name != target and name not in (constants or {})]
    return read_units(units, columns, target, constants)


def gas():
    return table(GAS, "p", {"R": 8.314})


# ------------------------------------------------------------------ scales, without units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b1*(1 - exp(-b2*x))", {"b1": (0, 1), "b2": (-1, 0)}),
        ("a*x**b", {"a": None, "b": (0, 0)}),
        ("a*(x/c)**b", {"a": (0, 1), "b": (0, 0), "c": (1, 0)}),
        ("a*exp(-(x/c)**b)", {"a": (0, 1), "b": (0, 0), "c": (1, 0)}),
        ("a*x**n/(k**n + x**n)", {"a": (0, 1), "k": (1, 0), "n": (0, 0)}),
        (
            "b1 - b2*x - atan(b3/(x - b4))/pi",
            {"b1": (0, 0), "b2": (-1, 0), "b3": (1, 0), "b4": (1, 0)},
        ),
        ("a*(x + 459.67)", {"a": (-1, 1)}),
        ("a*sin(x) + b*x", {"a": (0, 1), "b": (-1, 1)}),
        ("a*sin(w*x + p) + c", {"a": (0, 1), "w": (-1, 0), "p": (0, 0), "c": (0, 1)}),
        ("10**(A - B/(C + x))", {"A": (0, 0), "B": (1, 0), "C": (1, 0)}),
        ("(a + b*x)/(1 + c*x + d*x**2)", {"a": (0, 1), "b": (-1, 1), "c": (-1, 0), "d": (-2, 0)}),
        ("sqrt(a + b*x)", {"a": (0, 2), "b": (-1, 2)}),
        ("a*b*x", {"a": None, "b": None}),
        ("a*b**x", {"a": (0, 1), "b": (0, 0)}),
        ("a + b*Max(x - c, 0)", {"a": (0, 1), "b": (-1, 1), "c": (1, 0)}),
        ("Piecewise((a, x < c), (a + b*(x - c), True))", {"a": (0, 1), "b": (-1, 1), "c": (1, 0)}),
        ("a*Abs(x - c) + atan2(b*x, d)", {"a": (-1, 0), "c": (1, 0), "b": None, "d": None}),
        ("a + b*log(x/c)", {"a": (0, 1), "b": (0, 1), "c": (1, 0)}),
    ],
)
def test_scales(text, expected):
    x = sp.Symbol("x")
    parameters = tuple(map(sp.Symbol, expected))
    found = scales(formula(text, *expected), parameters, (x,))
    assert {s.name: f if f is None else tuple(f) for s, f in found.items()} == expected


def test_scales_of_two_inputs():
    T, V, R, a, b = sp.symbols("T V R a b")
    found = scales(R * T / (V - b) - a / V**2, (R, a, b), (T, V))
    assert found == {R: (-1, 1, 1), a: (0, 2, 1), b: (0, 1, 0)}
    assert all(isinstance(power, Fraction) for power in found[R])


def test_scales_never_raise():
    a, x, stray = sp.symbols("a x stray")
    assert scales(a * stray * x, (a,), (x,)) == {a: None}
    assert scales(sp.zoo * a, (a,), (x,)) == {a: None}
    assert scales(sp.Integer(3), (), ()) == {}


# ------------------------------------------------------------------------- reading


def test_units_are_read_to_exact_powers():
    units = gas()
    assert units.columns["V"].powers == {"[length]": 3, "[substance]": -1}
    assert units.columns["V"].factor == 0.001
    assert units.of_target.powers == {"[mass]": 1, "[length]": -1, "[time]": -2}
    assert units.values == {"R": 8.314}
    assert str(units) == "p [kPa] of T [K], V [L/mol], R [J/(mol K)]"


@pytest.mark.parametrize("text", ["1", "", " ", "-", "dimensionless", "percent", "%", "rad", "deg"])
def test_no_dimension(text):
    assert _units.parse_unit(text).powers == {}


@pytest.mark.parametrize(
    "text", ["m s-2", "m/s2", "m s^-2", "m/s**2", "m·s\u22122", "m \u00d7 s-2", "m/s/s"]
)
def test_spellings(text):
    assert _units.parse_unit(text).powers == {"[length]": 1, "[time]": -2}


def test_roots_in_units():
    assert _units.parse_unit("m^0.5").powers == {"[length]": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("degC", "temperatures to K"),
        ("°C", "temperatures to K"),
        ("dB", "to a ratio"),
        ("Kelvn", "did you mean 'kelvin'"),
        ("mol/Lt", "'mol/Lt'"),
        ("10 m", "has a number in it"),
        ("a.u.", "'a.u.'"),
        ("m + s", "'m \\+ s'"),
        ("k", "did you mean 'K'"),
        ("$", "no unit that pint knows"),
    ],
)
def test_what_is_no_unit_is_named(text, words):
    with pytest.raises(ValueError, match=words) as caught:
        read_units({"T": text, "y": "1"}, ["T"], "y")
    assert "'T'" in str(caught.value)
    assert text in str(caught.value)


def test_a_partial_or_wrong_mapping_is_refused():
    with pytest.raises(ValueError, match="nothing of 'V', 'p'"):
        read_units({"T": "K"}, ["T", "V"], "p")
    with pytest.raises(ValueError, match="nothing of 'R'"):
        read_units({"T": "K", "p": "Pa"}, ["T"], "p", {"R": 8.3})
    with pytest.raises(ValueError, match="'Temp'.*did you mean 'temp'"):
        read_units({"Temp": "K", "p": "Pa"}, ["temp"], "p")
    with pytest.raises(TypeError, match="dict"):
        read_units(["K"], ["T"], "p")
    with pytest.raises(TypeError, match="'T'.*got 3"):
        read_units({"T": 3, "p": "Pa"}, ["T"], "p")


def test_without_pint_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pint", None)
    _units.registry.cache_clear()
    _units._parsed.cache_clear()
    try:
        with pytest.raises(ImportError, match=r"rational-anova\[units\]"):
            read_units({"T": "K", "p": "Pa"}, ["T"], "p")
        with pytest.raises(ImportError, match=r"rational-anova\[units\]"):
            units_in_header("T [K]")
    finally:
        _units.registry.cache_clear()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("T [K]", ("T", "K")),
        ("p (bar)", ("p", "bar")),
        ("heat capacity (J/(mol K))", ("heat capacity", "J/(mol K)")),
        ("angle [1]", ("angle", "1")),
        ("share [%]", ("share", "%")),
        ("T [degC]", ("T", "degC")),  # a unit, which `read_units` then refuses with the way out
        ("run (1)", None),
        ("time_s", None),
        ("rate (state)", None),
        ("cell (mean)", None),
        ("signal (a.u.)", None),
        ("[K]", None),
        ("T", None),
        ("", None),
    ],
)
def test_units_in_headers(header, expected):
    assert units_in_header(header) == expected


# ---------------------------------------------------------------------- Pi groups


@pytest.mark.parametrize(
    ("units", "target", "constants", "expected"),
    [
        ({"m_0": "kg", "c": "m/s", "v": "m/s", "m": "kg"}, "m", None, "m/(m_0) of v/c"),
        (GAS, "p", {"R": 8.314}, "p/(R*T/V) of nothing"),
        ({"A": "m^2", "B": "m^3", "y": "m"}, "y", None, "y/(B/A) of A**3/B**2"),
        ({"L": "m", "g": "m/s^2", "t": "s"}, "t", None, "t/(sqrt(L)/sqrt(g)) of nothing"),
        ({"theta": "rad", "r": "m", "x": "m"}, "x", None, "x/(r) of theta"),
        ({"t": "s", "k": "1/s", "n": "1"}, "n", None, "n of k*t"),
        ({"x": "m", "y": "1"}, "y", None, "y of nothing"),
        # two constants of one kind make a number, not a group
        ({"E": "J", "T": "K", "k": "J/K", "h": "J/K", "n": "1"}, "n", {"k": 1, "h": 2},
         "n of T*k/E_"),
    ],
)  # fmt: skip
def test_groups(units, target, constants, expected):
    assert str(pi_groups(table(units, target, constants))) == expected


def test_the_groups_are_complete_and_have_no_dimension():
    names = ["mom", "H", "kb", "T", "alpha", "epsilon", "c", "M"]
    texts = ["J/T", "T", "J/K", "K", "1", "F/m", "m/s", "A/m"]
    units = read_units({**dict(zip(names, texts, strict=True)), "f": "1"}, names, "f")
    groups = pi_groups(units)
    assert len(groups.products) == 3  # 8 columns, 5 base dimensions
    for group in groups.formulas:
        assert is_sound(group, units)
    rows = [[product.exponents.get(name, 0) for name in names] for product in groups.products]
    assert np.linalg.matrix_rank(np.array(rows, dtype=float)) == 3


def test_what_cannot_be_made_is_unsound():
    with pytest.raises(Unsound, match=r"T \[K\], V \[L/mol\].*p \[kPa\].*absorb_units=True"):
        pi_groups(table({key: GAS[key] for key in "TVp"}, "p"))


def test_there_and_back():
    units = table({**GAS, "a": "L^2 bar/mol^2", "b": "L/mol"}, "p", {"R": 8.314})
    T, V, a, b = sp.symbols("T V a b")
    R = sp.Symbol("R")
    law = R * T / (V - b) - 100 * a / V**2  # a*V**2 is in bar
    X = np.random.default_rng(0).uniform(1, 2, (50, 4)) * [300, 1, 1, 0.1]
    of = sp.lambdify((T, V, a, b, R), law)
    y = of(*X.T, 8.314)
    groups = pi_groups(units, X)
    U, z = groups.reduce(X, y)
    assert U.shape == (50, 2)
    values = dict(zip(groups.symbols, U[0], strict=True))
    # the identity: every group and the scale agree with their formulas
    own = dict(zip((T, V, a, b, R), (*X[0], 8.314), strict=True))
    for symbol, group in zip(groups.symbols, groups.formulas, strict=True):
        assert float(group.xreplace(own)) == pytest.approx(values[symbol], rel=1e-12)
    back = groups.restore(z[0])
    assert float(back.xreplace(own)) == pytest.approx(y[0], rel=1e-12)
    assert groups.restore(sum(groups.symbols), {"R": sp.Float(8.314)}).free_symbols == {T, V, a, b}


def test_units_of_another_size_are_converted():
    units = table({"theta": "deg", "r": "m", "x": "cm"}, "x")
    groups = pi_groups(units)
    theta, r = sp.symbols("theta r")
    assert groups.restore(sp.sin(*groups.symbols)) == 100 * r * sp.sin(sp.pi * theta / 180)
    U, z = groups.reduce(np.array([[90.0, 2.0]]), np.array([200.0]))
    np.testing.assert_allclose(U, [[np.pi / 2]])
    np.testing.assert_allclose(z, [1.0])


def test_columns_with_zeros_stay_above():
    units = table({"t": "s", "k": "1/s", "tau": "s", "n": "1"}, "n")
    X = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    groups = pi_groups(units, X)
    assert groups.usable(X).all()
    assert groups.reduce(X, np.ones(2))[0].shape == (2, 2)


def test_negative_columns_may_have_whole_powers_only():
    units = table({"L": "m", "g": "m/s^2", "t": "s"}, "t")
    X = np.array([[1.0, -9.81], [2.0, 9.81]])
    groups = pi_groups(units, X)
    assert groups.usable(X).tolist() == [False, True]
    with pytest.raises(ValueError, match="1 rows have no value.*row 0.*negative"):
        groups.reduce(X, np.ones(2))
    whole = table({"E": "V/m", "q": "C", "F": "N"}, "F")
    U, z = pi_groups(whole, -X).reduce(-X, np.ones(2))
    assert U.shape == (2, 0)
    np.testing.assert_allclose(z, [1 / -9.81, 1 / (2 * 9.81)])


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"columns T, V, got shape \(3, 5\)"):
        pi_groups(gas()).reduce(np.ones((3, 5)), np.ones(3))


def test_a_column_may_be_called_pi1():
    groups = pi_groups(table({"pi1": "1", "y": "1"}, "y"))
    assert [symbol.name for symbol in groups.symbols] == ["pi_1"]


def test_exponents_are_exact():
    half, one = Fraction(1, 2), Fraction(1)
    assert combination([(one, 2 * one)], (half, one)) == (half,)
    assert combination([(one, 2 * one)], (half, half)) is None
    assert combination([(one,), (one,)], (one,)) is None  # one of them does it
    assert null_basis([(2 * one,), (3 * one,)], [], len) in ([(3, -2)], [(-3, 2)])


# --------------------------------------------------------------- units of parameters


@pytest.mark.parametrize(
    ("text", "units", "values", "expected"),
    [
        ("a*S/(b + S)", {"S": "mmol/L", "v": "mmol/L/min"}, {}, {"a": "mmol/L/min", "b": "mmol/L"}),
        ("a*exp(-b/T)", {"T": "K", "k": "1/s"}, {}, {"a": "1/s", "b": "K"}),
        ("T + a", {"T": "K", "y": "K"}, {}, {"a": "K"}),
        ("a*x**b", {"x": "kg", "y": "W"}, {}, {"a": "", "b": "1"}),
        ("a*x**b", {"x": "kg", "y": "W"}, {"b": 0.75}, {"a": "W/kg^0.75", "b": "1"}),
        ("a*x**b", {"x": "kg", "y": "W"}, {"b": 2}, {"a": "W/kg²", "b": "1"}),
        ("a*x**n/(k**n + x**n)", {"x": "uM", "y": "1/s"}, {}, {"a": "1/s", "k": "uM", "n": "1"}),
        ("a + b*log(x*c)", {"x": "m", "y": "m/s"}, {}, {"a": "m/s", "b": "m/s", "c": "1/m"}),
        ("a + b*log(x) - b*log(c)", {"x": "m", "y": "s"}, {}, {"a": "s", "b": "s", "c": "m"}),
        ("a*b*x", {"x": "m", "y": "m/s"}, {}, {"a": "1/s", "b": "1"}),
        (
            "a*sin(w*t + p)*exp(-t/tau)", {"t": "ms", "y": "mV"}, {},
            {"a": "mV", "w": "1/ms", "p": "1", "tau": "ms"},
        ),
    ],
)  # fmt: skip
def test_units_of_parameters(text, units, values, expected):
    *_, target = units
    parameters = [sp.Symbol(name) for name in expected]
    given = {sp.Symbol(name): value for name, value in values.items()}
    found = parameter_units(
        formula(text, *units, *expected), parameters, table(units, target), given
    )
    assert found == expected


def test_units_with_constants_and_names_that_sympy_knows():
    a, b, T, V, R = sp.symbols("a b T V R")
    found = parameter_units(R * T / (V - b) - a / V**2, (a, b), gas())
    assert found == {"a": "kPa·L²/mol²", "b": "L/mol"}
    units = table({"E": "J", "I": "A", "y": "J/A"}, "y")
    assert parameter_units(a * sp.Symbol("E") / sp.Symbol("I"), (a,), units) == {"a": "1"}
    assert parameter_units(a * sp.Symbol("E_") / sp.Symbol("I_"), (a,), units) == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T + V + a", "is in .*, but p is in kPa"),
        ("a*(T + V)", r"in T \+ V: .*T is in K"),
        ("a + b*log(T)", r"log\(T\): T is in K, and must have no unit"),
        ("a*exp(T)", r"exp\(T\)"),
        ("a*T**V", r"T\*\*V"),
        ("a*(T + 1)", r"T \+ 1: T is in K, 1 has no unit"),
    ],
)
def test_no_units_of_parameters_fit(text, words):
    a, b = sp.symbols("a b")
    with pytest.raises(Unsound, match=words):
        parameter_units(formula(text), (a, b), gas())


def test_a_symbol_without_a_unit_is_named():
    with pytest.raises(ValueError, match="has q, which has no unit; there are T, V, R"):
        is_sound(sp.Symbol("q"), gas())


def test_soundness():
    T, V, R = sp.symbols("T V R")
    assert is_sound(R * T / V, gas())
    assert not is_sound(R * T, gas())
    assert not is_sound(T + 273.15, table({"T": "K", "y": "K"}, "y"))
    with pytest.raises(Unsound, match="R\\*T is in .*, but p is in kPa"):
        check_sound(R * T, gas())


# ---------------------------------------------------------------- the Feynman equations


@needs_data
def test_the_feynman_equations_are_sound_in_their_units():
    from experiments.discovery import feynman_units, laws

    for problem in laws.feynman():
        check_sound(problem.formula, feynman_units.units_of(problem))


@needs_data
def test_other_base_units_change_no_group_of_the_feynman_equations():
    from experiments.discovery import feynman_units, laws

    random = np.random.default_rng(0)
    sizes = dict(zip(feynman_bases(), random.uniform(0.5, 2, 7), strict=True))

    def size(unit):
        return np.prod([sizes[key] ** float(power) for key, power in unit.powers.items()])

    for problem in laws.feynman():
        units = feynman_units.units_of(problem)
        X, y = problem.sample(5, random)
        groups = pi_groups(units, X)
        other = X * [size(unit) for unit in units.columns.values()]
        U, z = groups.reduce(X, y)
        V, w = groups.reduce(other, y * size(units.of_target))
        np.testing.assert_allclose(U, V, rtol=1e-9)
        np.testing.assert_allclose(z, w, rtol=1e-9)
        np.testing.assert_allclose(problem(other), y * size(units.of_target), rtol=1e-9)


def feynman_bases():
    kinds = ("length", "mass", "time", "current", "temperature", "substance", "luminosity")
    return [f"[{kind}]" for kind in kinds]


def test_every_public_name_is_there():
    for name in ("Groups", "Product", "Unit", "Units"):
        assert hasattr(dimensions, name)
