"""Seconds and memory of a fit against rows."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from experiments import results
from experiments.tabular.figure_ranks import COLOURS

AIMS = {"seconds": ("seconds of a fit, wall clock", 600.0, "10 minutes"),
        "peak_gib": ("most memory held, GiB", 8.0, "8 GiB")}  # fmt: skip


def scaling_figure() -> Figure | None:
    """Draw both on log-log axes, with what was aimed at for a million rows; None if not run."""
    path = results.FOLDER / "tabular_scaling.csv"
    if not path.exists():
        return None
    frame = pd.read_csv(path).sort_values("rows")
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, (column, (words, aim, said)) in zip(figure.subplots(1, 2), AIMS.items(), strict=True):
        axes.loglog(frame["rows"], frame[column], "o-", color=COLOURS["ran"])
        axes.axhline(aim, color="0.5", ls="--", lw=1)
        axes.text(frame["rows"].min(), aim, f"aimed at for a million rows: {said}", va="bottom",
                  fontsize=8, color="0.35")  # fmt: skip
        for x, y in zip(frame["rows"], frame[column], strict=True):
            axes.annotate(f"{y:.3g}", (x, y), (0, -13), textcoords="offset points", ha="center",
                          fontsize=7)  # fmt: skip
        axes.set_xlabel("rows fitted (30 columns)")
        axes.set_ylabel(words)
        axes.grid(alpha=0.3)
        axes.margins(y=0.15)
    return figure
