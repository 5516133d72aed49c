"""The slopes and the figure of benchmarks/scaling.py, from its rows."""

from __future__ import annotations

import math
import statistics

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from benchmarks.timing import Row
from experiments.results import FIGURES

LEAST = 3  # sizes that a slope needs
LABELS = {
    "rows": "rows",
    "features": "features",
    "pairs": "pairs",
    "coefficients": "coefficients of a unit",
}
COLOURS = {"Rational1d": "tab:blue", "Rational2d": "tab:orange", "GELU": "tab:gray"}
DASHES = {"softplus": "-", "square": "--", "none": ":"}


def grouped(rows: list[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Return the rows of each line of the figure."""
    lines: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row["axis"], row["unit"], row["denominator"]), []).append(row)
    return lines


def slopes(rows: list[Row]) -> list[Row]:
    """Return the slope of each line above its floor, None where fewer than `LEAST` sizes are."""
    found = []
    for (axis, unit, kind), line in grouped(rows).items():
        used = [row for row in line if row["milliseconds"] >= row["floor"]]
        slope = None
        if len(used) >= LEAST:
            x, y = ([math.log(row[key]) for row in used] for key in ("size", "milliseconds"))
            slope = statistics.linear_regression(x, y).slope
        ends = f"{used[0]['size']:,} to {used[-1]['size']:,}" if used else "-"
        found.append(
            {"axis": axis, "unit": unit, "denominator": kind, "slope": slope, "sizes": ends}
            | {"points": len(used), "floor": line[0]["floor"], "others": line[0]["others"]}
        )
    return found


def draw(rows: list[Row]) -> None:
    """Draw the four axes; points below the floor are hollow."""
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    panels = dict(zip(LABELS, figure.subplots(2, 2).flat, strict=True))
    fits = {(s["axis"], s["unit"], s["denominator"]): s["slope"] for s in slopes(rows)}
    for key, line in grouped(rows).items():
        axis, unit, kind = key
        colour, name = COLOURS[unit], "" if kind == "none" else f", {kind}"
        slope = "" if fits[key] is None else f", slope {fits[key]:.2f}"
        x, y = ([row[name] for row in line] for name in ("size", "milliseconds"))
        panels[axis].plot(x, y, DASHES[kind], color=colour, label=f"{unit}{name}{slope}")
        for row in line:
            face = colour if row["milliseconds"] >= row["floor"] else "white"
            panels[axis].plot(row["size"], row["milliseconds"], "o", color=colour, mfc=face, ms=5)
    for axis, panel in panels.items():
        panel.set(xlabel=LABELS[axis], ylabel="forward + backward (ms)", xscale="log", yscale="log")
        ticks: list[int] = []
        for size in sorted({row["size"] for row in rows if row["axis"] == axis}):
            if not ticks or size > 1.25 * ticks[-1]:  # else the labels overlap
                ticks.append(size)
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], rotation=45)
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(FIGURES / "scaling.png", dpi=110)
