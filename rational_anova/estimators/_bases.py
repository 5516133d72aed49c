"""Functions of one input, out of which effects are made: rational heads, levels, gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from .._core.types import Array


class Basis(Protocol):
    """Some functions of one input: `at` gives their values, (rows, size)."""

    @property
    def size(self) -> int: ...

    def at(self, x: Array) -> Array:
        """Return the functions at values or codes x, (len(x), size)."""
        ...


@dataclass(frozen=True)
class Heads:
    """Quotients p/d with d = 1 + u^2, u = (x - centre)/width.

    Args:
        centre: of each head.
        width: of each head, positive.
        odd: whether the numerators have degree 1 (columns 1/d, then u/d) or 0.
        fill: what the columns are where x is missing: their means over the data.
        values: for categories, the number that stands for each level; the last one is for levels
            that were not seen.
        start: centres and widths before they were moved.
    """

    centre: Array
    width: Array
    odd: bool = False
    fill: Array | None = None
    values: Array | None = None
    start: tuple[Array, Array] | None = None

    @property
    def size(self) -> int:
        return len(self.centre) * (2 if self.odd else 1)

    def coordinate(self, x: Array) -> Array:
        """Return the numbers that the heads see: x itself, or those that stand for its levels."""
        return x if self.values is None else self.values[x.astype(int)]

    def at(self, x: Array) -> Array:
        return self.of(self.coordinate(x))

    def of(self, coordinate: Array) -> Array:
        """Return the columns at coordinates."""
        u = (coordinate[:, None] - self.centre) / self.width
        phi = 1 / (1 + u * u)
        result = np.concatenate([phi, phi * u], 1) if self.odd else phi
        gaps = np.isnan(coordinate)
        if gaps.any():
            result[gaps] = 0.0 if self.fill is None else self.fill
        return result

    def filled(self, coordinate: Array, weight: Array) -> Heads:
        """Return the same heads with the means over some data for what is missing."""
        seen = ~np.isnan(coordinate)
        if self.values is not None:  # levels have no gaps
            return self
        if not weight[seen].any():
            return replace(self, fill=np.zeros(self.size))
        total, chunk = np.zeros(self.size), 1 << 14
        x, w = coordinate[seen], weight[seen]
        for at in range(0, len(x), chunk):
            total += w[at : at + chunk] @ self.of(x[at : at + chunk])
        return replace(self, fill=total / w.sum())

    # -- moving the heads: shifts are (centre in widths, log width) from where they were put

    @property
    def origin(self) -> tuple[Array, Array]:
        """Centres and widths as they were put."""
        return self.start or (self.centre, self.width)

    @property
    def shift(self) -> Array:
        """How far the heads have moved."""
        centre, width = self.origin
        return np.concatenate([(self.centre - centre) / width, np.log(self.width / width)])

    def moved(self, shift: Array) -> Heads:
        """Return heads at a shift from where they were put."""
        centre, width = self.origin
        m = len(centre)
        new = centre + width * shift[:m], width * np.exp(shift[m:])
        return replace(self, centre=new[0], width=new[1], start=(centre, width))

    def slopes(self, coordinate: Array, constant: Array, linear: Array | None) -> Array:
        """Return d/d shift of sum_k (constant_k + linear_k u_k)/d_k, (rows, 2 heads).

        Args:
            coordinate: of the rows.
            constant: numerators, (heads,) or (rows, heads).
            linear: numerators of degree 1, or None.
        """
        u = (coordinate[:, None] - self.centre) / self.width
        u[np.isnan(coordinate)] = np.inf
        with np.errstate(invalid="ignore"):
            phi = 1 / (1 + u * u)
            u_phi = np.where(np.isinf(u), 0.0, u * phi)
            centre = 2 * u_phi * phi * constant
            width = 2 * u_phi**2 * constant
            if linear is not None:
                centre += (2 * u_phi**2 - phi) * linear
                width += np.where(np.isinf(u), 0.0, 2 * u_phi**2 * u - u_phi) * linear
        return np.concatenate([centre * (self.origin[1] / self.width), width], 1)


@dataclass(frozen=True)
class Levels:
    """One indicator for each level of a category; codes past the last level have none."""

    count: int

    @property
    def size(self) -> int:
        return self.count

    def at(self, x: Array) -> Array:
        return (x[:, None] == np.arange(self.count)).astype(float)


@dataclass(frozen=True)
class Missing:
    """The indicator of a missing number."""

    @property
    def size(self) -> int:
        return 1

    def at(self, x: Array) -> Array:
        return np.isnan(x)[:, None].astype(float)
