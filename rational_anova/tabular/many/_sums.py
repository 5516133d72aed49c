"""Sums over rows whose bits do not depend on who adds which rows, or in what order.

Two things change the last bits of a sum of floats: which rows go through one product of BLAS, and
the order in which the products are added. So rows are cut into blocks by their number in the whole
table, whatever chunks they come in; and the sum of a block is rounded to a grid so coarse that
adding any number of them is exact. Rows at the ends of a part, which make no whole block with
others of it, travel as they are.

The grid is 2^-44 of the largest sum there may be. Rounding 12,000 blocks (1e8 rows) to it changes a
sum by 2e-12 of that, which is far below the noise of any table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from typing import Protocol

import numpy as np

from ..._core.types import Array
from ..model import Rows, in_order

BLOCK = 8192  # rows
TOGETHER = 8  # blocks that one thread adds up at a time
SPARE = 8  # powers of two by which a sum may be larger than the weight of all rows

Sums = list[Array]


class Work(Protocol):
    """What is summed."""

    def __call__(self, block: Encoded, before: Sums | None = None) -> Sums:
        """Return the sums of a block, on the grid; added to those before it, which are used up."""
        ...


@dataclass(frozen=True)
class Encoded:
    """Rows as the model sees them.

    Args:
        start: number of the first row in the whole table.
        values: numbers and codes of levels, (rows, inputs).
        y: targets on the fitted scale, (rows, outputs).
        weight: of each row.
        fold: of each row, of `2 * CODE_FOLDS`.
        coded: what stands for the levels of crowded categories.
    """

    start: int
    values: Array
    y: Array
    weight: Array
    fold: Array
    coded: dict[int, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def rows(self) -> Rows:
        """What terms are evaluated on."""
        return Rows(self.values, self.coded)

    def __getitem__(self, part: slice) -> Encoded:
        start, stop, _ = part.indices(len(self))
        arrays = {name: getattr(self, name)[start:stop] for name in _ARRAYS}
        coded = {i: c[start:stop] for i, c in self.coded.items()}
        return Encoded(self.start + start, **arrays, coded=coded)

    @staticmethod
    def joined(some: list[Encoded]) -> Encoded:
        """Return rows that follow one another as one."""
        if len(some) == 1:
            return some[0]
        arrays = {name: np.concatenate([getattr(one, name) for one in some]) for name in _ARRAYS}
        coded = {i: np.concatenate([one.coded[i] for one in some]) for i in some[0].coded}
        return Encoded(some[0].start, **arrays, coded=coded)


_ARRAYS = [f.name for f in fields(Encoded) if f.name not in ("start", "coded")]


@dataclass
class Partial:
    """Sums over the whole blocks of some rows, and the rows of no whole block."""

    sums: Sums | None = None
    loose: list[Encoded] = field(default_factory=list)

    def add(self, sums: Sums) -> None:
        """Add the sums of a block, or of many; they are used up."""
        self.sums = added(self.sums, sums)


def collect(pieces: Iterable[Encoded], work: Work) -> Partial:
    """Return the sums of rows that follow one another, in pieces of any size."""
    found = Partial()
    for sums in in_order(partial(_several, work), _batches(_blocks(pieces, found.loose))):
        found.add(sums)
    return found


def _batches(blocks: Iterator[Encoded]) -> Iterator[list[Encoded]]:
    while some := list(islice(blocks, TOGETHER)):
        yield some


def _several(work: Work, blocks: list[Encoded]) -> Sums:
    sums: Sums | None = None
    for block in blocks:
        sums = work(block, sums)
    assert sums is not None
    return sums


def added(before: Sums | None, sums: Sums) -> Sums:
    """Return the sum of sums, in the place of the first."""
    if before is None:
        return sums
    for mine, more in zip(before, sums, strict=True):
        mine += more
    return before


def _blocks(pieces: Iterable[Encoded], loose: list[Encoded]) -> Iterator[Encoded]:
    """Yield whole blocks; rows before the first and after the last go to `loose`."""
    waiting: list[Encoded] = []
    for piece in pieces:
        while len(piece):
            if waiting or piece.start % BLOCK == 0:
                began = waiting[0].start if waiting else piece.start
                lacking = BLOCK - (piece.start - began)
                waiting.append(piece[:lacking])
                piece = piece[lacking:]
                if waiting[-1].start + len(waiting[-1]) - began == BLOCK:
                    yield Encoded.joined(waiting)
                    waiting = []
            else:
                lacking = -piece.start % BLOCK
                loose.append(piece[:lacking])
                piece = piece[lacking:]
    loose += waiting


def merged(one: Partial, other: Partial) -> Partial:
    """Return the sums of both, and leave them as they are; which is which does not matter."""
    sums = one.sums if other.sums is None else other.sums
    if one.sums is not None and other.sums is not None:
        sums = [mine + more for mine, more in zip(one.sums, other.sums, strict=True)]
    return Partial(sums, one.loose + other.loose)


def finished(found: Partial, work: Work) -> Sums:
    """Return the sums over all rows: those at hand, and those of the rows that were left over."""
    blocks: list[list[Encoded]] = []
    for piece in sorted(found.loose, key=lambda piece: piece.start):
        if blocks and blocks[-1][0].start // BLOCK == piece.start // BLOCK:
            blocks[-1].append(piece)
        else:
            blocks.append([piece])
    total = Partial(None if found.sums is None else [array.copy() for array in found.sums])
    for sums in in_order(work, map(Encoded.joined, blocks)):
        total.add(sums)
    if total.sums is None:
        raise ValueError("the table has no rows")
    return total.sums


def unit_of(total: float) -> float:
    """Return the step of the grid for sums over rows of so much weight."""
    return float(2.0 ** (np.ceil(np.log2(max(total, 1.0))) + SPARE - 52))


def on_grid(sums: Array, unit: float) -> Array:
    """Round numbers to multiples of a unit, in their place; they are less than 2^51 of it."""
    far = 1.5 * 2.0**52 * unit  # where numbers are so far apart
    sums += far
    sums -= far
    return sums


def check_room(sums: Sums, unit: float) -> None:
    """Raise if a sum is so large that adding to it was not exact."""
    if any(np.abs(array).max(initial=0.0) > 2.0**51 * unit for array in sums):
        raise np.linalg.LinAlgError("sums over all rows are far larger than those over a part")
