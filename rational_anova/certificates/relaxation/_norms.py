"""Layer norms in a graph, with what is known of them beyond their parts.

z = c s with c = x - mean(x) and s = (mean(c^2) + eps)^(-1/2). How steep it is depends on how small
|c| becomes on the box. For any unit vector u, |c| >= u.c, which is linear and has good bounds; u is
that of the point of the box where a linear model of c is smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.types import Array
from ...proofs import Interval, down
from ._graph import Graph, Limit, Look

_STEPS = 60  # of the search for the smallest |c|
_MORE = 1 + 1e-12  # covers the rounding of a length


def layer_norm(graph: Graph, node: int, eps: float, square: Look, inverse_root: Look) -> int:
    """Add a layer norm without its weight and bias."""
    n = graph.size(node)
    c = graph.affine([(node, np.eye(n) - 1 / n)])
    squares = graph.local(c, square)
    variance = graph.affine([(squares, np.full((1, n), 1 / n))], eps, _variance(c, n, eps))
    scale = graph.local(variance, inverse_root)
    most = np.sqrt(n) * _MORE
    # |z_i| <= sqrt(n - 1) and |z| <= sqrt(n), whatever the input
    capped = Interval(*(np.full(n, end * np.sqrt(max(n - 1, 0)) * _MORE) for end in (-1, 1)))
    z = graph.product(c, scale, lambda state: np.full((state.batch, 1), most))
    graph.limits[z] = lambda state: capped

    def along(graph: Graph, known: Callable[[int], int]) -> int:
        """s (dc - z mean(z dc)): the matrix has norm 1 at most."""
        dc = known(c)

        def length(state: Any) -> Array:
            box = state.boxes[dc]
            most = np.sqrt((box.most**2).sum(1, keepdims=True)) * _MORE
            return np.minimum(most, state.balls[dc]) if dc in state.balls else most

        along_z = graph.affine(
            [(graph.product(z, dc), np.full((1, n), 1 / n))],
            ball=lambda state: length(state) * n**-0.5 * _MORE,
        )
        across = graph.affine([(dc, 1.0), (graph.product(z, along_z), -1.0)], ball=length)
        return graph.product(
            across, scale, lambda state: length(state) * state.boxes[scale].high * _MORE
        )

    graph.tangents[z] = along
    return z


def _variance(c: int, n: int, eps: float) -> Limit:
    def limit(state: Any) -> Interval:
        a, b = state.linear(c, np.eye(n))
        direction = _nearest(a, b, *(state.boxes[0].low, state.boxes[0].high))
        low = state.rows(c, direction[:, None]).low[:, :1]
        length = np.maximum(np.nan_to_num(low, nan=0.0, posinf=0.0, neginf=0.0), 0) * (1 - 1e-12)
        least = (length**2 / n + eps) * (1 - 1e-12)
        return Interval(np.maximum(least, down(eps)), np.full_like(least, np.inf))

    return limit


def _nearest(a: Array, b: Array, low: Array, high: Array) -> Array:
    """Return unit vectors along a x + b where it is about the smallest on boxes, (batch, n)."""
    a, b = np.nan_to_num(a, posinf=0.0, neginf=0.0), np.nan_to_num(b, posinf=0.0, neginf=0.0)
    step = 1 / np.maximum((a**2).sum((1, 2)), 1e-300)[:, None] * 1.0
    x = y = 0.5 * low + 0.5 * high
    momentum = 1.0
    for _ in range(_STEPS):
        residue = (a @ y[:, :, None])[..., 0] + b
        new = np.clip(y - step * (residue[:, None] @ a)[:, 0], low, high)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        y = new + (momentum - 1) / following * (new - x)
        x, momentum = new, following
    residue = (a @ x[:, :, None])[..., 0] + b
    return np.asarray(residue / np.maximum(np.linalg.norm(residue, axis=1, keepdims=True), 1e-300))
