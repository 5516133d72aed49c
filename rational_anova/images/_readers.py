"""Readers of the sets: the formats of MNIST and CIFAR to the images and labels of `ImageSet`."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from .._core.files import gunzip
from . import _published as known
from ._files import BadFile, Known, check_digest, decoded, find, missing, read_verified
from ._pickles import read_batch
from ._published import MOSAIC_LABELS, MOSAICS, Batches

_UNSIGNED = 0x08  # the third byte of the magic number: 8-bit values


def read_idx(path: Path | str, content: bytes, axes: int) -> np.ndarray:
    """Return the array of an idx file.

    Args:
        path: of the file, for messages.
        content: of the file, with gzip or without.
        axes: how many the array must have: 3 for images, 1 for labels.
    """
    raw = unzipped(path, content)
    start = 4 + 4 * axes
    magic = bytes([0, 0, _UNSIGNED, axes])
    if raw[:4] != magic:
        raise BadFile(path, f"starts with {raw[:4].hex()!r}, and should with {magic.hex()!r}")
    if len(raw) < start:
        raise BadFile(path, f"ends after {len(raw)} bytes, within its header")
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", axes, offset=4))
    wanted = int(np.prod(shape, dtype=np.int64))
    if len(raw) - start != wanted:
        raise BadFile(
            path, f"holds {len(raw) - start:,} values, and its header promises {shape}: {wanted:,}"
        )
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def unzipped(path: Path | str, content: bytes) -> bytes:
    """Return what a gzip file holds; a file without gzip is returned as it is."""
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        return gunzip(content)
    except ValueError as error:
        raise BadFile(path, f"is no whole gzip file ({error})") from error


SIZE = 32
_PIXELS = 3 * SIZE * SIZE
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


def _batch(path: Path | str, content: bytes, key: str) -> Part:
    try:
        data, labels = read_batch(content, key.encode())
    except ValueError as error:
        raise BadFile(path, f"is no batch of images with {key} ({error})") from error
    if data.shape != (len(labels), _PIXELS):
        raise BadFile(path, f"holds {len(labels)} labels and data {data.dtype} {data.shape}")
    return data.reshape(-1, 3, SIZE, SIZE), np.array(labels, np.int64)


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


Reader = Callable[[str, list[Path], bool], Part]  # of a split, from folders, verified or not


def grey(files: dict[str, tuple[Known, Known]], name: str, counts: dict[str, int]) -> Reader:
    """Return the reader of a set in MNIST's format; files without gzip will do, too.

    Args:
        files: of each split, the images and the labels.
        name: of the set.
        counts: images of each split.
    """

    def read(split: str, folders: list[Path], verify: bool) -> Part:
        arrays = []
        for file, axes in zip(files[split], (3, 1), strict=True):
            packed = find(file.name, folders)
            path = packed or find(file.name.removesuffix(".gz"), folders)
            if path is None:
                raise missing(name, folders, [files[split]])
            content = read_verified(path, file if packed else None, verify)
            array = read_idx(path, content, axes)
            # A set of another size is told so by `load`, in plainer words than a checksum's.
            if verify and not packed and file.unpacked and len(array) == counts[split]:
                check_digest(path, unzipped(path, content), file.unpacked)
            arrays.append(array)
        return arrays[0][:, None], arrays[1]

    return read


def letters(split: str, folders: list[Path], verify: bool) -> Part:
    """Read EMNIST's letters, from the archive or the files in it; the images lie on their side."""
    names = [f"emnist-letters-{split}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")]
    archive = find(known.EMNIST_ZIP.name, folders)
    if archive is not None:
        contents = _unpacked(archive, read_verified(archive, known.EMNIST_ZIP, verify), names)
    else:
        inside = [folder / "gzip" for folder in folders]  # what the archive unpacks to
        paths = [find(name, [*folders, *inside]) for name in names]
        if None in paths:
            raise missing("emnist_letters", folders, [[known.EMNIST_ZIP]])
        contents = [read_verified(path, None) for path in paths if path is not None]
    images, labels = (read_idx(n, c, a) for n, c, a in zip(names, contents, (3, 1), strict=True))
    return images.transpose(0, 2, 1)[:, None], labels.astype(np.int64) - 1


def _unpacked(path: Path, content: bytes, names: list[str]) -> list[bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [archive.read(f"gzip/{name}") for name in names]
    except KeyError as error:
        raise BadFile(path, str(error.args[0])) from error
    except Exception as error:  # zipfile raises whatever it meets in a broken file
        raise BadFile(path, f"is no whole archive ({error})") from error


def houses(split: str, folders: list[Path], verify: bool) -> Part:
    """Read SVHN's cropped digits from their MATLAB file."""
    from scipy.io import loadmat

    file = known.SVHN[split]
    path = find(file.name, folders)
    if path is None:
        raise missing("svhn", folders, [[file]])
    content = read_verified(path, file, verify)
    try:
        table = loadmat(io.BytesIO(content))
        images, labels = table["X"], table["y"].reshape(-1).astype(np.int64)
    except Exception as error:  # scipy raises whatever it meets in a broken file
        raise BadFile(path, f"is no MATLAB file with X and y ({error})") from error
    if images.dtype != np.uint8 or images.shape != (32, 32, 3, len(labels)):
        raise BadFile(path, f"holds {len(labels)} labels and X {images.dtype} {images.shape}")
    return images.transpose(3, 2, 0, 1), labels % 10  # 10 stands for the digit 0


def cifar(forms: tuple[Batches, ...], name: str, mosaics: bool = False) -> Reader:
    """Return the reader of a CIFAR set in any of its published forms."""

    def read(split: str, folders: list[Path], verify: bool) -> Part:
        for form in forms:
            part = read_batches(form, split, folders, verify)
            if part is not None:
                return part
        part = read_mosaics(split, folders, verify) if mosaics else None
        if part is not None:
            return part
        choices = [[form.archive] for form in forms]
        if mosaics:
            choices.append([*MOSAICS[split], MOSAIC_LABELS])
        raise missing(name, folders, choices)

    return read
