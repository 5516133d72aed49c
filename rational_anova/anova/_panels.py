"""One panel of a picture: a curve with its band, bars of a category, a heat map of a pair, poles.

Matplotlib is imported where it is used: it is slow to import, and most users do not draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.types import Array
from ._effects import Effect
from ._inputs import MOST_LEVELS, Input, Observed, cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

BINS = 40
STEP = 0.1  # of the range of a curve, between what stands beside it
POINTS = 48  # along a number of a heat map
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SLANTED = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
SIDE = 0.75  # how far the picture of poles goes beyond the data, in ranges
MINUS = "\N{MINUS SIGN}"
Lines = list[tuple[int, str, str]]  # outputs to draw, with label and colour


def panels(count: int, width: float = 3.6, height: float = 3.0) -> tuple[Figure, list[Any]]:
    """Return a figure and so many axes, in rows of three, of four if there are many."""
    from .._core.figures import Picture

    across = min(count, 3 if count <= 9 else 4)
    down = -(-count // across)
    figure = Picture(figsize=(max(width * across, 4.8), height * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).flatten()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes[:count])


def short(text: Any, most: int = 18) -> str:
    """Return a label that is not too long, in which a dollar does not begin a formula."""
    text = str(text)
    text = text if len(text) <= most else text[: most - 1] + "…"
    return text.replace("$", r"\$")


def bare(panel: Panel) -> None:
    """Take away the upper and the right side of the frame."""
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


# -- main effects


def main_panel(panel: Panel, effect: Effect, lines: Lines) -> None:
    """Draw a main effect: a curve, or bars if the input is a category."""
    if effect.seen[0].category:
        _bars(panel, effect, lines)
    else:
        _curves(panel, effect, lines)
    bare(panel)


class _Piece:
    """Some points of an effect: where, the effect, its band (the effect itself without one)."""

    def __init__(self, table: Any, where: Array) -> None:
        self.x = where
        self.effect, self.lower, self.upper = (
            table[name if name in table else "effect"].to_numpy()
            for name in ("effect", "lower", "upper")
        )
        self.band = "lower" in table
        self.shared = table["shared"].to_numpy() if "shared" in table else np.zeros(len(where))

    def limits(self) -> tuple[float, float]:
        """Return the range of the effect and its band, but for bands that run away."""
        low, high = float(self.effect.min()), float(self.effect.max())
        room = 0.6 * (high - low) or float((self.upper - self.effect).max())
        least, most = float(self.lower.min()), float(self.upper.max())
        return max(least, low - room), min(most, high + room)

    @property
    def away(self) -> Array | None:
        """Half the width of the band."""
        return self.upper - self.effect if self.band else None


def _pieces(effect: Effect, k: int) -> tuple[_Piece, _Piece | None]:
    """Return the points of a curve that are shown, and what special values and a gap add."""
    one = effect.seen[0]
    low, high = one.observed.shown
    table = _of_output(effect.curve(), effect, k)
    there = table["value"].notna().to_numpy().copy()
    if one.special:
        there[len(there) - len(one.special) - one.gaps :] = False
    x = _numbers(table["value"][there], one)
    inside = (x >= low) & (x <= high)
    beside = table[~there]
    return (
        _Piece(table[there][inside], x[inside]),
        _Piece(beside, _beside(one)) if len(beside) else None,
    )


def _beside(one: Input) -> Array:
    """Return where special values and a gap stand, to the right of a curve."""
    low, high = one.observed.shown
    return high + STEP * (high - low) * (1 + np.arange(len(one.special) + one.gaps))


def _of_output(table: Any, effect: Effect, k: int) -> Any:
    return table[table["class"] == effect.classes[k]] if effect.classes else table


def _numbers(values: Any, one: Input) -> Array:
    if one.part == "day":
        import pandas as pd

        values = (values - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return np.asarray(values, dtype=float)


def _curves(panel: Panel, effect: Effect, lines: Lines) -> None:
    one, seen = effect.seen[0], effect.seen[0].observed
    panel.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ends = []
    for k, label, colour in lines:
        curve, gap = _pieces(effect, k)
        ends.append(curve.limits())
        if one.many:
            if curve.band:
                alpha = 0.25 if len(lines) == 1 else 0.12
                if curve.shared.any() and len(lines) == 1:
                    wide = np.hypot(curve.upper - curve.effect, curve.shared)
                    for sign in (-1, 1):
                        panel.plot(curve.x, curve.effect + sign * wide, color=colour, linewidth=0.7,
                                   linestyle=":")  # fmt: skip
                panel.fill_between(curve.x, curve.lower, curve.upper, color=colour, alpha=alpha,
                                   linewidth=0)  # fmt: skip
            panel.plot(curve.x, curve.effect, color=colour, linewidth=1.8, label=label)
        else:
            panel.errorbar(curve.x, curve.effect, curve.away, fmt="o-", color=colour, label=label,
                           markersize=4, capsize=2, linewidth=1, elinewidth=1)  # fmt: skip
        if gap is not None:
            ends.append((float(gap.lower.min()), float(gap.upper.max())))
            panel.errorbar(gap.x, gap.effect, gap.away, fmt="D", color=colour, markersize=4,
                           capsize=2)  # fmt: skip
    least, most = min(end[0] for end in ends), max(end[1] for end in ends)
    room = 0.06 * (most - least) or 1.0
    panel.set_ylim(least - 5 * room, most + 2 * room)
    _frame_curve(panel, one, most + 2 * room)
    _density(panel, seen)
    name_ticks(panel.xaxis, one)
    low, high = seen.shown
    if (one.gaps or one.special) and not one.part:
        panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= high])
    middle = len(seen.points) and one.many and high < seen.points[-1]
    panel.set_xlabel(short(one.name, 28) + (" (middle 98 %)" if middle else ""))


def _frame_curve(panel: Panel, one: Input, top: float) -> None:
    """Set the range of a curve's panel, with room for what is missing."""
    from matplotlib.ticker import MaxNLocator

    seen = one.observed
    low, high = seen.shown
    beside = _beside(one)
    if len(beside):
        line = high + 0.5 * STEP * (high - low)
        panel.axvline(line, color="0.6", linewidth=0.8, linestyle=":")
        texts = [f"{code:g}".replace("-", MINUS) for code in one.special]
        for text, at in zip([*texts, "missing"], beside, strict=False):
            panel.annotate(text, (at, top), fontsize=7, ha="center", va="top")
    pad = 0.35 * float(np.diff(seen.points).min()) if len(seen.weight) > 1 else 0.0
    pad = max(pad, 0.03 * (high - low))
    panel.set_xlim(low - pad, beside[-1] + 0.6 * STEP * (high - low) if len(beside) else high + pad)
    whole = bool(len(seen.weight)) and not (seen.points % 1).any()
    panel.xaxis.set_major_locator(MaxNLocator(5, integer=whole))


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


