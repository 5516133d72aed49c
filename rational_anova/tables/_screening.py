"""Which of very many columns say something of the target, each alone: the others are left out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._prepare import Table

_ROWS = 2000  # that are looked at
_BINS = 8  # of equally many rows, whose means are compared


def screened(table: Table, most: int, kept: Collection[str] = ()) -> Table:
    """Return a table with so many columns at most, those whose bins differ most in the target.

    A column that matters only together with another one may be lost: a note says so.

    Args:
        table: with any number of columns.
        most: that are left.
        kept: names of columns that stay in any case.

    Example:
        >>> from rational_anova.tables import prepare
        >>> X = np.random.default_rng(0).normal(size=(200, 5))
        >>> screened(prepare(X, X[:, 3] ** 2), 1).names.columns
        ('x3',)
    """
    columns = table.names.columns
    if len(columns) <= most:
        return table
    strength = _strengths(table.X, table.y)
    strength[[name in kept for name in columns]] = np.inf
    chosen = np.sort(np.argsort(-strength, kind="stable")[: max(most, len(kept))])
    gone = [name for place, name in enumerate(columns) if place not in set(chosen.tolist())]
    note = (
        f"{len(gone)} of {len(columns)} columns were left out, as a search in all takes too long: "
        f"{table.target} differs least with these, each alone. Give fewer to choose them yourself."
    )
    return replace(
        table,
        X=np.asfortranarray(table.X[:, chosen]),
        names=type(table.names)([columns[place] for place in chosen]),
        notes=(*table.notes, note),
        dropped={**table.dropped, **dict.fromkeys(gone, "says little of the target")},
        x_sigma=None if table.x_sigma is None else table.x_sigma[:, chosen],
    )


def _strengths(X: Array, y: Array) -> Array:  # (columns,)
    """Return the share of the variance of ranks of y that lies between bins of each column."""
    rows = np.random.default_rng(0).permutation(len(y))[:_ROWS]
    X, ranks = np.asfortranarray(X[rows]), np.argsort(np.argsort(y[rows])).astype(float)
    ranks -= ranks.mean()
    bins = np.argsort(np.argsort(X, axis=0), axis=0) * _BINS // len(rows)  # (rows, columns)
    shares = np.zeros(X.shape[1])
    for one in range(_BINS):
        inside = bins == one
        count = np.maximum(inside.sum(axis=0), 1)
        shares += (ranks @ inside) ** 2 / count
    return np.asarray(shares / max(float(ranks @ ranks), 1e-300))
