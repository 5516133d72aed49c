"""Templates with a hole: read, solved for the hole, and found."""

import time

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import find
from rational_anova.discovery._run import Options
from rational_anova.discovery.known import discovered_with_hole
from rational_anova.discovery.known._hole import Hole, opened, told_apart
from rational_anova.tables import prepare

RNG = np.random.default_rng(0)
T, V = RNG.uniform(250, 400, 150), RNG.uniform(0.3, 2, 150)
GAS = prepare({"T": T, "V": V}, T + V, target="P", constants={"R": 0.08314})


def law_of(template, columns, y, noise, forms, constants=None, seconds=5.0):
    y = y + noise * np.std(y) * np.random.default_rng(1).normal(size=len(y))
    table = prepare(columns, y, target="y", constants=constants)
    now = time.monotonic()
    options = Options(forms=[find(name) for name in forms], start=now, limit=now + seconds)
    with np.errstate(all="ignore"):
        return discovered_with_hole(template, table, options)


def value(law, name):
    return next(p for p in law.parameters if p.name == name)


def test_van_der_waals():
    pressure = 0.08314 * T / (V - 0.0427) - 3.59 / V**2
    forms = ("inverse square law", "power law", "exponential", "straight line")
    law = law_of("R*T/(V - b) - f(V)", {"T": T, "V": V}, pressure, 0.01, forms, {"R": 0.08314})
    assert law.equals("R*T/(V - b) - a/V**2")
    b, a = value(law, "b"), value(law, "a")
    assert abs(b.value - 0.0427) < 4 * b.stderr
    assert abs(a.value - 3.59) < 4 * a.stderr
    assert value(law, "R").given
    assert law.name == ""
    assert "f(V) = " in law.evidence.route[0]


def test_cooling_with_an_unknown_room():
    t, start = RNG.uniform(0, 10, 100), RNG.uniform(50, 90, 100)
    y = 20 + (start - 20) * np.exp(-0.3 * t)
    forms = ("exponential", "straight line", "power law")
    law = law_of("f(t)*(T0 - Te) + Te", {"t": t, "T0": start}, y, 0.01, forms)
    assert law.equals("a*(T0 - Te)*exp(-b*t) + Te")
    assert abs(value(law, "Te").value - 20) < 4 * value(law, "Te").stderr


def test_a_hole_of_two_arguments():
    x, z, w = RNG.uniform(0.5, 3, (3, 200))
    y = 2.3 * w**2 + x * z / (x + z)
    forms = ("resistors in parallel", "plane")
    law = law_of("a*w**2 + f(x, z)", {"x": x, "z": z, "w": w}, y, 0.01, forms)
    assert law.equals("a*w**2 + b*x*z/(x + z)") or law.equals("a*w**2 + x*z/(x + z)")


def test_a_hole_inside_of_an_exponential():
    x, z = RNG.uniform(0.5, 3, (2, 150))
    forms = ("square law", "straight line", "power law")
    law = law_of("z*exp(-f(x))", {"x": x, "z": z}, z * np.exp(-0.4 * x**2), 0.01, forms)
    assert law.equals("z*exp(-a*x**2)")


def test_reading():
    hole = Hole.read("P = R*T/(V - b) - f(V)", GAS)
    assert hole.text == "f(V)"
    assert [p.name for p in hole.parameters] == ["b"]
    assert [a.name for a in hole.arguments] == ["V"]


@pytest.mark.parametrize(
    ("template", "changed", "slope"),
    [
        ("R*T/(V - b) - f(V)", "y", "-1"),
        ("exp(-f(V))*T", "log(y/T)", "-1"),
        ("1/(T + V*f(V))", "1/y", "V"),
        ("T + log(2*f(V))", "exp(y - T)", "2"),
    ],
)
def test_what_stands_around_is_undone(template, changed, slope):
    found = opened(Hole.read(template, GAS))
    assert sp.simplify(found.changed.subs(found.target, sp.Symbol("y")) - sp.sympify(changed)) == 0
    assert found.slope == sp.sympify(slope)


@pytest.mark.parametrize(
    ("template", "left"),
    [
        ("a + b*T + f(V)", ["b"]),
        ("a*f(V)", []),
        ("a*f(V) + b", []),
        ("T*f(V) + a", ["a"]),
        ("a*V + T*f(V)", ["a"]),
        ("f(V)*(T - a) + a", ["a"]),
    ],
)
def test_numbers_that_the_hole_could_take_up(template, left):
    assert [p.name for p in told_apart(Hole.read(template, GAS)).parameters] == left


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a*T", "one hole"),
        ("f(T) + g(V)", "one hole"),
        ("f(T) + f(V)", "one hole"),
        ("f(x)", "no column"),
        ("f(2*V)", "must be columns"),
        ("f(V)**2 + f(V)", "cannot be solved for"),
        ("a*exp(f(V))", "a outside of it is not known"),
        ("f(V) +", "cannot read"),
    ],
)
def test_templates_that_cannot_be_used(template, message):
    with pytest.raises(ValueError, match=message):
        opened(Hole.read(template, GAS))


def test_a_template_is_text():
    with pytest.raises(TypeError, match="template must be a formula"):
        Hole.read(3, GAS)
