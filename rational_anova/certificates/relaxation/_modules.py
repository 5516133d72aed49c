"""Modules as graphs: each kind adds its nodes behind that of its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from ..._core.types import Array
from ...networks import (
    MLP,
    RAN,
    RANFFN,
    DeepRAN,
    GatedRationalBlock,
    MessageBlock,
    RANFFNPlus,
)
from ...proofs import Curve, Interval
from ...units import Rational1d, Rational2d, RationalUnit
from .._cells import CellBounds, branched
from .._curves import BASE, PSI, Range
from .._layer_bounds import array
from .._units import bank_of
from ._graph import Graph, Look
from ._norms import layer_norm

Step = Callable[[Graph, Any, int, str], int]
_STEPS: dict[type, Step] = {}


class NotLinear(TypeError):
    """A module has no step here."""


def graph_of(model: nn.Module, inputs: int) -> tuple[Graph, int, int]:
    """Return a model as a graph, with the numbers of its input and its output.

    Raises:
        NotLinear: a module is of a kind that has no planes here.
    """
    graph = Graph()
    start = graph.input(inputs)
    return graph, start, extend(graph, model, start, "")


def extend(graph: Graph, module: Any, node: int, name: str) -> int:
    """Add a module behind a node."""
    kind = next((kind for kind in type(module).__mro__ if kind in _STEPS), None)
    if kind is None:
        raise NotLinear(f"{type(module).__name__} at {name!r}")
    return _STEPS[kind](graph, module, node, name)


def _step(*kinds: type) -> Callable[[Step], Step]:
    def keep(step: Step) -> Step:
        _STEPS.update(dict.fromkeys(kinds, step))
        return step

    return keep


@dataclass(frozen=True)
class CurveJets:
    """What is known of a function of one number on cells."""

    value: Interval
    slopes: list[Interval]
    curvatures: dict[tuple[int, int], Interval]


def of_curve(ranges: tuple[Range, Range, Range]) -> Look:
    """Look at one function by the ranges of its value, slope and curvature."""

    def look(index: np.ndarray, low: Array, high: Array) -> CurveJets:
        middle = 0.5 * low[:, 0] + 0.5 * high[:, 0]
        x = Interval(np.stack([low[:, 0], middle]), np.stack([high[:, 0], middle]))
        value, slope, curvature = (part(x) for part in ranges)
        return CurveJets(value, [slope], {(0, 0): curvature})

    return look


SQUARE = of_curve(PSI["square"])
INVERSE_ROOT = of_curve(
    (
        Curve(lambda v: 1 / np.sqrt(v)),
        Curve(lambda v: -0.5 / (v * np.sqrt(v))),
        Curve(lambda v: 0.75 / (v * v * np.sqrt(v))),
    )
)


def of_unit(unit: RationalUnit, copies: int = 1) -> Look:
    """Look at the units of a module."""
    bank = bank_of(unit, copies)

    def look(index: np.ndarray, low: Array, high: Array) -> CellBounds:
        found = branched(bank, index, low, high)
        if bank.form.reach is not None:
            _spread_over(found, _holds(low[:, 0], high[:, 0], bank.form.reach))
        if bank.form.kind.name != "polynomial":
            return found
        lost = ~(found.denominator.low[0] > 0)  # there may be a pole: nothing is known
        for part in (found.value, *found.slopes, *found.curvatures.values()):
            part.low[:, lost], part.high[:, lost] = -np.inf, np.inf
        return found

    return look


def _holds(low: Array, high: Array, reach: float) -> np.ndarray:
    """Return which cells hold an end of the reach."""
    result: np.ndarray = ((low <= -reach) & (-reach <= high)) | ((low <= reach) & (reach <= high))
    return result


def _spread_over(found: CellBounds, cells: np.ndarray) -> None:
    """Where what is said of a centre may be of another point, say what holds on all of the cell."""
    for part in (found.value, *found.slopes, *found.curvatures.values()):
        part.low[1, cells], part.high[1, cells] = part.low[0, cells], part.high[0, cells]


@_step(nn.Sequential)
def _sequential(graph: Graph, module: nn.Sequential, node: int, name: str) -> int:
    for key, child in module.named_children():
        node = extend(graph, child, node, f"{name}.{key}" if name else key)
    return node


@_step(MLP)
def _mlp(graph: Graph, module: MLP, node: int, name: str) -> int:
    return extend(graph, module.layers, node, f"{name}.layers" if name else "layers")


@_step(nn.Identity, nn.Dropout)
def _identity(graph: Graph, module: nn.Module, node: int, name: str) -> int:
    return node


@_step(nn.Linear)
def _linear(graph: Graph, module: nn.Linear, node: int, name: str) -> int:
    bias = None if module.bias is None else array(module.bias)
    return graph.affine([(node, array(module.weight))], bias)


@_step(nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh)
def _activation(graph: Graph, module: nn.Module, node: int, name: str) -> int:
    kind = type(module).__name__.lower()
    if getattr(module, "approximate", "none") != "none":
        kind = "gelu_tanh"
    return graph.local(node, of_curve(BASE[kind]), kinks=(0.0,) if kind == "relu" else ())


@_step(nn.LayerNorm)
def _layer_norm(graph: Graph, module: nn.LayerNorm, node: int, name: str) -> int:
    z = layer_norm(graph, node, module.eps, SQUARE, INVERSE_ROOT)
    if module.weight is None:
        return z
    return graph.affine(
        [(z, array(module.weight))], None if module.bias is None else array(module.bias)
    )


@_step(Rational1d)
def _unit_1d(graph: Graph, module: Rational1d, node: int, name: str) -> int:
    return _units_1d(graph, module, node, name or "unit")


def _units_1d(graph: Graph, module: Any, node: int, name: str, columns: Any = None) -> int:
    if not isinstance(module, Rational1d):
        return extend(graph, module, node, name)
    look, reach = of_unit(module, module.features // module.units), module.form.reach
    kinks = () if reach is None else (-reach, reach)
    return graph.local(node, look, columns, kinks, name=name)


@_step(Rational2d)
def _unit_2d(graph: Graph, module: Rational2d, node: int, name: str) -> int:
    return graph.local(node, of_unit(module), module.pairs.cpu().numpy(), name=name or "pair")


@_step(RAN)
def _ran(graph: Graph, module: RAN, node: int, name: str) -> int:
    lead, parts = f"{name}." if name else "", []
    if module.main is not None:
        mains = np.array(module.topology.mains)
        parts.append(_units_1d(graph, module.main, node, f"{lead}main", mains))
    if module.pair is not None:
        parts.append(extend(graph, module.pair, node, f"{lead}pair"))
    if module.head is not None:
        return _read(graph, parts, module.head)
    return graph.affine([(part, np.ones((1, graph.size(part)))) for part in parts])


def _read(graph: Graph, parts: list[int], head: Any) -> int:
    """Apply a linear map to nodes side by side."""
    if type(head) is not nn.Linear:
        raise NotLinear(f"a head of kind {type(head).__name__}")
    weight, done, terms = array(head.weight), 0, []
    for part in parts:
        terms.append((part, weight[:, done : done + graph.size(part)]))
        done += graph.size(part)
    return graph.affine(terms, None if head.bias is None else array(head.bias))


@_step(RANFFN, RANFFNPlus)
def _feed_forward(graph: Graph, module: Any, node: int, name: str) -> int:
    lead = f"{name}." if name else ""
    hidden = extend(graph, module.fc1, node, f"{lead}fc1")
    parts = [_units_1d(graph, module.unit, hidden, f"{lead}unit")]
    if module.pair is not None:
        parts.append(extend(graph, module.pair, hidden, f"{lead}pair"))
    return _read(graph, parts, module.fc2)


@_step(GatedRationalBlock)
def _gated(graph: Graph, module: GatedRationalBlock, node: int, name: str) -> int:
    lead = f"{name}." if name else ""
    new = extend(graph, module.linear, node, f"{lead}linear")
    new = _units_1d(graph, module.unit, new, f"{lead}unit")
    return new if module.gate is None else _blend(graph, node, new, module.gate)


def _blend(graph: Graph, old: int, new: int, gate: Any) -> int:
    share = float(gate.detach())
    return graph.affine([(old, 1 - share), (new, share)])


@_step(MessageBlock)
def _message_block(graph: Graph, module: MessageBlock, node: int, name: str) -> int:
    return _messages(graph, module, node, name)[0]


def _messages(
    graph: Graph, module: MessageBlock, node: int, name: str
) -> tuple[int, tuple[int, Array] | None]:
    """Return the state behind a block, and its messages with their weights."""
    heard = z = extend(graph, module.norm, node, f"{name}.norm")
    sent = None
    if module.pair is not None and module.weight is not None:
        weight = array(module.weight)
        pair = extend(graph, module.pair, z, f"{name}.pair")
        spread = np.zeros((graph.size(z), len(weight)))
        for end in module.ends.cpu().numpy():
            spread[end, np.arange(len(weight))] = 1.0
        heard = graph.affine([(z, 1.0), (pair, spread * weight)])
        sent = pair, weight
    new = _units_1d(graph, module.unit, heard, f"{name}.unit")
    return _blend(graph, node, new, module.gate), sent


@_step(DeepRAN)
def _deep(graph: Graph, module: DeepRAN, node: int, name: str) -> int:
    lead, sent = f"{name}." if name else "", None
    if module.embed is not None:
        node = extend(graph, module.embed, node, f"{lead}embed")
    for n, block in enumerate(module.blocks):
        node, sent = _messages(graph, block, node, f"{lead}blocks.{n}")  # type: ignore[arg-type]
    if sent is None:
        return extend(graph, module.head, node, f"{lead}head")
    if type(module.head) is not nn.Linear:
        raise NotLinear(f"a head of kind {type(module.head).__name__}")
    weight = array(module.head.weight)
    nodes, pairs = np.split(weight, [graph.size(node)], 1)
    bias = None if module.head.bias is None else array(module.head.bias)
    return graph.affine([(node, nodes), (sent[0], pairs * sent[1])], bias)
