"""One loop for all models: images stay bytes in memory, a held-out share selects the epoch."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from experiments.vision.recipe import Training
from rational_anova import images

_ROWS = 500  # at once, where nothing is learned


@dataclass(frozen=True)
class Split:
    """Images and labels to fit, to select by and to test on; scaled as the first ask for."""

    fit: images.ImageSet
    held: images.ImageSet
    test: images.ImageSet
    mean: Tensor
    spread: Tensor

    @classmethod
    def of(cls, train: images.ImageSet, test: images.ImageSet, share: float) -> Split:
        """Set a share of the training images aside, the same for all models and seeds."""
        stay, aside = images.holdout(train.labels, share)
        fit = train.take(stay)
        planes = fit.images.transpose(0, 1).flatten(1).float() / 255
        mean, spread = (m.view(1, -1, 1, 1) for m in (planes.mean(1), planes.std(1)))
        return cls(fit, train.take(aside), test, mean, spread)

    def scaled(self, pixels: Tensor, flat: bool) -> Tensor:
        """Return bytes as numbers of mean 0 and variance 1 in each plane."""
        x = (pixels.float() / 255 - self.mean) / self.spread
        return x.flatten(1) if flat else x

    @property
    def inputs(self) -> tuple[float, float]:
        """Least and largest number that a pixel can become."""
        low, high = -self.mean / self.spread, (1 - self.mean) / self.spread
        return low.min().item(), high.max().item()


@dataclass(frozen=True)
class Outcome:
    """The selected epoch, its accuracies in percent, and seconds of the processor in training."""

    epoch: int
    held: float
    test: float | None
    seconds: float


def accuracy(net: nn.Module, data: images.ImageSet, scaled: Callable[[Tensor], Tensor]) -> float:
    """Return the percentage of images whose class is right."""
    net.eval()
    right = 0
    with torch.no_grad():
        for at in range(0, len(data), _ROWS):
            part = data.take(slice(at, at + _ROWS))
            right += int((net(scaled(part.images)).argmax(1) == part.labels).sum())
    return 100 * right / len(data)


def train(
    net: nn.Module,
    split: Split,
    training: Training,
    rate: float,
    seed: int,
    *,
    flat: bool,
    flip: bool,
    test: bool = True,
) -> Outcome:
    """Train by Adam with warm-up and cosine; keep the epoch that is best on held-out images.

    Args:
        net: images of the split to scores of classes; trained in place.
        split: the images.
        training: the recipe.
        rate: the largest learning rate.
        seed: of order and flips.
        flat: whether images go in as rows of numbers.
        flip: whether half of the images are mirrored.
        test: whether to look at the test images, once, at the end.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=training.weight_decay)
    per_epoch = max(1, len(split.fit) // training.batch)
    schedule = _schedule(optimizer, training.epochs * per_epoch, training.warmup)

    def scaled(pixels: Tensor) -> Tensor:
        return split.scaled(pixels, flat)

    start = time.process_time()
    chosen, best, kept = 0, -1.0, net.state_dict()
    for epoch in range(1, training.epochs + 1):
        net.train()
        order = torch.randperm(len(split.fit), generator=generator)
        for rows in order.split(training.batch)[:per_epoch]:
            part = split.fit.take(rows)
            pixels = _flipped(part.images, generator) if flip else part.images
            optimizer.zero_grad()
            functional.cross_entropy(net(scaled(pixels)), part.labels).backward()
            optimizer.step()
            schedule.step()
        held = accuracy(net, split.held, scaled)
        if held > best:
            chosen, best, kept = epoch, held, copy.deepcopy(net.state_dict())
    seconds = time.process_time() - start
    net.load_state_dict(kept)
    return Outcome(chosen, best, accuracy(net, split.test, scaled) if test else None, seconds)


def _schedule(
    optimizer: torch.optim.Optimizer, steps: int, share: float
) -> torch.optim.lr_scheduler.LambdaLR:
    warm = max(1, round(share * steps))
    return torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1, (step + 1) / warm) * (1 + math.cos(math.pi * min(1, step / steps))) / 2,
    )


def _flipped(pixels: Tensor, generator: torch.Generator) -> Tensor:
    coin = torch.rand(len(pixels), 1, 1, 1, generator=generator) < 0.5
    return torch.where(coin, pixels.flip(-1), pixels)
