"""`ImageSet`: images, their classes, and the names of these."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor


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
