"""Models as ONNX graphs in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.types import Array
from ..fit import Link, middle_of
from ._plan import Columns, Piece, Plan, gap_code, texts


class Graph:
    """Nodes and constants that are collected one by one.

    Args:
        helper: of onnx.
        taken: names of the graph's inputs.
    """

    def __init__(self, helper: Any, taken: list[str]) -> None:
        self.helper = helper
        self.prefix = ""
        while any(name.startswith((f"{self.prefix}node", f"{self.prefix}const")) for name in taken):
            self.prefix += "_"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: type = np.float64) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        name = f"{self.prefix}constant_{len(self.constants)}"
        array: Array = np.ascontiguousarray(np.asarray(values, dtype))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = result or f"{self.prefix}node_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name


class Inputs:
    """Numbers, gaps and codes of the inputs, each (rows, 1).

    Args:
        graph: to add them to.
        plan: of the model.
    """

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph, self.features, self.names = graph, plan.features, plan.names
        self._made: dict[int, tuple[str, str]] = {}

    def number(self, axis: int) -> tuple[str, str]:
        """Return a number within its range, and whether it is missing."""
        if axis not in self._made:
            feature, graph = self.features[axis], self.graph
            low, high = feature.clip or (0.0, 0.0)
            gap = graph.node("IsNaN", self.names[axis])
            x = graph.node("Where", gap, graph.constant(low), self.names[axis])
            x = graph.node("Clip", x, graph.constant(low), graph.constant(high))
            self._made[axis] = x, gap
        return self._made[axis]

    def code(self, axis: int) -> str:
        """Return the code of a level, (rows,)."""
        if axis not in self._made:
            feature, graph = self.features[axis], self.graph
            keys = {"": gap_code(feature), **texts(feature)}
            code = graph.node(
                "LabelEncoder", self.names[axis], domain="ai.onnx.ml", keys_strings=list(keys),
                values_int64s=list(keys.values()), default_int64=len(feature.levels),
            )  # fmt: skip
            self._made[axis] = graph.node("Reshape", code, graph.constant([-1], np.int64)), ""
        return self._made[axis][0]

    def columns(self, columns: Columns) -> str:
        """Return the functions of an input, (rows, size)."""
        graph = self.graph
        if columns.feature.category:
            return graph.node("Gather", graph.constant(columns.table), self.code(columns.axis))
        x, gap = self.number(columns.axis)
        heads = columns.heads
        inside = graph.constant(columns.flat[None]) if heads is None else ""
        if heads is not None:
            u = graph.node("Sub", x, graph.constant(heads.centre[None]))
            u = graph.node("Div", u, graph.constant(heads.width[None]))
            one = graph.constant(1.0)
            d = graph.node("Add", one, graph.node("Mul", u, u))
            inside = graph.node("Div", one, d)
            if heads.odd:
                inside = graph.node("Concat", inside, graph.node("Div", u, d), axis=1)
        for code, at in columns.codes.items():
            same = graph.node("Equal", self.names[columns.axis], graph.constant(code))
            inside = graph.node("Where", same, graph.constant(at[None]), inside)
        return graph.node("Where", gap, graph.constant(columns.gap[None]), inside)

    def piece(self, piece: Piece) -> str:
        """Return a piece of an effect, (rows, outputs)."""
        graph, numerators = self.graph, piece.numerators
        if len(piece.columns) == 1:
            (columns,) = piece.columns
            if columns.feature.category:
                folded = graph.constant(columns.table @ numerators)
                return graph.node("Gather", folded, self.code(columns.axis))
            return graph.node("MatMul", self.columns(columns), graph.constant(numerators))
        first, second, outputs = numerators.shape
        a, b = (self.columns(each) for each in piece.columns)
        flat = numerators.transpose(1, 0, 2).reshape(second, first * outputs)
        inner = graph.node("MatMul", b, graph.constant(flat))
        inner = graph.node("Reshape", inner, graph.constant([-1, first, outputs], np.int64))
        outer = graph.node("Unsqueeze", a, graph.constant([2], np.int64))
        product = graph.node("Mul", outer, inner)
        return graph.node("ReduceSum", product, graph.constant([1], np.int64), keepdims=0)


OPSET, ML_OPSET, IR = 17, 3, 9  # what onnxruntime 1.18 reads


def require() -> Any:
    """Return the package onnx."""
    try:
        import onnx
    except ImportError:
        raise ImportError("to_onnx needs onnx: pip install 'rational-anova[onnx]'") from None
    return onnx


def graph_inputs(plan: Plan) -> list[int]:
    """Return the inputs of the graph: those with an effect, and one at least for the rows."""
    return plan.used or [0]


def model(plan: Plan) -> Any:
    """Return the model as an onnx.ModelProto."""
    onnx = require()
    helper, types = onnx.helper, onnx.TensorProto
    plan = plan.folded()
    used, names = graph_inputs(plan), plan.names
    graph = Graph(helper, names)
    inputs = Inputs(graph, plan)
    terms = [graph.constant(plan.intercept[None])]
    for pieces in plan.effects.values():
        terms += [inputs.piece(piece) for piece in pieces]
    if not plan.effects:
        shape = graph.node("Shape", names[0])
        zeros = helper.make_tensor("zero", types.DOUBLE, [1], [0.0])
        terms.append(graph.node("ConstantOfShape", shape, value=zeros))
    f = graph.node("Sum", *terms)
    name, width = _outcome(graph, plan, f)
    given = [
        helper.make_tensor_value_info(
            names[i],
            types.STRING if plan.features[i].category else types.DOUBLE,
            ["rows", 1],
        )
        for i in used
    ]
    result = [helper.make_tensor_value_info(name, types.DOUBLE, ["rows", width])]
    made = helper.make_graph(graph.nodes, "ran", given, result, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    found = helper.make_model(made, opset_imports=opsets, producer_name="rational-anova")
    found.ir_version = IR
    onnx.checker.check_model(found)
    return found


def _outcome(graph: Graph, plan: Plan, f: str) -> tuple[str, int]:
    """Add the way from f to the outcome; return its name and width."""
    result = "prediction" if plan.classes is None else "probabilities"
    while result in plan.names:
        result += "_"
    if plan.cuts:
        below = graph.node("Sigmoid", graph.node("Sub", graph.constant([plan.cuts]), f))
        none = graph.node("Mul", f, graph.constant(0.0))
        one = graph.node("Add", none, graph.constant(1.0))
        upper = graph.node("Concat", below, one, axis=1)
        lower = graph.node("Concat", none, below, axis=1)
        return graph.node("Sub", upper, lower, result=result), len(plan.cuts) + 1
    if plan.classes is not None:
        if len(plan.classes) == 2:
            zero = graph.node("Sub", f, f)
            f = graph.node("Concat", zero, f, axis=1)
        return graph.node("Softmax", f, axis=1, result=result), len(plan.classes)
    f = _mean(graph, f, plan.link)
    if plan.levels:
        f = _uncrossed(graph, f, plan.levels)
    return graph.node("Identity", f, result=result), max(len(plan.names_of_outputs), 1)


def _mean(graph: Graph, f: str, link: Link) -> str:
    """Add the way from decisions to means."""
    if np.isfinite([link.low, link.high]).all():
        f = graph.node("Clip", f, graph.constant(link.low), graph.constant(link.high))
    if link.name == "log":
        return graph.node("Mul", graph.node("Exp", f), graph.constant(link.smear))
    if link.name == "sqrt":
        return graph.node("Add", graph.node("Mul", f, f), graph.constant(link.smear))
    return graph.node("Sigmoid", f) if link.name == "logit" else f


def _uncrossed(graph: Graph, f: str, levels: tuple[float, ...]) -> str:
    """Add what keeps quantiles from crossing one nearer to the middle."""
    columns = [
        graph.node("Gather", f, graph.constant([k], np.int64), axis=1) for k in range(len(levels))
    ]
    middle = middle_of(levels)
    for k in range(middle + 1, len(levels)):
        columns[k] = graph.node("Max", columns[k], columns[k - 1])
    for k in range(middle, 0, -1):
        columns[k - 1] = graph.node("Min", columns[k - 1], columns[k])
    return graph.node("Concat", *columns, axis=1)
