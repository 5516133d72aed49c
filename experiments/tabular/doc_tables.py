"""Tables of the comparison for the docs: made of the recorded CSV, nothing else.

`experiments.tables` asks for `TABLES` and `lines`; `experiments.tabular.summary` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isinf, isnan

import pandas as pd

from experiments.tabular.doc_studies import (
    ablation,
    collinear,
    coverage,
    known_losses,
    losses,
    pairs,
    scaling,
)
from experiments.tabular.duels import duel, ranks, times
from experiments.tabular.marks import marks
from experiments.tabular.recorded import (
    FEWER,
    NAMES,
    OURS,
    PEERS,
    TABARENA,
    groups,
    models_of,
    on_common_folds,
    read,
    small_tables,
    with_all_bags,
)
from experiments.tabular.tables import TUNED

Cells = list[str]
_WORDS = {True: "met", False: "missed", None: "not measured"}
METRICS = {"rmse": "RMSE", "roc_auc": "1 - AUC", "log_loss": "log loss"}


def marks_table() -> Iterator[Cells]:
    yield ["aimed at", "found", ""]
    for mark in marks(read()):
        yield [mark.aim, mark.found, _WORDS[mark.met]]


def runs() -> Iterator[Cells]:
    yield ["model", "tables", "folds", "folds without a result", "their tables", "version"]
    frame = read()
    for model in models_of(frame):
        rows = frame[frame["model"] == model]
        version = ", ".join(sorted(rows["version"].dropna().unique()))
        failed = rows[rows["failed"]]
        counts = [rows["table"].nunique(), len(rows), len(failed), failed["table"].nunique()]
        yield [NAMES[model], *map(str, counts), version]


def average_ranks() -> Iterator[Cells]:
    yield ["model", "average rank", "tables"]
    found = ranks(read())
    for model, rank in found.average.items():
        yield [NAMES[model], f"{rank:.2f}", str(found.tables)]
    for model in found.left_out:
        yield [NAMES[model], "lacks tables", ""]


def wins() -> Iterator[Cells]:
    yield ["tables", "ours", "peer", "wins", "ties", "losses", "won", "no result of the peer's",
           "folds"]  # fmt: skip
    frame = read()
    for words, rows in groups(frame).items():
        for ours in OURS:
            for peer in PEERS:
                yield from _against(words, rows, ours, peer)
    for ours in OURS:
        yield from _against("EBM with all 14 bags", with_all_bags(frame), ours, "ebm")


def _against(words: str, rows: pd.DataFrame, ours: str, peer: str) -> Iterator[Cells]:
    found = duel(rows, ours, peer)
    if found.tables:
        counts = [found.wins, found.ties, found.losses]
        yield [words, NAMES[ours], NAMES[peer], *map(str, counts), f"{found.won:.0%}",
               str(found.without), str(found.folds)]  # fmt: skip


def win_rates() -> Iterator[Cells]:
    frame = read()
    parts = groups(frame)
    yield ["ours against", *(_sized(words, rows) for words, rows in parts.items())]
    for ours in OURS:
        for peer in PEERS:
            duels = [duel(rows, ours, peer) for rows in parts.values()]
            if duels[0].tables:
                cells = [
                    f"{d.wins}-{d.ties}-{d.losses} ({d.won:.0%})" if d.tables else "" for d in duels
                ]
                yield [f"{NAMES[ours]} - {NAMES[peer]}", *cells]


def _sized(words: str, rows: pd.DataFrame) -> str:
    return f"{words} ({rows['table'].nunique()})"


def errors() -> Iterator[Cells]:
    yield from _errors(read())


def small() -> Iterator[Cells]:
    frame = read()
    yield from _errors(frame, only=small_tables(frame))


def _errors(frame: pd.DataFrame, only: list[str] | None = None) -> Iterator[Cells]:
    every = models_of(frame)
    yield ["table", "rows", "error", "folds", *(NAMES[m] for m in every)]
    order = frame.groupby("table")["rows"].max().sort_values(kind="stable").index
    for table in order if only is None else [t for t in order if t in only]:
        rows = frame[frame["table"] == table]
        there = models_of(rows)
        means = on_common_folds(rows, there)
        if not len(means):
            continue
        common = int(rows.groupby("fold")["model"].nunique().eq(len(there)).sum())
        best = means.iloc[0].min()
        cells = [_error(rows, means.iloc[0], m, best) if m in there else "" for m in every]
        metric = METRICS[rows["metric"].dropna().iloc[0]]
        marked = table + "†" * (table in TUNED)
        yield [marked, f"{rows['rows'].max():.0f}", metric, str(common), *cells]


def _error(rows: pd.DataFrame, means: pd.Series, model: str, best: float) -> str:
    value = float(means[model])
    if isinf(value):
        return "none"
    star = r"\*" if (rows.loc[rows["model"] == model, "note"] == FEWER).any() else ""
    text = f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
    return (f"**{text}**" if value == best else text) + star


def seconds() -> Iterator[Cells]:
    yield ["ours", "peer", "tables", "fit: median", "fit: geometric mean", "predict: median",
           "predict: geometric mean"]  # fmt: skip
    frame = read()
    kinds = {"": frame, ", all 14 bags": with_all_bags(frame)}
    for ours in OURS:
        for peer in PEERS:
            for words, rows in kinds.items():
                if words and peer != "ebm":
                    continue
                fit, predict = (
                    times(rows, ours, peer, c) for c in ("fit_seconds", "predict_seconds")
                )
                if fit.tables:
                    numbers = [fit.median, fit.mean, predict.median, predict.mean]
                    yield [NAMES[ours], NAMES[peer] + words, str(fit.tables), *map(_times, numbers)]


def _times(value: float) -> str:
    return "" if isnan(value) else (f"{value:.2g}" if value < 10 else f"{value:.0f}")


def absolute_seconds() -> Iterator[Cells]:
    yield ["model", "folds", "median", "longest"]
    frame = read()
    for model in models_of(frame):
        taken = frame.loc[(frame["model"] == model) & ~frame["failed"], "fit_seconds"]
        if len(taken):
            yield [NAMES[model], str(len(taken)), f"{taken.median():.2g}", f"{taken.max():.3g}"]


def facts() -> Iterator[Cells]:
    """Give what the page says of the tables as a whole."""
    yield ["tables", "of TabArena's 51", "under 1,000 fitted rows", "tuned on", "EBM with 4 bags"]
    frame = read()
    names = set(frame["table"])
    fewer = frame.loc[frame["note"] == FEWER, "table"].nunique()
    counts = [len(names), len(names & set(TABARENA)), len(small_tables(frame)),
              len(names & set(TUNED)), fewer]  # fmt: skip
    yield [str(count) for count in counts]


TABLES: dict[str, Callable[[], Iterator[Cells]]] = {
    "tabular_marks": marks_table,
    "tabular_facts": facts,
    "tabular_runs": runs,
    "tabular_ranks": average_ranks,
    "tabular_win_rates": win_rates,
    "tabular_wins": wins,
    "tabular_errors": errors,
    "tabular_small": small,
    "tabular_seconds": seconds,
    "tabular_absolute_seconds": absolute_seconds,
    "tabular_ablation": ablation,
    "tabular_scaling": scaling,
    "tabular_coverage": coverage,
    "tabular_pairs": pairs,
    "tabular_collinear": collinear,
    "tabular_losses": losses,
    "tabular_known_losses": known_losses,
}


def lines(name: str) -> list[Cells]:
    """Return a table, its head first."""
    return list(TABLES[name]())
