"""Average ranks with the distance of Nemenyi's test, and against time; a colour a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import studentized_range

from experiments.tabular.duels import ranks
from experiments.tabular.recorded import NAMES, on_common_folds

COLOURS = {
    "ran": "#c1272d", "ran_deep": "#f08a24", "ebm": "#0072b2", "pygam": "#7a5195",
    "lightgbm": "#2e8b57", "catboost": "#8c6d1f", "linear": "#777777", "mlp": "#d16ba5",
}  # fmt: skip
SIGNIFICANT = 0.05


def nemenyi(models: int, tables: int) -> float:
    """Return the distance of average ranks from which two models differ, at 5 %."""
    q = float(studentized_range.ppf(1 - SIGNIFICANT, models, np.inf)) / np.sqrt(2)
    return q * float(np.sqrt(models * (models + 1) / (6 * tables)))


def cliques(values: list[float], distance: float) -> list[tuple[int, int]]:
    """Return the longest runs, first and last, of sorted values that lie within a distance."""
    found: list[tuple[int, int]] = []
    for i, low in enumerate(values):
        last = max(k for k, value in enumerate(values) if value - low <= distance)
        if last > i and (not found or last > found[-1][1]):
            found.append((i, last))
    return found


def rank_figure(frame: pd.DataFrame) -> Figure:
    """Draw average ranks with the distance of Nemenyi's test."""
    found = ranks(frame)
    models, values = list(found.average), list(found.average.values())
    count = len(models)
    distance = nemenyi(count, found.tables)
    bars = cliques(values, distance)
    figure = Figure(figsize=(8, 1.7 + 0.16 * len(bars) + 0.17 * count), layout="constrained")
    axes = figure.add_subplot()
    low, high, top = 1.0, float(count), 0.34 + 0.14 * len(bars)
    axes.hlines(0, low, high, "black", lw=1)
    for tick in range(1, count + 1):
        axes.vlines(tick, 0, -0.07, "black", lw=1)
        axes.text(tick, -0.12, str(tick), ha="center", va="bottom", fontsize=9)
    for level, (i, j) in enumerate(bars):
        y = 0.14 + 0.14 * level
        axes.hlines(y, values[i] - 0.04, values[j] + 0.04, "black", lw=3.5)
    half = (count + 1) // 2
    for k, (model, value) in enumerate(zip(models, values, strict=True)):
        left = k < half
        y = top + 0.22 * (k if left else count - 1 - k)
        edge = low - 0.15 if left else high + 0.15
        colour = COLOURS[model]
        axes.plot([value, value, edge], [0, y, y], color=colour, lw=1.5)
        axes.plot(value, 0, "o", color=colour, ms=5, zorder=3)
        axes.text(
            edge + (-0.06 if left else 0.06), y, f"{NAMES[model]}  {value:.2f}", color=colour,
            ha="right" if left else "left", va="center", fontsize=10, weight="bold",
        )  # fmt: skip
    axes.hlines(-0.45, low, low + distance, "black", lw=1.5)
    for end in (low, low + distance):
        axes.vlines(end, -0.49, -0.41, "black", lw=1.5)
    words = f"Nemenyi's distance at 5 %: {distance:.2f}"
    axes.text(low + distance + 0.1, -0.45, words, va="center", fontsize=9)
    axes.set(xlim=(low - 1.4, high + 1.4), ylim=(top + 0.22 * half, -0.6))
    axes.axis("off")
    axes.set_title(
        f"Average rank over {found.tables} tables (1 is best); bars join models "
        "that the test cannot tell apart",
        fontsize=10,
    )
    return figure


def time_figure(frame: pd.DataFrame) -> Figure:
    """Draw average ranks against seconds of a fit relative to LightGBM."""
    found = ranks(frame)
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.add_subplot()
    done = frame[~frame["failed"]]
    for model, rank in found.average.items():
        seconds = on_common_folds(done, dict.fromkeys((model, "lightgbm")), "fit_seconds")
        if not len(seconds):
            continue
        x = float(np.exp(np.log(seconds[model] / seconds["lightgbm"]).mean()))
        axes.plot(x, rank, "o", color=COLOURS[model], ms=9)
        lacks = f" ({len(seconds)} tables)" if len(seconds) < found.tables else ""
        axes.annotate(
            NAMES[model] + lacks, (x, rank), (0, 9), textcoords="offset points", ha="center",
            color=COLOURS[model], weight="bold",
        )  # fmt: skip
    axes.set(
        xscale="log",
        xlabel="seconds of a fit, one thread, relative to LightGBM's (geometric mean over tables)",
        ylabel=f"average rank over {found.tables} tables (1 is best)",
    )
    axes.margins(0.14)
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.set_title("Better is up, quicker is to the left", fontsize=10)
    return figure
