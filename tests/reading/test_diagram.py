"""Diagrams of networks: what is on them, that they are the same each time, and what is refused."""

import numpy as np
import pytest
import torch

from rational_anova import MLP, RAN, DeepRAN, LayeredRAN, Rational1d, plot_network
from rational_anova.reading import Reading, ReadUnit


def boxes(figure):
    return figure.axes[1:]  # the first is the canvas


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_unit_has_its_picture_before_training():
    torch.manual_seed(0)
    figure = plot_network(LayeredRAN(2, 1, (3,), pairs="first"))
    assert len(boxes(figure)) == 6 + 3 + 3
    assert sum(bool(axes.images) for axes in boxes(figure)) == 3
    assert texts(figure)[:2] == ["x0", "x1"]
    assert texts(figure)[-1] == "f"


def test_shallow_and_message_passing_networks_are_drawn():
    ran = RAN(3, topology="all")
    assert len(boxes(plot_network(ran, torch.rand(50, 3), names=["a", "b", "c"]))) == 6
    ran.observe(np.random.default_rng(0).uniform(3, 4, (60, 3)))
    low, high = boxes(plot_network(ran))[0].get_xlim()
    assert 3 <= low < high <= 4
    assert len(boxes(plot_network(RAN(2, 3, topology="none")))) == 2
    deep = DeepRAN(3, 2, width=4, blocks=2)
    assert len(boxes(plot_network(deep))) == 2 * (4 + 4)
    assert len(boxes(plot_network(DeepRAN(3, 1, blocks=1, topology="none")))) == 3


def test_pictures_are_the_same_each_time():
    torch.manual_seed(0)
    net = LayeredRAN(2, 1, (3,))
    first, second = (
        np.concatenate([axes.lines[0].get_xydata() for axes in boxes(plot_network(net))])
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_names_stand_under_units():
    net = LayeredRAN(1, 1, ())
    unit = ReadUnit(0, (0,), 0, "sin(x)", 0.0, ())
    import sympy as sp

    reading = Reading((sp.Integer(1),), sp.symbols("t,"), (unit,), 0.0, 0.0, 1, 1)
    assert texts(plot_network(net, reading=reading)) == [r"$\sin$", "t", "f"]


def test_what_matters_less_is_paler():
    net = LayeredRAN(2, 1, (), dtype=torch.float64)
    with torch.no_grad():
        net.edge_layers[0].unit.numerator.zero_()
        net.edge_layers[0].unit.numerator[1] = torch.tensor([1.0, 0.01])
    strong, weak = (axes.lines[0].get_alpha() for axes in boxes(plot_network(net)))
    assert strong == 1
    assert weak < 0.3


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="has 42 nodes"):
        plot_network(LayeredRAN(1, 1, (40,)))
    with pytest.raises(TypeError, match="got MLP"):
        plot_network(MLP(2, 1))
    with pytest.raises(TypeError, match="Rational1d"):
        plot_network(Rational1d(2))
