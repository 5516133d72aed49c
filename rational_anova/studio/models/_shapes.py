"""Curves that a hand changes: a handle is dragged, a stretch is raised, made flat or monotone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..._core.types import Array

WAYS = {
    "raise": "raise or lower",
    "flat": "make flat",
    "straight": "make straight",
    "rising": "make it never fall",
    "falling": "make it never rise",
}
HANDLES = 9
RAMP = 0.06  # of the range: how far outside of a stretch a change fades away


@dataclass(frozen=True)
class Draft:
    """A curve as it is, and as it would become.

    Args:
        x: points; of a category the codes of its levels.
        before: what each adds now, (points,).
        weight: share of the rows near each point.
        after: what each would add.
        said: what was done to it, in order.
        levels: whether the points are levels, which have no neighbours.
    """

    x: Array
    before: Array
    weight: Array
    after: Array
    said: tuple[str, ...] = field(default=())
    levels: bool = False

    @classmethod
    def of(cls, x: Array, y: Array, weight: Array, levels: bool = False) -> Draft:
        """Return a draft without a change."""
        return cls(x, y, weight, y.copy(), (), levels)

    @property
    def changed(self) -> bool:
        """Whether the curve would become another."""
        return bool((self.after != self.before).any())

    @property
    def handles(self) -> list[int]:
        """Positions of the points that can be dragged: all levels, else some, evenly spaced."""
        if self.levels or len(self.x) <= HANDLES:
            return list(range(len(self.x)))
        wanted = np.linspace(self.x[0], self.x[-1], HANDLES)
        return sorted({int(np.abs(self.x - one).argmin()) for one in wanted})

    def moved(self, at: int, to: float) -> Draft:
        """Return the curve with a handle at another height; it fades out towards the next ones."""
        _finite(to)
        reach = np.zeros(len(self.x))
        if self.levels:
            reach[at] = 1.0
        else:
            handles = self.handles
            place = handles.index(at)
            left = self.x[handles[place - 1]] if place else -np.inf
            right = self.x[handles[place + 1]] if place < len(handles) - 1 else np.inf
            away = self.x - self.x[at]
            room = np.where(away < 0, self.x[at] - left, right - self.x[at])
            share = np.clip(np.abs(away) / room, 0, 1)
            reach = 0.5 + 0.5 * np.cos(np.pi * share)
            if np.isinf(left):
                reach[: at + 1] = 1.0
            if np.isinf(right):
                reach[at:] = 1.0
        after = self.after + (to - self.after[at]) * reach
        return self._with(after, f"moved to {to:.4g} at {self.x[at]:.4g}")

    def bent(self, way: str, low: float, high: float, by: float = 0.0) -> Draft:
        """Return the curve with a stretch changed in one of `WAYS`; outside the change fades away.

        Args:
            way: what to do.
            low: where the stretch begins.
            high: where it ends.
            by: how much to raise.
        """
        if way not in WAYS:
            raise ValueError(f"there is no way {way!r} to change a curve; there are {list(WAYS)}")
        _finite(low, high, by)
        low, high = min(low, high), max(low, high)
        inside = (self.x >= low) & (self.x <= high)
        if not inside.any():
            raise ValueError(f"there is no point of the curve from {low:g} to {high:g}")
        x, y, weight = self.x[inside], self.after[inside], self.weight[inside]
        new = y.copy()
        if way == "raise":
            new = y + by
        elif way == "flat":
            new = np.full(len(y), np.average(y, weights=weight))
        elif way == "straight" and len(y) > 1:
            new = np.interp(x, [x[0], x[-1]], [y[0], y[-1]])
        elif way in ("rising", "falling"):
            from sklearn.isotonic import isotonic_regression

            new = isotonic_regression(y, sample_weight=weight, increasing=way == "rising")
        after = self.after.copy()
        after[inside] = new
        if not self.levels:
            ramp = RAMP * (self.x[-1] - self.x[0])
            for side, change in ((self.x < low, new[0] - y[0]), (self.x > high, new[-1] - y[-1])):
                away = np.where(self.x < low, low - self.x, self.x - high)[side] / ramp
                after[side] += change * np.where(away < 1, 0.5 + 0.5 * np.cos(np.pi * away), 0.0)
        said = f"raised by {by:.4g}" if way == "raise" else WAYS[way].replace("make", "made")
        return self._with(after, f"{said} from {low:.4g} to {high:.4g}")

    def at(self, values: Array) -> Array:
        """Return how much the draft adds at numbers or codes, less what the curve adds now."""
        from scipy.interpolate import PchipInterpolator

        change = self.after - self.before
        if self.levels:
            codes = np.clip(np.nan_to_num(values, nan=-1).astype(int), -1, len(change))
            return np.asarray(np.append(change, [0.0, 0.0])[codes])
        known = np.clip(values, self.x[0], self.x[-1])
        found = (
            PchipInterpolator(self.x, change)(known) if len(self.x) > 1 else change[0] + 0 * known
        )
        return np.where(np.isnan(values), 0.0, found)

    def _with(self, after: Array, said: str) -> Draft:
        return Draft(self.x, self.before, self.weight, after, (*self.said, said), self.levels)


def thinned(x: Array, parts: int = 300) -> Array:
    """Return points less those nearer to the one before than a part of the range; ends stay."""
    x = np.unique(x[np.isfinite(x)])
    if len(x) < 3:
        return x
    near, kept = (x[-1] - x[0]) / parts, [x[0]]
    for one in x[1:-1]:
        if one - kept[-1] >= near and x[-1] - one >= near:
            kept.append(one)
    return np.array([*kept, x[-1]])


def weights(x: Array, seen: Array, weight: Array) -> Array:
    """Return the share of the rows that are nearest to each point, never quite zero.

    Args:
        x: points.
        seen: values of the rows, or quantiles of them.
        weight: of each; empty if they are alike.
    """
    weight = weight if len(weight) else np.full(len(seen), 1 / max(len(seen), 1))
    near = np.searchsorted((x[1:] + x[:-1]) / 2, seen)
    found = np.bincount(near, weight, len(x)) + 1e-3 / len(x)
    return np.asarray(found / found.sum())


def _finite(*values: float) -> Sequence[float]:
    for value in values:
        if not np.isfinite(value):
            raise ValueError(f"a curve takes finite numbers, got {value}")
    return values
