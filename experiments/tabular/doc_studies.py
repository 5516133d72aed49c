"""Tables of the two smaller studies for the docs: the four cells, and the cost of rows."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments import results
from experiments.tabular.ablation import CELLS


def _recorded(name: str) -> pd.DataFrame:
    path = results.FOLDER / f"tabular_{name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def ablation() -> Iterator[list[str]]:
    """Give mean rank and wins of each cell."""
    yield ["cell", "mean rank", "best on", "tables", "median error over that of dense ReLU"]
    frame = _recorded("ablation")
    if frame.empty:
        return
    errors = frame.pivot_table(index="table", columns="cell", values="error").dropna()
    ranks = errors.rank(axis=1)
    for cell in CELLS:
        ratio = (errors[cell] / errors["dense ReLU"]).median()
        best = int((errors[cell] == errors.min(axis=1)).sum())
        yield [cell, f"{ranks[cell].mean():.2f}", str(best), str(len(errors)), f"{ratio:.3f}"]


def scaling() -> Iterator[list[str]]:
    """Give seconds, memory and error by rows."""
    yield ["rows", "seconds", "seconds of the processor", "GiB at most", "effects",
           "error of the mean / its spread"]  # fmt: skip
    frame = _recorded("scaling")
    for row in frame.sort_values("rows").itertuples() if len(frame) else ():
        yield [f"{row.rows:,}", f"{row.seconds:.3g}", f"{row.processor_seconds:.3g}",
               f"{row.peak_gib:.2g}", str(row.effects), f"{row.error:.2g}"]  # fmt: skip
