"""Counts: exact, and the same for an architecture on paper and the network that is built."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import rational_anova as ra
from rational_anova.budgets import FAMILIES

BUDGETS = (50_000, 100_000, 200_000, 400_000, 1_000_000)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("inputs", [784, 3072])
@pytest.mark.parametrize("target", BUDGETS)
def test_lands_within_half_a_percent(family, inputs, target):
    found = ra.match_budget(target, family, in_features=inputs, out_features=10)
    assert found.error <= 0.005
    # KANbeFair counts the masks of a KAN, which are not trained.
    net = found.build()
    assert ra.count_parameters(net, trainable=False) == found.parameters
    assert net(torch.randn(2, inputs)).shape == (2, 10)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("inputs", "outputs"), [(2, 1), (8, 1), (30, 3), (100, 2)])
@pytest.mark.parametrize("target", [1_000, 7_777, 60_000])
def test_small_problems(family, inputs, outputs, target):
    if family in ("KAN", "KAF") and inputs == 100 and target == 1_000:
        pytest.skip("even one hidden unit is more")
    found = ra.match_budget(target, family, in_features=inputs, out_features=outputs)
    assert ra.count_parameters(found.build(), trainable=False) == found.parameters
    # A unit of a RAN cannot be halved: with few inputs a step is a whole head of every term.
    assert found.error <= 0.05


def test_deep_ran_is_matched_by_its_pairs():
    for target in BUDGETS:
        found = ra.match_budget(target, "DeepRAN", 784, 10)
        N, K, C = 784, found.arguments["topology"], 10
        assert found.arguments["width"] is None
        assert found.parameters == (18 + C) * N + (26 + C) * K + C + 2
        one_more, one_less = found.parameters + 36, found.parameters - 36
        assert abs(found.parameters - target) <= min(abs(one_more - target), abs(one_less - target))


def test_fixed_settings_are_kept():
    found = ra.match_budget(50_000, "DeepRAN", 784, 10, blocks=3, degrees=(2, 2), width=30)
    assert (found.arguments["blocks"], found.arguments["width"]) == (3, 30)
    kan = ra.match_budget(100_000, "KAN", 784, 10, grid=3, order=2, hidden_layers=1)
    assert kan.arguments["grid"] == 3
    assert len(kan.arguments["hidden"]) == 1
    mlp = ra.match_budget(100_000, "MLP", 784, 10, hidden_layers=2)
    assert len(mlp.arguments["hidden"]) == 2
    assert max(mlp.arguments["hidden"]) <= 1.2 * min(mlp.arguments["hidden"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ra.match_budget(0, "MLP", 4, 2), ValueError, "target must be >= 1, got 0"),
        (lambda: ra.match_budget(1e5, "MLP", 4, 2), TypeError, "target must be an integer"),
        (lambda: ra.match_budget(100, "MPL", 4, 2), ValueError, "did you mean 'MLP'"),
        (lambda: ra.match_budget(100, "RAN", 784, 10), ValueError, "smallest RAN with 784 inputs"),
        (lambda: ra.match_budget(100, "RAN", 4, 1, width=3), ValueError, "keyword arguments.*'width'"),
        (lambda: ra.match_budget(100, "MLP", 4, 1, hidden_layers=3), ValueError, "hidden_layers"),
        (lambda: ra.match_budget(100, "RAN", 4, 1, degrees=(2, 0)), ValueError, "degree"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_shared_and_frozen_parameters_are_counted_once_and_as_asked():
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, layer)
    assert ra.count_parameters(model) == 12
    layer.bias.requires_grad_(False)
    assert ra.count_parameters(model) == 9
    assert ra.count_parameters(model, trainable=False) == 12


def visible(model, x):
    with FlopCounterMode(display=False) as counter:
        model(x)
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: ra.MLP(20, 3, hidden=(16, 8)), (5, 20)),
        (lambda: ra.KAF(20, 3, hidden=(16,)), (5, 20)),
        (lambda: ra.KAN(20, 3, hidden=(16,)), (5, 20)),
        (lambda: ra.DeepRAN(20, 3, width=12), (5, 20)),
        (lambda: ra.RANFFN(8), (2, 7, 8)),
        (lambda: ra.RANConvNet(3, 10, widths=(4, 8)), (2, 3, 16, 16)),
    ],
)
def test_products_are_those_that_torch_counts(make, shape):
    model = make().eval()
    assert ra.count_flops(model, shape).products == visible(model, torch.zeros(shape))


def test_flops_by_hand():
    assert ra.count_flops(ra.MLP(20, 3, hidden=(16,)), (5, 20)).products == 2 * 5 * (
        20 * 16 + 16 * 3
    )
    # (3, 2) softplus, identity: p 6; q 3, softplus 3, its sum 1; quotient 1; gate 3.
    assert ra.count_flops(ra.Rational1d(4), (10, 4)).units == 10 * 4 * (6 + 3 + 3 + 1 + 1 + 3)
    # degree 2 sos, zero: p 10; q of 3 and 2 terms 4 + 2, their squares 2, sums 2; quotient 1; gate 1.
    pair = ra.Rational2d([(0, 1)], 2, "sos")
    assert ra.count_flops(pair, (10, 2)).units == 10 * (10 + 6 + 2 + 2 + 1 + 1)


def test_counting_leaves_the_model_alone():
    net = ra.RANConvNet(3, 2, widths=(4,))
    net.stages[0].eval()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    ra.count_flops(net, torch.randn(2, 3, 8, 8))
    assert all(torch.equal(v, before[k]) for k, v in net.state_dict().items())
    assert net.training
    assert not net.stages[0].training
    assert not net.stages[2]._forward_hooks
