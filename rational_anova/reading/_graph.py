"""A network as rows of nodes with units between them, each with its curve: what a diagram draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .._core.types import Array
from ..networks import RAN, DeepRAN, LayeredRAN
from ._prune import importance

_CURVE, _SIDE = 120, 24  # points of a curve, and on a side of a heat map


@dataclass(frozen=True)
class Link:
    """What leads from nodes of a row to nodes of the next.

    Attributes:
        sources: nodes below.
        targets: nodes above.
        weight: how much it matters, from 0 to 1.
        picture: (points, 2) of a curve, (side, side) of a heat map with `heat`, or None: a line.
        heat: whether it is a heat map.
        key: layer and nodes, by which a name is found.
    """

    sources: tuple[int, ...]
    targets: tuple[int, ...]
    weight: float
    picture: Array | None = None
    heat: bool = False
    key: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Rows of nodes, the inputs first, and the links from each row to the next."""

    rows: list[list[str]]
    links: list[list[Link]] = field(default_factory=list)


@torch.no_grad()
def graph_of(net: nn.Module, X: Tensor, names: Sequence[str]) -> Graph:
    """Return a network as it is on rows X."""
    if isinstance(net, LayeredRAN):
        return _layered(net, X, names)
    if isinstance(net, RAN):
        return _shallow(net, X, names)
    if isinstance(net, DeepRAN):
        return _deep(net, X, names)
    raise TypeError(
        f"plot_network draws a RAN, a DeepRAN or a LayeredRAN, got {type(net).__name__}"
    )


def _outputs(count: int) -> list[str]:
    return ["f"] if count == 1 else [f"f{k}" for k in range(count)]


def _layered(net: LayeredRAN, X: Tensor, names: Sequence[str]) -> Graph:
    nodes = net.nodes(X)
    shares = importance(net, X.double().cpu().numpy()) if len(X) > 1 else {}
    links: list[list[Link]] = []
    for k, (layer, h) in enumerate(zip(net.edge_layers, nodes, strict=False)):
        own: list[Link] = []
        if layer.unit is not None:
            lines = _lines(h[:, [i for i, _ in layer.edges]])
            given = layer.unit(lines)
            for n, (i, o) in enumerate(layer.edges):
                curve = torch.stack([lines[:, n], given[:, n]], 1)
                own.append(Link((i,), (o,), shares.get((k, (i, o)), 0.0), _array(curve),
                                key=(k, (i,), o)))  # fmt: skip
        if layer.pair is not None:
            grid = torch.cat([_grid(h[:, [i, j]]) for i, j, _ in layer.pairs], 1)
            given = layer.pair(grid)
            for n, (i, j, o) in enumerate(layer.pairs):
                picture = _array(given[:, n]).reshape(_SIDE, _SIDE)
                share = shares.get((k, (i, j, o)), 0.0)
                own.append(Link((i, j), (o,), share, picture, True, (k, (i, j), o)))
        links.append(_relative(own))
    rows = [list(names), *([""] * width for width in net.widths[1:-1]), _outputs(net.out_features)]
    return Graph(rows, links)


def _shallow(net: RAN, X: Tensor, names: Sequence[str]) -> Graph:
    phi = net.features(X).std(0, correction=0)
    weights = phi if net.head is None else phi * net.head.weight.abs()
    weights = weights.reshape(-1, len(phi)) if net.head is not None else weights[None]
    shares = weights.norm(dim=0).tolist()
    targets = tuple(range(net.out_features))
    mains, pairs = net.topology.mains, net.topology.pairs
    own = []
    if net.main is not None:
        lines = _lines(X[:, list(mains)])
        given = net.main(lines)
        for n, i in enumerate(mains):
            curve = torch.stack([lines[:, n], given[:, n]], 1)
            own.append(Link((i,), targets, shares[n], _array(curve), key=(0, (i,), 0)))
    for n, pair in enumerate(pairs):
        assert net.pair is not None
        picture = _pair_picture(net.pair, X, n, pair)
        own.append(Link(pair, targets, shares[len(mains) + n], picture, True, (0, pair, 0)))
    return Graph([list(names), _outputs(net.out_features)], [_relative(own)])


def _deep(net: DeepRAN, X: Tensor, names: Sequence[str]) -> Graph:
    rows, links = [list(names)], []
    h = X
    if net.embed is not None:
        h = net.embed(X)
        links.append(_linear(net.embed.weight, X))
        rows.append([""] * h.shape[1])
    messages = h[:, :0]
    last: Sequence[tuple[int, int]] = ()
    block: Any
    for block in net.blocks:
        z = block.norm(h)
        straight = [Link((n,), (n,), 0.0) for n in range(h.shape[1])]
        before = h
        h, messages = block(h)
        last = block.topology.pairs
        if block.pair is not None:
            sizes = messages.std(0, correction=0).tolist()
            sent = [
                Link(pair, pair, sizes[n],
                     float(block.weight[n]) * _pair_picture(block.pair, z, n, pair), True)
                for n, pair in enumerate(last)
            ]  # fmt: skip
            links.append([*straight, *_relative(sent)])
            rows.append([""] * h.shape[1])
            z = block._send(z).features
        lines = _lines(z)
        given = block.unit(lines)
        size = (block.gate * (block.unit(z) - before)).std(0, correction=0).tolist()
        links.append(_relative([
            Link((n,), (n,), size[n], _array(torch.stack([lines[:, n], given[:, n]], 1)))
            for n in range(h.shape[1])
        ]))  # fmt: skip
        rows.append([""] * h.shape[1])
    weight = net.head.weight
    head = _linear(weight[:, : h.shape[1]], h)
    for n, pair in enumerate(last):  # the head reads the last messages, too
        size = float(messages[:, n].std(correction=0)) * weight[:, h.shape[1] + n].abs()
        head += [Link((i,), (o,), float(size[o])) for i in pair for o in range(len(weight))]
    links.append(_relative(head))
    rows.append(_outputs(net.out_features))
    return Graph(rows, links)


def _linear(weight: Tensor, h: Tensor) -> list[Link]:
    size = weight.abs() * h.std(0, correction=0)
    return _relative([
        Link((i,), (o,), float(size[o, i]))
        for i in range(weight.shape[1]) for o in range(weight.shape[0])
    ])  # fmt: skip


def _relative(links: list[Link]) -> list[Link]:
    """Weights as shares of the largest."""
    most = max((link.weight for link in links), default=0.0)
    return [replace(each, weight=each.weight / most if most > 0 else 1.0) for each in links]


def _lines(h: Tensor) -> Tensor:
    """Even points over the range of each column, (points, columns)."""
    steps = torch.linspace(0, 1, _CURVE, dtype=h.dtype, device=h.device)[:, None]
    low, high = h.amin(0), h.amax(0)
    return low + (high - low) * steps


def _grid(h: Tensor) -> Tensor:
    """An even grid over the ranges of two columns, (side * side, 2); the second runs fastest."""
    first, second = (
        torch.linspace(float(c.min()), float(c.max()), _SIDE, dtype=h.dtype, device=h.device)
        for c in h.T
    )
    return torch.cartesian_prod(first, second)


def _pair_picture(unit: nn.Module, h: Tensor, place: int, pair: tuple[int, ...]) -> Array:
    grid = h.mean(0).repeat(_SIDE * _SIDE, 1)
    grid[:, list(pair)] = _grid(h[:, list(pair)])
    return _array(unit(grid)[:, place]).reshape(_SIDE, _SIDE)


def _array(values: Tensor) -> Array:
    return np.asarray(values.detach().double().cpu().numpy())
