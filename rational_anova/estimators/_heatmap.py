"""Panels of pairs: heat maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from scipy.ndimage import binary_dilation

from ._columns import Feature
from ._effects import Effect
from ._measured import MOST_LEVELS, Measured, Observed, cells
from ._panels import name_ticks, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

POINTS = 48
SLANTED = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}


def pair_panel(figure: Figure, panel: Panel, effect: Effect, k: int, measured: Measured) -> Any:
    """Draw a pair as a heat map, pale where there are no rows near; returns its colour bar."""
    table = effect.grid(POINTS, MOST_LEVELS)
    if effect.classes:
        table = table[table["class"] == effect.classes[k]]
    inputs = list(zip(effect.features, effect.observed, strict=True))
    fine = [cells(feature, seen, POINTS) for feature, seen in inputs]
    surface = table["effect"].to_numpy().reshape([len(borders) - 1 for borders in fine])
    # The colours are for where the data are: corners without rows may be far off.
    known = effect.axes in measured.axes
    height = float(measured.height[measured.axes.index(effect.axes), k]) if known else 0.0
    height = height or float(np.abs(surface).max()) or 1.0
    drawn = panel.pcolormesh(
        *fine, surface.T, cmap="RdBu_r", vmin=-height, vmax=height, rasterized=True
    )
    if known:
        pale = np.where(_near(effect, measured.tables[effect.axes]), np.nan, 1.0)
        coarse = [cells(feature, seen) for feature, seen in inputs]
        panel.pcolormesh(
            *coarse, pale.T, cmap="gray", vmin=0, vmax=1, alpha=0.7, linewidth=0, rasterized=True
        )
    for axis, (feature, seen) in zip((panel.xaxis, panel.yaxis), inputs, strict=True):
        _side(axis, feature, seen, axis is panel.xaxis)
    bar = figure.colorbar(drawn, ax=panel, extend="both")
    bar.ax.tick_params(labelsize=8)
    return bar


def _near(effect: Effect, counts: Any) -> Any:
    """Return which cells have rows, or along numbers of many values a neighbour with rows."""
    many = [not f.category and not len(s.weight)
            for f, s in zip(effect.features, effect.observed, strict=True)]  # fmt: skip
    around = np.ones([3 if each else 1 for each in many])
    return binary_dilation(counts > 0, around)


def _side(axis: Any, feature: Feature, seen: Observed, across: bool) -> None:
    axis.set_label_text(short(feature.name, 28))
    axis.set_major_locator(MaxNLocator(5))
    name_ticks(axis, feature, seen)
    if feature.category:
        count = min(len(feature.levels), MOST_LEVELS)
        texts = [short(level, 14) for level in feature.levels[:count]]
        slanted = across and sum(map(len, texts)) > 24
        size = 8 if count <= 10 else 6
        axis.set_ticks(range(count), texts, fontsize=size, **(SLANTED if slanted else {}))