def name_ticks(axis: Any, one: Input) -> None:
    """Name weekdays on an axis, and write days as dates."""
    if one.part == "weekday":
        axis.set_ticks(range(len(DAYS)), DAYS)
    elif one.part == "day":
        ticks = np.linspace(*one.observed.shown, 4)
        axis.set_ticks(ticks, [str(np.datetime64(round(day), "D"))[:7] for day in ticks.tolist()])


def _bars(panel: Panel, effect: Effect, lines: Lines) -> None:
    one = effect.seen[0]
    count = min(len(one.levels), MOST_LEVELS)
    table = effect.curve()
    at = np.arange(count, dtype=float)
    high = 0.8 / len(lines)
    panel.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    ends = [(0.0, 0.0)]
    for n, (k, label, colour) in enumerate(lines):
        bars = _Piece(_of_output(table, effect, k).iloc[:count], at)
        ends.append(bars.limits())
        panel.barh(at - 0.4 + (n + 0.5) * high, bars.effect, high, color=colour, label=label,
                   alpha=0.75, xerr=bars.away,
                   error_kw={"linewidth": 1, "ecolor": "0.25"})  # fmt: skip
    size = 8 if count <= 10 else 6
    weight = one.observed.weight[:count]
    shares = [f"{100 * w:.0f} %" if w >= 0.005 else "<1 %" for w in weight]
    texts = [f"{short(v)} ({w})" for v, w in zip(one.levels, shares, strict=False)]
    panel.set_yticks(at, texts, fontsize=size)
    panel.set_ylim(count - 0.4, -0.6)
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    room = 0.04 * (high - low) or 1.0
    panel.set_xlim(low - room, high + room)
    left = len(one.levels) - count
    panel.set_ylabel(short(one.name, 28) + (f" ({left} rarer not shown)" if left else ""))


