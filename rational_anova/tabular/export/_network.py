"""Models as networks of the core: every effect is a rational unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..._core.types import Array
from ...networks import RAN
from ...topology import Topology
from ...units import Rational1d, Rational2d
from ..model import Feature, Heads, Levels
from ._plan import Columns, Piece, Plan

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
    exact = np.linalg.solve(matrix, columns.at(codes.tolist()))
    return HeadsOf(place, codes, width, exact, np.zeros_like(exact))


Lines = list[Array]  # heads of a unit, each (parts, heads)
Polynomial = dict[tuple[int, ...], Array]


class Units:
    """Heads of the main and pair units that are collected piece by piece."""

    def __init__(self) -> None:
        self.coordinates: list[Coordinate] = []
        self.mains: dict[int, Lines] = {}  # rows: even and odd numerator, a, b of u = a + b z
        self.pairs: dict[tuple[int, int], Lines] = {}  # four numerators; a, b of each
        self.bias = 0.0

    def at(self, place: Coordinate) -> int:
        """Return the number of a coordinate."""
        for k, each in enumerate(self.coordinates):
            if each.axis == place.axis and np.array_equal(each.codes, place.codes):
                return k
        self.coordinates.append(place)
        return len(self.coordinates) - 1

    def main(self, heads: HeadsOf, weight: Array) -> None:
        """Add a weighted sum of columns of one input."""
        a, b = heads.place.slopes(heads.centre, heads.width)
        lines = np.stack([heads.even @ weight, heads.odd @ weight, a, b])
        self.mains.setdefault(self.at(heads.place), []).append(lines)

    def pair(self, first: HeadsOf, second: HeadsOf, weight: Array) -> None:
        """Add a weighted sum of products of columns."""
        where = self.at(first.place), self.at(second.place)
        if where[0] > where[1]:
            first, second, weight, where = second, first, weight.T, where[::-1]
        numerators = [
            one @ weight @ two.T
            for one in (first.even, first.odd)
            for two in (second.even, second.odd)
        ]
        a, b = first.place.slopes(first.centre, first.width)
        c, d = second.place.slopes(second.centre, second.width)
        grids = np.broadcast_arrays(a[:, None], b[:, None], c, d)
        lines = np.stack([each.ravel() for each in (*numerators, *grids)])
        self.pairs.setdefault(where, []).append(lines)

    def add(self, piece: Piece, most: dict[int, int], combination: Array) -> None:
        """Add a piece of an effect."""
        weight = piece.numerators @ combination
        found = [heads_of(each, most.get(each.axis, 0)) for each in piece.columns]
        # Functions without heads are the constant 1, or an indicator of gaps, which is 0.
        for k, (each, heads) in reversed(list(enumerate(zip(piece.columns, found, strict=True)))):
            if heads is None:
                weight = np.tensordot(each.flat, weight, (0, k))
        there = [heads for heads in found if heads is not None]
        if len(there) == 2:
            self.pair(there[0], there[1], weight)
        elif there:
            self.main(there[0], weight)
        else:
            self.bias += float(weight)


def network(plan: Plan, combination: Array) -> nn.Sequential:
    """Return the coordinates and the network of a decision."""
    units = Units()
    units.bias = float(plan.intercept @ combination)
    pieces = [piece for effect in plan.effects.values() for piece in effect]
    bases: dict[int, list[object]] = {}
    for piece in pieces:
        for columns in piece.columns:
            bases.setdefault(columns.axis, []).append(columns.basis)
    most = {i: distinct_codes(plan.features[i], found) for i, found in bases.items()}
    for piece in pieces:
        units.add(piece, most, combination)
    if not units.coordinates:  # a network has one term at least
        units.coordinates.append(Coordinate(0, None, 0.0, 0.0))
        units.mains[0] = [np.zeros((4, 1))]
    mains = {k: np.concatenate(lines, 1) for k, lines in sorted(units.mains.items())}
    pairs = {k: np.concatenate(lines, 1) for k, lines in sorted(units.pairs.items())}
    count = len(units.coordinates)
    net = RAN(
        count,
        topology=Topology(count, list(pairs), mains=list(mains)),
        degrees=(1, 2),
        pair_degree=(2 if any(lines[1:4].any() for lines in pairs.values()) else 0, 4),
        heads=max(lines.shape[1] for lines in (*mains.values(), *pairs.values())),
        denominator="sos",
        base="zero",
        gate=None,
        readout="linear",
        dtype=torch.float64,
    )
    with torch.no_grad():
        assert net.head is not None
        net.head.weight.fill_(1)
        net.head.bias.fill_(units.bias)
        if net.main is not None:
            _fill_mains(net.main, list(mains.values()))
        if net.pair is not None:
            _fill_pairs(net.pair, list(pairs.values()))
    return nn.Sequential(Coordinates(units.coordinates), net)


def _fill_mains(unit: Rational1d, units: list[Array]) -> None:
    """Write (even + odd u)/(1 + u^2), u = a + b z, as quotients of polynomials in z."""
    for n, (even, odd, a, b) in enumerate(units):
        _write(unit, n, [{(0,): even + odd * a, (1,): odd * b}], [{(0,): a, (1,): b}])


def _fill_pairs(unit: Rational2d, units: list[Array]) -> None:
    """Write quotients by (1 + u^2)(1 + v^2) with the denominator 1 + (u v)^2 + u^2 + v^2.

    The last square has no constant, so u and v are turned about each other, which leaves
    u^2 + v^2 as it is: with tan of the angle c/a the second of the turned two has none.
    """
    for n, (one, v, u, uv, a, b, c, d) in enumerate(units):
        size = np.hypot(a, c)
        safe = np.where(size > 0, size, 1.0)
        cos, sin = np.where(size > 0, a / safe, 1.0), c / safe
        product: Polynomial = {(0, 0): a * c, (1, 0): b * c, (0, 1): a * d, (1, 1): b * d}
        along: Polynomial = {(0, 0): size, (1, 0): cos * b, (0, 1): sin * d}
        across: Polynomial = {(1, 0): -sin * b, (0, 1): cos * d}
        top: Polynomial = {(0, 0): one + u * a + v * c + uv * a * c}
        if len(unit.form.numerator) > 1:
            top |= {(1, 0): (u + uv * c) * b, (0, 1): (v + uv * a) * d, (1, 1): uv * b * d}
        _write(unit, n, [top], [product, along, across])


def _write(
    unit: Rational1d | Rational2d, n: int, top: list[Polynomial], bottom: list[Polynomial]
) -> None:
    """Set the coefficients of the heads of a unit; heads beyond them are zero."""
    layouts = [unit.form.numerator], unit.form.denominator
    for parameter, layout, given in zip(
        (unit.numerator, unit.denominator), layouts, (top, bottom), strict=True
    ):
        rows = parameter.data.view(unit.heads, -1, unit.units)
        rows[:, :, n] = 0
        start = 0
        for powers, polynomial in zip(layout, given, strict=True):
            for monomial, values in polynomial.items():
                at = start + powers.index(monomial)
                rows[: len(values), at, n] = torch.from_numpy(np.array(values))
            start += len(powers)
