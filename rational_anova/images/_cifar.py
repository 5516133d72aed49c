"""Readers of CIFAR: pickled batches, plain bytes, and mosaics of many images in a picture."""

from __future__ import annotations

import io
import pickle
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ._decode import decoded
from ._files import BadFile, Known, find, read_verified
from ._known_cifar import MOSAIC_LABELS, MOSAICS, Batches

SIZE = 32
_PIXELS = 3 * SIZE * SIZE
# All that an array needs of numpy; numpy 2 calls one module by another name.
_ARRAYS = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}

Part = tuple[np.ndarray, np.ndarray]  # images (N, C, H, W), labels (N,)


def read_batches(form: Batches, split: str, folders: list[Path], verify: bool) -> Part | None:
    """Return a split from an archive or the folder it unpacks to; None if neither is there."""
    files = form.files[split]
    names = [f"{form.inside}/{file.name}" for file in files]
    archive = find(form.archive.name, folders)
    if archive is not None:
        contents = _members(archive, read_verified(archive, form.archive, verify), names)
        return _joined(form, names, contents)
    paths = [find(name, folders) for name in names]
    if None in paths:
        return None
    found = [path for path in paths if path is not None]
    contents = [read_verified(p, file, verify) for p, file in zip(found, files, strict=True)]
    return _joined(form, found, contents)


def _members(path: Path, content: bytes, names: list[str]) -> list[bytes]:
    """Return files of an archive, none of which is written anywhere."""
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:*") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name in names else None
                if file is not None:
                    contents[member.name] = file.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise BadFile(path, f"is no whole archive ({error})") from error
    absent = [name for name in names if name not in contents]
    if absent:
        raise BadFile(path, f"does not hold {', '.join(absent)}")
    return [contents[name] for name in names]


def _joined(form: Batches, paths: Iterable[Path | str], contents: list[bytes]) -> Part:
    key = form.pickled
    parts = [
        _bytes(path, content, form.label_bytes) if key is None else _batch(path, content, key)
        for path, content in zip(paths, contents, strict=True)
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _bytes(path: Path | str, content: bytes, labels: int) -> Part:
    size = labels + _PIXELS
    if not content or len(content) % size:
        raise BadFile(path, f"has {len(content):,} bytes, no multiple of {size}")
    rows = np.frombuffer(content, np.uint8).reshape(-1, size)
    return rows[:, labels:].reshape(-1, 3, SIZE, SIZE), rows[:, labels - 1]


class _ArraysOnly(pickle.Unpickler):
    """Reads lists, dictionaries and numpy's arrays; whatever else a pickle names is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        if name == "_reconstruct":
            return np.ndarray.__reduce__(np.empty(0))[0]
        return super().find_class(module, name)


def _batch(path: Path | str, content: bytes, key: str) -> Part:
    try:
        batch = _ArraysOnly(io.BytesIO(content), encoding="bytes").load()
        data, labels = np.asarray(batch[b"data"]), np.asarray(batch[key.encode()])
    except (KeyError, TypeError, ValueError, EOFError, IndexError, pickle.UnpicklingError) as error:
        raise BadFile(path, f"is no batch of images with {key} ({error!r})") from error
    if data.dtype != np.uint8 or data.shape != (len(labels), _PIXELS):
        raise BadFile(path, f"holds {len(labels)} labels and data {data.dtype} {data.shape}")
    return data.reshape(-1, 3, SIZE, SIZE), labels


def read_mosaics(split: str, folders: list[Path], verify: bool) -> Part | None:
    """Return a split of CIFAR-10 from mosaics, row by row; None if they are not there."""
    files: tuple[Known, ...] = MOSAICS[split]
    paths = [find(file.name, folders) for file in files]
    table = find(MOSAIC_LABELS.name, folders)
    if table is None or not any(paths):
        return None
    if verify and None in paths:
        absent = [f.name for f, path in zip(files, paths, strict=True) if path is None]
        raise BadFile(table.parent, f"lacks {', '.join(absent)}")
    images = [
        _tiles(path, read_verified(path, file, verify))
        for path, file in zip(paths, files, strict=True)
        if path is not None
    ]
    content = read_verified(table, MOSAIC_LABELS, verify)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            labels = arrays[f"{split}_labels"]
    except Exception as error:  # zipfile raises whatever it meets in a broken file
        raise BadFile(table, f"has no array {split}_labels ({error})") from error
    return np.concatenate(images), labels


def _tiles(path: Path, content: bytes) -> np.ndarray:
    picture = decoded(path, content)
    rows, columns = picture.shape[0] // SIZE, picture.shape[1] // SIZE
    if picture.shape[:2] != (rows * SIZE, columns * SIZE) or not rows * columns:
        raise BadFile(path, f"is a picture of {picture.shape[:2]}, not of tiles of {SIZE} x {SIZE}")
    tiles = picture.reshape(rows, SIZE, columns, SIZE, 3).transpose(0, 2, 4, 1, 3)
    return tiles.reshape(-1, 3, SIZE, SIZE)
