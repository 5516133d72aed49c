"""Panels of main effects: a curve with its band, or bars of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from .._core.types import Array
from ._columns import Feature
from ._effects import Effect
from ._measured import MOST_LEVELS, Observed

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel

BINS = 40
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Lines = list[tuple[int, str, str]]  # outputs to draw, with label and colour


def short(text: Any, most: int = 18) -> str:
    """Return a label that is not too long."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def main_panel(panel: Panel, effect: Effect, lines: Lines) -> None:
    """Draw a main effect: a curve, or bars if the input is a category."""
    if effect.features[0].category:
        _bars(panel, effect, lines)
    else:
        _curves(panel, effect, lines)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _curves(panel: Panel, effect: Effect, lines: Lines) -> None:
    feature, seen = effect.features[0], effect.observed[0]
    low, high = seen.shown
    table = effect.curve()
    panel.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    tops = []
    for k, label, colour in lines:
        one = table if not effect.classes else table[table["class"] == effect.classes[k]]
        there = one["value"].notna().to_numpy()
        curve, gap = one[there], one[~there]
        x = _numbers(curve["value"], feature)
        inside = (x >= low) & (x <= high)
        curve, x = curve[inside], x[inside]
        tops.append(_limits(curve))
        if len(seen.weight):
            away = curve["upper"] - curve["effect"]
            panel.errorbar(x, curve["effect"], away, fmt="o-", color=colour, label=label,
                           markersize=4, capsize=2, linewidth=1, elinewidth=1)  # fmt: skip
        else:
            alpha = 0.25 if len(lines) == 1 else 0.12
            panel.fill_between(
                x, curve["lower"], curve["upper"], color=colour, alpha=alpha, linewidth=0
            )
            panel.plot(x, curve["effect"], color=colour, linewidth=1.8, label=label)
        if len(gap):
            tops.append((float(gap["lower"].iloc[0]), float(gap["upper"].iloc[0])))
            _gap(panel, high + 0.1 * (high - low), gap, colour)
    least, most = min(t[0] for t in tops), max(t[1] for t in tops)
    room = 0.06 * (most - least) or 1.0
    panel.set_ylim(least - 5 * room, most + 2 * room)
    if feature.gaps:
        panel.axvline(high + 0.05 * (high - low), color="0.6", linewidth=0.8, linestyle=":")
        panel.annotate("missing", (high + 0.1 * (high - low), most + 2 * room), fontsize=7,
                       ha="center", va="top")  # fmt: skip
    pad = 0.35 * float(np.diff(seen.points).min()) if len(seen.weight) > 1 else 0.0
    pad = max(pad, 0.03 * (high - low))
    panel.set_xlim(low - pad, high + (0.16 * (high - low) if feature.gaps else pad))
    whole = bool(len(seen.weight)) and not (seen.points % 1).any()
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=whole))
    _density(panel, seen)
    name_ticks(panel.xaxis, feature, seen)
    if feature.gaps and not feature.part:
        panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= high])
    middle = len(seen.points) and not len(seen.weight) and high < seen.points[-1]
    panel.set_xlabel(short(feature.name, 28) + (" (middle 98 %)" if middle else ""))


def _limits(curve: Any) -> tuple[float, float]:
    """Return the range of a curve and its band, but for bands that run away."""
    low, high = float(curve["effect"].min()), float(curve["effect"].max())
    room = 0.6 * (high - low) or float((curve["upper"] - curve["effect"]).max())
    return max(float(curve["lower"].min()), low - room), min(
        float(curve["upper"].max()), high + room
    )


def _gap(panel: Panel, x: float, gap: Any, colour: str) -> None:
    effect = gap["effect"].to_numpy()
    panel.errorbar([x], effect, gap["upper"].to_numpy() - effect, fmt="D", color=colour,
                   markersize=4, capsize=2)  # fmt: skip


def _numbers(values: Any, feature: Feature) -> Array:
    if feature.part == "day":
        values = (values - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return np.asarray(values, dtype=float)


def _density(panel: Panel, seen: Observed) -> None:
    """Draw the data along the bottom, a seventh of the panel high."""
    low, high = seen.shown
    if len(seen.weight):
        gap = float(np.diff(seen.points).min()) if len(seen.points) > 1 else 1.0
        left, wide, tall = seen.points - 0.3 * gap, 0.6 * gap, seen.weight
    else:
        borders = np.linspace(low, high, BINS + 1)
        levels = np.linspace(0, 1, len(seen.points))
        # Where many rows have one value several quantiles are equal: all count up to it.
        points, last = np.unique(seen.points[::-1], return_index=True)
        below = np.interp(borders, points, levels[::-1][last])
        below[0] = 0.0 if low <= points[0] else below[0]
        left, wide, tall = borders[:-1], borders[1] - borders[0], np.diff(below)
    if not len(tall) or tall.max() <= 0:
        return
    heights = 0.14 * tall / tall.max()
    panel.bar(left, heights, wide, align="edge", color="0.85", zorder=0, linewidth=0,
              transform=panel.get_xaxis_transform())  # fmt: skip


def name_ticks(axis: Any, feature: Feature, seen: Observed) -> None:
    """Name weekdays on an axis, and write days as dates."""
    if feature.part == "weekday":
        axis.set_ticks(range(len(DAYS)), DAYS)
    elif feature.part == "day":
        ticks = np.linspace(*seen.shown, 4)
        axis.set_ticks(ticks, [str(np.datetime64(round(day), "D"))[:7] for day in ticks.tolist()])


def _bars(panel: Panel, effect: Effect, lines: Lines) -> None:
    feature, seen = effect.features[0], effect.observed[0]
    count = min(len(feature.levels), MOST_LEVELS)
    table = effect.curve()
    at = np.arange(count, dtype=float)
    high = 0.8 / len(lines)
    panel.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    ends = [(0.0, 0.0)]
    for n, (k, label, colour) in enumerate(lines):
        one = table if not effect.classes else table[table["class"] == effect.classes[k]]
        one = one.iloc[:count]
        away = one["upper"] - one["effect"]
        ends.append(_limits(one))
        panel.barh(at - 0.4 + (n + 0.5) * high, one["effect"], high, color=colour, label=label,
                   alpha=0.75, xerr=away, error_kw={"linewidth": 1, "ecolor": "0.25"})  # fmt: skip
    size = 8 if count <= 10 else 6
    shares = [f"{100 * w:.0f} %" if w >= 0.005 else "<1 %" for w in seen.weight[:count]]
    texts = [f"{short(v)} ({w})" for v, w in zip(feature.levels, shares, strict=False)]
    panel.set_yticks(at, texts, fontsize=size)
    panel.set_ylim(count - 0.4, -0.6)
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    room = 0.04 * (high - low) or 1.0
    panel.set_xlim(low - room, high + room)
    left = len(feature.levels) - count
    panel.set_ylabel(short(feature.name, 28) + (f" ({left} rarer not shown)" if left else ""))
