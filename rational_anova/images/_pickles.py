"""Batches of CIFAR, which are pickles, read without building what they name.

An unpickler calls what a pickle names, with arguments of the pickle's choice. NumPy's own
constructors are no safe choice: false shapes, offsets and arrays of objects end the interpreter.
Here every name stands for a record of plain values, and only arrays of bytes are made of them.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from typing import Any

import numpy as np

_ARRAY, _DTYPE = "_reconstruct", "dtype"
_NAMES = {
    ("numpy.core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy._core.multiarray", "_reconstruct"): _ARRAY,
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): _DTYPE,
}
# Opcodes that make plain values, and those by which NumPy's arrays are written.
_ALLOWED = frozenset({
    "PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "MEMOIZE", "PUT", "BINPUT",
    "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT",
    "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING",
    "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1",
    "TUPLE2", "TUPLE3", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "GLOBAL", "STACK_GLOBAL",
    "REDUCE", "BUILD",
})  # fmt: skip


class _Record:
    """What a pickle says of an array or of its dtype: a name, arguments and a state."""

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments, self.state = name, arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        known = _NAMES[module, name]
        return lambda *arguments: _Record(known, *arguments)


def read_batch(content: bytes, key: bytes) -> tuple[np.ndarray, list[int]]:
    """Return data, (rows, values) of uint8, and labels; raise ValueError if they are not there.

    Args:
        content: of the file.
        key: what the labels are called.
    """
    try:
        _check(content)
        batch = _Plain(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # whatever an unpickler meets in a broken file
        raise ValueError(f"it cannot be read: {error}") from error
    if type(batch) is not dict or b"data" not in batch or key not in batch:
        raise ValueError(f"it is no dictionary with data and {key.decode()}")
    labels = batch[key]
    if type(labels) is not list or not all(type(one) is int for one in labels):
        raise ValueError(f"its {key.decode()} are no list of whole numbers")
    if labels and not 0 <= min(labels) <= max(labels) < 256:
        raise ValueError(f"its {key.decode()} are not between 0 and 255")
    return _bytes_of(batch[b"data"]), labels


def _check(content: bytes) -> None:
    """Raise unless all opcodes are allowed, and none asks for a memory larger than the pickle."""
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        if opcode.name not in _ALLOWED:
            raise ValueError(f"it has the opcode {opcode.name}")
        if opcode.name.endswith("PUT") and int(argument or 0) > count:
            raise ValueError(f"it stores the value {argument} of {count}")


def _bytes_of(held: Any) -> np.ndarray:
    """Return an array of bytes from its record."""
    state = held.state if isinstance(held, _Record) and held.name == _ARRAY else None
    if not isinstance(state, tuple) or len(state) != 5:
        raise ValueError("its data are no array")
    _, shape, dtype, fortran, data = state
    kind = dtype.arguments[0] if isinstance(dtype, _Record) and dtype.arguments else None
    sizes = isinstance(shape, tuple) and all(type(one) is int and one >= 0 for one in shape)
    if kind not in ("u1", b"u1") or not sizes or type(data) is not bytes:
        raise ValueError("its data are no array of bytes")
    if len(shape) != 2 or math.prod(shape) != len(data):
        raise ValueError(f"its data are of shape {shape:}, and have {len(data):,} bytes")
    return np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")
