"""Functions made of formulas, whatever the columns are called."""

import numpy as np
import pytest
import sympy as sp

from rational_anova import discover
from rational_anova.discovery.search._template import Data, Template
from rational_anova.symbols import numeric

COLUMNS = sp.symbols("T V x0 x1 x2 x3 x4")
T, V = COLUMNS[:2]
NUMBERS = [sp.Dummy(f"c{i}") for i in range(3)]
GAS = NUMBERS[0] * T / (V - NUMBERS[1]) - NUMBERS[2] / V**2


@pytest.mark.parametrize("wanted", [GAS, [GAS.diff(c) for c in NUMBERS]], ids=["one", "list"])
def test_columns_that_the_formula_lacks_are_not_taken_for_its_parts(wanted):
    point = dict(zip([*COLUMNS, *NUMBERS], range(2, 12), strict=True))
    found = numeric(tuple(point), wanted)(*point.values())
    expected = [float(w.subs(point)) for w in (wanted if isinstance(wanted, list) else [wanted])]
    np.testing.assert_allclose(found, expected if isinstance(wanted, list) else expected[0])


def test_one_list_of_arguments():
    x, y = sp.symbols("x0 x1")
    function = numeric([(x, y)], (y + 1) / (y + 1 + sp.sin(y + 1)))
    assert function(np.array([5.0, 1.0])) == pytest.approx(2 / (2 + np.sin(2)))


def test_standard_errors_do_not_depend_on_names_of_idle_columns():
    X = np.random.default_rng(0).uniform(1, 2, (60, 4))
    law = sp.Float(3.0) * T / (T + sp.Float(0.5))
    found = []
    for idle in ("x0 x1 x2", "p q r"):
        symbols = (T, *sp.symbols(idle))
        data = Data(X, X[:, 0], symbols, 1.0, np.ones(60))
        template = Template.of(law)
        found.append(template.jacobian(data, template.values))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_a_noisy_law_among_idle_columns_without_names():
    random = np.random.default_rng(0)
    X = random.uniform(0.1, 9, (100, 4))
    y = 8.314 * X[:, 2] / (X[:, 3] + 2.7)
    law = discover(X, y + 0.01 * y.std() * random.standard_normal(100))
    assert law.grade.claimed
    assert law.formula.free_symbols == set(sp.symbols("x2 x3"))
    assert law.equals("a*x2/(x3 + b)")
    assert len(law.parameters) == 2
    assert all(0 < p.stderr < 0.01 * abs(p.value) for p in law.parameters)
    at = np.array([[1.0, 1.0, 2.0, 3.0], [5.0, 5.0, 8.0, 0.5]])
    low, high = law.predict_interval(at)
    truth = 8.314 * at[:, 2] / (at[:, 3] + 2.7)
    assert (low - 0.01 * truth < truth).all()
    assert (truth < high + 0.01 * truth).all()
