"""Values as JSON with arrays beside it, and back: what a saved model is made of.

A JSON object has the key `!`, which names what it stands for; only names in the registry are made
again, so that reading a file runs no code of the file's choice.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from .._core.types import Array
from ._bases import Heads, Levels, Missing
from ._columns import Feature
from ._deep import Deep
from ._links import Link
from ._measured import Measured, Observed
from ._model import Additive, Part
from ._monotone_proof import Proof
from ._terms import Term

Change = Callable[[Any], Any]

_TAG = "!"


@dataclass(frozen=True)
class Codec:
    """How values of one class are written and read.

    Args:
        cls: the class.
        parts: from a value to simpler ones, which are written in turn.
        make: from those back to the value.
    """

    cls: type
    parts: Change
    make: Change


_CODECS: dict[str, Codec] = {}


def register(cls: type, parts: Change | None = None, make: Change | None = None) -> None:
    """Let files hold values of a class; a dataclass needs no more than its name.

    Args:
        cls: the class; not its subclasses.
        parts: returns simpler values for one of the class: numbers, text, arrays, lists, tuples,
            dictionaries, bytes, or values of other registered classes.
        make: returns the value for what `parts` gave.
    """
    _CODECS[cls.__name__] = Codec(
        cls,
        parts or (lambda value: {f.name: getattr(value, f.name) for f in fields(cls)}),
        make or (lambda known: cls(**known)),
    )


class Writer:
    """Turns values into JSON; `arrays` are those that it refers to by number."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._known: dict[int, int] = {}

    def write(self, value: Any, where: str) -> Any:
        """Return a value as JSON can hold it; `where` is its name in an error."""
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {_TAG: "float", "is": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if type(value) is list:
            return self._all(value, where)
        codec = _CODECS.get(type(value).__name__)
        if codec is None or codec.cls is not type(value):
            raise TypeError(
                f"{where} holds a {type(value).__name__}, {value!r:.60}, which a model file cannot "
                "hold; use pickle, or make it a number or text before the fit"
            )
        name = codec.cls.__name__
        return {_TAG: name, "is": self.write(codec.parts(value), f"{where} ({name})")}

    def _all(self, values: Sequence[Any], where: str) -> list[Any]:
        return [self.write(value, where) for value in values]

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype == object:
            items = self._all(value.ravel().tolist(), where)
            return {_TAG: "objects", "shape": list(value.shape), "is": items}
        if id(value) not in self._known:
            self._known[id(value)] = len(self.arrays)
            self.arrays.append(value)  # this also keeps its id from being used again
        return {_TAG: "array", "is": self._known[id(value)]}


class Reader:
    """Turns JSON back into values.

    Args:
        arrays: those that the JSON refers to.
    """

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = arrays

    def read(self, entry: Any) -> Any:
        """Return the value that stands in JSON."""
        if isinstance(entry, list):
            return [self.read(one) for one in entry]
        if not isinstance(entry, dict):
            return entry
        name, held = entry[_TAG], entry["is"]
        if name == "float":
            return float(held)
        if name == "array":
            return self._arrays[held]
        if name == "objects":
            result = np.empty(len(held), object)
            result[:] = [self.read(one) for one in held]
            return result.reshape(entry["shape"])
        if name not in _CODECS:
            raise ValueError(f"it holds a {name}, which this version does not know")
        return _CODECS[name].make(self.read(held))


def _random_state(known: dict[str, Any]) -> np.random.RandomState:
    state = np.random.RandomState()
    state.set_state(known)
    return state


for _class in (
    Additive, Feature, Heads, Levels, Link, Measured, Missing, Observed, Part, Proof, Term,
):  # fmt: skip
    register(_class)
register(Deep, Deep.to_arrays, Deep.from_arrays)
register(tuple, list, tuple)
register(set, list, set)
register(dict, lambda value: [[k, v] for k, v in value.items()], lambda items: dict(items))
register(bytes, lambda value: np.frombuffer(value, np.uint8), lambda array: array.tobytes())
register(Decimal, str, Decimal)
register(datetime.date, datetime.date.isoformat, datetime.date.fromisoformat)
register(datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat)
register(pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp)
register(pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta)
register(pd.Period, lambda p: [p.ordinal, p.freqstr], lambda p: pd.Period(ordinal=p[0], freq=p[1]))
register(pd.Interval, lambda i: [i.left, i.right, i.closed], lambda i: pd.Interval(*i))
register(np.random.RandomState, lambda state: state.get_state(legacy=False), _random_state)