# -- pairs


def pair_panel(figure: Figure, panel: Panel, effect: Effect, k: int) -> Any:
    """Draw a pair as a heat map, pale where there are no rows near; returns its colour bar."""
    table = _of_output(effect.grid(POINTS, MOST_LEVELS), effect, k)
    fine = [cells(one, POINTS) for one in effect.seen]
    surface = table["effect"].to_numpy().reshape([len(borders) - 1 for borders in fine])
    # The colours are for where the data are: corners without rows may be far off.
    height = float(np.nan_to_num(effect.heights[k])) or float(np.abs(surface).max()) or 1.0
    drawn = panel.pcolormesh(
        *fine, surface.T, cmap="RdBu_r", vmin=-height, vmax=height, rasterized=True
    )
    if effect.table is not None:
        pale = np.where(_near(effect, effect.table), np.nan, 1.0)
        coarse = [cells(one) for one in effect.seen]
        panel.pcolormesh(
            *coarse, pale.T, cmap="gray", vmin=0, vmax=1, alpha=0.7, linewidth=0, rasterized=True
        )
    for axis, one in zip((panel.xaxis, panel.yaxis), effect.seen, strict=True):
        _side(axis, one, axis is panel.xaxis)
    bar = figure.colorbar(drawn, ax=panel, extend="both")
    bar.ax.tick_params(labelsize=8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}".replace("-", MINUS))
    return bar


def _near(effect: Effect, counts: Array) -> Any:
    """Return which cells have rows, or along numbers of many values a neighbour with rows."""
    from scipy.ndimage import binary_dilation

    around = np.ones([3 if one.many else 1 for one in effect.seen])
    return binary_dilation(counts > 0, around)


def _side(axis: Any, one: Input, across: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_label_text(short(one.name, 28))
    axis.set_major_locator(MaxNLocator(5))
    name_ticks(axis, one)
    if one.category:
        count = min(len(one.levels), MOST_LEVELS)
        texts = [short(level, 14) for level in one.levels[:count]]
        slanted = across and sum(map(len, texts)) > 24
        size = 8 if count <= 10 else 6
        axis.set_ticks(range(count), texts, fontsize=size, **(SLANTED if slanted else {}))


# -- poles


def distance(poles: Array, one: Input) -> float:
    """Return how far the nearest of some poles is from the data of an input."""
    points = one.observed.points if len(one.observed.points) else np.zeros(1)
    outside = np.maximum(np.maximum(points[0] - poles.real, poles.real - points[-1]), 0)
    return float(np.hypot(outside, poles.imag).min(initial=np.inf))


def pole_panel(panel: Panel, one: Input, found: dict[str, Array]) -> None:
    """Draw the complex poles around the data of an input, by the effect they are in."""
    low, high = one.observed.shown
    side = SIDE * (high - low)
    panel.axvspan(low, high, color="0.93", zorder=0)
    panel.axhline(0, color="0.5", linewidth=0.8, zorder=1)
    panel.plot([low, high], [0, 0], color="k", linewidth=3, solid_capstyle="butt", zorder=2)
    outside = 0
    for number, (label, poles) in enumerate(found.items()):
        inside = (poles.real > low - side) & (poles.real < high + side)
        inside &= np.abs(poles.imag) < side
        outside += int((~inside).sum())
        style: dict[str, Any] = {"marker": "o", "s": 14, "color": f"C{number % 10}", "zorder": 3}
        if label == "main effect":
            style = {"marker": "x", "s": 45, "color": "k", "zorder": 4}
        if inside.any():
            panel.scatter(poles[inside].real, poles[inside].imag, label=label, **style)
    nearest = min((distance(poles, one) for poles in found.values()), default=np.inf)
    title = "no poles" if nearest == np.inf else f"nearest pole {nearest:.2g} away"
    title = "a pole within the data" if nearest == 0 else title
    panel.set_title(title + (f"; {outside} off the picture" if outside else ""), fontsize=10)
    panel.set(xlim=(low - side, high + side), ylim=(-side, side))
    panel.set(xlabel=f"Re {short(one.name, 24)}", ylabel=f"Im {short(one.name, 24)}")
    if panel.get_legend_handles_labels()[0]:
        # Beside the panel, where it covers no pole.
        panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False,
                     handletextpad=0.1, borderaxespad=0.2)  # fmt: skip
