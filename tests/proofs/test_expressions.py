"""Interval arithmetic: no sample may lie outside of the bounds."""

import mpmath
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.proofs import Interval, point
from rational_anova.proofs._expressions import Unknown, enclose

x, y = sp.symbols("x y", real=True)
FORMULAS = [
    x + y, x * y, x / y, x**2 - y, x**3 * y**-2, (x - y) ** 4, sp.sqrt(x) * y, x ** sp.Rational(1, 3), x**y,
    sp.exp(x - y), sp.log(x) + y, sp.sin(x) * sp.cos(y), sp.tan(x), sp.asin(x), sp.acos(y), sp.atan(x * y),
    sp.sinh(x), sp.cosh(x - 1), sp.tanh(x), sp.asinh(x), sp.acosh(x), sp.atanh(x), sp.Abs(x - y), sp.sign(x),
    sp.Max(x, y, 1), sp.Min(x, y), x / 3 + sp.pi * y, x**-2.5, x**0.1, 0.1 * x + sp.Float(0.2, 17) * y,
]  # fmt: skip
ends = st.floats(-50, 50) | st.integers(-3, 3).map(float) | st.floats(-1e-3, 1e-3)


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
@settings(max_examples=40, deadline=None)
@given(st.tuples(ends, ends, ends, ends), st.integers(0, 2**32 - 1))
def test_bounds_hold(formula, corners, seed):
    low = np.minimum(corners[:2], corners[2:])
    high = np.maximum(corners[:2], corners[2:])
    bounds = enclose(formula, {x: Interval(low[:1], high[:1]), y: Interval(low[1:], high[1:])})
    least, most = (np.broadcast_to(end, 1)[0] for end in (bounds.low, bounds.high))
    assert least <= most
    draw = np.random.default_rng(seed)
    function = sp.lambdify((x, y), formula, "mpmath")
    with mpmath.workdps(40):
        for point in [low, high, *draw.uniform(low, high, (6, 2))]:
            if formula == x**y and point[0] < 0:
                continue  # beyond the domain of powers
            try:
                value = function(*map(mpmath.mpf, np.clip(point, low, high)))
            except (ValueError, ZeroDivisionError):
                continue
            if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value):
                continue
            assert least <= value <= most


def test_many_boxes_at_once():
    low, high = np.array([0.0, 1.0, -1.0]), np.array([1.0, 2.0, 1.0])
    found = enclose(x**2 - 1, {x: Interval(low, high)})
    assert found.low.tolist() == [-1, 0, -1]  # exact where nothing is rounded
    assert found.high.tolist() == [0, 3, 0]


def test_unknown_functions():
    with pytest.raises(Unknown, match="gamma"):
        enclose(sp.gamma(x), {x: point(np.ones(1))})
