"""Models as files, without pickle: JSON and arrays in one archive.

The archive holds `model.json` (format, versions, class, parameters, state) and the arrays that it
refers to, as `0.npy`, `1.npy`, ... Reading it runs no code from the file.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.types import Array
from ..serialization import write_whole
from ._saving_codec import Reader, Writer

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
