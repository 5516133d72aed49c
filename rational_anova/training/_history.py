"""`History`: the record of a fit, as a table, a plot and a file."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..serialization import write_whole
from .optimizers import Covariance

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


_FORMAT, _VERSION = "rational-anova history", 1


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
    """

    epoch: int
    seconds: float
    loss: float
    validation: float | None = None
    test: float | None = None
    rate: float = 0.0
    terms: int | None = None


@dataclass
class History:
    """What a fit did.

    Attributes:
        optimizer: the one that ran.
        reason: why it was chosen.
        loss: name of the loss.
        records: one `Record` for each epoch that was looked at.
        best: the epoch whose parameters the model has now.
        stopped: why it ended: `finished`, `converged: ...`, `patience`, `time`, `callback`,
            `interrupted`.
        events: what happened on the way, such as a return to an earlier state.
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

        return pandas.DataFrame([asdict(record) for record in self.records]).dropna(
            axis=1, how="all"
        )

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
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=120)
        return figure

    def to_json(self) -> str:
        """Return everything but the covariance as JSON; numbers that are not finite become null."""
        content: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
        for name, value in vars(self).items():
            if name == "records":
                content[name] = [_plain(asdict(record)) for record in value]
            elif name != "covariance":
                content[name] = _plain(value)
        return json.dumps(content, indent=1, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json` to a file, which appears whole or not at all."""
        write_whole(path, (self.to_json() + "\n").encode())

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read what `to_json` wrote."""
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
            raise ValueError("this is not the JSON of a History")
        version = content.pop("version", None)
        if version != _VERSION:
            raise ValueError(f"this History has version {version}, this library reads {_VERSION}")
        content["records"] = [
            Record(**{**record, "loss": math.nan if record["loss"] is None else record["loss"]})
            for record in content["records"]
        ]
        content["runs"] = {
            int(seed): math.inf if loss is None else loss for seed, loss in content["runs"].items()
        }
        if content["training_loss"] is None:
            content["training_loss"] = math.nan
        return cls(**content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read a file that `save` wrote."""
        return cls.from_json(Path(path).read_text())


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def draw_history(history: History) -> Figure:
    """Draw losses, and below them rate and number of terms, over epochs."""
    from matplotlib.figure import Figure

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
