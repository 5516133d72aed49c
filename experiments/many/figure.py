"""Cost and memory of a fit to Parquet files against rows, as scaling has recorded them.

python -m experiments.many.figure
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.results import FIGURES, FOLDER

AIM = 1.1  # slope of cost against rows
COSTS = {"seconds": ("seconds of the clock", "0.6", "s:"),
         "processor_seconds": ("processor seconds", "#c1272d", "o-"),
         "gram_processor_seconds": ("of these Gram matrices and the rest", "#0072b2", "o-"),
         "pairs_processor_seconds": ("pairs, on all rows", "#2e8b57", "o-"),
         "columns_processor_seconds": ("first pass", "#8c6d1f", "o-")}  # fmt: skip


def scaling_figure(frame: pd.DataFrame) -> Figure:
    """Draw cost and memory against rows on log-log axes."""
    frame = frame.sort_values("rows")
    rows = frame["rows"].to_numpy(float)
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    cost, memory = figure.subplots(1, 2)
    for column, (words, colour, style) in COSTS.items():
        cost.loglog(rows, frame[column], style, color=colour, label=words, ms=4)
    aim = frame["processor_seconds"].iloc[0] * (rows / rows[0]) ** AIM
    cost.loglog(rows, aim, color="0.5", ls="--", lw=1, label=f"aimed at: slope {AIM}")
    cost.set_ylabel("seconds")
    figure.legend(fontsize=8, loc="outside lower center", ncols=3)
    memory.semilogx(rows, frame["peak_gib"], "o-", color="#c1272d", ms=4)
    memory.set_ylim(0, 1.3 * np.max(frame["peak_gib"]))
    memory.set_ylabel("most memory held, GiB")
    for axes in (cost, memory):
        axes.set_xlabel("rows fitted (20 columns)")
        axes.grid(alpha=0.3)
    return figure


def main() -> None:
    path = FOLDER / "many_scaling.csv"
    if not path.exists():
        print("nothing is recorded: run python -m experiments.many.scaling")
        return
    scaling_figure(pd.read_csv(path)).savefig(FIGURES / "many_scaling.png", dpi=110)
    print("wrote many_scaling.png")


if __name__ == "__main__":
    main()
