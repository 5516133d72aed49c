"""Class folders, as ImageNet has them: pictures are read when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from ._files import decoded, read_verified
from ._set import tensor_of

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm")


class ImageFolder(Dataset[tuple[Any, int]]):
    """Pictures in one folder a class; an item is the picture (3, H, W), uint8, and its label.

    Of pictures with 16 bits a value, the upper 8 are kept.

    Args:
        paths: of the pictures.
        labels: of each picture.
        classes: names of the labels.
        transform: applied to each picture's tensor; sizes differ from picture to picture, so a
            batch needs one that cuts or scales them to one size.
    """

    def __init__(
        self,
        paths: list[Path],
        labels: list[int],
        classes: tuple[str, ...],
        transform: Callable[[Tensor], Any] | None = None,
    ) -> None:
        self.paths = paths
        self.labels = torch.tensor(labels, device="cpu")  # whatever torch's default device is
        self.classes = classes
        self.transform = transform

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"ImageFolder({len(self):,} pictures, {len(self.classes):,} classes)"

    def __getitem__(self, row: int) -> tuple[Any, int]:
        path = self.paths[row]
        picture = decoded(path, read_verified(path, None)).transpose(2, 0, 1)
        image = tensor_of(picture, torch.uint8)
        label = int(self.labels[row])
        return (image if self.transform is None else self.transform(image)), label


def folder(
    path: str | os.PathLike[str],
    *,
    transform: Callable[[Tensor], Any] | None = None,
    classes: tuple[str, ...] | None = None,
) -> ImageFolder:
    """Return the pictures under a folder that has one folder a class, such as ImageNet's `train/`.

    Args:
        path: the folder; its folders' names, sorted, are the classes.
        transform: applied to each picture's tensor (3, H, W), uint8.
        classes: which folders to read, in the order of the labels: those of the training set, for
            another split to have the same labels. None: all.
    """
    top = Path(path)
    if not top.is_dir():
        raise FileNotFoundError(
            f"{top} is no folder; ImageNet's pictures come from https://image-net.org, after "
            "registration, and unpack to train/<class>/*.JPEG and val/*.JPEG"
        )
    here = sorted(each.name for each in top.iterdir() if each.is_dir())
    if not here:
        raise ValueError(
            f"{top} has no folders in it, and should have one a class; ImageNet's val pictures "
            "come without: sort them into folders named as those of train/"
        )
    names = tuple(here) if classes is None else tuple(classes)
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"classes names {twice[0]!r} twice; a folder has one label")
    absent = [name for name in names if name not in here]
    if absent:
        raise ValueError(f"{top} has no folder {absent[0]!r} ({len(absent)} classes are missing)")
    paths, labels = [], []
    for label, name in enumerate(names):
        found = sorted(p for p in (top / name).rglob("*") if p.suffix.lower() in ENDINGS)
        if not found:
            raise ValueError(f"{top / name} holds no pictures ({', '.join(ENDINGS)})")
        paths += found
        labels += [label] * len(found)
    return ImageFolder(paths, labels, names, transform)
