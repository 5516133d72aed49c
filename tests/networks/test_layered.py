"""The network of units on edges: what it computes, its slopes, files, and units left out."""

import numpy as np
import pytest
import sympy as sp
import torch

from rational_anova import LayeredRAN, fit, load, save
from rational_anova.training.optimizers._jacobian import Vector, jacobian_rows


def net(**options):
    torch.manual_seed(0)
    given = {"hidden": (4, 3), "degrees": (3, 2), "pairs": "all", "dtype": torch.float64}
    return LayeredRAN(3, 2, **{**given, **options})


def rows(count=7):
    return torch.rand(count, 3, dtype=torch.float64, generator=torch.manual_seed(1)) - 0.5


def test_nodes_add_up_units():
    model, x = net(hidden=(), pairs="first"), rows()
    layer = model.edge_layers[0]
    messages = layer.messages(x)
    expected = layer.bias.repeat(7, 1)
    for n, term in enumerate(layer.terms):
        expected[:, term[-1]] = expected[:, term[-1]] + messages[:, n]
    torch.testing.assert_close(model(x), expected)
    assert len(layer.edges) == 6
    assert len(layer.pairs) == 6


def test_jacobian_by_hand_is_that_of_autograd():
    model, x = net(), rows()
    value, by_hand = jacobian_rows(model, Vector(model))(x)
    torch.testing.assert_close(value, model(x).detach())
    model.layers[0].register_forward_hook(lambda *_: None)
    model.register_forward_hook(lambda *_: None)  # then nothing is by hand
    plain = jacobian_rows(model, Vector(model))(x)[1]
    torch.testing.assert_close(by_hand, plain, rtol=1e-9, atol=1e-9)


def test_formula_is_what_the_network_computes():
    model, x = net(hidden=(2,), degrees=(2, 1)), rows(3)
    symbols = sp.symbols("a b c")
    found = np.stack(sp.lambdify(symbols, model.to_sympy(symbols))(*x.numpy().T), 1)
    torch.testing.assert_close(torch.tensor(found), model(x).detach())


def test_files_and_shapes(tmp_path):
    model = net(terms=[[(0, 0), (1, 2, 1)], [(0, 0), (1, 0), (0, 1)]], hidden=(2,))
    save(model, tmp_path / "net.ran")
    twin = load(tmp_path / "net.ran")
    torch.testing.assert_close(twin(rows()), model(rows()))
    assert twin.edge_layers[0].terms == [(0, 0), (1, 2, 1)]
    assert model(rows().reshape(1, 7, 3)).shape == (1, 7, 2)
    assert "3 -> 2 -> 2" in repr(model)


def test_keep_leaves_out_units_and_nodes_that_nothing_reads():
    model, x = net(hidden=(3,), pairs="none"), rows()
    small = model.keep([[(0, 0), (1, 2), (2, 1)], [(0, 0), (2, 1)]])
    assert small.widths == (3, 2, 2)
    assert small.edge_layers[0].terms == [(0, 0), (1, 1)]
    first, last = model.edge_layers
    h = first.bias.repeat(7, 1)
    messages = first.messages(x)
    for term in [(0, 0), (1, 2)]:
        h[:, term[1]] = h[:, term[1]] + messages[:, first.terms.index(term)]
    sent = last.messages(h)
    expected = last.bias + torch.stack(
        [sent[:, last.terms.index(term)] for term in [(0, 0), (2, 1)]], 1
    )
    torch.testing.assert_close(small(x), expected)


def test_it_learns_by_the_way_of_all_networks():
    torch.manual_seed(0)
    x = torch.rand(100, 2, dtype=torch.float64)
    model = LayeredRAN(2, 1, (), pairs="all", degrees=(3, 2), dtype=torch.float64)
    assert fit(model, (x, x[:, 0] * x[:, 1]), optimizer="lm").training_loss < 1e-25
    with pytest.raises(TypeError, match="opt="):
        model.fit((x, x[:, 0]), optimizer="lm")


def test_bad_arguments():
    with pytest.raises(TypeError, match="hidden must list"):
        LayeredRAN(2, 1, 5)
    with pytest.raises(ValueError, match="got \\(0, 0, 0\\)"):
        LayeredRAN(2, 1, (), terms=[[(0, 0, 0)]])
    with pytest.raises(ValueError, match="terms of 1 layers"):
        LayeredRAN(2, 1, (2,), terms=[[(0, 0)]])
    with pytest.raises(ValueError, match="pairs"):
        LayeredRAN(2, 1, pairs="some")
