"""Values as JSON and back without loss: one rule for numbers that JSON has not, one for classes.

- nan, inf and -inf are the texts "nan", "inf" and "-inf"; such a text itself is tagged.
- A value of a registered class is {"!": its name, "is": simpler values}. Only the classes
  that this library registers are ever built, so that reading a file runs no code from it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .fields import made
from .types import Array

Change = Callable[[Any], Any]

TAG, HELD = "!", "is"
ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class _Codec:
    cls: type
    parts: Change
    make: Change


_CODECS: dict[str, _Codec] = {}


def register(cls: type, parts: Change | None = None, make: Change | None = None) -> None:
    """Let files hold values of a class; a dataclass needs no more than its name.

    Args:
        cls: the class; not its subclasses.
        parts: returns simpler values for one of the class: numbers, text, arrays, lists, tuples,
            dictionaries, bytes, or values of other registered classes.
        make: returns the value for what `parts` gave.
    """
    before = _CODECS.get(cls.__name__)
    assert before is None or before.cls.__module__ == cls.__module__, f"two classes {cls.__name__}"
    _CODECS[cls.__name__] = _Codec(
        cls,
        parts or (lambda value: {f.name: getattr(value, f.name) for f in fields(cls)}),
        make or (lambda known: made(cls, known)),
    )


register(tuple, list, tuple)
register(set, list, set)
register(dict, lambda value: [[k, v] for k, v in value.items()], lambda items: dict(items))
register(bytes, lambda value: np.frombuffer(value, np.uint8), lambda array: array.tobytes())


class Writer:
    """Turns values into JSON; `arrays` are those that it refers to by number.

    Args:
        plain: whether the JSON stands alone, for people and other programs: tuples and arrays
            are lists in it, and come back as such.
    """

    def __init__(self, plain: bool = False) -> None:
        self.arrays: list[Array] = []
        self._plain = plain
        self._known: dict[int, int] = {}

    def write(self, value: Any, where: str) -> Any:
        """Return a value as JSON can hold it; `where` is its name in an error."""
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            value = value.item()
        if isinstance(value, str):
            return {TAG: "text", HELD: value} if value in ODD else value
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else repr(float(value))
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if type(value) is list or (self._plain and type(value) is tuple):
            return [self.write(one, where) for one in value]
        if type(value) is dict and TAG not in value and all(type(key) is str for key in value):
            return {key: self.write(one, where) for key, one in value.items()}
        return self._registered(value, where)

    def _registered(self, value: Any, where: str) -> dict[str, Any]:
        name = type(value).__name__
        codec = _CODECS.get(name)
        if codec is None or codec.cls is not type(value):
            raise TypeError(
                f"{where} holds a {name}, {value!r:.60}, which a model file cannot hold; use "
                "pickle, or make it a number or text first"
            )
        return {TAG: name, HELD: self.write(codec.parts(value), f"{where} ({name})")}

    def _array(self, value: Array, where: str) -> Any:
        if self._plain:
            return self.write(value.tolist(), where)
        if value.dtype == object:
            items = [self.write(one, where) for one in value.ravel().tolist()]
            return {TAG: "objects", "shape": list(value.shape), HELD: items}
        if id(value) not in self._known:
            self._known[id(value)] = len(self.arrays)
            self.arrays.append(value)  # this also keeps its id from being used again
        return {TAG: "array", HELD: self._known[id(value)]}


class Reader:
    """Turns JSON back into values.

    Args:
        arrays: those that the JSON refers to.
    """

    def __init__(self, arrays: Sequence[Array] = ()) -> None:
        self._arrays = arrays

    def read(self, entry: Any) -> Any:
        """Return the value that stands in JSON."""
        if isinstance(entry, str):
            return ODD.get(entry, entry)
        if isinstance(entry, list):
            return [self.read(one) for one in entry]
        if not isinstance(entry, dict):
            return entry
        if TAG not in entry:
            return {key: self.read(one) for key, one in entry.items()}
        return self._tagged(entry[TAG], entry)

    def _tagged(self, name: Any, entry: dict[str, Any]) -> Any:
        if name == "text":
            return entry[HELD]
        if name == "array":
            return self._arrays[entry[HELD]]
        if name == "objects":
            result = np.empty(len(entry[HELD]), object)
            for at, one in enumerate(entry[HELD]):
                result[at] = self.read(one)
            return result.reshape(entry["shape"])
        if name not in _CODECS:
            raise ValueError(f"it holds a {name}, which this version does not know")
        return _CODECS[name].make(self.read(entry[HELD]))


def to_plain(value: Any, where: str) -> Any:
    """Return a value as JSON that stands alone; tuples and arrays become lists."""
    return Writer(plain=True).write(value, where)


def from_plain(entry: Any) -> Any:
    """Return the value that `to_plain` wrote."""
    return Reader().read(entry)


def array_file(array: Array) -> bytes:
    """Return an array in NumPy's format."""
    result = io.BytesIO()
    np.lib.format.write_array(result, np.asarray(array), (1, 0), allow_pickle=False)
    return result.getvalue()


def array_of(data: bytes) -> Array:
    """Return the array of a file, which must have the bytes that its header promises."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the version {version} of NumPy's format, not (1, 0)")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    rest = data[file.tell() :]
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not dtype.itemsize or size != len(rest):
        raise ValueError(f"an array says it is {shape} of {dtype}, and has {len(rest):,} bytes")
    flat = np.frombuffer(rest, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")
