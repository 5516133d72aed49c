"""`load`: a split of a set of images by its name."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch

from .._core import checks as check
from . import _published as known
from ._files import BadFile, data_folders
from ._published import CIFAR10, CIFAR100
from ._readers import Reader, cifar, grey, houses, letters
from ._set import ImageSet, tensor_of


class _Set(NamedTuple):
    read: Reader
    counts: dict[str, int]  # images of each split
    classes: tuple[str, ...]


def load(
    name: str,
    split: str = "train",
    *,
    root: str | os.PathLike[str] | None = None,
    verify: bool = True,
) -> ImageSet:
    """Return a split of a published set of images.

    Nothing is downloaded: where files are missing, the error says which, from where, and where
    they go.

    Args:
        name: "mnist", "fashion_mnist", "emnist_letters", "svhn", "cifar10" or "cifar100".
        split: "train" or "test"; "svhn" also has "extra".
        root: a folder that holds the folder of the set, or is it. None: the folder that the
            variable RAN_DATA names, then `data` in the user's cache folder.
        verify: whether checksums, where they are known, and numbers of images must be the
            published ones.

    Example:
        >>> from rational_anova import images
        >>> images.load("mnist", root="/nowhere")
        Traceback (most recent call last):
            ...
        FileNotFoundError: the files of 'mnist' were looked for in /nowhere/mnist or /nowhere ...
    """
    entry = check.lookup(name, _SETS, "name")
    check.choice(split, entry.counts, "split")
    folders = data_folders(name, root)
    images, labels = entry.read(split, folders, verify)
    count = entry.counts[split]
    place = f"{split} of {name}, read from {' or '.join(map(str, folders))}"
    if len(images) != len(labels):
        raise BadFile(place, f"{len(images):,} images, but {len(labels):,} labels")
    if verify and len(images) != count:
        raise BadFile(place, f"{len(images):,} images, and should have {count:,}")
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(entry.classes):
        raise BadFile(place, f"labels from {labels.min()} to {labels.max()}")
    return ImageSet(tensor_of(images, torch.uint8), tensor_of(labels, torch.int64), entry.classes)


_TEN = {"train": 60_000, "test": 10_000}
_SMALL = {"train": 50_000, "test": 10_000}
_SETS: dict[str, _Set] = {
    "mnist": _Set(grey(known.MNIST, "mnist", _TEN), _TEN, known.DIGITS),
    "fashion_mnist": _Set(grey(known.FASHION, "fashion_mnist", _TEN), _TEN, known.FASHION_CLASSES),
    "emnist_letters": _Set(letters, {"train": 124_800, "test": 20_800}, known.LETTERS),
    "svhn": _Set(houses, {"train": 73_257, "test": 26_032, "extra": 531_131}, known.DIGITS),
    "cifar10": _Set(cifar(CIFAR10, "cifar10", mosaics=True), _SMALL, known.CIFAR10_CLASSES),
    "cifar100": _Set(cifar(CIFAR100, "cifar100"), _SMALL, known.CIFAR100_CLASSES),
}
SETS = tuple(_SETS)
