"""Readers of the sets: from folders to images and labels, in the layout and order of `ImageSet`."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import _known as known
from ._cifar import Part, read_batches, read_mosaics
from ._files import BadFile, Known, check_digest, find, missing, read_verified
from ._idx import read_idx, unzipped
from ._known_cifar import MOSAIC_LABELS, MOSAICS, Batches

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
