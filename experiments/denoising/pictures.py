"""PolyU's pairs in three parts that share no subject, and random crops of them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

import rational_anova as ra
from rational_anova.images import NoisyPairs

TEST, VALIDATION = 30, 15  # pairs, at least; the rest is for training
SPLIT_SEED = 0


class Parts(NamedTuple):
    """Pairs of pictures for training, selection and the final number."""

    train: NoisyPairs
    validation: NoisyPairs
    test: NoisyPairs


def parts(pairs: NoisyPairs) -> Parts:
    """Split by what is seen: the same subject, taken by another camera, stays in one part.

    Subjects are drawn in a fixed random order; the first ones make up the test part.
    """
    subjects = sorted(set(pairs.subjects))
    generator = torch.Generator().manual_seed(SPLIT_SEED)
    order = [subjects[n] for n in torch.randperm(len(subjects), generator=generator)]
    rows: dict[str, list[int]] = {"test": [], "validation": [], "train": []}
    wanted = {"test": TEST, "validation": VALIDATION, "train": len(pairs)}
    for subject in order:
        part = next(name for name in rows if len(rows[name]) < wanted[name])
        rows[part] += [n for n, each in enumerate(pairs.subjects) if each == subject]
    return Parts(*(pairs.take(sorted(rows[name])) for name in ("train", "validation", "test")))


def real() -> Parts:
    """Return the parts of PolyU's pairs."""
    return parts(ra.images.polyu())


def made_up(count: int = 6, size: int = 64) -> Parts:
    """Return smooth pictures with noise, for tests."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(count, 3, 8, 8, generator=generator)
    clean = torch.nn.functional.interpolate(coarse, (size, size), mode="bicubic").clamp(0, 1) * 255
    noisy = (clean + 6 * torch.randn(clean.shape, generator=generator)).clamp(0, 255)
    names = tuple(f"made_{n}" for n in range(count))
    pairs = NoisyPairs(noisy.byte(), clean.byte(), names, names, names)
    third = count // 3
    return Parts(*(pairs.take(list(range(n * third, (n + 1) * third))) for n in range(3)))


def scaled(pictures: Tensor) -> Tensor:
    """Return values between 0 and 1."""
    return pictures.float() / 255


def crops(
    pairs: NoisyPairs, count: int, size: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return random crops (count, 3, size, size), noisy and clean, flipped and turned."""

    def draw(high: int) -> list[int]:
        return torch.randint(high, (count,), generator=generator).tolist()

    height, width = pairs.noisy.shape[-2:]
    rows, tops, lefts = draw(len(pairs)), draw(height - size + 1), draw(width - size + 1)
    both = []
    turns = draw(8)
    for pictures in (pairs.noisy, pairs.clean):
        cut = [
            _turned(pictures[row, :, top : top + size, left : left + size], turn)
            for row, top, left, turn in zip(rows, tops, lefts, turns, strict=True)
        ]
        both.append(scaled(torch.stack(cut)))
    return both[0], both[1]


def _turned(picture: Tensor, turn: int) -> Tensor:
    """Apply one of the eight symmetries of a square."""
    picture = picture.transpose(-2, -1) if turn & 4 else picture
    axes = [axis for axis, bit in ((-1, 1), (-2, 2)) if turn & bit]
    return picture.flip(axes) if axes else picture
