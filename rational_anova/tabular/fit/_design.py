"""The columns of all terms at all rows: piece by piece, scaled to mean zero and variance one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..._core.types import Array
from ..model import Rows, Term, design, groups, in_order

KEPT = 30_000_000  # numbers up to which the columns stay in memory
_CHUNK = 1 << 23  # numbers in a piece
SINGLE = 200_000  # rows from which products are taken in single precision


class Design:
    """Scaled columns of terms at rows; memory does not grow with the rows past a limit.

    Args:
        terms: of the model.
        rows: of the data.
        weight: of each row.

    Attributes:
        mean: of each column; the first column, of ones, keeps mean 0 and scale 1.
        scale: of each column.
        group: the term of each column, -1 for the ones.
        main: whether each term is a main effect.
    """

    def __init__(self, terms: Sequence[Term], rows: Rows, weight: Array) -> None:
        self.terms, self.rows, self.weight = terms, rows, weight
        self.group = groups(terms)
        self.main = np.array([len(term.axes) == 1 for term in terms], dtype=bool)
        self.chunk = max(_CHUNK // len(self.group), 256)
        keep = len(rows) * len(self.group) <= KEPT
        self._kept = design(terms, rows) if keep else None
        self._measure()
        if self._kept is not None:
            self._kept -= self.mean
            self._kept /= self.scale

    def _raw(self) -> Iterator[tuple[slice, Array]]:
        if self._kept is not None:
            yield slice(None), self._kept
            return
        for part, rows in self.rows.chunks(self.chunk):
            yield part, design(self.terms, rows)

    def _measure(self) -> None:
        total = self.weight.sum()
        size = len(self.group)
        first = next(self._raw())[1]
        pilot = first.mean(0)  # against cancellation in the variance
        mean, square = np.zeros(size), np.zeros(size)
        for part, phi in self._raw():
            away = phi - pilot
            mean += self.weight[part] @ away
            square += self.weight[part] @ np.square(away, out=away)
        mean /= total
        self.mean = pilot + mean
        self.scale = np.sqrt(np.maximum(square / total - mean**2, 0)) + 1e-9
        self.mean[0], self.scale[0] = 0, 1

    def chunks(self) -> Iterator[tuple[slice, Array]]:
        """Yield scaled columns piece by piece; they must not be changed."""
        if self._kept is not None:
            yield slice(None), self._kept
            return
        for part, phi in self._raw():
            phi -= self.mean
            phi /= self.scale
            yield part, phi

    def gram(self, weight: Array, target: Array) -> tuple[Array, Array, float]:
        """Return Phi' W Phi, Phi' W t and t' W t."""
        size = len(self.group)
        gram, moment = np.zeros((size, size)), np.zeros(size)
        root = np.sqrt(weight)
        # So many rows leave errors of single precision, within a piece, far below the noise.
        single = len(self.rows) > SINGLE

        def products(rows: tuple[slice, Array]) -> tuple[Array, Array]:
            part, phi = rows
            piece = phi * root[part, None]
            moment = piece.T @ (target[part] * root[part])
            piece = piece.astype(np.float32) if single else piece
            return piece.T @ piece, moment

        for square, product in in_order(products, self._pieces()):
            gram += square
            moment += product
        return gram, moment, float(weight @ target**2)

    def _pieces(self) -> Iterator[tuple[slice, Array]]:
        """Yield scaled columns in pieces of `chunk` rows."""
        if self._kept is None:
            yield from self.chunks()
            return
        for at in range(0, len(self.rows), self.chunk):
            part = slice(at, at + self.chunk)
            yield part, self._kept[part]

    def apply(self, theta: Array) -> Array:
        """Return Phi theta."""
        result = np.empty((len(self.rows), *theta.shape[1:]))
        for part, phi in self.chunks():
            result[part] = phi @ theta
        return result
