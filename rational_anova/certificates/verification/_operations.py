"""The operations of ONNX that are known, on entries of a network or on constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..relaxation import INVERSE_ROOT, SQUARE, layer_norm
from ._entries import Entries, Reader, Unsupported, Value
from ._programs import CURVES

Step = Callable[..., Value]


def finite(values: Any, name: str) -> np.ndarray:
    """Return finite numbers in double precision, or whole ones."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise Unsupported(f"{name!r} holds a number that is not finite; nothing can be proved")
    if array.dtype.kind not in "fiub":
        raise Unsupported(f"{name!r} holds {array.dtype}; numbers are needed")
    return array


def _elementwise(kind: str) -> Step:
    def step(reader: Reader, options: dict[str, Any], *parts: Value) -> Value:
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.asarray(_NUMPY[kind](*parts))
        if any(part is None for part in parts):
            raise Unsupported("an argument is missing")
        return reader.elementwise(kind, *parts)

    return step


_NUMPY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Greater": np.greater, "Less": np.less,
    "Where": lambda c, a, b: np.where(c, a, b),
}  # fmt: skip


def _compare(reader: Reader, options: Any, a: Value, b: Value) -> Value:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.asarray(a > b)
    return reader.elementwise("Sub", a, b)  # `Where` looks at its sign


def _less(reader: Reader, options: Any, a: Value, b: Value) -> Value:
    return _compare(reader, options, b, a)


def _where(reader: Reader, options: Any, test: Value, a: Value, b: Value) -> Value:
    if isinstance(test, np.ndarray):
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return np.asarray(np.where(test, a, b))
        if test.all() or not test.any():
            chosen = a if test.all() else b
            shape = np.broadcast_shapes(test.shape, a.shape, b.shape)
            if isinstance(chosen, Entries):
                return Entries(np.broadcast_to(chosen.at, shape))
            return np.broadcast_to(chosen, shape)
        test = np.where(test, 1.0, -1.0)
    return reader.elementwise("Where", test, a, b)


def _curved(kind: str) -> Step:
    def step(reader: Reader, options: dict[str, Any], x: Value, *_: Any) -> Value:
        name = kind
        if kind == "Gelu" and options.get("approximate", b"none") == b"tanh":
            name = "Gelu.tanh"
        return reader.curve(name, x)

    return step


def _power(reader: Reader, options: Any, x: Value, power: Value) -> Value:
    if not isinstance(power, np.ndarray) or power.size != 1:
        raise Unsupported("the exponent must be one constant")
    name = f"Pow.{float(power.ravel()[0]):g}"
    if name not in CURVES:
        raise Unsupported("the exponent must be a whole number from 2 to 8")
    return reader.curve(name, x)


def _clip(
    reader: Reader, options: dict[str, Any], x: Value, least: Any = None, most: Any = None
) -> Value:
    """max(x, a) = relu(x - a) + a, and min(x, b) = b - relu(b - x)."""
    if not isinstance(x, Entries) or any(isinstance(end, Entries) for end in (least, most)):
        raise Unsupported("only of the network's values, between constants")
    if least is not None and np.any(least):
        above = reader.curve("Relu", reader.elementwise("Sub", x, least))
        x = reader.elementwise("Add", above, least)
    elif least is not None:
        x = reader.curve("Relu", x)
    if most is not None:
        x = reader.elementwise(
            "Sub", most, reader.curve("Relu", reader.elementwise("Sub", most, x))
        )
    return x


def _negate(reader: Reader, options: Any, x: Value) -> Value:
    if isinstance(x, np.ndarray):
        return -x
    return reader.elementwise("Mul", x, np.asarray(-1.0))


def _reciprocal(reader: Reader, options: Any, x: Value) -> Value:
    if isinstance(x, np.ndarray):
        return 1 / x
    return reader.elementwise("Div", np.asarray(1.0), x)


def _moved(function: Callable[..., np.ndarray]) -> Step:
    """An operation that moves entries, and reads none."""

    def step(reader: Reader, options: dict[str, Any], x: Value, *rest: Any) -> Value:
        if any(isinstance(one, Entries) for one in rest):
            raise Unsupported("where entries go must not depend on the input")
        if isinstance(x, Entries):
            return Entries(np.asarray(function(x.at, options, *rest)))
        return np.asarray(function(x, options, *rest))

    return step


def _reshape(x: np.ndarray, options: Any, shape: np.ndarray) -> np.ndarray:
    wanted = [x.shape[n] if size == 0 else size for n, size in enumerate(shape.tolist())]
    return x.reshape(wanted)


