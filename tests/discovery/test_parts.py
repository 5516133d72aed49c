"""Parts: sums seen through links, parts of what no surrogate follows, logarithms as columns."""

import time

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import discover
from rational_anova.discovery.search._judge import settled
from rational_anova.discovery.search._reduced_table import ReducedTable
from rational_anova.discovery.search._separate import exponential_sums, plain_sums
from rational_anova.discovery.search._solver import Counter, Search, logged, separated, summed
from rational_anova.discovery.search._template import Data, Template
from rational_anova.discovery.search._vocabulary import ARTANH, exponential
from rational_anova.discovery.sums import Effort


def reduced(law, *ranges, rows=500, **options):
    random = np.random.default_rng(0)
    U = np.column_stack([random.uniform(*ends, rows) for ends in ranges])
    y = law(*U.T)
    names = sp.symbols(f"u0:{len(ranges)}")
    return ReducedTable(y, U, y.copy(), np.ones(rows), names, **options).fitted()


def levels(a, b):
    return 10 * np.log10(10 ** (a / 10) + 10 ** (b / 10))


def test_levels_add_as_powers():
    split = next(exponential_sums(reduced(levels, (50, 70), (50, 70))))
    assert {split.left, split.right} == {(0,), (1,)}
    rate = split.link.slope(np.zeros(1))[0]
    assert rate == pytest.approx(np.log(10) / 10, rel=1e-6)


@pytest.mark.parametrize("law", [lambda a, b: a + b**2, lambda a, b: np.sin(a * b)])
def test_no_rate_where_none_is_needed(law):
    assert list(exponential_sums(reduced(law, (1, 3), (1, 3)))) == []


def test_without_log_there_are_no_levels():
    table = reduced(levels, (50, 70), (50, 70), forbidden=frozenset({"log"}))
    assert list(exponential_sums(table)) == []


def search(table):
    data = Data(table.U, table.y, table.variables, table.spread, table.weight)
    return Search(data, time.monotonic() + 60, Counter())


def test_levels_as_a_law():
    table = reduced(lambda a, b: 2 * np.log(a**2 + 3 * b), (1, 3), (1, 3), rows=200)
    best = separated(table, search(table), 0, exponential_sums(table))[0]
    assert best.error < 1e-12
    a, b = table.variables
    assert float(best.law.subs({a: 1, b: 2})) == pytest.approx(2 * np.log(7))


def test_parts_of_a_steep_sum():
    """A surrogate of three columns cannot follow a step, one of each part can."""
    table = reduced(lambda a, b, c: np.tanh(5 * (a**4 + b**4 + c**4 - 1)), *[(-1, 1)] * 3)
    assert table.loo > 0.1
    split = next(plain_sums(table))
    assert split.link is ARTANH
    assert split.loo < 1e-8


def test_phase_transition():
    random = np.random.default_rng(2)
    x, y, z = random.uniform(-1, 1, (3, 600))
    law = discover({"x": x, "y": y, "z": z}, np.tanh(5 * (x**4 + y**4 + z**4 - 1)), target="m")
    assert law.equals("tanh(5*(x**4 + y**4 + z**4 - 1))")


def test_noise_has_no_parts():
    random = np.random.default_rng(3)
    noise = random.normal(size=500)
    assert list(plain_sums(reduced(lambda *_: noise, *[(1, 2)] * 4))) == []


def test_sine_of_a_logarithm():
    table = logged(reduced(lambda x: np.sin(2 * np.log(x)) + 0.3, (0.05, 25)))
    best = summed(table, search(table), 1e-12, Effort(first=30, kept=6, tried=8, terms=4, inner=2))
    assert best[0].error < 1e-12


@pytest.mark.parametrize("link", [ARTANH, exponential(0.3), exponential(-2.0)])
def test_links_have_their_inverse_and_slopes(link):
    f = np.linspace(-0.8, 0.9, 9)
    t = link.forward(f)
    np.testing.assert_allclose(link.inverse(t), f, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(link.slope(f) * link.inverse_slope(t), 1, rtol=1e-12)
    step = 1e-6
    numeric = (link.forward(f + step) - link.forward(f - step)) / (2 * step)
    np.testing.assert_allclose(link.slope(f), numeric, rtol=1e-7)
    s = sp.Symbol("s")
    np.testing.assert_allclose(float(link.expression(s).subs(s, t[1])), f[1], rtol=1e-12)


def test_simple_numbers_say_little_under_loud_noise():
    a = sp.Symbol("a")
    law = Template(a * sp.Symbol("x"), (a,), np.array([2.0]), error=0.1, numbers=2.0, rows=500)
    assert not settled(law, 0.1)
    assert settled(Template(law.expression, (a,), law.values, 0.01, 2.0, 0.0, 500), 0.01)
