"""The sums that passes take over blocks of rows: of levels, of cells of pairs, Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ..fit import Gains, Loss, Pair, gain_of
from ..model import Feature, LevelSums, Spread, level_sums
from ._data import Encoder
from ._engines import Chunks
from ._panel import Panel, room
from ._scan import Given, Scan
from ._sums import Encoded, Partial, Sums, Work, added, collect, merged, on_grid

CELLS = 24  # bins of each input; one more for what is missing
COARSER = {3: 3, 5: 5, 8: 8, 12: 12, 27: 24}  # tables that stand for those of the screening
WORTH = 16  # numerators of the coarsest grid of a pair: what so many gain of noise is no gain
SWEEPS = 20  # of the fit of two curves to a table
SINGLE = 200_000  # rows from which products are taken in single precision


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

    def __call__(self, block: Encoded, before: Sums | None = None) -> Sums:
        found = []
        for i in self.inputs:
            feature = self.encoder.features[i]
            sums = level_sums(feature, block.values[:, i], block.y, block.weight, block.fold)
            found += [on_grid(sums.counts, self.unit), on_grid(sums.totals, self.unit)]
        return added(before, found)

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
        features: the inputs.
        panel: of the main effects.
        theta: their coefficients, (columns, outputs).
        loss: that they were fitted for.
        edges: of the bins of each input.
        pairs: of inputs.
        unit: of the grid.
    """

    features: list[Feature]
    panel: Panel
    theta: Array
    loss: Loss
    edges: list[Array]
    pairs: list[Pair]
    unit: float

    def __call__(self, block: Encoded, before: Sums | None = None) -> Sums:
        shape = (len(self.panel), len(block))
        phi = self.panel.at(block.rows, room("panel", shape, np.float32))
        f = (self.theta.T.astype(np.float32) @ phi).T
        f = f.astype(np.float64)
        inputs = {i for pair in self.pairs for i in pair}
        codes = {i: self._codes(i, block) for i in inputs}
        size, half = 2 * (CELLS + 1) ** 2, (CELLS + 1) ** 2 * (block.fold % 2)
        first = {i: (CELLS + 1) * code + half for i, code in codes.items()}
        found = np.empty((2, len(self.pairs), f.shape[1], size))
        for k in range(f.shape[1]):
            r, h = self.loss.working(block.y, f, k)
            w = h * block.weight
            wr = w * r
            for n, (i, j) in enumerate(self.pairs):
                cell = first[i] + codes[j]
                found[0, n, k] = np.bincount(cell, wr, size)
                found[1, n, k] = np.bincount(cell, w, size)
        weight = np.array([block.weight.sum()])
        return added(before, [on_grid(found, self.unit), on_grid(weight, self.unit)])

    def _codes(self, i: int, block: Encoded) -> Array:
        feature = self.features[i]
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

    def gains(self, sums: Sums, noise: float) -> Gains:
        """Return the gain of each pair at each number of bins, of those that have one.

        Args:
            sums: over all rows.
            noise: variance of the residual (1 for classes).
        """
        shape = (sums[0].shape[2], 2, CELLS + 1, CELLS + 1)
        result: Gains = {}
        for n, pair in enumerate(self.pairs):
            rests, counts = (array[n].reshape(shape) for array in sums[0])
            rests = _without_curves(rests, counts)
            total = counts.sum((1, 2, 3))
            ends = [len(self.edges[i]) + 1 for i in pair]
            found = {
                name: gain_of(
                    _coarser(rests, count, ends), _coarser(counts, count, ends), total / sums[1][0]
                )
                for name, count in COARSER.items()
            }
            if max(found.values()) > WORTH * noise / total.sum():
                result[pair] = found
        return result


def _without_curves(rests: Array, counts: Array) -> Array:
    """Return sums of the residual less those of a curve of either input.

    The main effects were fitted to a part of the rows: what they lack is nothing of the pair.
    """
    rest, count = rests.sum(1), counts.sum(1)
    first, second = (np.zeros((*rest.shape[:1], CELLS + 1)) for _ in range(2))
    across, down = (np.maximum(count.sum(axis), 1e-300) for axis in (2, 1))
    for _ in range(SWEEPS):
        first = (rest - count * second[:, None, :]).sum(2) / across
        second = (rest - count * first[:, :, None]).sum(1) / down
    curves = first[:, :, None] + second[:, None, :]
    return np.asarray(rests - counts * curves[:, None])


def _coarser(cells: Array, count: int, ends: list[int]) -> Array:
    """Return the sums over fewer bins of each input; what is missing stays apart."""
    for axis, end in zip((2, 3), ends, strict=True):
        starts = np.unique(np.ceil(np.arange(min(count, end)) * end / min(count, end)).astype(int))
        cells = np.add.reduceat(cells, [*starts, *([CELLS] if end <= CELLS else [])], axis)
    return cells.reshape(*cells.shape[:2], -1)


@dataclass(frozen=True)
class OfColumns:
    """Gram matrices of the scaled columns of terms, expanded about a decision, for each output.

    The last line and column of each matrix are those of the working residual. In single precision
    rounding touches what the decision leaves over, not the decision itself.

    Args:
        panel: the columns.
        loss: for which the model is fitted.
        theta: coefficients of the decision, (columns, outputs).
        single: whether products are taken in single precision.
        unit: of the grid.
    """

    panel: Panel
    loss: Loss
    theta: Array
    single: bool
    unit: float

    def __call__(self, block: Encoded, before: Sums | None = None) -> Sums:
        kind = np.float32 if self.single else np.float64
        size = len(self.panel) + 1
        phi = self.panel.at(block.rows, room("panel", (size, len(block)), kind))
        own, weight = phi[:-1], block.weight
        f = (self.theta.T.astype(kind) @ own).T.astype(np.float64)
        sums = on_grid(self._plain(own, weight), self.unit)
        if before is None:
            before = [np.zeros((f.shape[1], size, size)), np.zeros_like(sums), np.zeros(2)]
        for k in range(f.shape[1]):
            r, h = self.loss.working(block.y, f, k)
            phi[-1] = r
            weighted = phi
            if self.loss.fixed_noise is not None or (weight != 1).any():
                root = np.sqrt(h * weight).astype(kind)
                weighted = np.multiply(phi, root, out=room("weighted", phi.shape, kind))
            gram = np.matmul(weighted, weighted.T, out=room("gram", (size, size), kind))
            for some in range(0, size, 32):  # a few lines at a time stay in the cache
                part = slice(some, some + 32)
                before[0][k, part] += on_grid(gram[part].astype(np.float64), self.unit)
        before[1] += sums
        value = self.loss.mean(block.y, f, weight) * weight.sum() if weight.any() else 0.0
        before[2] += on_grid(np.array([value, weight.sum()]), self.unit)
        return before

    def _plain(self, own: Array, weight: Array) -> Array:
        """Return sums of the columns and of their squares, by the weights of the rows alone."""
        if self.loss.fixed_noise is None:  # they stand in the Gram matrix
            return np.zeros((2, 0))
        weight = weight.astype(own.dtype)
        return np.stack([own @ weight, np.square(own) @ weight]).astype(np.float64)
