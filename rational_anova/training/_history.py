"""`History`: the record of a fit, as a table, a plot and a file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor

from .._core import records, saveable  # noqa: F401  (saveable: tensors in files)
from .._core.fields import made
from .._core.files import write_figure
from .optimizers import Covariance

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass
class Record:
    """One line of a history.

    Attributes:
        epoch: passes over the data so far (steps, for `lm` and `lbfgs`).
        seconds: of training so far, over all resumptions.
        loss: mean over the training rows: of the batches as they passed, or after the step.
        validation: mean over the validation rows, if there are any.
        test: mean over the test rows of a dictionary; nothing is chosen by it.
        rate: learning rate (for `lm` the damping).
        terms: how many terms are not zero, for a network that has terms.
        metrics: those that `fit` was given, by name.
    """

    epoch: int
    seconds: float
    loss: float
    validation: float | None = None
    test: float | None = None
    rate: float = 0.0
    terms: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)

    def summary(self) -> str:
        """Return the numbers in one line."""
        words = [f"epoch {self.epoch}, loss {self.loss:.4g}"]
        for name in ("validation", "test"):
            if getattr(self, name) is not None:
                words.append(f"{name} {getattr(self, name):.4g}")
        words.append(f"rate {self.rate:.1g}")
        return ", ".join(words if self.terms is None else [*words, f"{self.terms} terms"])


@dataclass
class History:
    """The history of a fit.

    Attributes:
        optimizer: the one that ran.
        reason: why it was chosen.
        loss: name of the loss.
        records: one `Record` for each evaluated epoch.
        best: the epoch whose parameters the model has now.
        stopped: why it ended: `finished`, `converged: ...`, `patience`, `time`, `callback`,
            `interrupted`.
        events: events during the fit, such as a return to an earlier state.
        training_loss: over all training rows, with the parameters the model has now.
        validation_loss: over the validation rows, likewise.
        covariance: of the parameters, after `lm` on squares or likelihoods.
        seed: of the run that was kept.
        runs: the losses of all restarts, by seed.
    """

    optimizer: str
    reason: str
    loss: str
    records: list[Record] = field(default_factory=list)
    best: int = 0
    stopped: str = ""
    events: list[str] = field(default_factory=list)
    training_loss: float = math.nan
    validation_loss: float | None = None
    covariance: Covariance | None = None
    seed: int = 0
    runs: dict[int, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The loss by which fits are compared: on validation rows if there are any."""
        return self.training_loss if self.validation_loss is None else self.validation_loss

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.records[-1].seconds if self.records else 0.0

    def table(self) -> pandas.DataFrame:
        """Return the records as a table of pandas, one row for each."""
        import pandas

        lines = [{**asdict(record), **record.metrics} for record in self.records]
        table = pandas.DataFrame(lines).drop(columns="metrics", errors="ignore")
        return table.dropna(axis=1, how="all")

    def __str__(self) -> str:
        parts = [f"{self.optimizer} ({self.reason}), {self.loss}", self._span()]
        parts.append(f"training loss {self.training_loss:.4g}")
        if self.validation_loss is not None:
            parts.append(f"validation loss {self.validation_loss:.4g} (epoch {self.best} kept)")
        if self.records and self.records[-1].terms is not None:
            parts.append(f"{self.records[-1].terms} terms")
        return "; ".join([*parts, *self.events])

    def _span(self) -> str:
        last = self.records[-1].epoch if self.records else 0
        return f"{last} epochs in {self.seconds:.1f} s, {self.stopped}"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw losses, rate and the number of terms over epochs.

        Args:
            path: where to write the picture, if anywhere.
        """

        figure = draw_history(self)
        if path is not None:
            write_figure(path, figure)
        return figure

    def summary(self) -> str:
        """Return a summary: settings, how it ended, and the last record."""
        lines = [f"{self.optimizer} ({self.reason}), loss {self.loss}", self._span()]
        lines.append(f"training loss {self.training_loss:.6g}")
        if self.validation_loss is not None:
            lines.append(f"validation loss {self.validation_loss:.6g}, of epoch {self.best}")
        if self.records:
            lines.append(f"last record: {self.records[-1].summary()}")
        return "\n".join([*lines, *self.events])

    def to_json(self) -> str:
        """Return everything but the covariance as JSON."""
        content = {name: value for name, value in vars(self).items() if name != "covariance"}
        content["records"] = [asdict(record) for record in self.records]
        content["runs"] = {str(seed): loss for seed, loss in self.runs.items()}
        return records.to_text("history", content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, which appears whole or not at all."""
        records.save(self, path)

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read what `to_json` wrote."""
        history: History = records.from_text(text, "history")
        return history

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read a file that `save` wrote."""
        history: History = records.load_kind(path, "history")
        return history