def _flatten(x: np.ndarray, options: Any) -> np.ndarray:
    axis = options.get("axis", 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


def _unsqueeze(x: np.ndarray, options: Any, axes: Any = None) -> np.ndarray:
    places = options.get("axes") if axes is None else axes.tolist()
    return np.expand_dims(x, tuple(places))


def _squeeze(x: np.ndarray, options: Any, axes: Any = None) -> np.ndarray:
    places = options.get("axes") if axes is None else axes.tolist()
    return np.squeeze(x, None if places is None else tuple(places))


def _slice(
    x: np.ndarray, options: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> np.ndarray:
    places = range(len(starts)) if axes is None else axes.tolist()
    strides = [1] * len(starts) if steps is None else steps.tolist()
    index: list[Any] = [slice(None)] * x.ndim
    for place, start, end, stride in zip(
        places, starts.tolist(), ends.tolist(), strides, strict=True
    ):
        index[place] = slice(start, end, stride)
    return x[tuple(index)]


def _concat(reader: Reader, options: dict[str, Any], *parts: Value) -> Value:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts, options["axis"])  # type: ignore[arg-type]
    if not all(isinstance(part, Entries) for part in parts):
        raise Unsupported("it joins constants and entries")
    return Entries(np.concatenate([part.at for part in parts if isinstance(part, Entries)],
                                  options["axis"]))  # fmt: skip


def _gemm(
    reader: Reader, options: dict[str, Any], x: Value, weight: Value, bias: Any = None
) -> Value:
    if not isinstance(x, Entries) or not isinstance(weight, np.ndarray):
        raise Unsupported("it must multiply the network's values by constants")
    if options.get("transA", 0) or x.at.ndim != 2 or len(x.at) != 1:
        raise Unsupported("the left side must be one row")
    table = weight.T if not options.get("transB", 0) else weight
    table = table * options.get("alpha", 1.0)
    offset = np.zeros(len(table))
    if bias is not None:
        offset = np.broadcast_to(bias * options.get("beta", 1.0), (1, len(table)))[0]
    return reader.affine(x.at[0], table, offset, (1, len(table)))


def _matmul(reader: Reader, options: Any, x: Value, weight: Value) -> Value:
    if isinstance(x, np.ndarray) and isinstance(weight, np.ndarray):
        return np.asarray(x @ weight)
    if not isinstance(x, Entries) or not isinstance(weight, np.ndarray) or weight.ndim != 2:
        raise Unsupported("it must multiply the network's values by a constant matrix")
    rows = x.at.reshape(-1, x.shape[-1])
    if len(rows) != 1:
        raise Unsupported("the left side must be one row")
    return reader.affine(
        rows[0], weight.T, np.zeros(weight.shape[1]), (*x.shape[:-1], weight.shape[1])
    )


def _layer_norm(
    reader: Reader, options: dict[str, Any], x: Value, weight: Value, bias: Any = None
) -> Value:
    if not isinstance(x, Entries) or options.get("axis", -1) not in (-1, x.at.ndim - 1):
        raise Unsupported("only over the last axis of the network's values")
    if x.at.size != x.shape[-1]:
        raise Unsupported("only of one row")
    node, columns = reader.node(x.at.ravel())
    graph = reader.graph
    chosen = graph.affine([(node, np.eye(graph.size(node))[columns])])
    z = layer_norm(graph, chosen, options.get("epsilon", 1e-5), SQUARE, INVERSE_ROOT)
    offset = None if bias is None else np.asarray(bias).ravel()
    scaled = graph.affine([(z, np.asarray(weight).ravel())], offset)
    return Entries(reader.anchors(scaled).reshape(x.shape))


def _scatter(
    reader: Reader, options: dict[str, Any], x: Value, index: Value, updates: Value
) -> Value:
    if options.get("reduction", b"none") != b"add" or not isinstance(index, np.ndarray):
        raise Unsupported("only sums at constant places")
    if not isinstance(x, Entries) or not isinstance(updates, Entries):
        raise Unsupported("only of the network's values")
    places = np.arange(x.at.size).reshape(x.shape)[tuple(np.moveaxis(index, -1, 0))]
    spread = np.zeros((x.at.size, updates.at.size))
    np.add.at(spread, (places.ravel(), np.arange(updates.at.size)), 1.0)
    both = np.concatenate([x.at.ravel(), updates.at.ravel()])
    weight = np.concatenate([np.eye(x.at.size), spread], 1)
    return reader.affine(both, weight, np.zeros(x.at.size), x.shape)


def _same(reader: Reader, options: Any, x: Value, *_: Any) -> Value:
    return x


_FLOATS = (1, 10, 11, 16)  # float, float16, double, bfloat16


def _cast(reader: Reader, options: dict[str, Any], x: Value) -> Value:
    if isinstance(x, Entries) and options["to"] not in _FLOATS:
        raise Unsupported("the network's values would be cut to whole numbers")
    return x


def _constant(reader: Reader, options: dict[str, Any]) -> Value:
    from onnx import numpy_helper

    if "value" in options:
        return finite(numpy_helper.to_array(options["value"]), "a constant")
    for name in ("value_float", "value_int", "value_floats", "value_ints"):
        if name in options:
            return finite(options[name], "a constant")
    raise Unsupported("a constant without numbers")


STEPS: dict[str, Step] = {
    **{kind: _elementwise(kind) for kind in ("Add", "Sub", "Mul", "Div")},
    **{kind: _curved(kind) for kind in CURVES if "." not in kind},
    "Greater": _compare, "Less": _less, "Where": _where, "Clip": _clip,
    "Pow": _power, "Neg": _negate, "Reciprocal": _reciprocal,
    "Reshape": _moved(_reshape), "Flatten": _moved(_flatten), "Unsqueeze": _moved(_unsqueeze),
    "Squeeze": _moved(_squeeze), "Slice": _moved(_slice),
    "Transpose": _moved(lambda x, options: x.transpose(options.get("perm"))),
    "Gather": _moved(lambda x, options, at: np.take(x, at, options.get("axis", 0))),
    "Concat": _concat, "Gemm": _gemm, "MatMul": _matmul, "LayerNormalization": _layer_norm,
    "ScatterND": _scatter, "Identity": _same, "Dropout": _same, "Cast": _cast,
    "Constant": _constant,
}  # fmt: skip
