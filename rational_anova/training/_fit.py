"""`fit`: read the data, choose the optimiser, run the loop."""

from __future__ import annotations

import contextlib
import copy
import math
import numbers
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from .._core.callbacks import Callback, ProgressBar, checked
from . import _loop as checkpoints
from ._data import (
    Batch,
    Data,
    Rows,
    Source,
    device_of,
    dtype_of,
    is_share,
    learnable,
    modes,
    note_inputs,
    outputs_of,
    prepare,
    prepare_source,
    read,
    set_modes,
    split,
)
from ._history import History
from ._loop import Loop, Plan, Stepper
from ._losses import Loss, resolve_loss
from ._parameter_groups import decays, parameter_groups, roles
from ._terms import open_gates
from .optimizers import (
    LBFGS,
    PENALIZED,
    FirstOrder,
    Guard,
    LevenbergMarquardt,
    Penalty,
    Vector,
    covariance,
    evaluate,
)

if TYPE_CHECKING:
    from rich.console import Console

OPTIMIZERS = ("auto", "adam", "adamw", "lbfgs", "lm")
PRECISIONS = {"full": None, "bf16": torch.bfloat16, "fp16": torch.float16}

_RATES = {"adam": 2e-3, "adamw": 2e-3, "lbfgs": 1.0, "lm": 1.0}
_FULL, _BATCH = 1024, 256  # rows up to which the batch is all of them; else its size
_STEPS = 5000  # of Adam, by default
_EPOCHS = {"lbfgs": 100, "lm": 200}
_RECORDS = 500
_ABSURD = 100.0  # times the variance of the target
PRIVATE = ("split_seed", "label")  # settings that are not arguments of `fit`
_SINKING = 1e-3
_UNSTEADY = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
# `lm` by default up to so many parameters, and so many operations in J^T J.
_LM_SIZE, _LM_WORK = 1500, 2e10


