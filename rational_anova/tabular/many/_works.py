"""The sums that passes take over blocks of rows: of levels, of cells of pairs, Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._core.types import Array
from ..fit import Loss
from ..model import Additive, LevelSums, Spread, Term, design, level_sums
from ._data import Encoder
from ._engines import Chunks
from ._scan import Given, Scan
from ._sums import Encoded, Partial, Sums, Work, collect, merged, on_grid

PIECE = 1024  # rows whose columns are in the cache at a time
CELLS = 24  # bins of each input; one more for what is missing
COARSER = (3, 6, 8, 12, 24)  # tables that are made of them


@dataclass(frozen=True)
class Scanning:
    """The first pass, as a job."""

    given: Given
    seed: int

    def over(self, chunks: Chunks, start: int) -> Scan:
        """Return what the rows give."""
        return Scan(self.given, self.seed).over(chunks, start)

    def merge(self, one: Scan, other: Scan) -> Scan:
        """Return what both give; `one` is used up."""
        return one.merge(other)


@dataclass(frozen=True)
class Summing:
    """A pass that sums over blocks, as a job."""

    encoder: Encoder
    work: Work

    def over(self, chunks: Chunks, start: int) -> Partial:
        """Return the sums of the rows."""
        return collect(self.encoder.encoded(chunks, start), self.work)

    def merge(self, one: Partial, other: Partial) -> Partial:
        """Return the sums of both."""
        return merged(one, other)


@dataclass(frozen=True)
class OfLevels:
    """Sums of targets over the levels of categories: counts and totals of each."""

    encoder: Encoder
    inputs: list[int]
    unit: float

    def __call__(self, block: Encoded) -> Sums:
        found = []
        for i in self.inputs:
            feature = self.encoder.features[i]
            sums = level_sums(feature, block.values[:, i], block.y, block.weight, block.fold)
            found += [on_grid(sums.counts, self.unit), on_grid(sums.totals, self.unit)]
        return found

    def levels(self, sums: Sums) -> dict[int, LevelSums]:
        """Return the sums by input."""
        return {i: LevelSums(*sums[2 * k : 2 * k + 2]) for k, i in enumerate(self.inputs)}


def edges_of(spread: Spread) -> Array:
    """Return the borders of the bins of an input: quantiles."""
    if not len(spread.levels):
        return np.zeros(0)
    edges = np.unique(spread.quantiles(np.linspace(0, 1, CELLS + 1)[1:-1]))
    return np.asarray(edges[edges > spread.levels[0]])  # a bin starts at its edge


@dataclass(frozen=True)
class OfCells:
    """Sums of the residual over the cells of pairs, in both halves of the rows.

    Args:
        model: whose residual it is.
        loss: that the model was fitted for.
        shift: of the fitted targets' scale.
        edges: of the bins of each input.
        pairs: of inputs.
        unit: of the grid.
    """

    model: Additive
    loss: Loss
    edges: list[Array]
    pairs: list[tuple[int, int]]
    unit: float

    def __call__(self, block: Encoded) -> Sums:
        f = self.model.decision(block.rows)
        codes = [self._codes(i, block) for i in range(len(self.edges))]
        size, half = 2 * (CELLS + 1) ** 2, (CELLS + 1) ** 2 * (block.fold % 2)
        first = [(CELLS + 1) * code + half for code in codes]
        found = np.empty((2, len(self.pairs), f.shape[1], size))
        for k in range(f.shape[1]):
            r, h = self.loss.working(block.y, f, k)
            w = h * block.weight
            for n, (i, j) in enumerate(self.pairs):
                cell = first[i] + codes[j]
                found[0, n, k] = np.bincount(cell, w * r, size)
                found[1, n, k] = np.bincount(cell, w, size)
        return [on_grid(found, self.unit)]

    def _codes(self, i: int, block: Encoded) -> Array:
        feature = self.model.features[i]
        x = block.values[:, i]
        if not feature.category:
            x = feature.seen(x)
        elif i in block.coded:
            x = block.coded[i]
        else:
            assert feature.values is not None
            x = feature.values[x.astype(int)]
        code = np.searchsorted(self.edges[i], x, side="right")
        code[np.isnan(x)] = CELLS
        return code

    def tables(self, sums: Sums) -> dict[tuple[int, int], dict[int, tuple[Array, Array]]]:
        """Return sums of residuals and weights of each pair by bins, (outputs, halves, cells)."""
        shape = (sums[0].shape[2], 2, CELLS + 1, CELLS + 1)
        result: dict[tuple[int, int], dict[int, Any]] = {}
        for n, pair in enumerate(self.pairs):
            both = [array[n].reshape(shape) for array in sums[0]]
            ends = [len(self.edges[i]) + 1 for i in pair]
            result[pair] = {count: tuple(_coarser(a, count, ends) for a in both) for count in COARSER}
        return result


def _coarser(cells: Array, count: int, ends: list[int]) -> Array:
    """Return the sums over fewer bins of each input; what is missing stays apart."""
    for axis, end in zip((2, 3), ends, strict=True):
        starts = np.unique(np.ceil(np.arange(min(count, end)) * end / min(count, end)).astype(int))
        cells = np.add.reduceat(cells, [*starts, *([CELLS] if end <= CELLS else [])], axis)
    return cells.reshape(*cells.shape[:2], -1)


@dataclass(frozen=True)
class OfColumns:
    """Gram matrices of the scaled columns of terms, one for each output.

    Args:
        terms: of the model.
        mean: that is taken off each column.
        scale: by which each is divided.
        loss: for which the model is fitted.
        theta: coefficients whose decision the loss is expanded about, (columns, outputs).
        single: whether products are taken in single precision.
        unit: of the grid.
    """

    terms: list[Term]
    mean: Array
    scale: Array
    loss: Loss
    theta: Array | None
    single: bool
    unit: float

    def __call__(self, block: Encoded) -> Sums:
        outputs = block.y.shape[1]
        kind = np.float32 if self.single else np.float64
        phi = np.empty((len(block), len(self.mean)), kind)
        f = np.zeros((len(block), outputs))
        moments = np.zeros((outputs, len(self.mean)))
        squares = np.zeros(outputs)
        weights = np.empty((outputs, len(block)))
        for at in range(0, len(block), PIECE):
            part = slice(at, at + PIECE)
            columns = design(self.terms, block.rows[part])
            columns -= self.mean
            columns /= self.scale
            if self.theta is not None:
                f[part] = columns @ self.theta
            for k in range(outputs):
                if self.theta is None:
                    target, h = block.y[part, k], np.ones(len(columns))
                else:
                    r, h = self.loss.working(block.y[part], f[part], k)
                    target = f[part, k] + r
                weights[k, part] = h = h * block.weight[part]
                moments[k] += (h * target) @ columns
                squares[k] += h @ target**2
            phi[part] = columns
        value = 0.0
        if self.theta is not None:
            value = self.loss.mean(block.y, f, block.weight) if block.weight.any() else 0.0
        value *= block.weight.sum()
        grams = np.empty((outputs, len(self.mean), len(self.mean)), kind)
        for k in range(outputs):
            weighted = phi * np.sqrt(weights[k])[:, None].astype(kind)
            grams[k] = weighted.T @ weighted
        rest = np.array([value, block.weight.sum()])
        return [on_grid(a, self.unit) for a in (grams.astype(np.float64), moments, squares, rest)]


