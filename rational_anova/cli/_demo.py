"""The demonstration: find the law in a table of measurements, print it and draw it."""

from __future__ import annotations

import io
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from ..discovery import Law, discover, read_table
from ..report import write_report
from ..serialization import write_whole
from ._progress import spinner

_UNITS = {"T": "K", "V": "L/mol", "P": "bar"}
# What the pressures of the table were computed with; experiments/discovery/demo_table.py.
_TRUTH = "0.083145*T/(V - 0.04267) - 3.64/V**2"
_ISOTHERMS, _NEAR = (290, 330, 380, 440), 6  # K


def run_demo(console: Console, picture: Path, report: Path) -> None:
    """Discover, tell the console, and write a picture and a page."""
    table = _read()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    say(
        f"{len(table)} states of carbon dioxide: temperature T (K), molar volume V (L/mol), "
        "pressure P (bar).\nThe pressures have noise of 0.5% of their spread, as a gauge might."
    )
    with spinner() as progress:
        law = replace(discover(table, "P", progress=progress), units=_UNITS)
    say(f"\n{law.summary()}\n")
    say(f"The table was made with P = {_TRUTH}, then the noise.")
    _draw(law, table, picture)
    notes = ["Made with the van der Waals law of carbon dioxide, and noise of 0.5% of the spread of P."]
    write_report(law, report, table, "P", notes)
    say(f"picture: {picture}\nreport: {report}")


def _read() -> pd.DataFrame:
    with resources.as_file(resources.files(__package__).joinpath("van_der_waals.csv")) as path:
        return read_table(path)


def _draw(law: Law, table: pd.DataFrame, path: Path) -> None:
    from matplotlib import ticker
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.4), layout="constrained")
    axes = figure.subplots()
    volume = np.geomspace(table["V"].min(), table["V"].max(), 300)
    for place, temperature in enumerate(_ISOTHERMS):
        rows = pd.DataFrame({"T": float(temperature), "V": volume})
        near = table[np.abs(table["T"] - temperature) <= _NEAR]
        color = f"C{place}"
        axes.plot(volume, law.predict(rows), color=color, label=f"{temperature} K")
        axes.plot(near["V"], near["P"], "o", color=color, markersize=4, alpha=0.7)
    left = rf"${law.target} = {law.latex()}$".replace(r"\frac", r"\dfrac")
    axes.set_title(left if law.found else f"No compact law found:\n{left}", fontsize=14, pad=12)
    axes.set(xlabel="molar volume V / (L/mol)", ylabel="pressure P / bar", xscale="log")
    axes.legend(title=f"lines: the law\ndots: rows within {_NEAR} K", frameon=False)
    axes.xaxis.set_major_locator(ticker.FixedLocator([0.1, 0.2, 0.5, 1, 2]))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.spines[["top", "right"]].set_visible(False)
    content = io.BytesIO()
    figure.savefig(content, dpi=120, format="png")
    write_whole(path, content.getvalue())
