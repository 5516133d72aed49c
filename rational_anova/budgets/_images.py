"""The shapes of convolutional networks near a parameter budget: widths that double by stage."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping

from .. import _validation as check
from ..topology import resolve_size
from . import _parameters as count
from ._architecture import Architecture

_TOPOLOGY = "d log d"  # pairs of a `RANConvNet` by default
_LAST = 2.0  # the last width is at most this much off a doubling


def cnn(target: int, channels: int, outputs: int, stages: int = 3) -> Iterator[list[Architecture]]:
    """Widths of the stages; the last one is matched."""

    def size(widths: tuple[int, ...]) -> int:
        return count.conv_parameters(channels, widths) + count.mlp_layer(widths[-1], outputs)

    yield _doubling("CNN", size, target, channels, outputs, stages, {})


def ran_conv_net(
    target: int,
    channels: int,
    outputs: int,
    stages: int = 3,
    degrees: tuple[int, int] = (3, 2),
) -> Iterator[list[Architecture]]:
    """Widths of the stages; the last one is matched, its pairs follow."""
    unit = count.unit_parameters(1, check.degrees(degrees))
    pair = count.unit_parameters(2, (2, 2))

    def size(widths: tuple[int, ...]) -> int:
        last = widths[-1]
        pairs = resolve_size(_TOPOLOGY, last)
        head = count.ran_parameters(last, outputs, True, unit, pair, pairs)
        return count.conv_parameters(channels, widths, unit) + head

    fixed = {"topology": _TOPOLOGY, "degrees": degrees}
    yield _doubling("RANConvNet", size, target, channels, outputs, stages, fixed)


def _doubling(
    family: str,
    size: Callable[[tuple[int, ...]], int],
    target: int,
    channels: int,
    outputs: int,
    stages: int,
    fixed: Mapping[str, object],
) -> list[Architecture]:
    """Return an architecture for each first width, up to the first that is too large."""
    found = []
    for first in itertools.count(1):
        before = tuple(first * 2**stage for stage in range(stages - 1))

        def ending(width: int, before: tuple[int, ...] = before) -> int:
            return size((*before, width))

        even = first * 2 ** (stages - 1)
        # A single stage has nothing to double.
        low, high = (int(even / _LAST), int(even * _LAST)) if before else (1, target)
        widths = (*before, _nearest(target, ending, low, high))
        arguments = {"in_channels": channels, "out_features": outputs, "widths": widths, **fixed}
        found.append(Architecture(family, arguments, size(widths), target))
        if not before or (widths[-1] == low and found[-1].parameters > target):
            break
    return found


def _nearest(target: int, size: Callable[[int], int], low: int, high: int) -> int:
    """Return the integer in [low, high] at which a growing `size` is nearest to the target."""
    at = bisect.bisect_left(range(low, high + 1), target, key=size) + low
    return min((w for w in (at - 1, at) if low <= w <= high), key=lambda w: abs(size(w) - target))
