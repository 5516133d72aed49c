"""Convolutional networks: RANConvNet and its baseline are of one shape, and of the size asked for."""

import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova.budgets import FAMILIES, IMAGE_FAMILIES

both = pytest.mark.parametrize("family", IMAGE_FAMILIES)


@both
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("target", [50_000, 100_000, 200_000, 400_000, 500_000, 1_000_000])
def test_lands_within_half_a_percent(family, channels, target):
    found = ra.match_budget(target, family, channels, 10)
    assert found.error <= 0.005
    assert ra.count_parameters(found.build()) == found.parameters
    one, two, three = found.arguments["widths"]
    assert two == 2 * one
    assert one < three <= 4 * two


@both
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("outputs", [1, 7])
def test_counts_are_those_of_the_network(family, stages, outputs):
    found = ra.match_budget(30_000, family, 2, outputs, stages=stages)
    assert len(found.arguments["widths"]) == stages
    assert found.error <= 0.02
    net = found.build()
    assert ra.count_parameters(net) == found.parameters
    assert net(torch.randn(2, 2, 9, 9)).shape == (2, outputs)
    assert "widths" in found.summary


def test_degrees_count():
    found = ra.match_budget(50_000, "RANConvNet", 1, 10, degrees=(4, 4))
    assert ra.count_parameters(found.build()) == found.parameters
    assert found.build().stages[2].degrees == (4, 4)


def test_the_families_of_images_are_told_apart():
    assert not set(IMAGE_FAMILIES) & set(FAMILIES)
    with pytest.raises(ValueError, match="smallest CNN with 3 inputs"):
        ra.match_budget(20, "CNN", 3, 10)
    with pytest.raises(ValueError, match="keyword arguments.*'degrees'"):
        ra.match_budget(50_000, "CNN", 3, 10, degrees=(3, 2))
    with pytest.raises(ValueError, match="stages must be >= 1, got 0"):
        ra.match_budget(50_000, "CNN", 3, 10, stages=0)


def test_huge_targets_are_answered():
    assert ra.match_budget(10**8, "CNN", 3, 10).error < 0.005


def test_the_baseline_has_the_same_convolutions():
    ran, cnn = ra.RANConvNet(3, 10, (4, 8), stride=2), ra.CNN(3, 10, (4, 8), stride=2)

    def shapes(net):
        return [(m.weight.shape, m.stride) for m in net.modules() if isinstance(m, nn.Conv2d)]

    assert shapes(ran) == shapes(cnn)
    assert [stride for _, stride in shapes(cnn)] == [(2, 2), (1, 1), (2, 2), (1, 1)]
    assert [type(m) for m in cnn.stages[2::3]] == [nn.GELU] * 4
    products = ra.count_flops(cnn, (1, 3, 16, 16)).products
    # 8 x 8 and 4 x 4 places after the strides; two a multiply-add.
    places = 64 * 9 * (3 * 4 + 4 * 4) + 16 * 9 * (4 * 8 + 8 * 8)
    assert products == 2 * (places + 8 * 10)
    assert ra.count_flops(cnn, (1, 3, 16, 16)).units == 0


def test_a_stride_of_one_is_as_it_was():
    torch.manual_seed(0)
    plain = ra.RANConvNet(1, 2, (4, 6))
    assert [m.stride for m in plain.modules() if isinstance(m, nn.Conv2d)] == [
        (1, 1),
        (1, 1),
        (2, 2),
        (1, 1),
    ]


def test_files_hold_a_cnn(tmp_path):
    net = ra.CNN(1, 3, (4, 6), "relu", stride=2).eval()
    ra.save(net, tmp_path / "cnn.safetensors")
    x = torch.randn(2, 1, 9, 9)
    assert torch.equal(ra.load(tmp_path / "cnn.safetensors").eval()(x), net(x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ra.CNN(3, 10, widths=16), ValueError, "widths must list"),
        (lambda: ra.CNN(3, 10, widths=()), ValueError, "widths must list"),
        (lambda: ra.CNN(3, 10, activation="gel"), ValueError, "did you mean 'gelu'"),
        (lambda: ra.CNN(3, 10, stride=0), ValueError, "stride must be >= 1, got 0"),
        (lambda: ra.CNN(3, 2)(torch.randn(1, 1, 8, 8)), ValueError, "must have 3 features"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
