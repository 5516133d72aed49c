"""Deep stability: the theorem's bounds at the start, and training of fifty blocks."""

import math

import pytest
import torch

from experiments.stability import FEATURES, stack, train


def gradient_ratio(model):
    h = torch.randn(64, FEATURES, dtype=torch.float64, requires_grad=True)
    top = torch.randn(64, FEATURES, dtype=torch.float64)
    model.double()(h).backward(top)
    ratios = h.grad.norm(dim=1) / top.norm(dim=1)
    return ratios.min(), ratios.max()


@pytest.mark.parametrize("depth", [1, 10, 100])
@pytest.mark.parametrize("gate", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("denominator", ["softplus", "squareplus", "square", "abs", "sos"])
def test_gradient_norms_stay_within_the_theorem(depth, gate, denominator):
    """exp(-L eps gamma) <= ratio <= exp(L eps (K - 1)), with K = 1 and |W| = 1 at the start.

    The paper leaves gamma open. The least singular value of (1 - eps) I + eps W is at least
    1 - 2 eps, so gamma = -log(1 - 2 eps)/eps holds for every row of the batch.
    """
    low, high = gradient_ratio(stack(depth, 0, gate=gate, denominator=denominator))
    gamma = -math.log(1 - 2 * gate) / gate
    slack = 1 + 1e-5  # orthogonal in float32
    assert high <= slack**depth
    assert low >= math.exp(-depth * gate * gamma) / slack**depth


@pytest.mark.slow
def test_fifty_blocks_train_for_200_steps():
    for seed in range(2):
        losses = train(stack(50, seed), rate=1e-3, steps=200, seed=seed)
        assert all(math.isfinite(loss) for loss in losses)
        assert max(losses) <= 1.2 * losses[0]
        assert sum(losses[-10:]) / 10 < 0.7 * losses[0]


def test_without_the_gate_a_perturbed_stack_overflows():
    """What the paper says, once the start is not exactly the identity (see docs/results/stability.md)."""
    h = torch.randn(64, FEATURES)
    assert stack(100, 0, noise=0.1)(h).isfinite().all()
    assert not stack(100, 0, noise=0.1, gate=None)(h).isfinite().all()


def test_without_the_gate_an_exact_start_is_an_isometry():
    """What the paper does not say: with p/d = x and W orthogonal no gate is needed at the start."""
    low, high = gradient_ratio(stack(100, 0, gate=None))
    assert 0.999 < low <= high < 1.001


def test_an_unconstrained_denominator_explodes_even_with_the_gate():
    h = torch.randn(64, FEATURES)
    sizes = [
        stack(100, seed, noise=0.1, denominator="polynomial")(h).abs().max() for seed in range(5)
    ]
    assert max(sizes) > 1e3 * h.abs().max() or not all(s.isfinite() for s in sizes)
