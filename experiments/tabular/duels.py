"""Two models against each other, and all of them ranked.

A table counts once, by the mean error over the folds that the models share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.tabular.recorded import by_fold, models_of, on_common_folds

TIE = 1e-3  # relative difference of errors within which two models are level
NEARLY_ALL = 0.9  # of the tables that a model must have been run on to be ranked


@dataclass(frozen=True)
class Duel:
    """One of our models against a peer.

    Args:
        wins: tables that ours is better on.
        ties: within a thousandth.
        losses: the others.
        folds: that both have, over all tables.
        without: of the wins, those where the peer gave no result.
    """

    wins: int
    ties: int
    losses: int
    folds: int
    without: int

    @property
    def tables(self) -> int:
        """How many were compared."""
        return self.wins + self.ties + self.losses

    @property
    def won(self) -> float:
        """Share of tables won; a tie is not won."""
        return self.wins / self.tables if self.tables else float("nan")

    @property
    def level(self) -> float:
        """Share of tables won, ties counted half."""
        return (self.wins + self.ties / 2) / self.tables if self.tables else float("nan")

    @property
    def finished(self) -> float:
        """Share of tables won among those where the peer gave a result."""
        left = self.tables - self.without
        return (self.wins - self.without) / left if left else float("nan")


def duel(frame: pd.DataFrame, ours: str, peer: str) -> Duel:
    """Compare two models on the folds that both have; who gives no result has lost the table."""
    means = on_common_folds(frame, (ours, peer))
    a, b = means[ours].to_numpy(), means[peer].to_numpy()
    both = np.isfinite(a) & np.isfinite(b)
    # Two that give no result are level, too.
    tie = np.isinf(a) & np.isinf(b)
    tie[both] = np.abs(a - b)[both] <= TIE * np.maximum(np.abs(a), np.abs(b))[both]
    win = ~tie & (a < b)
    folds = len(by_fold(frame)[[ours, peer]].dropna()) if len(means) else 0
    without = int((win & np.isinf(b)).sum())
    return Duel(int(win.sum()), int(tie.sum()), int((~win & ~tie).sum()), folds, without)


@dataclass(frozen=True)
class Times:
    """How many times the seconds of ours a peer takes, a table at a time.

    Args:
        tables: where both finished, on at least one common fold.
        median: of the ratios.
        mean: geometric mean of the ratios.
    """

    tables: int
    median: float
    mean: float


def times(frame: pd.DataFrame, ours: str, peer: str, column: str = "fit_seconds") -> Times:
    """Compare seconds on the folds that both finished."""
    both = on_common_folds(frame[~frame["failed"]], (ours, peer), column)
    # The clock of the processor may stand still during a very short prediction.
    ratio = (both[peer].clip(lower=1e-4) / both[ours].clip(lower=1e-4)).to_numpy()
    if not len(ratio):
        return Times(0, float("nan"), float("nan"))
    return Times(len(ratio), float(np.median(ratio)), float(np.exp(np.log(ratio).mean())))


@dataclass(frozen=True)
class Ranks:
    """Average ranks, the best first.

    Args:
        average: rank of each model, over the tables.
        tables: how many.
        left_out: models that lack too many tables.
    """

    average: dict[str, float]
    tables: int
    left_out: tuple[str, ...] = ()


def ranks(frame: pd.DataFrame) -> Ranks:
    """Rank the models that were run on nearly all tables, on the tables and folds they share."""
    least = NEARLY_ALL * frame["table"].nunique()
    models = models_of(frame)
    full = [m for m in models if frame.loc[frame["model"] == m, "table"].nunique() >= least]
    means = on_common_folds(frame, full) if full else pd.DataFrame()
    average = means.rank(axis=1).mean().sort_values() if len(means) else pd.Series(dtype=float)
    left = tuple(m for m in models if m not in full)
    return Ranks({str(k): float(v) for k, v in average.items()}, len(means), left)
