"""Formulas as lists of array operations agree with sympy, in value and in slope."""

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery.catalogue import catalogue
from rational_anova.symbols import numeric, parse, program

x, a, b = sp.symbols("x a b", positive=True)


def both(expression, arguments, values):
    """Value and slopes in all arguments, by the program and by sympy."""
    ours = program(arguments, [expression])(*values)
    ours += program(arguments, [expression], arguments)(*values)
    wanted = [expression, *(sp.diff(expression, s) for s in arguments)]
    return ours, numeric(tuple(arguments), wanted)(*values)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_named_laws(level):
    rng = np.random.default_rng(level)
    for form in catalogue():
        names = (*form.inputs, *form.parameters)
        # symbols that are real, so that sympy knows the slope of |x|
        symbols = {n: sp.Symbol(n, real=True) for n in names}
        expression = parse(form.formula, symbols)
        if form.common != level or expression.has(sp.Max, sp.Min, sp.sign, sp.floor):
            continue  # sympy writes their slopes with steps
        values = [rng.uniform(0.3, 2, 9) for _ in names]
        with np.errstate(all="ignore"):
            ours, theirs = both(expression, list(symbols.values()), values)
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine + 0 * values[0], other + 0 * values[0], rtol=1e-8)


def test_the_larger_has_the_slope():
    f = program((x, a), [sp.Max(0, x - a)], (x, a))
    low, high = (np.broadcast_to(s, 2) for s in f(np.array([1.0, 3.0]), 2.0))
    assert low.tolist() == [0.0, 1.0]
    assert high.tolist() == [0.0, -1.0]


def test_a_power_of_zero_has_a_slope_in_its_exponent():
    slope = program((x, a), [x**a], (a,))(np.array([0.0, 2.0]), 3.0)[0]
    assert slope.tolist() == [0.0, 8 * np.log(2)]


@pytest.mark.parametrize("order", [0, 1, 3])
def test_bessel_functions(order):
    ours, theirs = both(sp.besselj(order, a * x), (x, a), (np.linspace(0.1, 9, 20), 1.3))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-14)


def test_what_has_no_line_is_left_to_sympy():
    value = program((x,), [sp.atan2(x, 1)])(np.array([1.0]))[0]
    slope = program((x,), [sp.atan2(x, 1)], (x,))(np.array([1.0]))[0]
    assert value[0] == pytest.approx(np.pi / 4)
    assert slope[0] == pytest.approx(0.5)


def test_a_step_has_no_slope():
    y = sp.Symbol("y")
    assert program((y,), [sp.sign(y) + sp.floor(y)], (y,))(np.array([0.5]))[0] == 0.0


def test_shapes_broadcast():
    out = program((x, a), [sp.exp(-a * x), a])(np.ones((1, 5)), np.ones((3, 1)))
    assert [np.shape(o) for o in out] == [(3, 5), (3, 1)]


def test_what_is_let_go_is_not_wanted_again():
    part = sp.exp(x * a)
    out = program((x, a), [part, part**2, part + 1])(np.zeros(2), 1.0)
    assert [o.tolist() for o in out] == [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]
