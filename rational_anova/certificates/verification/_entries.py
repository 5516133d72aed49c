"""Tensors of a network that is read: arrays of entries, and formulas of them, as nodes of a graph.

Operations that move entries act on arrays of their numbers. Operations on single entries are
gathered into formulas of one or two numbers, so that a rational unit is bounded as one function,
whatever operations an exporter has written it with. What reads sums of many entries is affine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.types import Array
from ..relaxation import Graph, Local
from ._programs import KINKED, Formula, looking, number, variable

MOST_ENTRIES = 20_000  # of one tensor of the network
_VARIABLES = 2


class Unsupported(ValueError):
    """A network that cannot be read here; the message says what is missing."""


@dataclass(frozen=True)
class Entries:
    """A tensor that depends on the input: numbers of entries."""

    at: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.at.shape


Value = Entries | np.ndarray


class Reader:
    """Entries of the tensors that are read so far, and the graph that they are of."""

    def __init__(self, known: dict[str, Value], shape: tuple[int, ...], name: str) -> None:
        self.graph, self.known, self.shape = Graph(), known, shape
        self.start = self.graph.input(int(np.prod(shape)))
        # Of each entry: its node and column, or the formula that it is an entry of.
        self.places: list[tuple[int, int]] = []
        self.formulas: list[tuple[Formula, int] | None] = []
        known[name] = Entries(self.anchors(self.start).reshape(shape))

    def anchors(self, node: int) -> np.ndarray:
        """Return new entries that are those of a node."""
        start, size = len(self.places), self.graph.size(node)
        self.places += [(node, column) for column in range(size)]
        self.formulas += [None] * size
        return np.arange(start, start + size)

    def formed(self, formula: Formula, shape: tuple[int, ...]) -> Entries:
        """Return new entries that a formula describes."""
        start, size = len(self.places), formula.size
        self.places += [(-1, -1)] * size
        self.formulas += [(formula, n) for n in range(size)]
        return Entries(np.arange(start, start + size).reshape(shape))

    def formula(self, entries: np.ndarray) -> Formula:
        """Return the formulas of entries; as variables if they are of different ones."""
        found = [self.formulas[n] for n in entries.tolist()]
        first = found[0]
        if first is not None and all(one is not None and one[0] is first[0] for one in found):
            index = np.array([one[1] for one in found if one is not None])
            whole = first[0]
            same = len(index) == whole.size and bool((index == np.arange(whole.size)).all())
            return whole if same else whole.take(index)
        return variable(self.anchored(entries))

    def anchored(self, entries: np.ndarray) -> np.ndarray:
        """Return entries of nodes; formulas become nodes."""
        for n in entries.tolist():
            held = self.formulas[n]
            if held is not None:
                self._settle(held[0], n - held[1])
        return entries

    def _settle(self, formula: Formula, start: int) -> None:
        """Make a node of a formula, whose entries begin at `start`."""
        names = formula.variables()
        node, columns = self.node(np.concatenate(names))
        columns = columns.reshape(len(names), -1)
        if formula.line is not None and len(names) == 1:
            slope, offset = formula.line
            weight = np.zeros((formula.size, self.graph.size(node)))
            weight[np.arange(formula.size), columns[0]] = slope
            made = self.graph.affine([(node, weight)], offset)
        else:
            kinks = (0.0,) if formula.kind in KINKED and len(names) == 1 else ()
            made = self.graph.add(Local(node, columns, looking(formula), kinks))
        for n in range(formula.size):
            self.places[start + n], self.formulas[start + n] = (made, n), None

    def node(self, entries: np.ndarray) -> tuple[int, np.ndarray]:
        """Return a node that holds entries, and their columns in it."""
        places = [self.places[n] for n in self.anchored(entries).tolist()]
        nodes = sorted({node for node, _ in places})
        columns = np.array([column for _, column in places])
        if len(nodes) == 1:
            return nodes[0], columns
        parts = []
        for node in nodes:
            weight = np.zeros((len(places), self.graph.size(node)))
            mine = np.array([n for n, (own, _) in enumerate(places) if own == node])
            weight[mine, columns[mine]] = 1.0
            parts.append((node, weight))
        return self.graph.affine(parts), np.arange(len(places))

    def affine(self, entries: np.ndarray, weight: Array, bias: Array, shape: Any) -> Entries:
        """Return W x + b of entries."""
        node, columns = self.node(entries)
        full = np.zeros((len(weight), self.graph.size(node)))
        np.add.at(full.T, columns, weight.T)
        return Entries(self.anchors(self.graph.affine([(node, full)], bias)).reshape(shape))

    def curve(self, kind: str, x: Value) -> Value:
        """Apply a function of one number."""
        if not isinstance(x, Entries):
            raise Unsupported("it is applied to constants")
        inner = self.formula(x.at.ravel())
        if kind in KINKED and inner.kind != "variable" and inner.line is not None:
            inner = variable(self.anchored(x.at.ravel()))
        return self.formed(Formula(kind, (inner,)), x.shape)

    def elementwise(self, kind: str, *parts: Value) -> Value:
        """Apply an operation entry by entry."""
        shape = np.broadcast_shapes(*(part.shape for part in parts))
        if np.prod(shape, dtype=float) > MOST_ENTRIES:
            raise Unsupported(f"it has shape {shape}; at most {MOST_ENTRIES:,} entries are read")
        formulas = []
        for part in parts:
            whole = np.broadcast_to(part.at if isinstance(part, Entries) else part, shape).ravel()
            entry = isinstance(part, Entries)
            formulas.append(self.formula(whole) if entry else number(whole.astype(np.float64)))
        if len({name.tobytes() for one in formulas for name in one.variables()}) > _VARIABLES:
            return self._apart(kind, formulas, parts, shape)
        return self.formed(Formula(kind, tuple(formulas), line=_line(kind, formulas)), shape)

    def _apart(
        self, kind: str, formulas: list[Formula], parts: tuple[Value, ...], shape: tuple[int, ...]
    ) -> Value:
        """Apply an operation to more than two variables: its arguments become nodes first."""
        whole = [
            variable(self.anchored(np.broadcast_to(part.at, shape).ravel()))
            if isinstance(part, Entries) else one
            for part, one in zip(parts, formulas, strict=True)
        ]  # fmt: skip
        if kind in ("Add", "Sub") and all(isinstance(part, Entries) for part in parts):
            count = whole[0].size
            both = np.concatenate([one.value for one in whole])
            weight = np.concatenate([np.eye(count), np.eye(count) * (1 - 2 * (kind == "Sub"))], 1)
            return self.affine(both, weight, np.zeros(count), shape)
        if len({name.tobytes() for one in whole for name in one.variables()}) > _VARIABLES:
            raise Unsupported("it joins more than two numbers that depend on the input")
        return self.formed(Formula(kind, tuple(whole), line=_line(kind, whole)), shape)


def _line(kind: str, parts: list[Formula]) -> tuple[Array, Array] | None:
    if len(parts) != 2 or parts[0].line is None or parts[1].line is None:
        return None
    (a, b), (c, d) = parts[0].line, parts[1].line
    names = {name.tobytes() for one in parts for name in one.variables()}
    # Only what has no rounding: a scaled or shifted variable.
    if len(names) != 1:
        return None
    if kind == "Mul" and not c.any() and not b.any():
        return (a * d, b * d) if (a == 1).all() else None
    if kind == "Mul" and not a.any() and not d.any():
        return (c * b, d * b) if (c == 1).all() else None
    if kind == "Add" and not c.any() and not b.any():
        return a, d
    if kind == "Add" and not a.any() and not d.any():
        return c, b
    return None
