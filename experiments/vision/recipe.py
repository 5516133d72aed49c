"""A recipe as it stands in its TOML, and the networks that it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from torch import nn

import rational_anova as ra
from experiments.results import read_config
from rational_anova.budgets import IMAGE_FAMILIES

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
CLASSES = 10
_RADII = (2, 3, 4, 5, 6, 8)


@dataclass(frozen=True)
class Training:
    """What is the same for all models."""

    epochs: int
    batch: int
    held: float
    warmup: float
    weight_decay: float
    seeds: int


@dataclass(frozen=True)
class Data:
    """A set of images: its shape, the budgets, and how images are changed in training."""

    shape: tuple[int, int, int]
    budgets: tuple[int, ...]
    flip: bool

    @property
    def planes(self) -> str:
        """Which of a model's rates holds."""
        return "grey" if self.shape[0] == 1 else "colour"


class Buildable(Protocol):
    """Anything that `accuracy` can train."""

    @property
    def rates(self) -> Mapping[str, float]:
        """The learning rate for grey and for colour."""

    @property
    def flat(self) -> bool:
        """Whether images go in as rows of numbers."""

    def build(
        self, budget: int, shape: tuple[int, int, int], inputs: tuple[float, float]
    ) -> nn.Module:
        """Return the network whose number of parameters is nearest to the budget."""


@dataclass(frozen=True)
class Model:
    """A family with its settings.

    Attributes:
        family: of `match_budget`.
        rates: learning rates for grey and for colour.
        settings: further keyword arguments of the network.
        matched: what `match_budget` keeps.
        radius: in pixels, within which pairs are drawn; None for pairs of any two.
        embedding: share of the budget for nodes behind a linear map; None if pixels are nodes.
    """

    family: str
    rates: Mapping[str, float]
    settings: dict[str, Any] = field(default_factory=dict)
    matched: dict[str, Any] = field(default_factory=dict)
    radius: float | None = None
    embedding: float | None = None

    @property
    def flat(self) -> bool:
        """Whether images go in as rows of numbers."""
        return self.family not in IMAGE_FAMILIES

    def build(
        self, budget: int, shape: tuple[int, int, int], inputs: tuple[float, float]
    ) -> nn.Module:
        """Return the network whose number of parameters is nearest to the budget.

        Args:
            budget: number of parameters.
            shape: channels, height and width.
            inputs: least and largest value of a pixel, where the splines of a KAN live.
        """
        channels, height, width = shape
        features = channels * height * width if self.flat else channels
        fixed = dict(self.matched)
        if self.embedding is not None:
            a_node = features + 1 + 2 * 9 + CLASSES  # its map, two units with norms, the head
            fixed["width"] = round(self.embedding * budget / a_node)
        found = ra.match_budget(budget, self.family, features, CLASSES, **fixed)
        changes = dict(self.settings)
        if self.family == "KAN":
            changes["grid_range"] = inputs
        if self.radius is not None:
            changes["topology"] = local(shape, found.arguments["topology"], self.radius)
        return found.build(**changes)


def local(shape: tuple[int, int, int], count: int, radius: float) -> ra.Topology:
    """Return `count` pairs of pixels within the radius, or the next one that has so many."""
    channels, height, width = shape
    for reach in (radius, *(r for r in _RADII if r > radius)):
        if ra.Topology.grid(height, width, channels, reach).num_pairs >= count:
            return ra.Topology.grid(height, width, channels, reach, size=count)
    raise ValueError(f"{count} pairs are more than there are within {_RADII[-1]} pixels")


@dataclass(frozen=True)
class Recipe:
    """All of it."""

    training: Training
    data: dict[str, Data]
    models: Mapping[str, Buildable]


def read(name: str = "accuracy") -> Recipe:
    """Return the recipe of a file in this folder."""
    given = read_config(FOLDER / f"{name}.toml")
    data = {
        name: Data(tuple(each["shape"]), tuple(each["budgets"]), each["flip"])
        for name, each in given["data"].items()
    }
    models = {name: Model(**each) for name, each in given["models"].items()}
    return Recipe(Training(**given["training"]), data, models)


def parameters(net: nn.Module) -> int:
    """Return the count that is matched: that of a KAN has its masks, as KANbeFair counts them."""
    return ra.count_parameters(net, trainable=False)
