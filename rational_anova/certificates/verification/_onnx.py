"""Networks of ONNX files as graphs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..relaxation import Graph
from ._entries import MOST_ENTRIES, Entries, Reader, Unsupported, Value
from ._operations import STEPS, finite

_MOST = 200_000_000  # bytes of a file


@dataclass(frozen=True)
class Network:
    """A network as a graph.

    Args:
        graph: its nodes.
        input: number of the input.
        output: number of the output.
        shape: of the input, with a batch of one.
        path: of the file.
    """

    graph: Graph
    input: int
    output: int
    shape: tuple[int, ...]
    path: str


def read_onnx(path: str | os.PathLike[str]) -> Network:
    """Read a network of one input and one output from an ONNX file.

    Raises:
        Unsupported: the file is no such network, or has operations that are not known here.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise ImportError(
            "reading ONNX files needs onnx: pip install 'rational-anova[onnx]'"
        ) from None
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    if file.stat().st_size > _MOST:
        raise Unsupported(f"{file} has {file.stat().st_size:,} bytes; at most {_MOST:,} are read")
    try:
        # Weights in files beside it are not read: a path in a file of others may point anywhere.
        model = onnx.load(str(file), load_external_data=False)
        onnx.checker.check_model(model)
    except Exception as error:
        raise Unsupported(f"{file} is not a valid ONNX file: {_short(error)}") from None
    known: dict[str, Value] = {}
    for tensor in model.graph.initializer:
        if tensor.external_data:
            raise Unsupported(
                f"the weights {tensor.name!r} of {file} are in another file; save the network with "
                "its weights inside (torch.onnx.export(..., external_data=False))"
            )
        known[tensor.name] = finite(numpy_helper.to_array(tensor), tensor.name)
    inputs = [one for one in model.graph.input if one.name not in known]
    if len(inputs) != 1 or len(model.graph.output) != 1:
        raise Unsupported(
            f"{file} has {len(inputs)} inputs and {len(model.graph.output)} outputs; one of each "
            "can be verified"
        )
    reader = Reader(known, _shape(inputs[0]), inputs[0].name)
    for node in model.graph.node:
        _step(reader, node)
    out = model.graph.output[0].name
    if not isinstance(reader.known.get(out), Entries):
        raise Unsupported(f"the output {out!r} of {file} does not depend on the input")
    result = reader.known[out]
    assert isinstance(result, Entries)
    node, columns = reader.node(result.at.ravel())
    end = reader.graph.affine([(node, np.eye(reader.graph.size(node))[columns])])
    return Network(reader.graph, reader.start, end, reader.shape, str(file))


def _short(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of the input, with a batch of one."""
    dims = value.type.tensor_type.shape.dim
    shape = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in dims]
    if shape and shape[0] in (0, 1):
        shape[0] = 1
    if not shape or min(shape) < 1 or np.prod([float(n) for n in shape]) > MOST_ENTRIES:
        raise Unsupported(
            f"the input {value.name!r} has shape {shape or '()'}: all sizes but the first must be "
            f"known, and at most {MOST_ENTRIES:,} entries in all"
        )
    return tuple(shape)


def _step(reader: Reader, node: Any) -> None:
    """Read one operation."""
    arguments = [reader.known.get(name) if name else None for name in node.input]
    options = {one.name: _option(one) for one in node.attribute}
    where = f"{node.op_type} {node.name!r}" if node.name else node.op_type
    if node.domain not in ("", "ai.onnx") or node.op_type not in STEPS:
        raise Unsupported(f"{where} is not known here; known are {', '.join(sorted(STEPS))}")
    try:
        result = STEPS[node.op_type](reader, options, *arguments)
    except Unsupported as error:
        raise Unsupported(f"{where}: {error}") from None
    except (ValueError, IndexError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise Unsupported(f"{where} cannot be read: {_short(error)}") from None
    size = np.prod(result.shape, dtype=float)
    if size > MOST_ENTRIES and isinstance(result, Entries):
        raise Unsupported(f"{where} has {size:,.0f} entries; at most {MOST_ENTRIES:,} are read")
    reader.known[node.output[0]] = result


def _option(attribute: Any) -> Any:
    from onnx import helper

    return helper.get_attribute_value(attribute)