@dataclass(frozen=True)
class Settings:
    """The arguments of `fit` that one run needs."""

    loss: str | Loss = "auto"
    optimizer: str = "auto"
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    weight_decay: float = 0.0
    denominator_rate: float = 1.0
    gate_rate: float = 1.0
    denominator_decay: float | None = None
    schedule: str = "constant"
    warmup: float = 0.0
    clip: float | None = None
    penalty: float = 0.0
    penalized: str = "all"
    patience: int | None = None
    seed: int = 0
    split_seed: int = 0
    precision: str = "full"
    time_limit: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 30.0
    resume: bool = True
    callbacks: Sequence[Callback] | None = None
    progress: bool | Console = False
    label: str = ""  # what callbacks are told beside the optimiser

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Make settings from keywords; an unknown one is answered with the nearest known."""
        known = [field.name for field in fields(cls) if field.name not in PRIVATE]
        for name in given:
            check.choice(name, known, "a setting of fit")
        return cls(**{"split_seed": given.get("seed", 0), **given})

    def __post_init__(self) -> None:
        check.choice(self.optimizer, OPTIMIZERS, "optimizer")
        check.choice(self.schedule, ("constant", "cosine"), "schedule")
        check.choice(self.penalized, PENALIZED, "penalized")
        check.choice(self.precision, PRECISIONS, "precision")
        check.integer(self.seed, "seed")
        for name in ("epochs", "batch_size", "patience"):
            if getattr(self, name) is not None:
                check.integer(getattr(self, name), name, 1)
        names = ("weight_decay", "denominator_rate", "gate_rate", "warmup", "penalty")
        for name in (*names, "checkpoint_every"):
            check.nonnegative(getattr(self, name), name)
        for name in ("learning_rate", "clip", "time_limit"):
            value = getattr(self, name)
            if value is not None and check.real(value, name) <= 0:
                raise ValueError(f"{name} must be > 0, got {value}")
        if self.denominator_decay is not None:
            check.nonnegative(self.denominator_decay, "denominator_decay")
        checked(self.callbacks)
        self._refuse()
        if self.seed >= 2**31:
            raise ValueError(f"seed must be below 2**31, got {self.seed}")
        if self.warmup > 1:
            raise ValueError(f"warmup is a share of all steps, at most 1, got {self.warmup}")

    def _refuse(self) -> None:
        """Raise where an optimiser cannot do what is asked."""
        if self.penalty and self.optimizer == "lbfgs":
            raise ValueError(
                f"penalty={self.penalty:g} needs proximal steps, which lbfgs cannot take; "
                "use optimizer='adam', 'adamw' or 'lm'"
            )
        if self.optimizer in ("lm", "lbfgs") and self.batch_size is not None:
            raise ValueError(
                f"{self.optimizer} works on all rows at once, got batch_size={self.batch_size}; "
                "leave it out, or use optimizer='adam'"
            )

    def rates(self, optimizer: str) -> dict[str, float]:
        """Return the rates and decays of an optimiser, as `parameter_groups` takes them."""
        own = self.weight_decay if self.denominator_decay is None else self.denominator_decay
        if self.denominator_decay is None and self.penalty:
            # p/d with a small p and a small d is cheaper: without this, softplus(q) would sink
            # towards zero without end.
            own = max(own, _SINKING * self.penalty)
        rate = _RATES[optimizer] if self.learning_rate is None else self.learning_rate
        return {
            "learning_rate": rate,
            "weight_decay": self.weight_decay,
            "numerator_rate": 1.0,
            "denominator_rate": self.denominator_rate,
            "gate_rate": self.gate_rate,
            "numerator_decay": self.weight_decay,
            "denominator_decay": own,
            "vector_decay": self.weight_decay,
        }

    def watchers(self) -> tuple[Callback, ...]:
        """Return the callbacks, and the line of progress if it is asked for."""
        if self.progress is False or self.progress is None:
            return checked(self.callbacks)
        return (
            *checked(self.callbacks),
            ProgressBar(None if self.progress is True else self.progress),
        )


def run(model: nn.Module, data: Data, validation: Any, settings: Settings) -> History:
    """Fit a model once; see `fit`."""
    Vector(model)  # raises if nothing can be trained
    if settings.patience is not None and validation is None:
        raise ValueError(
            f"patience={settings.patience} needs validation rows; give validation=0.2 or data"
        )
    before = modes(model)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            return _run(model, data, validation, settings)
    finally:
        set_modes(before)


def _run(model: nn.Module, data: Data, validation: Any, settings: Settings) -> History:
    batch = settings.batch_size or _BATCH
    train, test = read(data, batch, settings.seed)
    if len(train) < 2:
        raise ValueError(f"data has {len(train)} rows; two or more are needed to learn from")
    held: Source | None = None
    if is_share(validation):
        train, held = split(train, float(validation), settings.split_seed)
    elif validation is not None:
        held, _ = read(validation, batch, settings.seed)
        if not len(held):
            raise ValueError("the validation data have no rows")
    outputs = outputs_of(model, train)
    loss = resolve_loss(settings.loss, next(iter(train.chunks(1))).y, outputs)
    name, reason = choose(settings, model, train, outputs)
    # Gauss-Newton curvature squares the condition of the problem: float32 would not do.
    work = model if name != "lm" or dtype_of(model) == torch.float64 else _double(model)
    sources = (
        prepare_source(train, loss, outputs, work),
        None if held is None else prepare_source(held, loss, outputs, work, "validation "),
        None if test is None else prepare_source(test, loss, outputs, work, "test "),
    )
    learnable(sources[0])
    note_inputs(model, data)
    history = History(name, reason, loss.name, seed=settings.seed)
    try:
        _train(
            work,
            name,
            sources=sources,
            loss=loss,
            outputs=outputs,
            settings=settings,
            history=history,
        )
    finally:
        if work is not model:
            model.load_state_dict(work.state_dict())
    _measure(model, sources, loss, outputs, history)
    return history


def choose(settings: Settings, model: nn.Module, train: Source, outputs: int) -> tuple[str, str]:
    """Return the optimiser and why."""
    unsteady = next((type(m).__name__ for m in model.modules() if isinstance(m, _UNSTEADY)), None)
    if settings.optimizer == "lm" and unsteady is not None:
        raise ValueError(
            f"lm needs outputs that depend on their own row alone and not on chance, the model has "
            f"a {unsteady}; use optimizer='adam'"
        )
    if settings.optimizer != "auto":
        return settings.optimizer, "as asked"
    if unsteady is not None:
        return "adam", f"chosen: the model has a {unsteady}"
    size, rows = Vector(model).size, len(train)
    sizes = f"{size:,} parameters, {rows:,} rows"
    if settings.batch_size is not None or not isinstance(train, Rows):
        return "adam", f"chosen: batches, {sizes}"
    if size <= _LM_SIZE and rows * outputs * size**2 <= _LM_WORK:
        return "lm", f"chosen: {sizes}"
    return "adam", f"chosen: {sizes}, too many for lm"


def _train(
    model: nn.Module,
    name: str,
    *,
    sources: tuple[Source, Source | None, Source | None],
    loss: Loss,
    outputs: int,
    settings: Settings,
    history: History,
) -> None:
    penalty = None
    if settings.penalty:
        still = {n for n, role in roles(model).items() if role == "gate" and not settings.gate_rate}
        penalty = Penalty(model, settings.penalty, settings.penalized, still)
    plan = _plan(name, sources[0], settings)
    with _gates(model, penalty):
        stepper = _stepper(
            model,
            name,
            train=sources[0],
            loss=loss,
            outputs=outputs,
            settings=settings,
            penalty=penalty,
        )
        mark = ""
        if plan.checkpoint is not None:
            identity = _identity(settings, name, loss, plan)
            mark = checkpoints.fingerprint(model, sources, identity)
        loop = Loop(
            model,
            stepper,
            sources=sources,
            loss=loss,
            outputs=outputs,
            plan=plan,
            history=history,
            mark=mark,
        )
        if plan.checkpoint is not None and plan.checkpoint.exists() and settings.resume:
            loop.resume(checkpoints.read(plan.checkpoint, mark))
        loop.run()
        if name == "lm":
            ridge = _ridge(model, parameter_groups(model, **settings.rates(name)))
            history.covariance = covariance(model, sources[0], loss, outputs, ridge)


def _gates(model: nn.Module, penalty: Penalty | None) -> Any:
    return contextlib.nullcontext() if penalty is None else open_gates(model)


def _measure(model: nn.Module, sources: Any, loss: Loss, outputs: int, history: History) -> None:
    """Evaluate the model as it is left behind, and look at its denominators."""
    model.eval()
    guard = Guard(model)
    with guard:
        history.training_loss = evaluate(model, sources[0], loss, outputs)
        if sources[1] is not None:
            history.validation_loss = evaluate(model, sources[1], loss, outputs)
    if history.optimizer == "lm" and history.training_loss > _ABSURD * _reference(sources[0], loss):
        warnings.warn(
            f"lm ended at a loss of {history.training_loss:.3g}, far above that of a constant; "
            "scale the inputs to order one",
            RuntimeWarning,
            stacklevel=5,
        )
    for name in guard.crossed():
        warnings.warn(
            f"the polynomial denominator of {name} is zero or less somewhere on the data, so the "
            "model has a pole among them; fit with optimizer='lm', which keeps it positive, or "
            "take another denominator",
            RuntimeWarning,
            stacklevel=5,
        )


def _reference(source: Source, loss: Loss) -> float:
    """Return the loss of predicting the mean, inf where that has no meaning."""
    if not loss.quadratic or not isinstance(source, Rows):
        return math.inf
    return float(source.batch.y.double().var(0, correction=0).mean())


def _plan(name: str, train: Source, settings: Settings) -> Plan:
    full = isinstance(train, Rows) and len(train) <= _FULL
    batch = settings.batch_size or (len(train) if full else _BATCH)
    steps = train.steps(batch)
    epochs = settings.epochs or _EPOCHS.get(name) or max(10, -(-_STEPS // steps))
    dear = name in _EPOCHS  # a step then costs more than a look at the validation rows
    every = 1 if settings.patience is not None or dear else max(1, epochs // _RECORDS)
    if settings.time_limit is not None:  # then most of the epochs may never come
        every = min(every, 10)
    path = None if settings.checkpoint is None else Path(settings.checkpoint)
    return Plan(
        epochs=epochs,
        batch_size=batch,
        schedule=settings.schedule,
        warmup=settings.warmup,
        patience=settings.patience,
        time_limit=settings.time_limit,
        seed=settings.seed,
        every=every,
        keep_best=not settings.penalty,
        checkpoint=path,
        interval=settings.checkpoint_every,
        callbacks=settings.watchers(),
        stage=f"{name}{settings.label}",
    )


def _identity(settings: Settings, name: str, loss: Loss, plan: Plan) -> dict[str, Any]:
    """Return what two runs must share for one to go on from the other's checkpoint."""
    kept = ("schedule", "warmup", "clip", "penalty", "penalized", "seed", "precision")
    identity = {key: getattr(settings, key) for key in kept} | settings.rates(name)
    identity = {
        key: float(value) if isinstance(value, numbers.Real) else value
        for key, value in identity.items()
    }
    identity |= {"optimizer": name, "loss": loss.name, "batch_size": plan.batch_size}
    if settings.schedule != "constant" or settings.warmup:
        identity["epochs"] = plan.epochs  # the rates of all steps depend on it
    return identity


