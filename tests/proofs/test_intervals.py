"""Intervals: exact fractions stay inside, and what is exact stays exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.proofs import Curve, Interval, bernstein_matrix, conditions, point, shown

numbers = st.floats(-1e9, 1e9) | st.integers(-3, 3).map(float) | st.floats(-1e-9, 1e-9)


@settings(max_examples=300, deadline=None)
@given(numbers, numbers)
def test_exact_results_lie_inside(a, b):
    x, y = point(a), point(b)
    exact = {"+": Fraction(a) + Fraction(b), "-": Fraction(a) - Fraction(b),
             "*": Fraction(a) * Fraction(b)}  # fmt: skip
    with np.errstate(all="ignore"):
        results = ("+", x + y), ("-", x - y), ("*", x * y), ("*", x.exactly_times(y))
        inverse = y.inverse()
    for kind, found in results:
        assert Fraction(float(found.low)) <= exact[kind] <= Fraction(float(found.high))
    if np.isfinite(inverse.low) and np.isfinite(inverse.high):
        assert Fraction(float(inverse.low)) <= 1 / Fraction(b) <= Fraction(float(inverse.high))


def test_few_digits_stay_exact():
    x, y = Interval(np.array(0.5), np.array(2.0)), Interval(np.array(-1.0), np.array(0.25))
    both, product = x + y, x.exactly_times(y)
    assert (both.low, both.high) == (-0.5, 2.25)
    assert (product.low, product.high) == (-2.0, 0.5)
    rounded = x * y
    assert rounded.low < -2
    assert rounded.high > 0.5


def test_unknown_ends_are_infinite():
    line = Interval(np.array(-np.inf), np.array(np.inf))
    with np.errstate(invalid="ignore"):
        found, exact = (line * point(0.0)).known(), line.exactly_times(point(0.0))
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert (exact.low, exact.high) == (0, 0)
    met = Interval(np.array(np.nan), np.array(2.0)).meet(Interval(np.array(1.0), np.array(np.nan)))
    assert (met.low, met.high) == (1, 2)


def test_proofs_at_the_border_of_a_domain():
    sp = pytest.importorskip("sympy")
    x = sp.Symbol("x")
    for formula in (sp.sqrt(x - 1), sp.sqrt(x**2 - 1)):
        (demand,) = conditions(formula)
        assert shown(demand, [x], [(1, 2)]) is True
        assert shown(demand, [x], [(0.5, 2)]) is False


def test_a_curve_turns_again_after_its_period():
    wave = Curve(np.sin, (np.pi / 2, 3 * np.pi / 2), least=-1, most=1, period=2 * np.pi)
    found = wave(Interval(np.array([100.0, 0.1, 1e9]), np.array([106.5, 0.2, 1e9])))
    assert (found.low[[0, 2]].tolist(), found.high[[0, 2]].tolist()) == ([-1, -1], [1, 1])
    assert found.low[1] == pytest.approx(np.sin(0.1))
    assert found.high[1] == pytest.approx(np.sin(0.2))


def test_nothing_is_known_beyond_a_domain():
    log = Curve(np.log, domain=(0.0, np.inf))
    with np.errstate(divide="ignore"):
        found = log(Interval(np.array([-2.0, -1.0, 1.0]), np.array([-1.0, 1.0, 1.0])))
    assert (found.low[:2] == -np.inf).all()
    assert found.high[0] == np.inf
    assert found.high[1:] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("symmetric", [False, True])
def test_bernstein_coefficients_of_a_polynomial(symmetric):
    start = -1 if symmetric else 0
    t = np.linspace(start, 1, 9)
    share = (t - start) / (1 - start)
    matrix = bernstein_matrix(3, symmetric)
    basis = np.stack([(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share),
                      share**3])  # fmt: skip
    for power in range(4):
        np.testing.assert_allclose(matrix[:, power] @ basis, t**power, atol=1e-14)
