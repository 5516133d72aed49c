"""Counts: exact, and the same for an architecture on paper and the network that is built."""

import contextlib

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
@pytest.mark.parametrize("target", [3_000, 7_777, 60_000])
def test_small_problems(family, inputs, outputs, target):
    found = ra.match_budget(target, family, in_features=inputs, out_features=outputs)
    assert ra.count_parameters(found.build(), trainable=False) == found.parameters
    assert found.error <= 0.01


@pytest.mark.parametrize("inputs", [784, 3072])
@pytest.mark.parametrize("target", BUDGETS)
def test_baselines_have_no_needless_bottleneck(inputs, target):
    for family in ("MLP", "KAF", "KAN"):
        hidden = ra.match_budget(target, family, inputs, 10).arguments["hidden"]
        if family != "KAN" or target >= 100_000 * inputs / 784:
            assert min(hidden) >= 10
        assert max(hidden) <= 6 * min(hidden)
    # A KAN of 3072 inputs spends 24,576 weights on each hidden unit at the coarsest grid.
    smallest = ra.match_budget(50_000, "KAN", 3072, 10).arguments
    assert (smallest["hidden"][0], smallest["grid"], smallest["order"]) == (2, 3, 2)


def test_a_plain_net_two_percent_off_beats_a_bottleneck():
    assert ra.match_budget(100, "MLP", 8, 1).arguments["hidden"] == (10,)


@pytest.mark.parametrize("family", FAMILIES)
def test_huge_targets_are_answered(family):
    assert ra.match_budget(10**9, family, 10, 3).error < 0.05


def test_a_far_match_is_announced():
    with pytest.warns(
        RuntimeWarning, match=r"nearest RAN has 732 parameters .* 26.8% off target=1000"
    ):
        ra.match_budget(1000, "RAN", 8, 1, heads=2)


def test_deep_ran_is_matched_by_its_pairs():
    for target in BUDGETS:
        found = ra.match_budget(target, "DeepRAN", 784, 10)
        N, K, C = 784, found.arguments["topology"], 10
        assert found.arguments["width"] is None
        assert found.parameters == (18 + C) * N + (26 + C) * K + C + 2
        one_more, one_less = found.parameters + 36, found.parameters - 36
        assert abs(found.parameters - target) <= min(abs(one_more - target), abs(one_less - target))


def test_the_masks_of_a_kan_are_counted_and_not_trained():
    for fixed, share in (({}, 1 / 11), ({"grid": 3, "order": 2}, 1 / 8)):
        found = ra.match_budget(100_000, "KAN", 784, 10, **fixed)
        trained = ra.count_parameters(found.build())
        assert abs((found.parameters - trained) / found.parameters - share) < 1e-3


def test_fixed_settings_are_kept():
    found = ra.match_budget(50_000, "DeepRAN", 784, 10, blocks=3, degrees=(2, 2), width=40)
    assert (found.arguments["blocks"], found.arguments["width"]) == (3, 40)
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
        (lambda: ra.match_budget(100, "mlp", 4, 1), ValueError, "did you mean 'MLP'"),
        (lambda: ra.match_budget(100, "RAN", 4, 1, heads=0), ValueError, "heads must be >= 1, got 0"),
        (lambda: ra.match_budget(100, "DeepRAN", 4, 1, blocks="2"), TypeError, "blocks must be an integer"),
        (lambda: ra.match_budget(100, "KAF", 4, 1, frequencies=0), ValueError, "frequencies must be >= 1"),
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
    model = make()
    assert ra.count_flops(model, shape).products == visible(model, torch.zeros(shape))


def test_attention_is_counted():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    rows, tokens, width = 2, 5, 8
    linear = 2 * rows * tokens * (4 * width * width + 2 * width * 16)
    attention = 2 * 2 * rows * tokens * tokens * width
    assert ra.count_flops(layer, (rows, tokens, width)).products == linear + attention
    assert torch.backends.mha.get_fastpath_enabled()
    with pytest.warns(RuntimeWarning, match="recurrent layers"), contextlib.suppress(TypeError):
        ra.count_flops(nn.LSTM(3, 3), (2, 3))


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


class Queries(nn.Module):
    """Parameters that enter a container as they are or as a view, as those of a Perceiver do."""

    def __init__(self, use):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(4, 6))
        self.frozen = nn.Parameter(torch.randn(2), requires_grad=False)
        self.inner = nn.Sequential(nn.Linear(6, 3))
        self.use = use

    def forward(self, x):
        return self.inner(self.use(self.queries, x))


@pytest.mark.parametrize(
    ("use", "rows"),
    [
        (lambda queries, x: queries, 4),
        (lambda queries, x: queries[:2], 2),
        (lambda queries, x: queries.expand(5, 4, 6), 20),
        (lambda queries, x: x[:3], 3),
    ],
)
def test_parameters_that_enter_a_container(use, rows):
    model, x = Queries(use), torch.randn(5, 6, requires_grad=True)
    assert ra.count_flops(model, x).products == 2 * rows * 6 * 3
    learned = {name for name, value in model.named_parameters() if value.requires_grad}
    assert learned == {"queries", "inner.0.weight", "inner.0.bias"}
    assert x.requires_grad


def test_parameters_are_trained_on_after_a_count_that_failed():
    model = Queries(lambda queries, x: queries @ x)
    with pytest.raises(RuntimeError, match="shapes"):
        ra.count_flops(model, (5, 7))
    assert model.queries.requires_grad
    assert not model.frozen.requires_grad
