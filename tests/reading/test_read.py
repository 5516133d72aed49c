"""A network is read as the formula of its data, and says what it cannot claim."""

import numpy as np
import pytest
import sympy as sp
import torch

from rational_anova import RAN, DeepRAN, LayeredRAN, fit, read_network
from rational_anova.reading import pruned
from rational_anova.reading._curves import suggested
from rational_anova.reading._library import OF_ONE, OF_TWO, forms

SHAPES = [
    ("sin(x)", lambda x: 3 * np.sin(3 * x + 1) + 2, -1, 1),
    ("x**2", lambda x: 0.2 * x**2 - 0.1 * x, -1, 3),
    ("exp(x)", lambda x: np.exp(0.3 * x), 2, 5),
    ("log(-x)", lambda x: np.log(1 - 2 * x), -4, 0.4),
    ("1/sqrt(x)", lambda x: x**-0.5, 0.1, 3),
    ("1/x**2", lambda x: (x - 5.0) ** -2, -2, 4),
    ("tanh(x)", lambda x: np.tanh(2 * x - 1), -2, 3),
    ("abs(x)", lambda x: np.abs(x - 0.3), -1, 1),
]


def table(law, inputs, low=-1.0, high=1.0, count=300, seed=0):
    X = np.random.default_rng(seed).uniform(low, high, (count, inputs))
    return X, law(*X.T)


@pytest.mark.parametrize(("name", "curve", "low", "high"), SHAPES)
def test_a_curve_is_named(name, curve, low, high):
    x = np.random.default_rng(0).uniform(low, high, 300)
    best = suggested([x], curve(x), forms(None))[0]
    assert best.name == name
    assert best.error < 1e-12
    np.testing.assert_allclose(best.form.at([x], best.values) + best.shift, curve(x), atol=1e-10)


def test_products_and_quotients_of_moved_nodes_are_named():
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 200))
    for name, curve in [("x*y", (x - 3) * (y + 1)), ("x/y", x / (y + 1)), ("y/x", y / x)]:
        best = suggested([x, y], 2 * curve + 5, OF_TWO)[0]
        assert best.name == name
        assert best.error < 1e-12


def read(law, inputs, hidden, low=-1.0, high=1.0, noise=0.0, **options):
    torch.manual_seed(0)
    X, y = table(law, inputs, low, high)
    y = y + noise * np.random.default_rng(1).standard_normal(len(y))
    pairs, degrees = ("none", (4, 4)) if hidden else ("all", (3, 2))
    net = LayeredRAN(inputs, 1, hidden, degrees, pairs=pairs, dtype=torch.float64)
    net.fit((X, y), epochs=60)
    small = net.prune(X, y, tolerance=0.01 + 1.5 * noise / y.std())
    small.fit((X, y), epochs=60)
    return read_network(small, X, y, **options), small, X


def test_product_and_quotient_come_out_exactly():
    x, y = sp.symbols("x y")
    found, small, _ = read(lambda x, y: x * y, 2, (), names=["x", "y"])
    assert found.formula == x * y
    assert found.exact
    assert not found.free_numbers
    assert small.edge_layers[0].terms == [(0, 1, 0)]
    found = read(lambda x, y: x / y, 2, (), 0.5, 2.0, names=["x", "y"])[0]
    assert found.formula == x / y
    assert found.exact
    assert "holds to rounding" in str(found)
    assert "all numbers are exact" in str(found)


def test_a_composition_comes_out_exactly():
    law = lambda x, y: np.exp(np.sin(np.pi * x) + y**2)  # noqa: E731
    torch.manual_seed(0)
    X = 2 * torch.rand(400, 2, dtype=torch.float64).numpy() - 1
    y = law(*X.T)
    net = LayeredRAN(2, 1, (3,), dtype=torch.float64)
    net.fit((X, y), epochs=40, restarts=4, restart_noise=0.0)
    small = net.prune(X, y)
    small.fit((X, y))
    assert small.widths == (2, 1, 1)
    found = read_network(small, X, y, held_out=table(law, 2, seed=5))
    assert found.exact
    a, b = sp.symbols("x0 x1")
    assert found.formula == sp.exp(sp.sin(sp.pi * a) + b**2)
    assert [unit.name for unit in found.units] == ["sin(x)", "x**2", "exp(x)"]
    assert found.held_out_error < 1e-13
    assert found.rows == 300
    assert list(found.table().function) == ["sin(x)", "x**2", "exp(x)"]
    new = table(law, 2, seed=9)
    np.testing.assert_allclose(found.predict(new[0]), new[1], rtol=1e-12)


def test_with_noise_nothing_is_claimed():
    found = read(lambda x, y: x * y, 2, (), noise=0.02)[0]
    assert not found.exact
    assert "no more is claimed" in found.verdict()
    assert [unit.name for unit in found.units] == ["x*y"]


def test_a_unit_without_a_name_stays_and_is_refused():
    found, _, X = read(lambda x: 1 / (1 + 9 * x**2) + 0.3 * x, 1, (), functions=["sin(x)"])
    assert [unit.name for unit in found.refused] == ["quotient"]
    assert found.units[0].others[0][0] in ("sin(x)", "x")
    assert np.isfinite(found.predict(X)).all()


def test_functions_may_be_a_users():
    found = read(lambda x: np.cosh(2 * x), 1, (), functions=["cosh(x)"], names=["t"])[0]
    assert found.exact
    assert found.formula == sp.cosh(2 * sp.Symbol("t"))
    assert {f.name for f in forms(["log(x)"])} == {"x", "log(x)", "log(-x)"}
    with pytest.raises(ValueError, match="formulas in x, got 'sin\\(t\\)'"):
        forms(["sin(t)"])
    with pytest.raises(TypeError, match="must be a list"):
        forms("sin(x)")
    assert all(form.numbers for form in OF_ONE.values())


def test_a_shallow_network_is_read_too():
    X, y = table(lambda x, y: np.sin(2 * x) + y**2, 2)
    net = RAN(2, topology="none", degrees=(5, 4), dtype=torch.float64)
    fit(net, (X, y))
    found = read_network(net, X, y)
    a, b = sp.symbols("x0 x1")
    assert found.formula == sp.sin(2 * a) + b**2


def test_bad_arguments():
    X, y = table(lambda x, y: x * y, 2)
    net = LayeredRAN(2, 1, (), dtype=torch.float64)
    with pytest.raises(TypeError, match="normalises over its nodes"):
        read_network(DeepRAN(2, 1), X, y)
    with pytest.raises(TypeError, match="2 outputs"):
        read_network(RAN(2, 2), X, y)
    with pytest.raises(ValueError, match=r"got 1\.5"):
        read_network(net, X, y, held_out=1.5)
    with pytest.raises(ValueError, match="1 columns"):
        read_network(LayeredRAN(2, 2, (), dtype=torch.float64), X, y)
    with pytest.raises(TypeError, match=r"ra\.prune"):
        pruned(RAN(2), X, y)