def _stepper(
    model: nn.Module,
    name: str,
    *,
    train: Source,
    loss: Loss,
    outputs: int,
    settings: Settings,
    penalty: Penalty | None,
) -> Stepper:
    def ready(batch: Batch) -> Batch:
        return batch if isinstance(train, Rows) else prepare(batch, loss, outputs, model)

    rates = settings.rates(name)
    groups = parameter_groups(model, **rates)
    if name == "lm":
        ridge = _ridge(model, groups)
        return LevenbergMarquardt(model, train, loss, outputs, ridge=ridge, penalty=penalty)
    if name == "lbfgs":
        own, rate = decays(model, groups), rates["learning_rate"]
        return LBFGS(model, train, loss, prepare=ready, ridge=own, rate=rate)
    precision = PRECISIONS[settings.precision]
    if precision is torch.float16 and device_of(model).type == "cpu":
        raise ValueError("precision='fp16' needs a GPU; on this device use 'bf16' or 'full'")
    return FirstOrder(
        model,
        loss,
        groups,
        name=name,
        clip=settings.clip,
        penalty=penalty,
        precision=precision,
    )


def _ridge(model: nn.Module, groups: list[dict[str, Any]]) -> Tensor:
    """Return the decay of each trainable number, (size,)."""
    parts = zip(Vector(model).parameters.values(), decays(model, groups), strict=True)
    return torch.cat([torch.full_like(p.detach().reshape(-1), value) for p, value in parts])


def _double(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).double()
