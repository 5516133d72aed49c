"""Pictures of a fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from ._history import History
    from ._path import Path


def draw_history(history: History) -> Figure:
    """Draw losses, and below them rate and number of terms, over epochs."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    epochs = [record.epoch for record in history.records]
    for name in ("loss", "validation", "test"):
        values = [getattr(record, name) for record in history.records]
        if any(value is not None for value in values):
            label = "training" if name == "loss" else name
            upper.plot(epochs, [math.nan if v is None else v for v in values], label=label)
    if history.validation_loss is not None:
        upper.axvline(history.best, color="0.6", linestyle=":", label=f"kept: {history.best}")
    positive = all(record.loss > 0 for record in history.records)
    upper.set(ylabel=f"loss ({history.loss})", yscale="log" if positive else "linear")
    upper.set_title(f"{history.optimizer}: {history.stopped}", fontsize=10)
    upper.legend()
    rate = "damping" if history.optimizer == "lm" else "learning rate"
    lower.plot(epochs, [record.rate for record in history.records], color="C3")
    lower.set(xlabel="epoch", yscale="log")
    lower.set_ylabel(rate, color="C3")
    terms = [record.terms for record in history.records]
    if any(count is not None for count in terms):
        right = lower.twinx()
        right.plot(epochs, [math.nan if c is None else c for c in terms], color="C2")
        right.set_ylabel("terms", color="C2")
        right.set_ylim(bottom=0)
    return figure


def draw_path(path: Path) -> Figure:
    """Draw losses and the number of terms over the penalty."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    left = figure.subplots()
    rows = [step for step in path.steps if step.penalty > 0]
    penalties = [step.penalty for step in rows]
    left.plot(penalties, [step.training_loss for step in rows], ".-", label="training")
    held = [step.validation_loss for step in rows if step.validation_loss is not None]
    if len(held) == len(rows):
        left.plot(penalties, held, ".-", label="validation")
    if path.chosen.penalty > 0:
        left.axvline(path.chosen.penalty, color="0.6", linestyle=":", label="chosen")
    left.set(xlabel="penalty", ylabel="loss", xscale="log", yscale="log")
    right = left.twinx()
    right.step(penalties, [step.terms for step in rows], color="C2", where="mid")
    right.set_ylabel("terms", color="C2")
    right.set_ylim(bottom=0)
    figure.legend(loc="outside upper center", ncols=3)  # elsewhere a line would cross it
    return figure
