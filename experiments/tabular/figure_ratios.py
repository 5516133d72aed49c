"""Errors of ours over those of a peer, by table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.tabular.duels import TIE
from experiments.tabular.figure_ranks import COLOURS
from experiments.tabular.recorded import NAMES, on_common_folds
from experiments.tabular.tables import TUNED

FARTHEST = 4.0  # ratio that is drawn as it is
_FINE = (0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4)
_MIDDLE = (0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 3)
_COARSE = (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 3, 4)


def ratio_figure(frame: pd.DataFrame, ours: str = "ran") -> Figure:
    """Draw the error of ours over a peer's, by table, sorted."""
    pairs = {peer: on_common_folds(frame, (ours, peer)) for peer in ("ebm", "lightgbm")}
    count = max(len(means) for means in pairs.values())
    figure = Figure(figsize=(11, 1.3 + 0.21 * count), layout="constrained")
    for axes, (peer, means) in zip(figure.subplots(1, 2), pairs.items(), strict=True):
        _ratios(axes, means, ours, peer)
    figure.suptitle(
        f"Left of 1: {NAMES[ours]} is better. Filled: tables that the recipe was tried on; open: "
        "only measured",
        fontsize=10,
    )
    return figure


def _ratios(axes: Axes, means: pd.DataFrame, ours: str, peer: str) -> None:
    a, b = means[ours], means[peer]
    ratio = (a / b).where(np.isfinite(a) & np.isfinite(b)).dropna().sort_values()
    none = [table for table in means.index if table not in ratio.index]
    for y, (table, value) in enumerate(ratio.items()):
        colour = COLOURS[ours] if value < 1 else COLOURS[peer]
        colour = "0.4" if abs(value - 1) <= TIE else colour
        shown = min(max(value, 1 / FARTHEST), FARTHEST)
        axes.plot([1, shown], [y, y], color=colour, lw=1.5)
        sign = "o" if shown == value else "<" if value < 1 else ">"
        axes.plot(shown, y, sign, color=colour, mfc=colour if table in TUNED else "white", ms=6)
        if shown != value:
            axes.annotate(
                f"{value:.2g}", (shown, y), (9 if value < 1 else -9, 5),
                textcoords="offset points", ha="left" if value < 1 else "right", fontsize=7,
            )  # fmt: skip
    for k, table in enumerate(none):
        lost = NAMES[peer] if np.isfinite(a[table]) else NAMES[ours]
        axes.text(
            1, len(ratio) + k, f"  no result of {lost}", va="center", fontsize=8, color="0.4",
            style="italic",
        )  # fmt: skip
    axes.axvline(1, color="black", lw=1)
    names = [*ratio.index, *none]
    axes.set_yticks(range(len(names)), [_short(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xscale("log")
    seen = ratio.clip(1 / FARTHEST, FARTHEST)
    low, high = (min(0.9, seen.min()), max(1.1, seen.max())) if len(seen) else (0.9, 1.1)
    room = (high / low) ** 0.05
    axes.set_xlim(low / room, high * room)
    wanted = _FINE if high / low < 2 else _MIDDLE if high / low < 5 else _COARSE
    ticks = [t for t in wanted if low / room <= t <= high * room]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks], fontsize=8)
    axes.minorticks_off()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"error of {NAMES[ours]} / error of {NAMES[peer]} (log scale)")
    axes.set_title(f"{NAMES[ours]} and {NAMES[peer]}, {len(means)} tables", fontsize=11)


def _short(name: str) -> str:
    return name if len(name) <= 28 else name[:27] + "…"
