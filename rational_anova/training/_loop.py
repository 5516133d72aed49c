"""The one loop: epochs of any optimiser, with validation, retreat, checkpoints and an end."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from .._core import records
from .._core.callbacks import Callback, Progress, entered
from ._history import Checkpoint, History, Position, Record
from ._losses import Loss
from ._terms import active_terms
from .data import Batch, Diverged, Lost, Rows, Source, dtype_of, modes, prepare, set_modes
from .data import digest as rows_digest
from .optimizers import all_outputs, evaluate


def fingerprint(
    model: nn.Module, sources: Iterable[Source | None], settings: dict[str, Any]
) -> str:
    """Return a digest of model, data and settings: only the same run may go on.

    Equal shapes are not enough: another denominator, or other pairs, have the same shapes. Of a
    stream only the number of rows is known.
    """
    digest = hashlib.sha256(repr(sorted(settings.items())).encode())
    digest.update(f"{type(model).__name__}{model!r}".encode())
    for name, parameter in model.named_parameters():
        digest.update(f"{name}{parameter.shape}{parameter.dtype}{parameter.requires_grad}".encode())
    kept = model.state_dict()
    for name, buffer in model.named_buffers():
        if name not in kept:  # part of the architecture, such as the pairs
            digest.update(_bytes(buffer))
    for source in sources:
        digest.update(f"{type(source).__name__}{0 if source is None else len(source)}".encode())
        if isinstance(source, Rows):
            # The same for any number of processes, so that other numbers may go on.
            here = rows_digest(source.batch, None if source.places is None else source.numbers())
            everywhere = here if source.places is None else sum(source.processes.of_all(here))
            digest.update(str(everywhere % 2**63).encode())
    return digest.hexdigest()


def _bytes(values: Tensor) -> bytes:
    flat = values.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def write(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint, which appears whole or not at all."""
    records.save(Checkpoint(**state), path)


def read(path: str | os.PathLike[str], mark: str) -> dict[str, Any]:
    """Read a checkpoint of the run with the given fingerprint."""
    try:
        state = vars(records.load_kind(path, "checkpoint"))
    except ValueError as error:
        raise ValueError(
            f"{path} cannot be read as a checkpoint ({error}); delete it to start anew, or name "
            "another file"
        ) from error
    if state["fingerprint"] != mark:
        raise ValueError(
            f"{path} belongs to another run (its model, data or settings differ); pass "
            "resume=False to start anew and overwrite it, or name another file"
        )
    return state


# Steps, and seconds, between two states to which a diverging or interrupted run can return.
_SNAPSHOT, _SECONDS = 100, 5.0
_RETREATS, _BACKOFF = 8, 0.25
CHANCE = 10_000_019  # a prime between the seeds of processes
_EXPLODED = 1e4  # times the loss at the start, or of predicting zero: then the run has diverged
ENDED = ("interrupted", "callback")  # why a run stopped, if someone wants no more of it
Tell = Callable[[Progress], bool]  # calls the callbacks; whether one asks to stop


class Stepper(Protocol):
    """What an optimiser must offer."""

    full_batch: bool
    converged: str

    @property
    def rate(self) -> float:
        """What the record shows."""

    def step(self, batch: Batch | None = None, mass: float | None = None) -> float:
        """Take a step, on a batch or with `full_batch` on all rows; return the loss.

        `mass` is that of the batch over all processes.
        """

    def set_rate(self, factor: float) -> None:
        """Multiply the step length that was asked for."""

    def exchange(self) -> None:
        """Let the running mean of the weights and the weights change places."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long and how a run goes on; see `fit`."""

    epochs: int
    batch_size: int
    schedule: str
    warmup: float
    patience: int | None
    time_limit: float | None
    seed: int
    every: int
    keep_best: bool
    checkpoint: Path | None
    interval: float
    callbacks: tuple[Callback, ...]
    stage: str  # what callbacks are told
    metrics: Mapping[str, Callable[..., Any]]