def _history(found: records.Found) -> History:
    lines = [made(Record, record) for record in found.content["records"]]
    runs = {int(seed): loss for seed, loss in found.content["runs"].items()}
    return made(History, {**found.content, "records": lines, "runs": runs})


# Version 2 has `metrics` in its records.
records.register(
    "history", History, lambda kept: f"{kept.to_json()}\n".encode(), _history, version=2
)


@dataclass
class Position:
    """Where a run stands."""

    epoch: int = 0
    index: int = 0  # batches of this epoch that are done
    step: int = 0
    total: float = 0.0  # loss of this epoch so far, times rows
    seen: float = 0.0
    seconds: float = 0.0
    backoff: float = 1.0
    retreats: int = 0
    best: int = 0
    best_score: float = math.inf
    reference: float = math.nan
    records: int = 0
    stopped: str = ""


@dataclass(frozen=True, repr=False)
class Checkpoint:
    """Where a fit stands, as its file holds it; the same call of `fit` goes on from there.

    Attributes:
        fingerprint: of model, data and settings.
        position: epoch, step, seconds, the best score so far and so on.
        model: the state of the model, for its `load_state_dict`.
        stepper: that of the optimiser.
        best: the state of the model with the best validation loss, if it is kept.
        records: as in `History`, as dictionaries.
        events: likewise.
        random: the state of torch's generator.
        loader: the state of the loader's own generator.
    """

    fingerprint: str
    position: dict[str, Any]
    model: dict[str, Tensor]
    stepper: dict[str, Any]
    best: dict[str, Tensor] | None
    records: list[dict[str, Any]]
    events: list[str]
    random: Tensor
    loader: Tensor | None

    def summary(self) -> str:
        """Return where the fit stands, and the last record, in plain lines."""
        at = Position(**self.position)
        weights = sum(tensor.numel() for tensor in self.model.values())
        lines = [
            f"epoch {at.epoch}, step {at.step}, after {at.seconds:.1f} s"
            + (f"; {at.stopped}" if at.stopped else ""),
            f"a model of {weights:,} numbers in {len(self.model)} tensors",
        ]
        if self.records:
            lines.append(f"last record: {Record(**self.records[-1]).summary()}")
        lines.append("to go on, call fit again with the same model, data and settings")
        return "\n".join([*lines, *self.events])

    def __repr__(self) -> str:
        at = Position(**self.position)
        return f"Checkpoint(epoch {at.epoch}, step {at.step})"


def _checkpoint(found: records.Found) -> Checkpoint:
    kept = made(Checkpoint, found.content)
    made(Position, kept.position)
    for record in kept.records:
        made(Record, record)
    return kept


records.register(
    "checkpoint",
    Checkpoint,
    write=lambda kept: records.to_archive("checkpoint", vars(kept), "the checkpoint"),
    read=_checkpoint,
    version=2,
)


def draw_history(history: History) -> Figure:
    """Draw losses, and below them rate and number of terms, over epochs."""
    from .._core.figures import Picture

    figure = Picture(figsize=(8, 5.5), layout="constrained")
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
