"""Exact numbers for floats: the simplest, never outside the tolerance, seldom by chance."""

import math
import time

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from rational_anova.symbols import snap

PI = sp.pi


@pytest.mark.parametrize(
    ("value", "tolerance", "expected"),
    [
        (1.9998, 1e-3, 2),
        (-7.00001, 1e-4, -7),
        (0.3333333, 1e-6, "1/3"),
        (-2.5, 1e-9, "-5/2"),
        (0.5, 0.0, "1/2"),
        (0.3, 0.0, "3/10"),
        (0.08314, 8e-11, "8314/100000"),
        (3.59, 3.6e-9, "359/100"),
        (42.7, 4e-8, "427/10"),
        (12345.5, 1e-3, "24691/2"),
        (355 / 113, 1e-12, "355/113"),
        (1.5e23, 1e14, 15 * 10**22),
        (1.380649e-23, 1e-32, "1380649/10**29"),
        (6.62607015e-34, 0.0, "662607015/10**42"),
    ],
)
def test_finds_the_simplest_number(value, tolerance, expected):
    found = snap(value, tolerance)
    assert found == sp.sympify(expected)
    assert found.is_Rational


@pytest.mark.parametrize("exact", [1 / (4 * PI), 2 * PI, PI**2 / 6, -3 * PI / 7, 1 / PI**2, 4 * PI / 10**7])  # fmt: skip
def test_multiples_of_pi_only_on_request(exact):
    value = float(exact)
    assert snap(value, 1e-9 * abs(value), constants=("pi",)) == exact
    assert snap(value, 1e-9 * abs(value)) is None


def test_other_constants():
    assert snap(math.sqrt(2) * 3 / 7, 1e-9, ("pi", "e", "sqrt2")) == 3 * sp.sqrt(2) / 7
    assert snap(1 / math.sqrt(2), 1e-9, ("sqrt2",)) == 1 / sp.sqrt(2)
    assert snap(math.e / 2, 1e-9, ("e",)) == sp.E / 2
    assert snap(2.0, 1e-9, ("pi", "e")) == 2  # a rational number stays one


@pytest.mark.parametrize(
    ("value", "tolerance"),
    [
        (0.7317, 0.01),
        (2.02, 0.03),
        (math.pi, 0.0),
        (0.1 + 0.2, 0.0),
        (math.sqrt(2), 1e-8),
        (7.3, 8.0),
    ],
)
def test_none_where_nothing_simple_lies(value, tolerance):
    assert snap(value, tolerance) is None


def test_zero_only_on_request():
    assert snap(1e-7, 1e-6) is None
    assert snap(0.0, 0.0) is None
    assert snap(-1e-7, 1e-6, zero=True) == 0
    assert snap(2e-6, 1e-6, zero=True) != 0


@given(
    st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-12),
    st.floats(-14, -0.5),
    st.sampled_from([(), ("pi",), ("pi", "e", "sqrt2")]),
)
def test_never_outside_the_tolerance(value, exponent, constants):
    tolerance = 10**exponent * abs(value)
    found = snap(value, tolerance, constants)
    if found is not None:
        gap = abs((found - sp.Rational(value)).evalf(60))
        assert gap <= max(tolerance, math.ulp(value) / 2)


@pytest.mark.parametrize("relative", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("constants", [(), ("pi", "e")])
def test_random_numbers_seldom_snap(relative, constants):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.uniform(-3, 3, 200), 10 ** rng.uniform(-4, 4, 200)])
    hits = sum(snap(v, relative * abs(v), constants) is not None for v in values)
    assert hits <= 0.08 * len(values)  # 0.05 are meant


def test_short_decimals_and_fractions_are_found_again():
    rng = np.random.default_rng(1)
    for value in rng.integers(1, 10**4, 200) / 1000:
        exact = sp.Rational(round(value * 1000), 1000)
        assert snap(value * (1 + 3e-10), 1e-9 * value) == exact
    for p, q in rng.integers(1, 60, (200, 2)):
        assert snap(p / q + 1e-10, 1e-9) == sp.Rational(p, q)


def test_it_is_quick():
    values = np.random.default_rng(0).uniform(0, 3, 1000)
    snap(1.0, 0.0)
    start = time.perf_counter()
    for value in values:
        snap(value, 1e-6)
    assert time.perf_counter() - start < 1.0  # a thousand calls, typically in 50 ms


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((math.nan, 1e-3), "finite"),
        ((1.0, -1.0), ">= 0"),
        ((1.0, 1e-3, ("tau",)), "one of"),
        ((1.0, 1e-3, ("sqrt4",)), "irrational"),
        ((1.0, 1e-3, "pi"), "list of names"),
        (("1", 1e-3), "real number"),
    ],
)
def test_bad_input(arguments, error):
    with pytest.raises((ValueError, TypeError), match=error):
        snap(*arguments)
