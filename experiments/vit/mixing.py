"""Mixup, cutmix and erased rectangles: labels become shares of classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Settings = dict[str, Any]


def mixed(
    x: Tensor,  # (rows, colours, height, width)
    y: Tensor,  # (rows,)
    classes: int,
    settings: Settings,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return images, perhaps mixed in pairs, and the shares of their classes, (rows, classes)."""
    smoothing = settings["smoothing"]
    target = functional.one_hot(y, classes) * (1 - smoothing) + smoothing / classes
    if settings["erase"]:
        x = _erased(x, settings["erase"], generator)
    if float(torch.rand((), generator=generator)) >= settings["mixed"]:
        return x, target
    other = torch.randperm(len(x), generator=generator)
    cut = float(torch.rand((), generator=generator)) < 0.5
    share = _share(settings["cutmix" if cut else "mixup"], generator)
    if cut:
        top, bottom, left, right = _box(x, 1 - share, generator)
        x = x.clone()
        x[:, :, top:bottom, left:right] = x[other, :, top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / (x.shape[-2] * x.shape[-1])
    else:
        x = share * x + (1 - share) * x[other]
    return x, share * target + (1 - share) * target[other]


def _share(strength: float, generator: torch.Generator) -> float:
    """Draw from Beta(strength, strength); 1 for a strength of zero."""
    if not strength:
        return 1.0
    a, b = torch._standard_gamma(torch.full((2,), float(strength)), generator=generator)
    return float(a / (a + b))


def _box(x: Tensor, area: float, generator: torch.Generator) -> tuple[int, int, int, int]:
    """A box of a share of the image's area around a random point, cut off at the border."""
    edges: list[int] = []
    for whole in x.shape[-2:]:
        half = whole * area**0.5 / 2
        middle = float(torch.rand((), generator=generator)) * whole
        edges += [max(0, round(middle - half)), min(whole, round(middle + half))]
    return edges[0], edges[1], edges[2], edges[3]


def _erased(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Put zeros, the mean colour, in a box of 2 to 33 % of some images."""
    x = x.clone()
    for row in (torch.rand(len(x), generator=generator) < share).nonzero().flatten().tolist():
        area = 0.02 + 0.31 * float(torch.rand((), generator=generator))
        top, bottom, left, right = _box(x, area, generator)
        x[row, :, top:bottom, left:right] = 0
    return x
