"""Dense or sparse, ReLU or rational: the paper's four cells on CIFAR-10 (Sec. 5.4, Table 3).

Each cell has a million parameters:

- dense: two equal hidden layers, ReLU or `Rational1d` behind each;
- sparse: the paper's two blocks on the pixels, random pairs; units of nodes and pairs are ReLU (a
  pair sees two linear inputs, and there are more pairs) or rational;
- local: the same with pairs of neighbours.

The recipe is that of experiments.vision.accuracy, but each cell is trained at two rates, and
held-out images choose: units of dense layers, whose inputs grow without a norm, fail at the higher.
Needs RAN_DATA (--smoke does not).

python -m experiments.vision.ablation [--models ...] [--seeds 0 1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod, sqrt

import torch
from torch import Tensor, nn

import rational_anova as ra
from experiments.tabular.ablation import ReluPairs
from experiments.vision import recipe
from experiments.vision.accuracy import parser_of, record
from experiments.vision.recipe import CLASSES, Recipe, local
from rational_anova.networks import MessageBlock

EPOCHS, RADIUS, NOISE, BLOCKS = 5, 3.0, 0.1, 2


@dataclass(frozen=True)
class Cell:
    """One of the cells: which pairs, if any, and which units."""

    pairs: str | None
    rational: bool
    rates: Mapping[str, float]
    flat: bool = True

    def build(
        self, budget: int, shape: tuple[int, int, int], inputs: tuple[float, float]
    ) -> nn.Module:
        """Return the network whose number of parameters is nearest to the budget."""
        if self.pairs is None:
            return dense(budget, prod(shape), self.rational)
        return sparse(budget, shape, self.pairs == "local", self.rational)


def dense(budget: int, inputs: int, rational: bool) -> nn.Module:
    """Return two equal hidden layers, of the width that is nearest to the budget."""
    own = 2 * (7 if rational else 0) + inputs + 2 + CLASSES  # units, weights in and out, biases
    width = round((sqrt(own**2 + 4 * (budget - CLASSES)) - own) / 2)
    net = ra.MLP(inputs, CLASSES, (width, width), "relu")
    if rational:
        for at in (1, 3):
            net.layers[at] = ra.Rational1d(width, base="relu", denominator="square", noise=NOISE)
    return net


class GatheredPairs(ReluPairs):
    """The same by gathering: a matrix with the zeros of 3072 nodes would be too large."""

    def forward(self, z: Tensor) -> Tensor:
        """Return the messages (..., pairs)."""
        one, other = (z.index_select(-1, end) for end in self.ends)
        return torch.relu(one * self.weight[0] + other * self.weight[1] + self.weight[2])


def sparse(budget: int, shape: tuple[int, int, int], near: bool, rational: bool) -> nn.Module:
    """Return the paper's two blocks on the pixels, as many pairs as the budget has room for."""
    inputs = prod(shape)
    found = ra.match_budget(budget, "DeepRAN", inputs, CLASSES, blocks=BLOCKS)
    count = found.arguments["topology"]
    if not rational:
        fixed = BLOCKS * (2 * inputs + 1) + CLASSES * (inputs + 1)
        count = round((budget - fixed) / (4 * BLOCKS + CLASSES))
    topology = local(shape, count, RADIUS) if near else ra.Topology.random(inputs, count)
    if rational:
        return found.build(topology=topology, denominator="square", noise=NOISE)
    net = ra.DeepRAN(inputs, CLASSES, blocks=BLOCKS, topology=topology, unit=_relu)
    for at in range(BLOCKS):
        block = MessageBlock(topology, _relu, GatheredPairs)
        with torch.no_grad():  # what ReLU sends is positive; half of it is taken off at the start
            block.weight *= torch.randint(0, 2, (count,)) * 2 - 1
        net.blocks[at] = block
    return net


def _relu(nodes: int) -> nn.Module:
    return nn.ReLU()


CELLS = {
    "dense ReLU": (None, False), "dense rational": (None, True),
    "sparse rational": ("random", True), "local rational": ("local", True),
    "sparse ReLU": ("random", False), "local ReLU": ("local", False),
}  # fmt: skip
RATES = {"": 4e-3, " at 1e-3": 1e-3}  # what is added to a cell's name, and the rate


def runs() -> dict[str, Cell]:
    """Return all cells at all rates by name."""
    return {
        f"{name}{said}": Cell(*cell, {"grey": rate, "colour": rate})
        for said, rate in RATES.items()
        for name, cell in CELLS.items()
    }


def main() -> None:
    given = recipe.read()
    data = {"cifar10": replace(given.data["cifar10"], budgets=(1_000_000,))}
    training = replace(given.training, epochs=EPOCHS)
    record("ablation", Recipe(training, data, runs()), parser_of(__doc__).parse_args())


if __name__ == "__main__":
    main()
