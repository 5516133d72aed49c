"""Purified effects of a `RAN`: curves, surfaces and shares of the variance.

Inputs count as independent, each distributed as in the data, by equally likely quantiles. What a
pair has on average over one input belongs to the main effect of the other; what is left has mean
zero along both, so all effects are orthogonal and their variances add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .. import functional as F
from ..units import RationalUnit

if TYPE_CHECKING:
    from ._ran import RAN

_QUANTILES = 64


class Effects:
    """The effects of the inputs on one output.

    Args:
        model: a network.
        x: (rows, features), float64.
        output: which output.

    Attributes:
        mains: share of the variance for each input.
        pairs: share of the variance for each pair of the topology, by pair.
        spread: standard deviation of the sum of all effects.
    """

    def __init__(self, model: RAN, x: Tensor, output: int) -> None:
        self.model, self.x, self.output = model, x, output
        levels = (torch.arange(_QUANTILES, dtype=torch.float64) + 0.5) / _QUANTILES
        self.points = torch.quantile(_thin(x), levels, dim=0, interpolation="nearest")
        self.means: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, float]] = {}
        pairs = {}
        for pair in model.topology.pairs:
            grid = self._pair(pair, self.points[:, pair[0]], self.points[:, pair[1]])
            rows, columns, mean = grid.mean(1), grid.mean(0), float(grid.mean())
            self.means[pair] = rows, columns, mean
            pairs[pair] = float(np.var(grid - rows[:, None] - columns[None, :]))
        mains = np.array(
            [float(np.var(self.main(n, self.points[:, n]))) for n in range(model.in_features)]
        )
        total = float(mains.sum() + sum(pairs.values()))
        self.spread = total**0.5
        scale = 1 / total if total > 0 else 0.0
        self.mains = mains * scale
        self.pairs = {pair: variance * scale for pair, variance in pairs.items()}

    def main(self, n: int, at: Tensor) -> np.ndarray:
        """Return the main effect of input n, centred, at some values of it."""
        return self._raw_main(n, at) - float(self._raw_main(n, self.points[:, n]).mean())

    def pair(self, pair: tuple[int, int], u: Tensor, v: Tensor) -> np.ndarray:
        """Return a pair effect without what belongs to its main effects, (len(u), len(v))."""
        first, second = (self.points[:, n] for n in pair)
        rows = self._pair(pair, u, second).mean(1)
        columns = self._pair(pair, first, v).mean(0)
        return self._pair(pair, u, v) - rows[:, None] - columns[None, :] + self.means[pair][2]

    def _raw_main(self, n: int, at: Tensor) -> np.ndarray:
        total = np.zeros(len(at))
        mains = self.model.topology.mains
        if self.model.main is not None and n in mains:
            total += self._unit(self.model.main, mains.index(n), at[:, None])
        for pair in self.model.topology.pairs:
            if pair[0] == n:
                total += self._pair(pair, at, self.points[:, pair[1]]).mean(1)
            elif pair[1] == n:
                total += self._pair(pair, self.points[:, pair[0]], at).mean(0)
        return total

    def _pair(self, pair: tuple[int, int], u: Tensor, v: Tensor) -> np.ndarray:
        unit = self.model.pair
        assert unit is not None
        rows = torch.cartesian_prod(u, v)
        place = self.model.topology.pairs.index(pair)
        return self._unit(unit, place, rows).reshape(len(u), len(v))

    @torch.no_grad()
    def _unit(self, unit: RationalUnit, place: int, rows: Tensor) -> np.ndarray:
        """Return one unit at (n, variables), times its weight in the output."""
        one = slice(place, place + 1)
        top, bottom = (p.detach().double().cpu()[..., one].contiguous()
                       for p in (unit.numerator, unit.denominator))  # fmt: skip
        gate = None if unit.gate is None else unit.gate.detach().double().cpu()[one]
        pairs = torch.tensor([[0], [1]]) if rows.shape[1] == 2 else None
        value = F.apply(rows, top, bottom, gate, pairs, unit.form, -1)[:, 0]
        head = self.model.head
        if head is not None:
            shift = self.model.topology.num_mains if unit is self.model.pair else 0
            value = value * float(head.weight[self.output, shift + place])
        result: np.ndarray = value.numpy()
        if not np.isfinite(result).all():
            raise ValueError(
                "a term is not finite within the range of the data: it has a pole there; "
                "plot_anova(X, mode='poles') shows where"
            )
        return result


def _thin(x: Tensor, most: int = 100_000) -> Tensor:
    """Return an even selection of the rows, since quantiles need no more."""
    return x[:: -(-len(x) // most)]
