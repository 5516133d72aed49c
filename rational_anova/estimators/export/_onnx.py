"""Models as ONNX graphs in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._onnx_graph import Graph, Inputs
from ._plan import Plan

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
    if plan.classes is not None:
        if len(plan.classes) == 2:
            zero = graph.node("Sub", f, f)
            f = graph.node("Concat", zero, f, axis=1)
        return graph.node("Softmax", f, axis=1, result=result), len(plan.classes)
    link = plan.link
    if np.isfinite([link.low, link.high]).all():
        f = graph.node("Clip", f, graph.constant(link.low), graph.constant(link.high))
    if link.name == "log":
        f = graph.node("Exp", f)
        return graph.node("Mul", f, graph.constant(link.smear), result=result), 1
    if link.name == "sqrt":
        f = graph.node("Mul", f, f)
        return graph.node("Add", f, graph.constant(link.smear), result=result), 1
    return graph.node("Identity", f, result=result), 1
