"""Losses: slopes are derivatives, roots are roots of the curvature, targets are checked."""

import pickle

import pytest
import torch

from rational_anova.training import LOSSES, huber
from rational_anova.training._losses import read_targets, resolve_loss

EVERY = [*LOSSES.values(), huber(0.3)]


def example(loss, outputs, seed=0):
    generator = torch.Generator().manual_seed(seed)
    f = torch.randn(7, outputs, generator=generator, dtype=torch.float64)
    if loss.classes == "exclusive":
        return f, torch.randint(outputs, (7,), generator=generator)
    y = torch.randn(7, outputs, generator=generator, dtype=torch.float64)
    return f, (y > 0).double() if loss.classes else y


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("loss", EVERY, ids=lambda each: each.name)
def test_slope_is_the_derivative(loss, outputs):
    f, y = example(loss, outputs)
    leaf = f.clone().requires_grad_()
    loss.value(leaf, y).sum().backward()
    assert loss.value(f, y).shape == (7,)
    torch.testing.assert_close(loss.slope(f, y), leaf.grad)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", ["mse", "binary", "multiclass"])
def test_root_is_a_root_of_the_hessian(name, outputs):
    loss = LOSSES[name]
    f, y = example(loss, outputs)
    root = loss.root(f, y)
    matrix = root.mT @ root if root.dim() == 3 else torch.diag_embed(root.square())
    for n in range(len(f)):
        hessian = torch.autograd.functional.hessian(
            lambda row, n=n: loss.value(row[None], y[n : n + 1]).sum(), f[n]
        )
        torch.testing.assert_close(matrix[n], hessian, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("loss", [LOSSES["mae"], LOSSES["huber"], huber(0.3)], ids=lambda x: x.name)
def test_root_of_robust_losses_is_that_of_the_tangent_parabola(loss):
    """slope = curvature * residual, and the parabola lies above the loss."""
    f, y = example(loss, 2)
    curvature = loss.root(f, y).square()
    torch.testing.assert_close(curvature * (f - y), loss.slope(f, y))
    step = torch.linspace(-4, 4, 41, dtype=torch.float64)
    for s in step:
        parabola = loss.value(f, y) + (loss.slope(f, y) * s + curvature * s**2 / 2).sum(-1)
        assert (loss.value(f + s, y) <= parabola + 1e-12).all()


@pytest.mark.parametrize("loss", EVERY, ids=lambda each: each.name)
def test_pickles(loss):
    again = pickle.loads(pickle.dumps(loss))
    f, y = example(loss, 3)
    assert again.name == loss.name
    assert torch.equal(again.value(f, y), loss.value(f, y))


def test_auto_looks_at_the_targets():
    whole = torch.tensor([0, 1])
    assert resolve_loss("auto", whole.bool(), 1).name == "binary"
    assert resolve_loss("auto", whole, 3).name == "multiclass"
    assert resolve_loss("auto", whole, 1).name == "mse"
    assert resolve_loss("auto", whole.double(), 3).name == "mse"
    with pytest.raises(ValueError, match="did you mean 'huber'"):
        resolve_loss("hubr", whole, 1)


@pytest.mark.parametrize(
    ("y", "name", "outputs", "message"),
    [
        ([0, 1, 5], "multiclass", 3, "has the class 5, the model has 3 outputs"),
        ([-1, 1], "multiclass", 3, "has the class -1"),
        ([0.5, 1.0], "multiclass", 3, "whole class numbers, y has 0.5"),
        ([[1, 0], [0, 1]], "multiclass", 2, "y.argmax\\(1\\)"),
        ([0.0, 2.0], "binary", 1, "targets 0 and 1, y has 2"),
        ([0.0, 2.0], "mse", 3, r"shape \(2,\), the model has 3 outputs"),
        ([0, 2], "mse", 3, "use loss='multiclass'"),
    ],
)
def test_targets_that_do_not_fit(y, name, outputs, message):
    with pytest.raises(ValueError, match=message):
        read_targets(torch.tensor(y), LOSSES[name], outputs, torch.float64, "y")


def test_huber_wants_a_width():
    with pytest.raises(ValueError, match="delta must be > 0, got -1"):
        huber(-1)
