"""An input whose effect is to rise or fall: where its slope is held, and by how much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.types import Array
from ._bases import Heads
from ._monotone_proof import Curve, examine

POINTS = 300  # where the slope is held to begin with
FEW_LEVELS = 32  # that a stair may have
WIDE = 16.0  # range, in widths of wide heads, from which they do not reach the ends
# Widths off a centre, far ones for heads that are much narrower than those around them.
_WITHIN = np.array([0, 0.2, 0.4, 0.6, 0.8, 1, 1.3, 1.7, 2.2, 3, *(5 * 2.0 ** np.arange(24))])


class Held:
    """The heads of one input, and points at which their slope must not have the wrong sign.

    Coefficients `theta` belong to the scaled columns.

    Args:
        heads: of all terms of the input.
        columns: of the design, in the order of the heads.
        scale: of these columns.
        sign: +1 to rise, -1 to fall.
        low: least number in the rows.
        high: greatest one.
    """

    def __init__(
        self, heads: list[Heads], columns: Array, scale: Array, sign: int, low: float, high: float
    ) -> None:
        # In units of the range, so that no power of a number overflows.
        unit = float(2.0 ** -np.ceil(np.log2(high - low)))
        self.heads = [replace(h, centre=h.centre * unit, width=h.width * unit) for h in heads]
        self.columns, self.scale = columns, scale
        self.sign, self.low, self.high = sign, low * unit, high * unit
        self.dense = self._near(np.concatenate([-_WITHIN[:0:-1], _WITHIN]))
        self.slopes = self._slopes(self.dense)
        some = self._near(np.array([-64.0, -8.0, -1.0, 0.0, 1.0, 8.0, 64.0]))
        self.points = some[:: max(len(some) // POINTS, 1)]
        self.unit = 1.0
        steady = self._steady(self.dense)
        area = np.sum(np.diff(self.dense) * (steady[1:] + steady[:-1]) / 2)
        self.unit = float(area) or 1.0

    def _near(self, steps: Array) -> Array:
        """Return points at some widths off each centre, and evenly spaced ones."""
        widest = max(float(h.width.max()) for h in self.heads)
        near = [np.linspace(self.low, self.high, 33)]
        for heads in self.heads:
            away = heads.width[:, None] * steps
            near.append((heads.centre[:, None] + away)[np.abs(away) <= 2 * widest])
        points = np.concatenate(near)
        return np.unique(np.clip(points, self.low, self.high))

    def _slopes(self, points: Array) -> Array:
        """Return the slopes of the scaled columns at points, times the sign."""
        parts = []
        for heads in self.heads:
            u = (points[:, None] - heads.centre) / heads.width
            d = heads.width * (1 + u * u) ** 2
            parts += [-2 * u / d, (1 - u * u) / d] if heads.odd else [-2 * u / d]
        return self.sign * np.concatenate(parts, 1) / self.scale

    def _steady(self, points: Array) -> Array:
        """Return slopes of a rise by one in all, larger where the widest heads are denser."""
        widest = max(self.heads, key=lambda h: float(np.median(h.width)))
        u = (points[:, None] - widest.centre) / widest.width
        return np.asarray((1 / (widest.width * (1 + u * u))).max(1) / self.unit)

    def rows(self) -> tuple[Array, Array]:
        """Return slopes of the columns at the points, and those of a steady rise by one."""
        return self._slopes(self.points), self._steady(self.points)

    # -- curves

    def curve(self, theta: Array) -> Curve:
        """Return the curve of coefficients, times the sign."""
        numerators = np.split(theta / self.scale, np.cumsum([h.size for h in self.heads])[:-1])
        return Curve.of(list(zip(self.heads, numerators, strict=True)), self.sign)

    def dips(self, theta: Array) -> Array:
        """Return points where the slope has the wrong sign and is worse than next to them."""
        slope = np.concatenate([[np.inf], self.slopes @ theta, [np.inf]])
        inner = slope[1:-1]
        return self.dense[(inner < 0) & (inner <= slope[:-2]) & (inner <= slope[2:])]

    def failures(self, theta: Array) -> Array | None:
        """Return None if the curve is proved, or else the worst points near where that failed."""
        found = examine(self.curve(theta), self.low, self.high)
        if found.proved:
            return None
        failed = np.concatenate([found.wrong, found.open])
        known = np.union1d(self.dense, self.points)
        at = np.unique(np.clip(np.searchsorted(known, failed), 1, len(known) - 1))
        near = known[at - 1] + (known[at] - known[at - 1]) * np.linspace(0, 1, 33)[:, None]
        slope = (self._slopes(near.ravel()) @ theta).reshape(near.shape)
        return np.append(near[slope.argmin(0), np.arange(len(at))], failed)

    def hold(self, points: Array) -> bool:
        """Add points where the slope is held; whether there were new ones."""
        before = len(self.points)
        self.points = np.union1d(self.points, points)
        return len(self.points) > before


def reaching(heads: list[Heads], low: float, high: float) -> Heads | None:
    """Return heads wider and wider up to the range of the rows; None where heads are wide enough.

    All heads fall to 0 far away from their centre. Without wide ones no sum of them could rise over
    the whole of a range with long tails.
    """
    widest = max(heads, key=lambda h: float(np.median(h.width)))
    width = float(np.median(widest.width))
    if high - low <= WIDE * width:
        return None
    steps = int(np.ceil(np.log((high - low) / width) / np.log(3.0)))
    widths = width * ((high - low) / width) ** (np.arange(1, steps + 1) / steps)
    return Heads(np.full(steps, np.median(widest.centre)), widths, odd=True)


def stairs(levels: Array) -> Heads | None:
    """Return heads for a stair between any two neighbours of few levels; None where they are many.

    Heads as wide as the gaps can be anything at the levels, but not without turning in between.
    """
    if not 2 < len(levels) <= FEW_LEVELS:
        return None
    return Heads((levels[1:] + levels[:-1]) / 2, np.diff(levels) / 4, odd=True)
