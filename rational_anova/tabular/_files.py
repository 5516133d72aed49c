"""Models as files, without pickle: JSON and arrays in one archive."""

from __future__ import annotations

import datetime
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._core.types import Array
from ..serialization import write_whole
from .deep import Deep
from .explain import Measured, Observed
from .fit import Link
from .model import Additive, Constant, Feature, Heads, Levels, Missing, Part, Term
from .monotone import Proof

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


for _record in (
    Additive, Constant, Feature, Heads, Levels, Link, Measured, Missing, Observed, Part, Proof,
    Term,
):  # fmt: skip
    register(_record)
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


E = TypeVar("E", bound="SaveMixin")

FORMAT = "rational-anova table model"
VERSION = 1
_HEADER = "model.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # of all entries, so that equal models make equal files


class SaveMixin:
    """`save` and `load` for fitted estimators."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; the file appears whole or not at all.

        Args:
            path: where to write, by custom with the ending `.ran`.

        Example:
            >>> import rational_anova as ra, tempfile, pathlib
            >>> model = ra.RANRegressor().fit([[0.0], [1.0], [2.0]] * 9, [0.0, 1.0, 2.0] * 9)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.ran"
            >>> model.save(path)
            >>> bool((ra.RANRegressor.load(path).predict([[1.0]]) == model.predict([[1.0]])).all())
            True
        """
        check_is_fitted(self)
        write_whole(path, to_bytes(self))

    @classmethod
    def load(cls: type[E], path: str | os.PathLike[str]) -> E:
        """Read a model of this class written by `save`."""
        found = load_estimator(path)
        if not isinstance(found, cls):
            raise TypeError(
                f"{path} holds a {type(found).__name__}, not a {cls.__name__}; call "
                f"{type(found).__name__}.load(path)"
            )
        return found


def load_estimator(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save`, of whichever class it is."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the model file in it")
    if not path.exists():
        raise FileNotFoundError(f"no model file at {path}")
    header, arrays = _opened(path.read_bytes(), path)
    cls = _class(header.get("class"), path)
    try:
        reader = Reader(arrays)
        model = cls(**reader.read(header["parameters"]))
        vars(model).update(reader.read(header["state"]))
    except Exception as error:  # whatever a damaged file can lead to
        raise ValueError(f"{path} is damaged: cannot build its {cls.__name__}: {error}") from error
    return model


def to_bytes(model: Any) -> bytes:
    """Return a fitted model as the content of a file."""
    writer = Writer()
    parameters = model.get_params(deep=False)
    # Names with a leading underscore are caches, and settings of scikit-learn.
    state = {k: v for k, v in vars(model).items() if k not in parameters and k[0] != "_"}
    name = type(model).__name__
    header = {
        "format": FORMAT,
        "version": VERSION,
        "package": metadata.version("rational-anova"),
        "class": name,
        "parameters": writer.write(parameters, f"{name}'s parameters"),
        "state": writer.write(state, f"the fitted {name}"),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), json.dumps(header, allow_nan=False))
        for at, array in enumerate(writer.arrays):
            one = io.BytesIO()
            np.lib.format.write_array(one, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{at}.npy", _DATE), one.getvalue())
    return content.getvalue()


def _opened(content: bytes, path: Path) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays of a file, or say what is wrong with it."""
    foreign = f"{path} is not a model written by save() of RANRegressor or RANClassifier"
    if not content.startswith(b"PK"):
        raise ValueError(f"{foreign}, or it is damaged")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if _HEADER not in archive.namelist():
                raise ValueError(foreign)
            header = json.loads(archive.read(_HEADER))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise ValueError(foreign)
            _check_version(header.get("version"), path)
            arrays = [
                np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in _numbered(archive.namelist())
            ]
    except (zipfile.BadZipFile, json.JSONDecodeError, UnicodeDecodeError, EOFError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    return header, arrays


def _numbered(names: list[str]) -> Iterator[str]:
    return (f"{at}.npy" for at in range(sum(name.endswith(".npy") for name in names)))


def _check_version(version: object, path: Path) -> None:
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(
            f"{path} has format version {version}, this library reads up to {VERSION}: upgrade it "
            "with pip install --upgrade rational-anova"
        )


def _class(name: object, path: Path) -> Any:
    """Return the estimator of a name: one of this library, or a subclass that is imported."""
    known = [SaveMixin]
    for cls in known:  # grows on the way, the nearest first
        if cls.__name__ == name and hasattr(cls, "fit"):
            return cls
        known += cls.__subclasses__()
    raise ValueError(f"{path} holds a {name}, which is not known here; import its class first")