class Loop:
    """Trains a model until the plan ends it.

    Args:
        model: changed in place.
        stepper: the optimiser.
        sources: training, validation and test data, the latter two or None.
        loss: what is measured.
        outputs: of the model.
        plan: how long and how.
        history: receives the records.
        mark: fingerprint of the run, for its checkpoint.
    """

    # What several processes decide must be decided alike: by sums over all of them, and where it
    # depends on time by the first one, which alone writes files and calls callbacks.

    def __init__(
        self,
        model: nn.Module,
        stepper: Stepper,
        *,
        sources: tuple[Source, Source | None, Source | None],
        loss: Loss,
        outputs: int,
        plan: Plan,
        history: History,
        mark: str = "",
    ) -> None:
        self.model, self.stepper, self.loss, self.outputs = model, stepper, loss, outputs
        self.train, self.validation, self.test = sources
        self.plan, self.history, self.mark = plan, history, mark
        self.at = Position()
        self.best: dict[str, Tensor] | None = None
        self.least = math.inf  # loss of validation rows if there are any
        self.shared = self.train.processes
        self.steps = 1 if stepper.full_batch else self.train.steps(plan.batch_size)
        self._started = self._began = self._saved = self._snapped = time.perf_counter()
        self._good = self._snapshot()

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._restore(state)
        if not self.shared.first:  # chance is its own: the file has that of the first process
            torch.manual_seed(self.plan.seed + CHANCE * self.shared.rank + self.at.step)
        self.history.records[:] = [Record(**record) for record in state["records"]]
        self.history.events[:] = state["events"]
        self._good = state
        self.least = min(map(_score, self.history.records), default=math.inf)
        if self.at.stopped == "finished" and self.at.epoch < self.plan.epochs:
            self.at.stopped = ""  # more epochs are asked for than that run had
        patience = self.plan.patience
        waited = self.at.epoch - self.at.best
        if self.at.stopped.startswith("patience") and (patience is None or waited < patience):
            self.at.stopped = ""

    def run(self) -> None:
        """Train; leaves the best parameters in the model, and why it ended in the history."""
        if not self.model.training:
            self.model.train()
        self._modes = modes(self.model)
        self._began = time.perf_counter()
        self._started = self._began - self.at.seconds
        newest: Any = (None, 0, math.inf, [])
        with entered(self.plan.callbacks if self.shared.first else ()) as tell:
            try:
                while not self.at.stopped and self.at.epoch < self.plan.epochs:
                    self._epoch(tell)
                self.at.stopped = self.at.stopped or "finished"
            except Lost:
                self._leave()
                raise
            except KeyboardInterrupt:
                if self.shared.count > 1:  # the others cannot be asked any more
                    self._leave()
                    raise
                newest = (self.best, self.at.best, self.at.best_score, self.history.records[:])
                self._restore(self._good)
                self.at.stopped = "interrupted"
                self.history.events.append(f"interrupted after epoch {self.at.epoch}")
        self.history.stopped = self.at.stopped
        if self.plan.checkpoint is not None:
            # A run that was cut short can go on; a finished one is only read again.
            if self.at.stopped in (*ENDED, "time"):
                self.at.stopped = ""
            self._save(self._snapshot())
        if newest[0] is not None and newest[2] < self.at.best_score:
            # Better than anything before the state that a resumed run goes on from.
            self.best, self.at.best, self.at.best_score, self.history.records[:] = newest
        self._keep_best()
        self.shared.spread([*self.model.parameters(), *self.model.buffers()])

    def _leave(self) -> None:
        """Write the last good state, from which all can go on."""
        if self.plan.checkpoint is not None and self.shared.first:
            self._save(self._good)

    def _epoch(self, tell: Tell) -> None:
        try:
            if self.stepper.full_batch:
                self._full_step()
            else:
                self._batches()
        except _Explosion as trouble:
            self._retreat(trouble)
            return
        mean = self.at.total / self.at.seen if self.at.seen else math.nan
        if self.at.stopped == "time" and self.at.index:
            self._record(mean, tell)  # in the middle of an epoch
            return
        self.at = dataclasses.replace(
            self.at, epoch=self.at.epoch + 1, index=0, total=0.0, seen=0.0
        )
        last = self.at.epoch >= self.plan.epochs or bool(self.stepper.converged)
        if self.at.epoch % self.plan.every == 0 or self.at.epoch == 1 or last:
            self._record(mean, tell)
        if self.stepper.converged:
            self.at.stopped = f"converged: {self.stepper.converged}"
        if self.stepper.full_batch or self.steps >= _SNAPSHOT:
            self._good = self._snapshot()
        self._pause()
        if self.at.stopped and self.history.records[-1].epoch < self.at.epoch:
            self._record(mean, tell)

    def _full_step(self) -> None:
        value = self._watch(self.stepper.step())
        self.at.total, self.at.seen, self.at.step = value, 1.0, self.at.step + 1

    def _batches(self) -> None:
        batches = self.train.batches(self.plan.batch_size, self.plan.seed, self.at.epoch)
        for raw in itertools.islice(batches, self.at.index, None):
            batch = raw if isinstance(self.train, Rows) else self._prepare(raw)
            (mass,) = self.shared.totals(batch.mass)
            if not mass:
                self.at.index += 1  # nothing to learn from
                continue
            if not len(batch.x):
                batch = self._idle()
            self.stepper.set_rate(self.at.backoff * self._factor())
            if math.isnan(self.at.reference):
                self.at.reference = self._reference(batch)
            value = self._watch(self.stepper.step(batch, mass))
            self.at.total += value * mass
            self.at.seen += mass
            self.at.index += 1
            self.at.step += 1
            if isinstance(self.train, Rows) and self.at.step % _SNAPSHOT == 0:
                self._good = self._snapshot()
            if self.at.index < self.steps and isinstance(self.train, Rows):
                self._pause()
                if self.at.stopped:
                    return

    def _idle(self) -> Batch:
        """Return a row that counts for nothing: others have rows of this batch, and wait."""
        assert isinstance(self.train, Rows)
        return self.train.batch.idle()

    def _prepare(self, batch: Any) -> Any:
        return prepare(batch, self.loss, self.outputs, self.model)

    def _factor(self) -> float:
        """Return the share of the learning rate at this step."""
        total = max(1, self.plan.epochs * self.steps)
        warm = round(self.plan.warmup * total)
        if self.at.step < warm:
            return (self.at.step + 1) / warm
        if self.plan.schedule == "constant":
            return 1.0
        done = (self.at.step - warm) / max(1, total - warm)
        if self.plan.time_limit is not None:  # the end may come before the last epoch
            spent = self.shared.from_first(time.perf_counter() - self._began)
            done = max(done, spent / self.plan.time_limit)
        return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    @torch.no_grad()
    def _reference(self, batch: Any) -> float:
        """Return the loss of predicting zero: no good run comes to be far above it."""
        if self.loss.own:
            return 0.0  # then the loss at the start is what others are compared with
        size, dtype = (len(batch.x), self.outputs), dtype_of(self.model)
        zero = torch.zeros(size, dtype=dtype, device=batch.y.device)
        value = self.loss.mean(zero, batch.y, batch.weight, 1.0)
        total, mass = self.shared.totals(float(value), batch.mass)
        return total / mass

    def _watch(self, value: float) -> float:
        if not math.isfinite(value):
            raise _Explosion(f"the loss became {value}")
        if self.at.step == 0:
            self.at.reference = max(value, self.at.reference if self.at.reference > 0 else value)
        if value > _EXPLODED * self.at.reference > 0:
            raise _Explosion(f"the loss grew to {value:.3g}")
        return value

    def _retreat(self, trouble: Exception) -> None:
        """Return to the last good state with smaller steps, or give up."""
        where = f"{trouble} in epoch {self.at.epoch + 1} (step {self.at.step + 1})"
        backoff, retreats = self.at.backoff * _BACKOFF, self.at.retreats + 1
        self._restore(self._good)
        if retreats > _RETREATS:
            self._keep_best()
            raise Diverged(
                f"{where}, {retreats} times, the last time at {backoff / _BACKOFF:.1g} of the "
                "learning rate; the model is back at its last good state. Scale inputs and "
                "targets to order one, lower learning_rate, or set clip=1.0"
            )
        self.at.backoff, self.at.retreats = backoff, retreats
        self.stepper.set_rate(backoff)
        self.history.events.append(f"{where}: went back, rate times {backoff:g}")

    def _record(self, mean: float, tell: Tell) -> None:
        self.model.eval()
        self.stepper.exchange()
        # Statistics of norms are those of the first process, as in DDP.
        self.shared.spread([b for b in self.model.buffers() if b.is_floating_point()])
        scores = [
            None if source is None else evaluate(self.model, source, self.loss, self.outputs)
            for source in (self.validation, self.test)
        ]
        measured = self._metrics()
        better = scores[0] is not None and scores[0] < self.at.best_score
        shown = _clone(self.model.state_dict()) if self.plan.keep_best and better else None
        self.stepper.exchange()
        set_modes(self._modes)
        self.at.seconds = time.perf_counter() - self._started
        terms = active_terms(self.model)
        seconds, rate = self.at.seconds, self.stepper.rate
        record = Record(self.at.epoch, seconds, mean, scores[0], scores[1], rate, terms, measured)
        self.history.records.append(record)
        self.at.records = len(self.history.records)
        if record.validation is not None and record.validation < self.at.best_score:
            self.at.best, self.at.best_score = self.at.epoch, record.validation
            if self.plan.keep_best:
                self.best = shown
        waited = self.at.epoch - self.at.best
        if self.plan.patience is not None and waited >= self.plan.patience:
            self.at.stopped = f"patience: {waited} epochs without a better validation loss"
        self.least = min(self.least, _score(record))
        if self.shared.from_first(tell(self._progress(record))):
            self.at.stopped = self.at.stopped or "callback"

    def _progress(self, record: Record) -> Progress:
        return Progress(
            stage=self.plan.stage,
            seconds=record.seconds,
            epoch=record.epoch,
            epochs=self.plan.epochs,
            loss=record.loss,
            validation=record.validation,
            best=self.least,
            rate=record.rate,
            terms=record.terms,
            metrics=record.metrics,
        )

    def _metrics(self) -> dict[str, float]:
        """Return the user's measures, of all validation rows, or else of all training rows."""
        if not self.plan.metrics:
            return {}
        source = self.train if self.validation is None else self.validation
        found = all_outputs(self.model, source, self.loss, self.outputs)
        result = {}
        for name, metric in self.plan.metrics.items():
            value = metric(*found)
            try:
                result[name] = float(value)
            except (TypeError, ValueError):
                raise TypeError(f"metrics[{name!r}] must return a number, got {value!r}") from None
        return result

    def _pause(self) -> None:
        """Save if it is time to, and stop if the time is up."""
        now = time.perf_counter()
        limit = self.plan.time_limit
        over = limit is not None and now - self._began > limit
        due = self.plan.checkpoint is not None and now - self._saved >= self.plan.interval
        stale = due or now - self._snapped > _SECONDS
        first = self.shared.first
        over, due, stale = map(bool, self.shared.totals(*(first * n for n in (over, due, stale))))
        if over:
            self.at.stopped = self.at.stopped or "time"
        if stale and (self.at.index == 0 or isinstance(self.train, Rows)):
            self._good = self._snapshot()
        if due:
            self._save(self._good)

    def _save(self, state: dict[str, Any]) -> None:
        assert self.plan.checkpoint is not None
        self._saved = time.perf_counter()
        if self.shared.first:
            write(self.plan.checkpoint, state)

    def _snapshot(self) -> dict[str, Any]:
        self._snapped = time.perf_counter()
        self.at.seconds = max(self.at.seconds, self._snapped - self._started)
        loader = None if isinstance(self.train, Rows) else self.train.loader.generator
        return {
            "fingerprint": self.mark,
            "position": dataclasses.asdict(self.at),
            "model": _clone(self.model.state_dict()),
            "stepper": copy.deepcopy(self.stepper.state_dict()),
            "best": self.best,
            "records": [dataclasses.asdict(record) for record in self.history.records]
            if self.plan.checkpoint is not None
            else [],
            "events": list(self.history.events),
            "random": torch.get_rng_state(),
            "loader": None if loader is None else loader.get_state(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.stepper.load_state_dict(copy.deepcopy(state["stepper"]))
        self.at = Position(**state["position"])
        self.best = state["best"]
        del self.history.records[self.at.records :]
        torch.set_rng_state(state["random"])
        if state["loader"] is not None and not isinstance(self.train, Rows):
            generator = self.train.loader.generator
            assert generator is not None
            generator.set_state(state["loader"])

    def _keep_best(self) -> None:
        self.history.best = self.at.epoch
        if self.best is not None:
            self.model.load_state_dict(self.best)
            self.history.best = self.at.best
        else:
            self.stepper.exchange()  # the mean is what is left


def _score(record: Record) -> float:
    """Return the loss by which epochs are compared."""
    return record.loss if record.validation is None else record.validation


class _Explosion(Exception):
    """A step went wrong."""


def _clone(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}
