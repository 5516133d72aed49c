"""Batches of images: a published set held in memory, or class folders read as they are needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Subset

from rational_anova import images

Batches = Iterator[tuple[Tensor, Tensor]]
Share = tuple[int, int]  # which of how many processes: each takes its part of every batch
Settings = dict[str, Any]


class Memory:
    """Images in memory as bytes; training ones are shifted and mirrored.

    Args:
        settings: the table `data` of a recipe.
        rows: use so many of the images only, for the tests.
    """

    def __init__(self, settings: Settings, train: images.ImageSet, test: images.ImageSet) -> None:
        self.settings = settings
        stay, aside = images.holdout(train.labels, settings["held"], seed=0)
        self.parts = {"train": train.take(stay), "held": train.take(aside), "test": test}

    def __len__(self) -> int:
        return len(self.parts["train"].labels)

    def training(
        self,
        size: int,
        generator: torch.Generator,
        order: torch.Generator | None = None,
        share: Share = (0, 1),
    ) -> Batches:
        """Give all training images once, in a random order, which may have its own generator."""
        part = self.parts["train"]
        for batch in torch.randperm(len(self), generator=order or generator).split(size):
            rows = batch[share[0] :: share[1]]
            if len(batch) < share[1]:  # not a row for each
                continue
            x = _shifted(part.images[rows], self.settings["crop"], generator)
            flip = torch.rand(len(x), generator=generator) < 0.5
            x = torch.where(flip[:, None, None, None], x.flip(-1), x)
            yield normalised(x, self.settings), part.labels[rows]

    def plain(self, part: str, size: int, share: Share = (0, 1)) -> Batches:
        """Give the images of `held` or `test` as they are."""
        chosen = self.parts[part]
        for rows in torch.arange(share[0], len(chosen.labels), share[1]).split(size):
            yield normalised(chosen.images[rows], self.settings), chosen.labels[rows]


class Folders:
    """Class folders `train` and `val`, such as ImageNet's; `val` is for testing."""

    def __init__(self, settings: Settings, size: int) -> None:
        root = Path(os.environ.get("RAN_DATA", ".")) / settings["folder"]
        self.settings = settings
        cut = images.folder(root / "train", transform=lambda x: _random_cut(x, size))
        whole = images.folder(root / "train", transform=lambda x: _middle(x, size))
        stay, aside = images.holdout(cut.labels, settings["held"], seed=0)
        test = images.folder(
            root / "val", transform=lambda x: _middle(x, size), classes=cut.classes
        )
        self.train = Subset(cut, stay.tolist())
        self.parts: dict[str, Any] = {"held": Subset(whole, aside.tolist()), "test": test}

    def __len__(self) -> int:
        return len(self.train)

    def training(
        self,
        size: int,
        generator: torch.Generator,
        order: torch.Generator | None = None,
        share: Share = (0, 1),
    ) -> Batches:
        """Give all training pictures once, a random part of each."""
        rows = torch.randperm(len(self), generator=order or generator)
        batches = [batch for batch in rows.split(size) if len(batch) >= share[1]]
        parts = [batch[share[0] :: share[1]].tolist() for batch in batches]
        workers = self.settings["workers"]
        for x, y in DataLoader(self.train, batch_sampler=parts, num_workers=workers):
            yield normalised(x, self.settings), y

    def plain(self, part: str, size: int, share: Share = (0, 1)) -> Batches:
        """Give the middle of each picture of `held` or `test`."""
        workers = self.settings["workers"]
        chosen = Subset(self.parts[part], range(share[0], len(self.parts[part]), share[1]))
        for x, y in DataLoader(chosen, size, num_workers=workers):
            yield normalised(x, self.settings), y


def load(settings: Settings, size: int) -> Memory | Folders:
    """Return the data of a recipe."""
    if "folder" in settings:
        return Folders(settings, size)
    name = settings["name"]
    return Memory(settings, images.load(name, "train"), images.load(name, "test"))


def normalised(x: Tensor, settings: Settings) -> Tensor:
    """Return bytes as numbers of mean zero and spread one in each colour."""
    mean, std = (torch.tensor(settings[k]).view(1, -1, 1, 1) for k in ("mean", "std"))
    return (x.float() / 255 - mean) / std


def _shifted(x: Tensor, reach: int, generator: torch.Generator) -> Tensor:
    """Shift each image by up to `reach` pixels either way; black comes in."""
    if not reach:
        return x
    size = x.shape[-1]
    padded = functional.pad(x, (reach,) * 4)
    moves = torch.randint(2 * reach + 1, (2, len(x), 1), generator=generator)
    down, right = moves + torch.arange(size)
    rows = torch.arange(len(x))[:, None, None, None]
    colours = torch.arange(x.shape[1])[None, :, None, None]
    return padded[rows, colours, down[:, None, :, None], right[:, None, None, :]]


def _random_cut(x: Tensor, size: int) -> Tensor:
    """A random part of 8 % to all of a picture, of a shape between 3:4 and 4:3, mirrored or not."""
    height, width = x.shape[-2:]
    area = float(torch.empty(()).uniform_(0.08, 1.0)) * height * width
    shape = float(torch.empty(()).uniform_(-0.2877, 0.2877).exp())
    down, right = (
        min(whole, max(1, round(side)))
        for whole, side in ((height, (area / shape) ** 0.5), (width, (area * shape) ** 0.5))
    )
    top = int(torch.randint(height - down + 1, ()))
    left = int(torch.randint(width - right + 1, ()))
    part = x[:, top : top + down, left : left + right]
    return _scaled(part.flip(-1) if torch.rand(()) < 0.5 else part, (size, size))


def _middle(x: Tensor, size: int) -> Tensor:
    """The middle of a picture whose shorter side is scaled to 8/7 of the size."""
    short = round(size * 8 / 7)
    factor = short / min(x.shape[-2:])
    whole = tuple(max(short, round(side * factor)) for side in x.shape[-2:])
    scaled = _scaled(x, whole)
    top, left = ((side - size) // 2 for side in scaled.shape[-2:])
    return scaled[:, top : top + size, left : left + size]


def _scaled(x: Tensor, size: tuple[int, ...]) -> Tensor:
    resized = functional.interpolate(x[None].float(), size, mode="bilinear", antialias=True)
    return resized[0].round().clamp(0, 255).byte()
