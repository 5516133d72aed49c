"""The networks that are compared: of patches alone, and of patches with their neighbours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, unfold

import rational_anova as ra
from experiments.denoising.frame import Frame

_AROUND = 9  # a patch and its eight neighbours


def mlp(patch: int, hidden: list[int], cosines: bool = True) -> Frame:
    """Return linear layers with ReLU on patches."""
    size = 3 * patch**2
    net = ra.MLP(size, size, hidden, activation="relu")
    return Frame(_silent(net), patch, cosines)


def kan(patch: int, hidden: list[int], cosines: bool = True) -> Frame:
    """Return B-splines on edges, on patches; the grid spans three standard deviations."""
    size = 3 * patch**2
    return Frame(ra.KAN(size, size, hidden, grid_range=(-3.0, 3.0)), patch, cosines)


def ran(
    patch: int,
    blocks: int,
    pairs: int | str,
    width: int | None = None,
    heads: int = 1,
    cosines: bool = True,
) -> Frame:
    """Return a DeepRAN on patches, with random pairs of inputs or of nodes behind an embedding."""
    size = 3 * patch**2
    net = ra.DeepRAN(size, size, width, blocks, pairs, heads=heads)
    return Frame(_silent(net), patch, cosines)


class _Around(nn.Module):
    """Hands a network each patch's coefficients and those of its eight neighbours."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        rows = unfold(pad(x, (1, 1, 1, 1), mode="replicate"), 3).transpose(1, 2)
        return self.net(rows).transpose(1, 2).unflatten(-1, (height, width))


def ran_local(patch: int, blocks: int) -> Frame:
    """Return a DeepRAN on patches and their neighbours.

    Its pairs are a coefficient and the same one of each neighbour.
    """
    size = 3 * patch**2
    middle = _AROUND // 2
    pairs = [
        (_AROUND * n + middle, _AROUND * n + other)
        for n in range(size)
        for other in range(_AROUND)
        if other != middle
    ]
    topology = ra.Topology.of(pairs, features=_AROUND * size)
    net = ra.DeepRAN(_AROUND * size, size, blocks=blocks, topology=topology)
    return Frame(_Around(_silent(net)), patch, convolution=True)


def cnn(patch: int, width: int, depth: int) -> Frame:
    """Return 3 x 3 convolutions with batch norm and ReLU over the grid of patches, as in DnCNN."""
    size = 3 * patch**2
    layers: list[nn.Module] = []
    for before in (size, *[width] * (depth - 2)):
        convolution = nn.Conv2d(before, width, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(width), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Conv2d(width, size, 3, padding=1))
    return Frame(_silent(net), patch, convolution=True)


class _Block(nn.Module):
    """h + W2 phi(W1 norm(depthwise 3 x 3 of h)): neighbours are mixed first, channels then."""

    def __init__(self, width: int, hidden: int, unit: nn.Module) -> None:
        super().__init__()
        self.neighbours = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.first = nn.Conv2d(width, hidden, 1)
        self.unit = unit
        self.second = nn.Conv2d(hidden, width, 1)

    def forward(self, h: Tensor) -> Tensor:
        return h + self.second(self.unit(self.first(self.norm(self.neighbours(h)))))


def cnn_blocks(patch: int, width: int, hidden: int, blocks: int) -> Frame:
    """Return residual blocks of convolutions with GELU."""
    return _residual(patch, width, [_Block(width, hidden, nn.GELU()) for _ in range(blocks)])


def ran_conv(
    patch: int, width: int, hidden: int, blocks: int, denominator: str = "softplus"
) -> Frame:
    """Return the blocks with rational units, which start as GELU, and one for each node last."""
    inner = [
        _Block(width, hidden, ra.Rational1d(hidden, (3, 2), denominator, "gelu", dim=-3))
        for _ in range(blocks)
    ]
    return _residual(patch, width, [*inner, ra.Rational1d(width, (3, 2), denominator, dim=-3)])


def _residual(patch: int, width: int, inner: list[nn.Module]) -> Frame:
    size = 3 * patch**2
    first, last = nn.Conv2d(size, width, 1), nn.Conv2d(width, size, 1)
    nn.init.dirac_(first.weight)  # the nodes start as the coefficients
    nn.init.zeros_(first.bias)  # type: ignore[arg-type]
    return Frame(_silent(nn.Sequential(first, *inner, last)), patch, convolution=True)


def _silent(net: nn.Module) -> nn.Module:
    """Return a network whose last linear layer starts at zero: it begins by changing nothing."""
    last = [m for m in net.modules() if isinstance(m, nn.Linear | nn.Conv2d)][-1]
    with torch.no_grad():
        last.weight.zero_()
        if last.bias is not None:
            last.bias.zero_()
    return net


KINDS = {
    "mlp": mlp, "kan": kan, "ran": ran, "ran_local": ran_local, "cnn": cnn,
    "cnn_blocks": cnn_blocks, "ran_conv": ran_conv,
}  # fmt: skip


def build(kind: str, patch: int, **settings: Any) -> Frame:
    """Return a network of a kind with its settings."""
    return KINDS[kind](patch, **settings)
