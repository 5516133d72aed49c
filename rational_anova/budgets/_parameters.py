"""Exact parameter counts: of a model at hand, and of an architecture before it is built."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from torch import nn

from ..functional import monomials


def count_parameters(model: nn.Module, trainable: bool = True) -> int:
    """Return the number of parameters; shared ones count once.

    Args:
        model: any module.
        trainable: leave out those that are not trained.

    Example:
        >>> count_parameters(nn.Linear(3, 2))
        8
    """
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable)


def unit_parameters(
    variables: int,
    degrees: tuple[int, int],
    heads: int = 1,
    gate: bool = True,
    constant: bool = False,
) -> int:
    """Return the parameters of one unit: m + n + 2 in one variable, T + S + 1 in two (Eq. 10).

    A head with a constant in q has one more.

    Example:
        >>> unit_parameters(1, (3, 2)), unit_parameters(2, (2, 2))
        (7, 12)
        >>> unit_parameters(1, (3, 2), constant=True), unit_parameters(2, (2, 2), constant=True)
        (8, 13)
    """
    top = len(monomials(variables, degrees[0]))
    bottom = len(monomials(variables, degrees[1], constant))
    return heads * (top + bottom) + gate


def ran_parameters(
    mains: int, outputs: int, linear: bool, main_unit: int, pair_unit: int, pairs: int
) -> int:
    """Return the parameters of a `RAN` from those of one main and one pair unit.

    Example:
        >>> ran_parameters(784, 10, True, 6, 12, 306_936)  # all pairs of 28 x 28 pixels
        6765146
    """
    head = (mains + pairs + 1) * outputs if linear else 0
    return mains * main_unit + pairs * pair_unit + head


def deep_ran_parameters(
    nodes: int, pairs: int, outputs: int, blocks: int, node_unit: int, pair_unit: int
) -> int:
    """Return the parameters of a `DeepRAN` without embedding.

    A block has, next to its units, the norm (2 a node), a weight a pair and a gate; the head reads
    nodes and pairs. For two blocks and units of 7 and 12 this is the paper's
    (18 + C) N + (26 + C) K + C + 2.

    Example:
        >>> N, K, C = 784, 779, 10
        >>> deep_ran_parameters(N, K, C, 2, 7, 12) == (18 + C) * N + (26 + C) * K + C + 2
        True
    """
    block = nodes * (node_unit + 2) + pairs * (pair_unit + 1) + 1
    return blocks * block + (nodes + pairs + 1) * outputs


def mlp_layer(inputs: int, outputs: int) -> int:
    """Return the parameters of a linear layer."""
    return (inputs + 1) * outputs


def kan_layer(inputs: int, outputs: int, grid: int = 5, order: int = 3) -> int:
    """Return the parameters of a spline layer, mask included, as KANbeFair counts them."""
    return inputs * outputs * (grid + order + 3) + outputs


def kaf_layer(inputs: int, outputs: int, frequencies: int = 8) -> int:
    """Return the parameters of a Fourier layer: norm, waves, mixing, two scales, linear map."""
    waves = inputs * frequencies + frequencies + (2 * frequencies + 1) * inputs
    return 2 * inputs + waves + 2 + mlp_layer(inputs, outputs)


def conv_parameters(channels: int, widths: Sequence[int], unit: int = 0) -> int:
    """Return the parameters of the stages of a `CNN`, or with `unit` a channel of a `RANConvNet`.

    Each stage has two 3 x 3 convolutions without bias, each with a batch normalisation.

    Example:
        >>> conv_parameters(3, (8, 16))
        4344
    """
    inputs = [channels, *widths[:-1]]
    return sum(
        9 * (before + width) * width + 2 * (2 + unit) * width
        for before, width in zip(inputs, widths, strict=True)
    )


def layered_parameters(widths: Sequence[int], layer: Callable[[int, int], int]) -> int:
    """Return the sum over the layers of a network with the given widths."""
    return sum(layer(i, o) for i, o in itertools.pairwise(widths))
