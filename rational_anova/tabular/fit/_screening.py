"""Which inputs and pairs have more to say: tables of cell means, judged on the other rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..._core.types import Array
from ..model import Spread

Pair = tuple[int, int]
Gains = dict[Pair, dict[int, float]]  # of each pair at each number of bins

COARSE, FINE = (3, 5, 8), (12, 18, 27)  # bins of each input
PRIOR = 3.0  # rows of mean zero that each cell starts with
COPY = 0.9995  # rank correlation above which an input is a copy of another


@dataclass(frozen=True)
class Residual:
    """What a fit leaves over.

    Args:
        r: residuals, (rows, outputs).
        weight: (rows, outputs).
        fold: the half of each row.
        unit: weight of an average row, for each output.
    """

    r: Array
    weight: Array
    fold: Array
    unit: Array

    def gain(self, code: Array, cells: int) -> float:
        """Return how much cell means of one half explain of the other half, both ways."""
        total = 0.0
        code = code + cells * self.fold
        a, b = slice(0, cells), slice(cells, None)
        for k in range(self.r.shape[1]):
            w = self.weight[:, k]
            sums = np.bincount(code, w * self.r[:, k], 2 * cells)
            counts = np.bincount(code, w, 2 * cells)
            mean = sums / (counts + PRIOR * self.unit[k])
            total += 2 * (sums[b] @ mean[a] + sums[a] @ mean[b])
            total -= counts[b] @ mean[a] ** 2 + counts[a] @ mean[b] ** 2
        return float(total / self.weight.sum())


def bins(x: Array, spread: Spread, count: int) -> tuple[Array, int]:
    """Return the bin of each row by quantiles, and how many bins; missing is a bin of its own."""
    gaps = np.isnan(x)
    if not len(spread.levels):
        return np.zeros(len(x), int), 1
    edges = np.unique(spread.quantiles(np.linspace(0, 1, count + 1)[1:-1]))
    edges = edges[edges > spread.levels[0]]  # a bin starts at its edge
    code = np.searchsorted(edges, x, side="right")
    code[gaps] = len(edges) + 1
    return code, len(edges) + 1 + bool(gaps.any())


def pair_gains(
    coordinates: list[Array], spreads: list[Spread], residual: Residual, most: int,
    allowed: Iterable[Pair] | None = None,
) -> Gains:  # fmt: skip
    """Return the gain of each pair at each number of bins.

    Args:
        coordinates: of each input, numbers.
        spreads: of the coordinates.
        residual: of the fit so far.
        most: pairs that will be used; only for the best few times as many finer bins are tried.
        allowed: the pairs that may be used; None for all.
    """
    pairs = screened_pairs(coordinates, residual.weight[:, 0], allowed)
    gains: Gains = {pair: {} for pair in pairs}
    for count in COARSE + FINE:
        if count == FINE[0]:
            pairs = sorted(pairs, key=lambda p: -max(gains[p].values()))[: 4 * most]
        codes = [bins(x, spread, count) for x, spread in zip(coordinates, spreads, strict=True)]
        for i, j in pairs:
            (a, _), (b, across) = codes[i], codes[j]
            cells = codes[i][1] * across
            gains[i, j][count] = residual.gain(a * across + b, cells)
    return gains


def screened_pairs(
    coordinates: list[Array], weight: Array, allowed: Iterable[Pair] | None = None
) -> list[Pair]:
    """Return the pairs that may be used, without copies of inputs."""
    pairs = list(combinations(range(len(coordinates)), 2)) if allowed is None else list(allowed)
    copies = _copies(coordinates, weight)
    return [(i, j) for i, j in pairs if i not in copies and j not in copies]


def gain_of(sums: Array, counts: Array, unit: Array) -> float:
    """Return how much cell means of one half explain of the other half, both ways.

    Args:
        sums: of the residual, (outputs, halves, cells).
        counts: sums of the weights, as `sums`.
        unit: weight of an average row, for each output.
    """
    mean = sums / (counts + PRIOR * unit[:, None, None])
    other = mean[:, ::-1]
    return float((2 * sums * other - counts * other**2).sum() / counts.sum())


def _copies(coordinates: list[Array], weight: Array) -> set[int]:
    """Return inputs that are monotone copies of an earlier one: they bring no new pair."""
    ranks = []
    for x in coordinates:
        filled = np.where(np.isnan(x), np.nanmin(x, initial=0.0) - 1, x)
        order = np.unique(filled, return_inverse=True)[1].astype(float)
        order = (order - np.average(order, weights=weight)) * np.sqrt(weight)
        norm = np.linalg.norm(order)
        ranks.append(order / norm if norm else order)
    similar = np.abs(np.stack(ranks) @ np.stack(ranks).T)
    return {j for j in range(len(ranks)) if (similar[j, :j] > COPY).any()}
