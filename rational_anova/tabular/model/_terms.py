"""Terms: a main effect or a pair at one resolution, linear in its numerators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..._core.types import Array
from ._bases import Basis, Heads

CHUNK = 4096  # rows whose columns are in memory at a time


@dataclass(frozen=True)
class Term:
    """Functions of one input, or products of functions of two.

    Args:
        axes: the input, or the two.
        bases: one for each axis.
    """

    axes: tuple[int, ...]
    bases: tuple[Basis, ...]

    @property
    def size(self) -> int:
        """How many columns there are."""
        return int(np.prod([basis.size for basis in self.bases]))


@dataclass(frozen=True)
class Rows:
    """Encoded rows: numbers (NaN where missing) and codes of levels, a column for each input.

    Args:
        values: (rows, inputs).
        target_encoded: for categories of many levels, the numbers that stand for a row's level and
            were found without that row; only while fitting.
    """

    values: Array
    target_encoded: dict[int, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Array | slice) -> Rows:
        return Rows(self.values[rows], {i: c[rows] for i, c in self.target_encoded.items()})

    def chunks(self, size: int = CHUNK) -> Iterator[tuple[slice, Rows]]:
        """Yield the rows piece by piece."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield part, self[part]

    def coordinate(self, axis: int, heads: Heads) -> Array:
        """Return what heads see of an input."""
        if heads.values is not None and axis in self.target_encoded:
            return self.target_encoded[axis]
        return heads.coordinate(self.values[:, axis])

    def basis(self, axis: int, basis: Basis) -> Array:
        """Return the functions of a basis at an input, (rows, size)."""
        if isinstance(basis, Heads):
            return basis.of(self.coordinate(axis, basis))
        return basis.at(self.values[:, axis])


def columns(term: Term, rows: Rows) -> Array:
    """Return the columns of a term, (rows, size)."""
    parts = [rows.basis(i, basis) for i, basis in zip(term.axes, term.bases, strict=True)]
    if len(parts) == 1:
        return parts[0]
    product = parts[0][:, :, None] * parts[1][:, None, :]
    return product.reshape(len(rows), term.size)


def value(term: Term, rows: Rows, numerators: Array) -> Array:
    """Return a term at rows for numerators (size, outputs), without its columns."""
    parts = [rows.basis(i, basis) for i, basis in zip(term.axes, term.bases, strict=True)]
    if len(parts) == 1:
        return parts[0] @ numerators
    first, second = (basis.size for basis in term.bases)
    outputs = numerators.shape[1]
    inner = parts[1] @ numerators.reshape(first, second, outputs).transpose(1, 0, 2).reshape(
        second, first * outputs
    )
    return np.einsum("na,nak->nk", parts[0], inner.reshape(len(rows), first, outputs))


def design(terms: Sequence[Term], rows: Rows) -> Array:
    """Return the columns of all terms, after a column of ones."""
    total = 1 + sum(term.size for term in terms)
    result = np.empty((len(rows), total))
    result[:, 0] = 1
    at = 1
    for term in terms:
        result[:, at : at + term.size] = columns(term, rows)
        at += term.size
    return result


def groups(terms: Sequence[Term]) -> Array:
    """Return the term of each column of the design; -1 for the ones."""
    sizes = [1, *(term.size for term in terms)]
    return np.repeat(np.arange(-1, len(terms)), sizes)
