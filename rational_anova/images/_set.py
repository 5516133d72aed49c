"""`ImageSet`: images, their classes, and the names of these; `holdout` sets rows aside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .._core import checks as check


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images with labels, all in memory.

    Attributes:
        images: (N, C, H, W), uint8.
        labels: (N,), int64.
        classes: the name of each label.
    """

    images: Tensor
    labels: Tensor
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.images) != len(self.labels):
            raise ValueError(f"{len(self.images)} images, but {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.images.shape[1:]))
        return f"ImageSet({len(self):,} images of {shape}, {len(self.classes)} classes)"

    def take(self, rows: Tensor | slice) -> ImageSet:
        """Return some of the images, for instance those of `holdout`."""
        return replace(self, images=self.images[rows], labels=self.labels[rows])


def tensor_of(array: np.ndarray, dtype: torch.dtype) -> Tensor:
    """Return a tensor with memory of its own: arrays over bytes of a file cannot be written."""
    return torch.from_numpy(np.array(array, order="C")).to(dtype)


def holdout(labels: Tensor | int, share: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return the rows that stay and the rows that are set aside, each in ascending order.

    Of every class, its share is set aside, rounded; the same seed gives the same rows, whatever
    the state of torch's generator. They lie on the device of the labels, or on the CPU.

    Args:
        labels: (N,) integers; or N itself, for rows of one kind.
        share: of the rows that is set aside, between 0 and 1.
        seed: of the draw.

    Example:
        >>> stay, aside = holdout(torch.tensor([0] * 8 + [1] * 4), share=0.25)
        >>> len(stay), aside.tolist()
        (9, [0, 4, 11])
    """
    share = check.real(share, "share")
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    if not isinstance(labels, Tensor):
        count = check.integer(labels, "labels", 2)
        labels = torch.zeros(count, dtype=torch.int64, device="cpu")
    if labels.dim() != 1 or labels.is_floating_point():
        raise ValueError(
            f"labels must be integers of shape (N,), got {labels.dtype} of {tuple(labels.shape)}"
        )
    # Every device is named: torch's default one may be another than that of the labels.
    generator = torch.Generator("cpu").manual_seed(check.integer(seed, "seed"))
    held = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
    for label in labels.unique():  # sorted, so that the draws do not depend on the rows' order
        rows = (labels == label).nonzero().squeeze(1)
        order = torch.randperm(len(rows), generator=generator, device="cpu")
        held[rows[order[: round(share * len(rows))].to(rows.device)]] = True
    return (~held).nonzero().squeeze(1), held.nonzero().squeeze(1)
