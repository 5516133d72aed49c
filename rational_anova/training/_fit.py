"""`fit`: read the data, choose the optimiser, run the loop."""

from __future__ import annotations

import contextlib
import copy
import math
import numbers
import warnings
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from . import _loop as checkpoints
from ._history import History
from ._loop import Loop, Plan, Stepper
from ._losses import Loss, resolve_loss
from ._parameter_groups import decays, parameter_groups, roles
from ._settings import PRECISIONS, Settings
from ._terms import open_gates
from .data import (
    Batch,
    Data,
    Processes,
    Rows,
    Source,
    core,
    device_of,
    divided,
    dtype_of,
    is_share,
    learnable,
    modes,
    note_inputs,
    outputs_of,
    prepare,
    prepare_source,
    processes,
    read,
    reduces,
    refuse_sharded,
    set_modes,
    split,
    weighable,
)
from .optimizers import (
    LBFGS,
    FirstOrder,
    Guard,
    LevenbergMarquardt,
    Penalty,
    Vector,
    covariance,
    evaluate,
)

if TYPE_CHECKING:
    pass


_FULL, _BATCH = 1024, 256  # rows up to which the batch is all of them; else its size
_STEPS = 5000  # of Adam, by default
_EPOCHS = {"lbfgs": 100, "lm": 200}
_RECORDS = 500
_ABSURD = 100.0  # times the variance of the target
_UNSTEADY = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
# `lm` by default up to so many parameters, and so many operations in J^T J.
_LM_SIZE, _LM_WORK = 1500, 2e10


def run(model: nn.Module, data: Data, validation: Any, settings: Settings) -> History:
    """Fit a model once; see `fit`."""
    refuse_sharded(model)
    shared, network = processes(settings.processes), core(model)
    if reduces(model) and shared.count == 1 and settings.processes == "alone":
        raise ValueError(
            "processes='alone' shares nothing, and DistributedDataParallel shares gradients; pass "
            "the model without it"
        )
    Vector(network)  # raises if nothing can be trained
    if settings.patience is not None and validation is None:
        raise ValueError(
            f"patience={settings.patience} needs validation rows; give validation=0.2 or data"
        )
    before = modes(model)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed + checkpoints.CHANCE * shared.rank)
            _agree(network, settings, shared)
            return _run(network, model, data, validation, settings, shared)
    finally:
        set_modes(before)


def _agree(model: nn.Module, settings: Settings, shared: Processes) -> None:
    """Give all processes the first one's numbers; raise if they fit another model or otherwise."""
    own = ("checkpoint", "callbacks", "progress", "resume", "label", "loss", "metrics")
    said = {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in own}
    said |= {"optimizer": settings.optimizer_name, "schedule": settings.schedule_name}
    shared.agree(repr(said), "what fit was asked for", "call it alike everywhere")
    shapes = [(n, tuple(p.shape), p.dtype, p.requires_grad) for n, p in model.named_parameters()]
    shared.agree(f"{model!r}{shapes}", "the model", "build the same one everywhere")
    shared.spread([*model.parameters(), *model.buffers()])


