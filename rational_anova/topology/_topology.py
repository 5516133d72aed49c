"""The ways to choose the terms of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from torch import Tensor

from .._core import codec
from .._core.checks import integer, nonnegative
from ._coupling import ROWS, Model, coupled_pairs, coupling
from ._pairs import (
    Indices,
    Pairs,
    max_pairs,
    neighbours,
    pairs_at,
    read_pairs,
    resolve_size,
    sample,
)
from ._terms import Terms

if TYPE_CHECKING:  # pandas and scipy wait until pairs are chosen from data
    from ..tables import Numbers


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Topology(Terms):
    """Main terms and pair set S of f(x) = sum_i r_i(x_i) + sum_S r_ij(x_i, x_j) (Eq. 2).

    Equality and hash respect the order of the pairs, since parameters follow it.

    Args:
        features: the number d of inputs, at least 1.
        pairs: the pairs (i, j) of S; (j, i) means the same; kept in the order given.
        mains: the features with a main term; all of them when None.

    >>> topology = Topology(3, [(2, 0), (0, 1)], mains=[0, 2])
    >>> topology.pairs, topology.mains, topology.size
    (((0, 2), (0, 1)), (0, 2), 2)
    """

    @classmethod
    def none(cls, features: int) -> Topology:
        """Main terms only.

        Args:
            features: the number d of inputs, at least 1.

        >>> Topology.none(8)
        Topology(features=8, mains=8, pairs=0)
        """
        return cls(features)

    @classmethod
    def all(cls, features: int) -> Topology:
        """All d (d - 1) / 2 pairs.

        Args:
            features: the number d of inputs, at least 1.

        >>> Topology.all(3).pairs
        ((0, 1), (0, 2), (1, 2))
        """
        return cls(features, pairs_at(range(max_pairs(features)), features))

    @classmethod
    def of(
        cls, pairs: Pairs, features: int | None = None, mains: Indices | None = None
    ) -> Topology:
        """The pairs listed.

        Args:
            pairs: the pairs (i, j) of S; (j, i) means the same; kept in the order given.
            features: the number d of inputs; the largest index in `pairs` plus one when None.
            mains: the features with a main term; all of them when None.

        >>> Topology.of([(3, 1), (0, 1)])
        Topology(features=4, mains=4, pairs=2)
        """
        index = read_pairs(pairs)
        if features is None and len(index) == 0:
            raise ValueError("features must be given when pairs is empty, got None")
        return cls(max(int(index.max()) + 1, 1) if features is None else features, index, mains)

    @classmethod
    def random(cls, features: int, size: int | str = "d", seed: int | Tensor = 0) -> Topology:
        """Pairs drawn without replacement, the paper's default; one seed gives one set.

        Args:
            features: the number d of inputs, at least 1.
            size: how many pairs, a number or a rule (see `resolve_size`).
            seed: an integer, zero or more.

        >>> Topology.random(8, size="0.5d", seed=0)
        Topology(features=8, mains=8, pairs=4)
        """
        ranks = sample(max_pairs(features), resolve_size(size, features), seed)
        return cls(features, pairs_at(ranks, features))

    @classmethod
    def correlation(cls, X: Numbers, y: Numbers | None = None, size: int | str = "d") -> Topology:
        """The pairs with the largest |corr(x_i, x_j)|, or given `y` the largest |corr(z_i z_j, e)|.

        Here z is x standardised and e what least squares on x leaves of y. Constant columns
        score zero, the earlier pair wins a tie, and memory grows with d^2.

        Args:
            X: table of shape (rows, features), at least two rows, finite.
            y: target of shape (rows,), or None.
            size: how many pairs, a number or a rule (see `resolve_size`).

        >>> X = [[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [2.0, 1.0, 4.0], [3.0, 0.0, 7.0]]
        >>> Topology.correlation(X, size=1).pairs
        ((0, 2),)
        """
        from ..tables import read_matrix
        from ._correlation import strongest_pairs

        table = read_matrix(X)
        return cls(table.shape[1], strongest_pairs(table, y, size))

    @classmethod
    def residual(
        cls, X: Numbers, y: Numbers, size: int | str = "d", *, weight: Numbers | None = None
    ) -> Topology:
        """The pairs that explain most of what main effects leave of `y`, in index order.

        Smooth main effects of all columns are fitted first, by ridge regression. A pair scores by
        the share of the residual that products of functions of its two columns explain, free of
        main effects and corrected for their number. Strong pairs are taken one after another and
        leave the residual, so that a pair that merely resembles a strong one does not follow it.

        Ranks of the columns stand for their values, so units and long tails do not matter. The
        earlier pair wins a tie, and pairs with a constant column come last. Memory grows with
        rows times features and with features^2.

        Args:
            X: table of shape (rows, features), at least two rows, finite.
            y: target of shape (rows,), or several of shape (rows, targets), for instance
                indicators of classes; each target is standardised.
            size: how many pairs, a number or a rule (see `resolve_size`).
            weight: weights of the rows, of shape (rows,), zero or more; equal when None.

        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(200, 5))
        >>> Topology.residual(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 4], size=1).pairs
        ((1, 4),)
        """
        from ..tables import read_matrix
        from ._residual import residual_pairs

        table = read_matrix(X)
        return cls(table.shape[1], residual_pairs(table, y, size, weight))

    @classmethod
    def gradient(
        cls,
        model: Model,
        X: Numbers,
        size: int | str = "d",
        *,
        rows: int | None = ROWS,
        output: int | None = None,
        seed: int | Tensor = 0,
    ) -> Topology:
        """The pairs with the largest mean |d2 f / dx_i dx_j| of a fitted `model`, in index order.

        See `coupling`, which this ranks per standard deviation of the columns; the earlier pair
        wins a tie.

        Args:
            model: fitted function on tensors, (n, features) to (n,) or (n, outputs), row by row,
                for instance an `nn.Module`; smooth, so no ReLU network.
            X: table of shape (rows, features), at least two rows, finite.
            size: how many pairs, a number or a rule (see `resolve_size`).
            rows: how many rows of X to average over, drawn without replacement; all when None.
            output: the output to differentiate; None adds up |.| over all outputs.
            seed: for drawing the rows, an integer, zero or more.

        >>> X = [[0.1, 0.2, 0.3], [1.0, 0.0, 2.0], [2.0, 1.0, 4.0]]
        >>> Topology.gradient(lambda x: x[:, 0] + x[:, 1] * x[:, 2], X, size=1).pairs
        ((1, 2),)
        """
        matrix = coupling(model, X, rows=rows, output=output, seed=seed)
        return cls(len(matrix), coupled_pairs(matrix, size))

    @classmethod
    def grid(
        cls,
        height: int,
        width: int,
        channels: int = 1,
        radius: float = 1,
        size: int | str | None = None,
        seed: int | Tensor = 0,
    ) -> Topology:
        """Pixels at Euclidean distance <= `radius` in an image flattened from (C, H, W).

        Args:
            height: rows H.
            width: columns W.
            channels: planes C; one pixel in two planes is at distance zero.
            radius: the largest distance, in pixels.
            size: how many of these pairs, drawn at random; all of them when None.
            seed: an integer, zero or more.

        >>> Topology.grid(2, 2).pairs
        ((0, 1), (0, 2), (1, 3), (2, 3))
        """
        planes = integer(channels, "channels", 1)
        rows, columns = integer(height, "height", 1), integer(width, "width", 1)
        index = neighbours((planes, rows, columns), nonnegative(radius, "radius"))
        features = planes * rows * columns
        if size is not None:
            count = resolve_size(size, features, maximum=len(index))
            index = index[sample(len(index), count, seed)]
        return cls(features, index)


codec.register(Topology, Topology.to_dict, Topology.from_dict)
