"""Bounds of all nodes of a graph on many boxes: forward by intervals, sharpened backward.

A row of coefficients on a node is carried back to the input, through affine maps exactly and
through functions by the plane below or above them, as the sign of the coefficient asks. What
rounding takes on the way is bounded by the sizes of all products, and subtracted from the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..._core.types import Array
from ...proofs import Interval, down, up
from ._graph import Affine, Graph, Input, Local, Product
from ._lines import Lines, Table, lines, tabulate

_ULP = 2.0**-51  # twice the rounding of two operations
_TINY = 1e-300


@dataclass(frozen=True)
class Planes:
    """A node between planes in the entries of others."""

    sources: tuple[tuple[int, np.ndarray | None, Array, Array], ...]  # node, columns, slopes
    low: Array  # (batch, size)
    high: Array


@dataclass
class State:
    """Bounds of nodes, (batch, size) each.

    Args:
        graph: the network.
        batch: number of boxes.
        boxes: of each node that was looked at.
    """

    graph: Graph
    batch: int
    boxes: dict[int, Interval] = field(default_factory=dict)
    planes: dict[int, Planes] = field(default_factory=dict)
    reach: dict[int, Array] = field(default_factory=dict)  # sizes of what a node is the sum of
    tables: dict[int, Table] = field(default_factory=dict)
    balls: dict[int, Array] = field(default_factory=dict)  # bounds of lengths, (batch, 1)

    @classmethod
    def over(cls, graph: Graph, node: int, box: Interval) -> State:
        """Bound all nodes up to the last, from boxes (batch, size) of the input."""
        state = cls(graph, len(box.low), {node: box})
        state.run(range(len(graph.nodes)))
        return state

    def run(self, numbers: range) -> None:
        """Bound nodes in their order."""
        wanted = self._wanted()
        with np.errstate(all="ignore"):
            for number in numbers:
                node = self.graph.nodes[number]
                if number in self.boxes:
                    continue
                if isinstance(node, Affine):
                    self._affine(number, node, number in wanted)
                elif isinstance(node, Local):
                    self._local(number, node)
                elif isinstance(node, Product):
                    self._product(number, node)

    def longer(self, graph: Graph, times: int) -> State:
        """Return the same bounds, `times` for each box, as a state of a longer graph.

        Derivatives of functions are bounded at once: they are the same for all `times`.
        """
        both = State(graph, self.batch, dict(self.boxes), dict(self.planes), dict(self.reach),
                     self.tables, self.balls)  # fmt: skip
        with np.errstate(all="ignore"):
            for number in range(len(self.graph.nodes), len(graph.nodes)):
                node = graph.nodes[number]
                if isinstance(node, Local):
                    both._local(number, node)

        def many(x: Array) -> Array:
            return np.repeat(x, times, 0)

        boxes = {n: Interval(many(box.low), many(box.high)) for n, box in both.boxes.items()}
        planes = {
            n: Planes(tuple((s, c, many(a), many(b)) for s, c, a, b in p.sources),
                      many(p.low), many(p.high))
            for n, p in both.planes.items()
        }  # fmt: skip
        reach = {n: many(size) for n, size in both.reach.items()}
        balls = {n: many(most) for n, most in both.balls.items()}
        return State(graph, self.batch * times, boxes, planes, reach, {}, balls)

    def _wanted(self) -> set[int]:
        """Return affine nodes that are worth a way back: those that functions read."""
        found: set[int] = set()
        for node in self.graph.nodes:
            if isinstance(node, Local):
                found.add(node.source)
            elif isinstance(node, Product):
                found.update((node.first, node.second))
        return found

    def _affine(self, number: int, node: Affine, wanted: bool) -> None:
        middle, radius, size = node.bias, np.zeros(node.size), np.abs(node.bias)
        count = 0
        for source, weight in node.parts:
            box = self.boxes[source]
            centre = 0.5 * box.low + 0.5 * box.high
            around = up(np.maximum(box.high - centre, centre - box.low))
            around = np.where(box.low == box.high, 0.0, around)
            middle = middle + _through(centre, weight)
            radius = radius + _through(around, np.abs(weight))
            size = size + _through(box.most, np.abs(weight))
            count += weight.shape[1]
        slack = np.where(size > 0, (count + 64) * _ULP * size + _TINY, 0.0)
        self.reach[number] = size
        found = Interval(middle - radius - slack, middle + radius + slack).known()
        direct = all(isinstance(self.graph.nodes[source], Input) for source, _ in node.parts)
        if wanted and not direct:
            found = found.meet(self.rows(number, np.eye(node.size)))
        self._keep(number, found)

    def _keep(self, number: int, box: Interval) -> None:
        limit = self.graph.limits.get(number)
        found = (box if limit is None else box.meet(limit(self))).known()
        if number in self.graph.balls:
            self.balls[number] = most = self.graph.balls[number](self)
            wide = np.broadcast_to(up(most), found.low.shape)
            found = found.meet(Interval(-wide, wide))
        self.boxes[number] = found

    def _local(self, number: int, node: Local) -> None:
        source = self.boxes[node.source]
        columns, size, v = node.columns, node.size, len(node.columns)
        box = Interval(*(end[:, columns].transpose(0, 2, 1).reshape(-1, v)
                         for end in (source.low, source.high)))  # fmt: skip
        if node.partial is None:
            index = np.tile(np.arange(size), self.batch)
            self.tables[number] = tabulate(node.look, index, box, node.kinks)
        table = self.tables[number if node.partial is None else node.origin]
        found = lines(table, node.partial, box)
        shape = self.batch, size
        self._keep(
            number, Interval(found.range.low.reshape(shape), found.range.high.reshape(shape))
        )
        sources = tuple(
            (node.source, columns[k], found.low_slope[:, k].reshape(shape),
             found.high_slope[:, k].reshape(shape)) for k in range(v)
        )  # fmt: skip
        self._between(number, sources, found, shape)

    def _between(self, number: int, sources: tuple, found: Lines, shape: tuple[int, int]) -> None:
        low, high = found.low.reshape(shape), found.high.reshape(shape)
        self.planes[number] = Planes(sources, low, high)
        self.reach[number] = np.maximum(np.abs(low), np.abs(high)) + sum(
            np.maximum(np.abs(a), np.abs(b)) * self.boxes[source].most[:, columns]
            for source, columns, a, b in sources
        )

    def _product(self, number: int, node: Product) -> None:
        a, b = self.boxes[node.first], self.boxes[node.second]
        self._keep(number, (a * b).known())
        box = self.boxes[number]
        (am, ar), (bm, br) = _around(a), _around(b)
        error = up(ar * br)
        flat = ~(2 * error < box.high - box.low)
        am, bm = np.where(flat, 0.0, am), np.where(flat, 0.0, bm)
        low = np.where(flat, box.low, down(-am * bm - error))
        high = np.where(flat, box.high, up(error - am * bm))
        self.planes[number] = Planes(
            ((node.first, None, bm, bm), (node.second, None, am, am)), low, high
        )
        self.reach[number] = (
            np.maximum(np.abs(low), np.abs(high)) + np.abs(am * bm)
            + np.abs(bm) * a.most + np.abs(am) * b.most
        )  # fmt: skip

    def rows(self, node: int, rows: Array) -> Interval:
        """Bound rows @ node, with rows (count, size) or (batch, count, size); (batch, count)."""
        with np.errstate(all="ignore"):
            both = np.concatenate([rows, -rows], -2)
            low = self._least(node, both)[0]
        count = rows.shape[-2]
        return Interval(low[:, :count], -low[:, count:])

    def linear(self, node: int, rows: Array) -> tuple[Array, Array]:
        """Return about what rows @ node is: coefficients on the first input, and an offset."""
        count = rows.shape[-2]
        with np.errstate(all="ignore"):
            _, low, on_inputs = self._least(node, np.concatenate([rows, -rows], -2))
            source = min(on_inputs)
            a, (centre, radius) = on_inputs[source], _around(self.boxes[source])
            offset = low - _dot(a, centre) + _dot(np.abs(a), radius)
        half = a[:, :count] - a[:, count:], offset[:, :count] - offset[:, count:]
        return 0.5 * half[0], 0.5 * half[1]

    def _least(self, node: int, rows: Array) -> tuple[Array, Array, dict[int, Array]]:
        """Return lower bounds of rows @ node, those at the inputs, and the coefficients there."""
        held = {node: np.broadcast_to(rows, (self.batch, *rows.shape[-2:]))}
        result = np.zeros((self.batch, rows.shape[-2]))
        slack, best = np.zeros_like(result), np.full_like(result, -np.inf)
        on_inputs: dict[int, Array] = {}
        for number in sorted(range(node + 1), reverse=True):
            if number not in held:
                continue
            # All that is held may be bounded by its boxes; mostly the way back does better.
            if number < node:
                done = sum((self._stop(n, a) for n, a in held.items()), result - slack)
                best = np.fmax(best, done)
            a = held.pop(number)
            here, size = self.graph.nodes[number], np.abs(a)
            if isinstance(here, Input):
                result = result + self._stop(number, a)
                on_inputs[number] = a
                continue
            slack = slack + self._rounding(a.shape[-1]) * _dot(size, self.reach[number])
            if isinstance(here, Affine):
                result = result + a @ here.bias
                for source, weight in here.parts:
                    _add(held, source, a @ weight)
                continue
            planes = self.planes[number]
            above, below = np.maximum(a, 0.0), np.minimum(a, 0.0)
            result = result + _dot(above, planes.low) + _dot(below, planes.high)
            for source, columns, low, high in planes.sources:
                part = above * low[:, None] + below * high[:, None]
                if columns is not None and not _plain(columns, self.graph.size(source)):
                    part = part @ np.eye(self.graph.size(source))[columns]
                _add(held, source, part)
        lowest = result - slack
        return np.fmax(best, lowest) * (1 - 1e-15) - _TINY, lowest, on_inputs

    def _rounding(self, length: int) -> float:
        return (length + 64 + 2 * len(self.graph.nodes)) * _ULP

    def _stop(self, number: int, a: Array) -> Array:
        """Return lower bounds of a @ node by what is known of the node itself."""
        centre, radius = _around(self.boxes[number])
        size, rounding = np.abs(a), self._rounding(a.shape[-1])
        low = _dot(a, centre) - _dot(size, radius) - rounding * _dot(size, np.abs(centre) + radius)
        if number in self.balls:
            length = np.sqrt((a * a).sum(-1)) * self.balls[number]
            low = np.fmax(low, -length * (1 + rounding))
        return low


def _through(x: Array, weight: Array) -> Array:
    result: Array = x @ weight.T
    return result


def _around(box: Interval) -> tuple[Array, Array]:
    centre = 0.5 * box.low + 0.5 * box.high
    radius = up(np.maximum(box.high - centre, centre - box.low))
    return centre, np.where(box.low == box.high, 0.0, radius)


def _dot(a: Array, x: Array) -> Array:
    result: Array = (a @ x[:, :, None])[..., 0]
    return result


def _plain(columns: np.ndarray, size: int) -> bool:
    return len(columns) == size and bool((columns == np.arange(size)).all())


def _add(held: dict[int, Array], node: int, part: Array) -> None:
    held[node] = held[node] + part if node in held else part
