"""A curve, the values of a unit on its data, and the named functions that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core.least_squares import levenberg_marquardt, lstsq
from .._core.types import Array
from ._library import Form

_POINTS = 160  # of a curve that are fitted
_BEST = 3  # starts that are followed
_STEPS = 40
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Choice:
    """A function that may stand for a unit.

    Attributes:
        form: the function.
        values: its numbers.
        shift: what is added to it.
        error: root mean square of what it leaves of the curve, over the curve's spread.
    """

    form: Form
    values: tuple[float, ...]
    shift: float
    error: float

    @property
    def name(self) -> str:
        """The function, without numbers."""
        return self.form.name


def suggested(nodes: Sequence[Array], curve: Array, forms: Sequence[Form]) -> list[Choice]:
    """Return how well each function fits a curve, the best first; those that cannot are left out.

    Args:
        nodes: what the unit reads, one or two columns.
        curve: what it gives.
        forms: the functions.
    """
    rows = _spread_rows(nodes, curve)
    nodes, curve = [node[rows] for node in nodes], curve[rows]
    spread = float(curve.std())
    if not spread > 0:
        return []
    found = [_fitted(form, nodes, curve, spread) for form in forms]
    return sorted((choice for choice in found if choice is not None), key=lambda c: c.error)


def _spread_rows(nodes: Sequence[Array], curve: Array) -> Array:
    """Rows all along the curve, both ends included."""
    if len(nodes) > 1:
        return np.arange(min(len(curve), 3 * _POINTS))
    order = np.argsort(nodes[0], kind="stable")
    return order[np.unique(np.linspace(0, len(order) - 1, _POINTS).round().astype(int))]


def _fitted(form: Form, nodes: Sequence[Array], curve: Array, spread: float) -> Choice | None:
    """The best fit from several starts, on nodes that run from -1 to 1 there and back."""
    middles = [(node.max() + node.min()) / 2 for node in nodes]
    halves = [float(node.max() - node.min()) / 2 for node in nodes]
    if not all(half > 0 for half in halves):
        return None
    unit = [(node - m) / h for node, m, h in zip(nodes, middles, halves, strict=True)]
    target = curve / spread
    starts = []
    for inner in form.starts:
        start = _with_factor(form, unit, target, inner)
        if start is not None:
            starts.append(start)
    best: tuple[float, Array] | None = None
    for _, theta in sorted(starts, key=lambda s: s[0])[:_BEST]:
        moved = _moved_back(form, theta, middles, halves)
        if moved is None:
            continue
        values, error = levenberg_marquardt(
            lambda v: form.at(nodes, v[:-1]) + v[-1] - target,
            lambda v: _jacobian(form, nodes, v),
            moved,
            _STEPS,
            _ROUNDING,
        )
        if np.isfinite(error) and (best is None or error < best[0]):
            best = error, values
    if best is None:
        return None
    error, values = best
    scaled = form_scaled(form, values[:-1], spread)
    return Choice(form, tuple(scaled), float(values[-1] * spread), float(error))


def form_scaled(form: Form, values: Array, factor: float) -> list[float]:
    """Numbers of a form times a factor: the first stands before all the rest."""
    return [float(values[0] * factor), *map(float, values[1:])]


def _with_factor(
    form: Form, nodes: Sequence[Array], target: Array, inner: Sequence[float]
) -> tuple[float, Array] | None:
    """Error and numbers where factor and shift are the best for the numbers inside."""
    with np.errstate(all="ignore"):
        shape = form.at(nodes, (1.0, *inner))
    if not np.isfinite(shape).all():
        return None
    matrix = np.stack([shape, np.ones_like(shape)], 1)
    found = lstsq(matrix, target)
    error = float(np.sqrt(np.mean((matrix @ found - target) ** 2)))
    return error, np.array([found[0], *inner, found[1]])


def _moved_back(
    form: Form, theta: Array, middles: Sequence[float], halves: Sequence[float]
) -> Array | None:
    """Numbers for nodes as they are, of numbers for nodes that run from -1 to 1."""
    found = form.rescaled(theta[:-1], middles, halves)
    if found is None or not np.isfinite(found).all():
        return None
    return np.array([*found, theta[-1]])


def _jacobian(form: Form, nodes: Sequence[Array], values: Array) -> Array:
    slopes = form.slopes_at(nodes, values[:-1])[len(nodes) :]
    return np.stack([*slopes, np.ones_like(nodes[0])], 1)
