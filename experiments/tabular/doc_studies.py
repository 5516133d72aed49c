"""Tables of the smaller studies for the docs: the four cells, the cost of rows, trust."""

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


def _trust(study: str) -> pd.DataFrame:
    rows = [row for row in results.read("tabular_trust").get("rows", []) if row["study"] == study]
    return pd.DataFrame(rows)


def coverage() -> Iterator[list[str]]:
    """Give the share of points that 95% bands hold."""
    yield ["task", "rows", "tables", "model", "inputs of a true pair", "at their edges",
           "an input alone", "the mean of new rows"]  # fmt: skip
    frame = _trust("coverage")
    if frame.empty:
        return
    for (task, rows, model), some in frame.groupby(["task", "rows", "model"], sort=False):
        mean = some["mean"].mean()
        numbers = [some[name].mean() for name in ("paired", "edges", "alone")]
        shares = [f"{100 * x:.0f}%" for x in numbers]
        last = "-" if pd.isna(mean) else f"{100 * mean:.0f}%"
        yield [str(task), f"{rows:,}", str(len(some)), str(model), *shares, last]


def pairs() -> Iterator[list[str]]:
    """Give hits and false alarms among planted pairs."""
    yield ["rows", "tables", "planted pairs among the three largest", "others above 1%",
           "pairs in the model"]  # fmt: skip
    frame = _trust("pairs")
    for rows, some in frame.groupby("rows") if len(frame) else ():
        hits = f"{some['hits'].sum()} of {3 * len(some)}"
        yield [f"{rows:,}", str(len(some)), hits, str(some["false"].sum()),
               f"{some['pairs'].mean():.0f}"]  # fmt: skip


def collinear() -> Iterator[list[str]]:
    """Give how effects look where inputs go together."""
    yield ["table", "rows", "widest effect / spread of the decision", "largest share",
           "covariance shares", "effects", "few"]  # fmt: skip
    frame = _trust("collinear")
    for (name, rows), some in frame.groupby(["table", "rows"]) if len(frame) else ():
        least, most = some["covariance_least"].min(), some["covariance_most"].max()
        yield [str(name), f"{rows:,}", f"{some['widest'].max():.2f}",
               f"{100 * some['share'].max():.0f}%", f"{100 * least:.0f}% to {100 * most:.0f}%",
               f"{some['effects'].mean():.0f}", f"{some['few'].mean():.0f}"]  # fmt: skip


def losses() -> Iterator[list[str]]:
    """Give the error of each loss on rows held out, over that of a constant."""
    models = ["RAN", "EBM", "pyGAM", "linear", "LightGBM"]
    yield ["table", "loss", "rows", "splits", *models, "seconds of RAN, EBM"]
    frame = pd.DataFrame(results.read("tabular_losses").get("rows", []))
    for (table, loss), some in frame.groupby(["table", "loss"], sort=False) if len(frame) else ():
        # Splits in which every model of this loss was run.
        wide = some.pivot(index="split", columns="model", values="error").dropna()
        cells = []
        for model in models:
            there = model in wide
            cells.append(f"{(wide[model] / wide['constant']).mean():.3f}" if there else "-")
        taken = [some.loc[some["model"] == model, "seconds"].median() for model in ("RAN", "EBM")]
        times = ", ".join("-" if pd.isna(t) else f"{t:.1f}" for t in taken)
        yield [str(table), str(loss).replace("_", " "), f"{some['rows'].iloc[0]:,}",
               str(len(wide)), *cells, times]  # fmt: skip


def known_losses() -> Iterator[list[str]]:
    """Give the distance of f from the truth, where it is known."""
    models = ["constant", "RAN", "EBM", "pyGAM", "linear", "LightGBM"]
    yield ["table", *models]
    frame = pd.DataFrame(results.read("tabular_losses").get("rows", []))
    frame = frame[frame["truth"].notna()] if len(frame) else frame
    for table, some in frame.groupby("table", sort=False) if len(frame) else ():
        wide = some.pivot(index="split", columns="model", values="truth").dropna()
        yield [str(table), *(f"{wide[m].mean():.3f}" if m in wide else "-" for m in models)]
