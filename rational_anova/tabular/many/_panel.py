"""The scaled columns of terms at a block of rows, a column after the other in memory.

So each function is one loop over rows that lie together, and in single precision the columns of
8,192 rows stay in the cache. Coordinates are subtracted and divided in double precision first: a
date in seconds has no room in single.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._core.types import Array
from ..model import Basis, Heads, Rows, Term, groups


@dataclass(frozen=True)
class Panel:
    """Columns of terms, after a column of ones, less their mean and by their scale.

    Args:
        terms: of the model.
        mean: of each column, taken off; 0 for the ones.
        scale: by which each is divided; 1 for the ones.
    """

    terms: list[Term]
    mean: Array
    scale: Array
    group: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", groups(self.terms))

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def main(self) -> Array:
        """Whether each term is a main effect."""
        return np.array([len(term.axes) == 1 for term in self.terms], dtype=bool)

    def at(self, rows: Rows, result: Array) -> Array:
        """Write the columns to the first lines of (columns or more, rows), and return it."""
        kind = result.dtype
        result[0] = 1
        at = 1
        for term in self.terms:
            _write(term, rows, result[at : at + term.size])
            at += term.size
        mean, factor = self.mean.astype(kind), (1 / self.scale).astype(kind)
        own = result[: len(self)]
        for some in range(0, len(self), 32):  # a few at a time stay in the cache
            part = slice(some, some + 32)
            own[part] -= mean[part, None]
            own[part] *= factor[part, None]
        return result


_ROOM = threading.local()


def room(name: str, shape: tuple[int, ...], kind: Any) -> Array:
    """Return memory that this thread had before under the same name, whatever is in it.

    Fresh memory of this size comes from the system page by page, which may take longer than what it
    is needed for.
    """
    size = int(np.prod(shape))
    known: Array | None = getattr(_ROOM, name, None)
    if known is None or known.dtype != kind or len(known) < size:
        known = np.empty(size, kind)
        setattr(_ROOM, name, known)
    return known[:size].reshape(shape)


def rough(mean: Array, scale: Array, least: float = 0.01) -> tuple[Array, Array]:
    """Return means and scales that columns of other rows can be summed with.

    A column that hardly varies on a part of the rows may do so on all: it is not blown up.
    """
    return mean, np.where(scale < least, 1.0, scale)


def _write(term: Term, rows: Rows, out: Array) -> None:
    if len(term.axes) == 1:
        _functions(term.axes[0], term.bases[0], rows, out)
        return
    first, second = (
        _functions(i, basis, rows, np.empty((basis.size, len(rows)), out.dtype))
        for i, basis in zip(term.axes, term.bases, strict=True)
    )
    table = out.reshape(len(first), len(second), len(rows))
    for a, line in zip(first, table, strict=True):
        np.multiply(a, second, out=line)


def _functions(axis: int, basis: Basis, rows: Rows, out: Array) -> Array:
    """Write the functions of a basis, (size, rows)."""
    if not isinstance(basis, Heads):
        out[:] = basis.at(rows.values[:, axis]).T
        return out
    x = rows.coordinate(axis, basis)
    count = len(basis.centre)
    away = x - basis.centre[:, None]
    away *= (1 / basis.width)[:, None]
    u = away.astype(out.dtype, copy=False)
    phi = np.multiply(u, u, out=out[:count])
    phi += 1
    np.divide(1, phi, out=phi)
    if basis.odd:
        np.multiply(phi, u, out=out[count:])
    gaps = np.isnan(x)
    if gaps.any():
        out[:, gaps] = 0.0 if basis.fill is None else basis.fill[:, None]
    return out
