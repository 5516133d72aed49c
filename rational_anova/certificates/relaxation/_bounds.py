"""Bounds of a network's values and slopes on boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import nn

from ...proofs import Interval
from ._graph import Affine, Graph, tangent
from ._modules import NotLinear, graph_of
from ._state import State

_WORK = 4e10  # multiplications for the slopes on one box


@dataclass(frozen=True)
class Relaxed:
    """What is known of a network on a box."""

    range: Interval  # (outputs,)
    slopes: Interval  # (outputs, inputs)
    inputs: Mapping[str, Interval]  # of the units, by name


@dataclass(frozen=True)
class Relaxation:
    """A network as a graph, with that of its slopes."""

    graph: Graph
    input: int
    output: int
    longer: Graph
    direction: int
    slope: int

    @property
    def sloped(self) -> bool:
        """Whether bounds of slopes are worth their time."""
        affine = [node for node in self.longer.nodes if isinstance(node, Affine)]
        sweep = sum(weight.size for node in affine for _, weight in node.parts)
        rows = sum(2 * node.size for node in affine)
        return self.graph.size(self.input) * sweep * rows / 2 < _WORK

    def __call__(self, box: Interval) -> Relaxed:
        """Bound the network on a box (inputs,)."""
        whole = Interval(box.low[None], box.high[None])
        state = State.over(self.graph, self.input, whole)
        at = state.boxes[self.output]
        exact = state.rows(self.output, np.eye(self.graph.size(self.output)))
        span = at.meet(exact).known()[0]
        names = {name: state.boxes[node][0] for name, node in self.graph.names.items()}
        return Relaxed(span, self._slopes(state, len(box.low), len(span.low)), names)

    def _slopes(self, state: State, inputs: int, outputs: int) -> Interval:
        if not self.sloped:
            unknown = np.full((outputs, inputs), np.inf)
            return Interval(-unknown, unknown)
        directions = np.eye(inputs)
        long = state.longer(self.longer, inputs)
        long.boxes[self.direction] = Interval(directions, directions)
        long.run(range(len(self.graph.nodes), len(self.longer.nodes)))
        exact = long.rows(self.slope, np.eye(outputs))
        found = long.boxes[self.slope].meet(exact).known()
        return Interval(found.low.T, found.high.T)


def relaxation(model: nn.Module, inputs: int) -> Relaxation | None:
    """Return the relaxation of a model; None if it has parts that have no planes here."""
    try:
        graph, start, end = graph_of(model, inputs)
    except NotLinear:
        return None
    return Relaxation(graph, start, end, *tangent(graph, end))
