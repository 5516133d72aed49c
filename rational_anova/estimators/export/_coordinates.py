"""From encoded rows to the coordinates of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..._core.types import Array
from .._bases import Heads, Levels
from .._columns import Feature
from ._plan import Columns

LEVEL_WIDTH = 0.5  # of the heads at the integers, which keeps their equations well conditioned


@dataclass(frozen=True)
class Coordinate:
    """An input as heads see it: a number, a level's code, or the number that stands for it.

    Args:
        axis: the input.
        table: for categories, the coordinate of each code.
        shift: the middle of its range.
        scale: one over half of its range, so that the network sees -1 to 1.
    """

    axis: int
    table: Array | None
    shift: float
    scale: float

    @property
    def codes(self) -> Array:
        """The table; empty for a number."""
        return np.zeros(0) if self.table is None else self.table

    def slopes(self, centre: Array, width: Array) -> tuple[Array, Array]:
        """Return a and b of (x - centre)/width = a + b z, z being the scaled coordinate."""
        return (self.shift - centre) / width, 1 / (self.scale * width)


class Coordinates(nn.Module):
    """Encoded rows (rows, inputs) to scaled coordinates (rows, coordinates).

    Args:
        coordinates: which there are.
    """

    def __init__(self, coordinates: list[Coordinate]) -> None:
        super().__init__()
        self.axes = [each.axis for each in coordinates]
        self.tables = nn.ParameterDict()
        for k, each in enumerate(coordinates):
            if each.table is not None:
                table = torch.tensor(each.table, dtype=torch.float64)
                self.tables[str(k)] = nn.Parameter(table, requires_grad=False)
        self.shift: Tensor
        self.scale: Tensor
        for name in ("shift", "scale"):
            values = [getattr(each, name) for each in coordinates]
            self.register_buffer(name, torch.tensor(values, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Return the coordinates."""
        found = []
        for k, axis in enumerate(self.axes):
            value = x[:, axis].double()
            found.append(self.tables[str(k)][value.long()] if str(k) in self.tables else value)
        return (torch.stack(found, 1) - self.shift) * self.scale


def coordinate(columns: Columns, most: int) -> Coordinate:
    """Return what the functions of an input depend on.

    Args:
        columns: the functions.
        most: the code from which on levels of a category look alike.
    """
    feature, axis = columns.feature, columns.axis
    if not feature.category:
        return _scaled(axis, None, feature.clip or (0.0, 0.0))
    if isinstance(columns.basis, Heads):
        assert columns.basis.values is not None
        table = columns.basis.values
    else:
        table = np.minimum(np.arange(len(feature.levels) + 1.0), most)
    return _scaled(axis, table, (float(table.min()), float(table.max())))


def _scaled(axis: int, table: Array | None, ends: tuple[float, float]) -> Coordinate:
    half = (ends[1] - ends[0]) / 2 or 1.0
    return Coordinate(axis, table, ends[0] + half, 1 / half)


def distinct_codes(feature: Feature, bases: list[object]) -> int:
    """Return the code from which on no basis tells a category's levels apart."""
    counts = [b.count if isinstance(b, Levels) else 1 for b in bases if not isinstance(b, Heads)]
    return min(max(counts, default=1), len(feature.levels))


@dataclass(frozen=True)
class HeadsOf:
    """Columns as combinations of heads: a column is sum_k even_k/d_k + odd_k u_k/d_k.

    Args:
        place: the coordinate.
        centre: of the heads.
        width: of the heads.
        even: (heads, size).
        odd: (heads, size).
    """

    place: Coordinate
    centre: Array
    width: Array
    even: Array
    odd: Array


def heads_of(columns: Columns, most: int) -> HeadsOf | None:
    """Return the heads that make columns; None for functions that are 0 without gaps, or 1."""
    feature, basis = columns.feature, columns.basis
    if columns.constant or not (feature.category or columns.heads):
        return None
    place = coordinate(columns, most)
    if isinstance(basis, Heads):
        count = len(basis.centre)
        eye, none = np.eye(count), np.zeros((count, count))
        if not basis.odd:
            return HeadsOf(place, basis.centre, basis.width, eye, none)
        even, odd = np.hstack([eye, none]), np.hstack([none, eye])
        return HeadsOf(place, basis.centre, basis.width, even, odd)
    codes = np.arange(most + 1.0)
    width = np.full(len(codes), LEVEL_WIDTH)
    matrix = 1 / (1 + ((codes[:, None] - codes) / LEVEL_WIDTH) ** 2)
    even = np.linalg.solve(matrix, columns.at(codes.tolist()))
    return HeadsOf(place, codes, width, even, np.zeros_like(even))