def _run(
    model: nn.Module,
    outer: nn.Module,
    data: Data,
    validation: Any,
    settings: Settings,
    shared: Processes,
) -> History:
    with shared.together():
        read_ones = _sources(data, validation, settings, shared.count == 1)
    train, held, test = (
        None if source is None else divided(source, shared, settings.processes)
        for source in read_ones
    )
    assert train is not None
    if held is None and is_share(validation):
        train, held = split(train, float(validation), settings.split_seed)
    with shared.together():
        outputs = outputs_of(model, train, anything=callable(settings.loss))
        loss = resolve_loss(settings.loss, next(iter(train.chunks(1))).y, outputs)
        name, reason = choose(settings, model, train, outputs)
        # Gauss-Newton curvature squares the condition of the problem: float32 would not do.
        work = model if name != "lm" or dtype_of(model) == torch.float64 else _double(model)
    with shared.together():
        ready = [
            None if source is None else prepare_source(source, loss, outputs, work, what)
            for source, what in ((train, ""), (held, "validation "), (test, "test "))
        ]
    assert ready[0] is not None
    weighable(work, ready[0], loss)
    sources = (ready[0], ready[1], ready[2])
    learnable(sources[0])
    note_inputs(model, data)
    history = History(name, reason + _told(sources[0]), loss.name, seed=settings.seed)
    try:
        _train(
            work,
            name,
            run=outer if work is model else work,
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


def _sources(
    data: Data, validation: Any, settings: Settings, alone: bool
) -> tuple[Source, Source | None, Source | None]:
    """Read the data of this process: training rows, validation rows of their own, test rows."""
    batch = settings.batch_size or _BATCH
    train, test = read(data, batch, settings.seed)
    if len(train) < 2 and alone:
        learnable(train)
    held: Source | None = None
    if validation is not None and not is_share(validation):
        held, _ = read(validation, batch, settings.seed)
        if not len(held):
            raise ValueError("the validation data have no rows")
    return train, held, test


def _told(train: Source) -> str:
    """Say how several processes share the rows."""
    if train.processes.count == 1:
        return ""
    split = train.places is None if isinstance(train, Rows) else train.divided
    how = "each takes its part of every batch" if split else "each with rows of its own"
    return f"; {train.processes.count} processes, {how}"


def choose(settings: Settings, model: nn.Module, train: Source, outputs: int) -> tuple[str, str]:
    """Return the optimiser and why."""
    unsteady = next((type(m).__name__ for m in model.modules() if isinstance(m, _UNSTEADY)), None)
    if settings.optimizer == "lm" and unsteady is not None:
        raise ValueError(
            f"lm needs outputs that depend on their own row alone and not on chance, the model has "
            f"a {unsteady}; use optimizer='adam'"
        )
    if settings.optimizer != "auto":
        return settings.optimizer_name, "as asked"
    if unsteady is not None:
        return "adam", f"chosen: the model has a {unsteady}"
    size, rows = Vector(model).size, len(train)
    if callable(settings.loss):
        return "adam", f"chosen: a loss without curvature, {size:,} parameters, {rows:,} rows"
    sizes = f"{size:,} parameters, {rows:,} rows"
    batches = settings.batch_size is not None or settings.accumulate != 1
    if batches or not isinstance(train, Rows):
        return "adam", f"chosen: batches, {sizes}"
    if size <= _LM_SIZE and rows * outputs * size**2 <= _LM_WORK:
        return "lm", f"chosen: {sizes}"
    return "adam", f"chosen: {sizes}, too many for lm"


def _train(
    model: nn.Module,
    name: str,
    *,
    run: nn.Module,
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
            run=run,
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
        state = _kept(plan, settings, mark, sources[0].processes)
        if state is not None:
            loop.resume(state)
        loop.run()
        if name == "lm":
            ridge = _ridge(model, parameter_groups(model, **settings.rates(name)))
            history.covariance = covariance(model, sources[0], loss, outputs, ridge)


def _kept(plan: Plan, settings: Settings, mark: str, shared: Processes) -> dict[str, Any] | None:
    """Return what the first process finds in the file of the run, if there is one."""
    state = None
    with shared.together():
        path = plan.checkpoint
        if path is not None and settings.resume and shared.first and path.exists():
            state = checkpoints.read(path, mark)
    return shared.from_first(state)


def _gates(model: nn.Module, penalty: Penalty | None) -> Any:
    return contextlib.nullcontext() if penalty is None else open_gates(model)


def _measure(model: nn.Module, sources: Any, loss: Loss, outputs: int, history: History) -> None:
    """Evaluate the model as it is left behind, and look at its denominators."""
    model.eval()
    guard = Guard(model, sources[0].processes)
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
    y = source.batch.y[source.own()].double()
    moments = torch.stack([torch.ones_like(y).sum(0), y.sum(0), y.square().sum(0)])
    source.processes.add_up(moments)
    return float((moments[2] / moments[0] - (moments[1] / moments[0]).square()).mean())


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
        schedule=settings.schedule if isinstance(settings.schedule, str) else "constant",
        warmup=settings.warmup,
        patience=settings.patience,
        time_limit=settings.time_limit,
        seed=settings.seed,
        every=every,
        keep_best=not settings.penalty,
        checkpoint=path,
        interval=settings.checkpoint_every,
        callbacks=settings.watchers(),
        metrics=settings.metrics or {},
        stage=f"{name}{settings.label}",
    )


def _identity(settings: Settings, name: str, loss: Loss, plan: Plan) -> dict[str, Any]:
    """Return what two runs must share for one to go on from the other's checkpoint."""
    kept = ("warmup", "clip", "penalty", "penalized", "seed", "precision")
    identity = {key: getattr(settings, key) for key in kept} | settings.rates(name)
    identity = {
        key: float(value) if isinstance(value, numbers.Real) else value
        for key, value in identity.items()
    }
    if settings.average:
        identity["average"] = settings.average
    identity |= {"schedule": settings.schedule_name}
    identity |= {"optimizer": name, "loss": loss.name, "batch_size": plan.batch_size}
    if settings.schedule == "cosine" or settings.warmup:
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
    run: nn.Module,
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
        name=settings.optimizer if isinstance(settings.optimizer, Optimizer) else name,
        clip=settings.clip,
        penalty=penalty,
        precision=precision,
        run=run,
        processes=train.processes,
        pieces=settings.accumulate,
        scheduler=settings.schedule if isinstance(settings.schedule, LRScheduler) else None,
        average=settings.average,
    )


def _ridge(model: nn.Module, groups: list[dict[str, Any]]) -> Tensor:
    """Return the decay of each trainable number, (size,)."""
    parts = zip(Vector(model).parameters.values(), decays(model, groups), strict=True)
    return torch.cat([torch.full_like(p.detach().reshape(-1), value) for p, value in parts])


def _double(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model).double()
