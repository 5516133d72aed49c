"""Algebra is bounded by the size of formulas, not by the clock: the same on every thread."""

import threading
import time

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery import equivalent
from rational_anova.discovery._algebra import MANY, attempted, expanded_terms, terms_of
from rational_anova.discovery.finish._forms import forms, partial_fractions, rewritten
from rational_anova.discovery.search import Data, Template

x, y, z, a, b, c = sp.symbols("x y z a b c", positive=True)


def in_a_thread(work):
    """The result of a function that is called in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("expression", "terms"),
    [
        (x, 2),
        (x / y, 2),
        ((x + y + z) ** 2, 7),
        (a / (x + b) + c / (x + b), 4),  # one denominator for both
        (a / (x + b) + c / (x + y), 8),
        (sp.sin((x + 1) * (y + 1)) + 1, 5),  # the most is inside
        (sp.sqrt((x + y) ** 3), 3),
        ((x + y) ** 1000, MANY),
        ((x + y + z) ** 81 / (a + b) ** 81, 3485),
    ],
)
def test_terms_are_estimated(expression, terms):
    assert terms_of(expression) == terms


@pytest.mark.parametrize(
    "expression", [(x + y) ** 3, (x + 1) * (y + 2) - z, (x + y) ** 2 * (a - b)]
)
def test_the_estimate_is_right_where_nothing_cancels(expression):
    assert expanded_terms(expression) == len(sp.expand(expression).args)
    assert terms_of(expression) == 1 + len(sp.expand(expression).args)


def test_what_is_too_large_is_not_begun():
    begun = []
    assert attempted(begun.append, (x + y) ** 50, 40) is None
    assert attempted(begun.append, x + y + z, 40, 1) is None
    assert not begun
    assert attempted(lambda e: 1 / 0, x, 40) is None
    assert attempted(sp.factor, x**2 + 2 * x + 1, 40) == (x + 1) ** 2


def test_long_algebra_is_bounded():
    """Each of these takes sympy minutes, or for ever."""
    wide = sp.Add(*(sp.Symbol(f"p{k}") / (x + sp.Symbol(f"q{k}")) for k in range(9)))
    high = sp.Float(2.5) / sp.Mul(*(x**2 + k * y + sp.Float(k + 0.5) for k in range(1, 6)))
    begun = time.process_time()
    assert not equivalent(wide, wide + x * y).solved
    assert equivalent(wide, sp.expand(wide * (1 + x)) - x * wide)
    assert list(
        forms(Template.of(wide.subs({sp.Symbol(f"q{k}"): sp.Float(k + 0.3) for k in range(9)})))
    )
    assert [f for f in partial_fractions(high) if f.is_Add] == []
    assert time.process_time() - begun < 20


def test_the_same_verdict_in_a_thread():
    pairs = [
        (sp.sin(x) ** 2 * y, (1 - sp.cos(2 * x)) * y / 2),
        (a * sp.tanh(x), a * (sp.exp(2 * x) - 1) / (sp.exp(2 * x) + 1)),
        (1 / sp.sqrt(1 - x**2 / (x + y) ** 2), (x + y) / sp.sqrt((x + y) ** 2 - x**2)),
    ]
    for law, truth in pairs:
        here = equivalent(law, truth)
        assert here
        assert here.by == "sympy"
        assert in_a_thread(lambda law=law, truth=truth: equivalent(law, truth)) == here


def test_the_same_form_in_a_thread():
    """More than forty operations: a formula that was left long off the main thread."""
    w, v, r = sp.symbols("w v r")
    below = w**4 - 2 * w**2 * v**2 + v**4
    factor = 4 * sp.pi * a**2 * r**2 * b * c / 3
    long = sp.Add(
        *(sp.expand(factor * part) for part in (2 * w**2 * v**2 / below, -(v**4) / below, 1))
    )
    assert sp.count_ops(long) > 40
    symbols = (w, v, r, a, b, c)
    X = np.random.default_rng(0).uniform(1, 2, (50, 6))
    law = sp.lambdify(symbols, long)(*X.T)
    data = Data(X, law, symbols, float(np.std(law)), np.ones(50))
    template = Template.of(long)
    here = rewritten(template, data).expression
    assert sp.count_ops(here) < 25
    assert in_a_thread(lambda: rewritten(template, data).expression) == here
    shown = [form.expression for form in forms(template)]
    assert in_a_thread(lambda: [form.expression for form in forms(template)]) == shown
