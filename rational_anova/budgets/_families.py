"""The shapes of each family near a parameter budget, from the plainest to the most contrived."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .._core import checks as check
from ..topology import max_pairs, resolve_size
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
    constant: bool = False,
) -> Iterator[list[Architecture]]:
    """Widths of the stages; the last one is matched, its pairs follow."""
    unit = count.unit_parameters(1, check.degrees(degrees), constant=constant)
    pair = count.unit_parameters(2, (2, 2), constant=constant)

    def size(widths: tuple[int, ...]) -> int:
        last = widths[-1]
        pairs = resolve_size(_TOPOLOGY, last)
        head = count.ran_parameters(last, outputs, True, unit, pair, pairs)
        return count.conv_parameters(channels, widths, unit) + head

    fixed = {"topology": _TOPOLOGY, "degrees": degrees, **_kept(constant)}
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


_PAST = 0.005  # of the target: wider ones are no nearer


def ran(
    target: int,
    inputs: int,
    outputs: int,
    degrees: tuple[int, int] = (2, 2),
    pair_degree: int | tuple[int, int] = 2,
    heads: int | None = None,
    constant: bool = False,
) -> Iterator[list[Architecture]]:
    """Shallow networks: heads and pairs."""
    linear, most = outputs > 1, max_pairs(inputs)

    def size(heads: int, pairs: int) -> int:
        main = count.unit_parameters(1, check.degrees(degrees), heads, constant=constant)
        pair = count.unit_parameters(2, _both(pair_degree), heads, constant=constant)
        return count.ran_parameters(inputs, outputs, linear, main, pair, pairs)

    def matched(heads: int) -> Architecture:
        pairs = _solve(target, functools.partial(size, heads), 0, most)
        arguments = {
            "in_features": inputs,
            "out_features": outputs,
            "topology": pairs,
            "degrees": degrees,
            "pair_degree": pair_degree,
            "heads": heads,
            **_kept(constant),
        }
        return Architecture("RAN", arguments, size(heads, pairs), target)

    # As many heads as all pairs can have; fewer pairs leave room for more.
    full = _solve(target, lambda number: size(number, most), 1, target)
    yield [
        matched(number)
        for number in ([heads] if heads else range(max(1, full - 1), min(2 * full, full + 200) + 2))
    ]


def deep_ran(
    target: int,
    inputs: int,
    outputs: int,
    degrees: tuple[int, int] = (3, 2),
    pair_degree: int | tuple[int, int] = 2,
    heads: int = 1,
    blocks: int = 2,
    width: int | None = None,
    constant: bool = False,
) -> Iterator[list[Architecture]]:
    """Deep networks: pairs, then an embedding too."""
    node = count.unit_parameters(1, check.degrees(degrees), heads, constant=constant)
    pair = count.unit_parameters(2, _both(pair_degree), heads, constant=constant)

    def matched(width: int | None) -> Architecture:
        nodes = inputs if width is None else width
        embedding = 0 if width is None else count.mlp_layer(inputs, nodes)

        def size(pairs: int) -> int:
            body = count.deep_ran_parameters(nodes, pairs, outputs, blocks, node, pair)
            return embedding + body

        pairs = _solve(target, size, 0, max_pairs(nodes))
        arguments = {
            "in_features": inputs,
            "out_features": outputs,
            "width": width,
            "blocks": blocks,
            "topology": pairs,
            "degrees": degrees,
            "pair_degree": pair_degree,
            "heads": heads,
            **_kept(constant),
        }
        return Architecture("DeepRAN", arguments, size(pairs), target)

    yield [matched(width)]
    if width is None:
        yield _until_too_large(matched(nodes) for nodes in _growing(target))


def _layered(
    family: str,
    layer: Callable[..., int],
    settings: list[dict[str, int]],
    target: int,
    inputs: int,
    outputs: int,
    hidden_layers: int | None = None,
) -> Iterator[list[Architecture]]:
    if hidden_layers not in (None, 1, 2):
        raise ValueError(f"hidden_layers must be 1, 2 or None, got {hidden_layers!r}")
    for setting in settings:
        matched = functools.partial(_widths, family, layer, setting, target, inputs, outputs)
        if hidden_layers != 2:
            yield [matched([])]
        if hidden_layers != 1:
            yield _until_too_large(matched([width]) for width in _growing(target))


def _widths(
    family: str,
    layer: Callable[..., int],
    setting: dict[str, int],
    target: int,
    inputs: int,
    outputs: int,
    first: list[int],
) -> Architecture:
    """Return the architecture with the first hidden widths given and the last one matched."""
    cost = functools.partial(layer, **setting)

    def size(last: int) -> int:
        return count.layered_parameters([inputs, *first, last, outputs], cost)

    last = _solve(target, size, 1, target)
    arguments = {
        "in_features": inputs,
        "out_features": outputs,
        "hidden": (*first, last),
        **setting,
    }
    return Architecture(family, arguments, size(last), target)


def mlp(target: int, inputs: int, outputs: int, **fixed: Any) -> Iterator[list[Architecture]]:
    """Widths of one or two hidden layers."""
    return _layered("MLP", count.mlp_layer, [{}], target, inputs, outputs, **fixed)


def kan(
    target: int,
    inputs: int,
    outputs: int,
    grid: int | None = None,
    order: int | None = None,
    **fixed: Any,
) -> Iterator[list[Architecture]]:
    """Widths, then coarser splines."""
    usual = [(5, 3), (3, 3), (3, 2)]
    chosen = dict.fromkeys((grid or g, order or k) for g, k in usual)
    settings = [{"grid": g, "order": k} for g, k in chosen]
    return _layered("KAN", count.kan_layer, settings, target, inputs, outputs, **fixed)


def kaf(
    target: int, inputs: int, outputs: int, frequencies: int | None = None, **fixed: Any
) -> Iterator[list[Architecture]]:
    """Widths, then fewer frequencies."""
    settings = [{"frequencies": g} for g in ([frequencies] if frequencies else (8, 4, 2, 1))]
    return _layered("KAF", count.kaf_layer, settings, target, inputs, outputs, **fixed)


def _growing(target: int) -> Iterator[int]:
    """Widths to try: every one to a thousand, then in steps of a percent."""
    width = 1
    while width <= target:
        yield width
        width = width + 1 if width < 1000 else math.ceil(1.01 * width)


def _until_too_large(found: Iterable[Architecture]) -> list[Architecture]:
    """Collect architectures of growing width up to the first that is well past the target."""
    result = []
    for each in found:
        result.append(each)
        if each.parameters > each.target * (1 + _PAST):
            break
    return result


def _solve(target: int, size: Callable[[int], int], low: int, high: int) -> int:
    """Return the integer in [low, high] at which the affine `size` is nearest to the target."""
    if high <= low:
        return low
    step = size(low + 1) - size(low)
    return min(max(low + round((target - size(low)) / step), low), high)


def _both(degree: int | tuple[int, int]) -> tuple[int, int]:
    return check.degrees(
        (degree, degree) if isinstance(degree, numbers.Integral) else degree, "pair_degree"
    )


def _kept(constant: bool) -> dict[str, bool]:
    """Return the argument that a network needs for constants in q."""
    return {"constant": True} if constant else {}


Search = Callable[..., Iterator[list[Architecture]]]
_PAIRED = ("degrees", "pair_degree", "heads", "constant")
# Each family: how its shapes are searched, and which arguments can be fixed.
FAMILIES: dict[str, tuple[Search, tuple[str, ...]]] = {
    "RAN": (ran, _PAIRED),
    "DeepRAN": (deep_ran, (*_PAIRED, "width", "blocks")),
    "MLP": (mlp, ("hidden_layers",)),
    "KAN": (kan, ("hidden_layers", "grid", "order")),
    "KAF": (kaf, ("hidden_layers", "frequencies")),
}
# Those of images, whose inputs are channels.
IMAGE_FAMILIES: dict[str, tuple[Search, tuple[str, ...]]] = {
    "RANConvNet": (ran_conv_net, ("stages", "degrees", "constant")),
    "CNN": (cnn, ("stages",)),
}
