"""The demonstration: find the law in a table of measurements, print it and draw it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from .._core.files import write_figure
from ..discovery import Law, discover
from ..report import write_report
from ..tables import demo_table
from ._console import say as say_to
from .laws import watching

_UNITS = {"T": "K", "V": "L/mol", "P": "bar"}
# What the pressures of the table were computed with; experiments/discovery/demo_table.py.
_TRUTH = "0.083145*T/(V - 0.04267) - 3.64/V**2"
_ISOTHERMS = (290, 330, 370, 410, 450)  # K
_COLORS = "plasma"


def run_demo(console: Console, picture: Path, report: Path) -> None:
    """Discover, tell the console, and write a picture and a page."""
    table = _read()

    def say(text: str) -> None:
        say_to(console, text)

    say(
        f"{len(table)} states of carbon dioxide: temperature T (K), molar volume V (L/mol), "
        "pressure P (bar).\nThe pressures have noise of 0.5% of their standard deviation."
    )
    with watching() as callbacks:
        law = replace(discover(table, "P", callbacks=callbacks), units=_UNITS)
    _draw(law, table, picture)
    notes = ["Generated with the van der Waals law of carbon dioxide, with 0.5% of noise."]
    write_report(law, report, table, "P", notes)
    say(f"\n{law.summary()}\n")
    say(f"The table was made with P = {_TRUTH}, then the noise.")
    say(f"picture: {picture}\nreport: {report}")


def _read() -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(demo_table()))


def _draw(law: Law, table: pd.DataFrame, path: Path) -> None:
    from matplotlib import colormaps, ticker
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    dots = left.scatter(table["V"], table["P"], c=table["T"], s=12, cmap=_COLORS)
    volume = np.geomspace(table["V"].min(), table["V"].max(), 300)
    for temperature in _ISOTHERMS:
        rows = pd.DataFrame({"T": float(temperature), "V": volume})
        color = colormaps[_COLORS](dots.norm(temperature))
        left.plot(volume, law.predict(rows), color=color, linewidth=1)
    left.set(ylabel="pressure P / bar", title="dots: the table; lines: isotherms of the law")
    over = table["P"] - law.predict(table[["T", "V"]])
    right.scatter(table["V"], over, c=table["T"], s=12, cmap=_COLORS)
    right.axhline(0, color="gray", linewidth=1)
    right.set(ylabel="P measured - P by the law / bar", title="residuals")
    figure.colorbar(dots, ax=right, label="temperature T / K")
    for axes in (left, right):
        axes.set(xlabel="molar volume V / (L/mol)", xscale="log")
        axes.xaxis.set_major_locator(ticker.FixedLocator([0.1, 0.2, 0.5, 1, 2]))
        axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_locator(ticker.NullLocator())
    formula = rf"${law.target} = {law.latex()}$".replace(r"\frac", r"\dfrac")
    figure.suptitle(formula if law.grade.claimed else "No compact law found", fontsize=14)
    write_figure(path, figure)
