"""A network as a graph of vectors: affine maps, functions of one or two numbers, and products.

Slopes are further nodes of the same graph: `tangent` adds the derivative along a direction, so that
one backward substitution bounds values and slopes alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..._core.types import Array
from ...proofs import Interval


class Jets(Protocol):
    """What is known of functions on cells: row 0 over the cells, row 1 at their centres."""

    @property
    def value(self) -> Interval: ...
    @property
    def slopes(self) -> list[Interval]: ...
    @property
    def curvatures(self) -> dict[tuple[int, int], Interval]: ...


# Of numbers of functions (cells,) and boxes (cells, variables).
Look = Callable[[np.ndarray, Array, Array], Jets]
# What else is known of a node, from the state with all nodes before it: bounds (batch, size), and
# a bound of its length, (batch, 1).
Limit = Callable[[Any], Interval]
Ball = Callable[[Any], Array]


@dataclass(frozen=True)
class Input:
    """A box, or a point."""

    size: int


@dataclass(frozen=True)
class Affine:
    """sum of W x over some nodes, and a bias; entries may be off by two units in the last place."""

    parts: tuple[tuple[int, Array], ...]  # node, (size, its size)
    bias: Array  # (size,)

    @property
    def size(self) -> int:
        """Number of results."""
        return len(self.bias)


@dataclass(frozen=True)
class Local:
    """Functions of one or two entries of a node, or a partial derivative of them.

    Args:
        source: the node.
        columns: the entries that each function reads, (variables, size).
        look: bounds of the functions on cells.
        kinks: where all functions may have corners.
        partial: with respect to which variable; None for the functions themselves.
        origin: the node of the functions themselves, whose cells are those of their derivatives.
    """

    source: int
    columns: np.ndarray
    look: Look
    kinks: tuple[float, ...] = ()
    partial: int | None = None
    origin: int = -1

    @property
    def size(self) -> int:
        """Number of results."""
        return int(self.columns.shape[1])


@dataclass(frozen=True)
class Product:
    """Products of the entries of two nodes."""

    first: int
    second: int
    size: int


Node = Input | Affine | Local | Product


@dataclass
class Graph:
    """Nodes in the order of evaluation."""

    nodes: list[Node] = field(default_factory=list)
    limits: dict[int, Limit] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)  # of the inputs of units
    tangents: dict[int, Tangent] = field(default_factory=dict)
    balls: dict[int, Ball] = field(default_factory=dict)

    def add(self, node: Node, limit: Limit | None = None) -> int:
        """Add a node and return its number."""
        self.nodes.append(node)
        if limit is not None:
            self.limits[len(self.nodes) - 1] = limit
        return len(self.nodes) - 1

    def size(self, node: int) -> int:
        """Number of entries of a node."""
        return self.nodes[node].size

    def input(self, size: int) -> int:
        """Add an input."""
        return self.add(Input(size))

    def affine(
        self,
        parts: Sequence[tuple[int, Any]],
        bias: Any = None,
        limit: Limit | None = None,
        ball: Ball | None = None,
    ) -> int:
        """Add sum of W x + b; a weight that is a vector or a number stands for a diagonal."""
        full = tuple((node, self._matrix(node, weight)) for node, weight in parts)
        rows = len(full[0][1])
        offset = np.zeros(rows) if bias is None else np.broadcast_to(bias, rows).astype(float)
        return self._in_ball(self.add(Affine(full, offset), limit), ball)

    def _in_ball(self, node: int, ball: Ball | None) -> int:
        if ball is not None:
            self.balls[node] = ball
        return node

    def _matrix(self, node: int, weight: Any) -> Array:
        table = np.asarray(weight, dtype=np.float64)
        return table if table.ndim == 2 else np.diag(np.broadcast_to(table, self.size(node)))

    def local(
        self,
        source: int,
        look: Look,
        columns: Any = None,
        kinks: tuple[float, ...] = (),
        name: str | None = None,
    ) -> int:
        """Add functions of entries of a node; of one entry each if no columns are given."""
        if columns is None:
            columns = np.arange(self.size(source))
        node = self.add(Local(source, np.atleast_2d(np.asarray(columns)), look, kinks))
        if name is not None:
            self.names[name] = source
        return node

    def product(self, first: int, second: int, ball: Ball | None = None) -> int:
        """Add the products of entries; a node of one entry goes with all of the other."""
        size = self.size(first)
        if self.size(second) == 1 and size > 1:
            second = self.affine([(second, np.ones((size, 1)))])
        return self._in_ball(self.add(Product(first, second, size)), ball)


# Of a graph, a function that gives the tangent of a node: adds the tangent of one node.
Tangent = Callable[[Graph, Callable[[int], int]], int]


def tangent(graph: Graph, output: int) -> tuple[Graph, int, int]:
    """Return a graph that goes on with the derivative of a node along a direction.

    Returns:
        The graph, the number of the direction (an input), and that of the derivative.
    """
    whole = Graph(list(graph.nodes), dict(graph.limits), dict(graph.names), balls=dict(graph.balls))
    inputs = [n for n, node in enumerate(graph.nodes) if isinstance(node, Input)]
    direction = whole.input(graph.size(inputs[0]))
    known = {inputs[0]: direction}

    def along(node: int) -> int:
        if node not in known:
            own = graph.tangents.get(node)
            known[node] = _along(whole, node, along) if own is None else own(whole, along)
        return known[node]

    return whole, direction, along(output)


def _along(graph: Graph, number: int, along: Callable[[int], int]) -> int:
    node = graph.nodes[number]
    if isinstance(node, Affine):
        return graph.affine([(along(source), weight) for source, weight in node.parts])
    if isinstance(node, Product):
        one = graph.product(along(node.first), node.second)
        return graph.affine([(one, 1.0), (graph.product(along(node.second), node.first), 1.0)])
    assert isinstance(node, Local)
    inner, terms = along(node.source), []
    for v, column in enumerate(node.columns):
        slope = Local(node.source, node.columns, node.look, node.kinks, v, number)
        chosen = graph.affine([(inner, np.eye(graph.size(inner))[column])])
        terms.append((graph.product(graph.add(slope), chosen), 1.0))
    return terms[0][0] if len(terms) == 1 else graph.affine(terms)
