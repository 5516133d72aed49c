"""The verbs people type: `fit`, `fit_path`, `sweep`, `select_topology`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from .._core import checks as check
from .._core.callbacks import Callback, checked
from ..networks import RAN
from ..topology import Topology
from ._fit import run
from ._history import History
from ._losses import Loss, resolve_loss
from ._path import PenaltyPath, follow
from ._restarts import Sweep, best_of, combinations, in_this_process, trial
from ._select import METHODS, Choice, choose_pairs
from ._settings import Metric, Settings
from .data import (
    Data,
    Rows,
    core,
    learnable,
    outputs_of,
    prepare_source,
    require_module,
    training_part,
)
from .data import processes as taking_part

if TYPE_CHECKING:
    from rich.console import Console


def fit(
    model: nn.Module,
    data: Data,
    *,
    validation: float | Data | None = None,
    loss: str | Loss | Callable[[Tensor, Tensor], Tensor] = "auto",
    optimizer: str | Optimizer = "auto",
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    weight_decay: float = 0.0,
    denominator_rate: float = 1.0,
    gate_rate: float = 1.0,
    denominator_decay: float | None = None,
    schedule: str | LRScheduler = "constant",
    warmup: float = 0.0,
    clip: float | None = None,
    accumulate: int = 1,
    average: float = 0.0,
    penalty: float = 0.0,
    penalized: str = "all",
    topology: str | None = None,
    size: int | str = "d",
    patience: int | None = None,
    restarts: int = 1,
    restart_noise: float = 0.1,
    n_jobs: int = 1,
    seed: int = 0,
    precision: str = "full",
    processes: str = "auto",
    time_limit: float | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    resume: bool = True,
    metrics: Mapping[str, Metric] | None = None,
    callbacks: Sequence[Callback] | None = None,
    progress: bool | Console = False,
) -> History:
    """Train a model in place, and return its history.

    With validation rows the model is set to its best epoch on them, otherwise to its last; under a
    penalty always to its last, where the dropped terms are zero.

    Args:
        model: any `nn.Module` from inputs (rows, ...) to (rows, outputs), or to a record with such
            `logits`.
        data: (X, y) or (X, y, weight) of tensors, NumPy arrays, pandas tables or lists; a Dataset
            or DataLoader, whose batches may be dictionaries of named inputs and `labels`; or a
            dictionary with `train_input`, `train_label`, and perhaps `test_input`, `test_label`,
            whose loss is recorded and decides nothing. X of whole numbers stays whole where the
            model has an `nn.Embedding`.
        validation: a share of the rows to hold out, or data in any of these forms.
        loss: `mse`, `mae`, `huber` (or `training.huber(delta)`), `binary` (logits), `multiclass`
            (logits); `auto` takes `binary` for booleans with one output, `multiclass` for whole
            numbers with several, else `mse`. Or a function of outputs and targets, such as
            `nn.CrossEntropyLoss()`, that returns one number, or one for each row.
        optimizer: `adam`, `adamw`, `lbfgs` (strong Wolfe, all rows), `lm` (Levenberg-Marquardt in
            float64, all rows; Gauss-Newton for other losses than squares). `auto` takes `lm` for
            small models on data in memory and `adam` otherwise; the record says which and why.
            Or an optimiser of torch, built on this model's parameters.
        epochs: passes over the data; for `lbfgs` (20 iterations) and `lm` steps. By default some
            5,000 steps of Adam, 100 of `lbfgs`, 200 of `lm`.
        batch_size: rows in a batch of Adam; by default all up to 1,024 rows, else 256.
        learning_rate: by default 2e-3 for Adam, 1 for the line search of `lbfgs`.
        weight_decay: as in torch for `adam` and `adamw`; `lbfgs` and `lm` add
            weight_decay |v|^2 / 2 to the loss (a ridge). Gates do not decay; see
            `parameter_groups`.
        denominator_rate: the denominators' learning rate, as a multiple.
        gate_rate: the gates' learning rate, as a multiple.
        denominator_decay: weight decay of the denominators, if it is to be another; under a
            penalty it is at least a thousandth of that unless given.
        schedule: `constant` or `cosine`, for Adam. Or a scheduler of torch for the optimiser that
            is given: it goes on by one with each step.
        warmup: share of the steps over which Adam's rate rises from zero.
        clip: largest norm of the gradient, for Adam.
        accumulate: into how many parts each batch of Adam is cut, one after the other, whose
            gradients add up to that of the batch: less memory, the same steps.
        average: share of the weights' running mean that is kept at each step of Adam (EMA); what is
            validated, kept and left in the model is then the mean.
        penalty: group lasso on the terms of a RAN or the pairs of a DeepRAN (see `prune`).
        penalized: `all` terms, or the `pairs` alone.
        topology: choose the pairs of a RAN first, by `residual`, `gradient`, `learned`, `top-k`,
            `correlation` or `random`, on the training rows; the model is rewired in place.
        size: how many pairs then, a number or a rule such as "0.5d".
        patience: epochs without a better validation loss after which to stop.
        restarts: number of starts; the first is the model as it is, the others are drawn anew.
        restart_noise: standard deviation that is added to the coefficients of those.
        n_jobs: how many restarts run at once, through joblib and its backends.
        seed: of shuffling, of the split and of the restarts.
        precision: `full`, `bf16` or `fp16` (autocast), for Adam.
        processes: where `torchrun` or `accelerate` have started several, and `torch.distributed`
            is initialised, all of them call `fit` and fit one model, as one process would: its
            batches, losses and decisions. `split`: each was given the same rows, and takes its part
            of every batch; `shards`: each was given rows of its own; `auto` sees which;
            `alone`: they share nothing. The model may be in DistributedDataParallel.
        time_limit: seconds after which to stop.
        checkpoint: a file to save the run in and, if it is there, to go on from.
        checkpoint_every: seconds between two saves.
        resume: False starts anew and overwrites the file.
        metrics: functions of outputs and targets by name, measured on the validation rows (without
            them on the training rows) at each record.
        callbacks: functions that are called with a `training.Progress` after each epoch that the
            history records, of several processes on the first; one that returns True ends the fit,
            restarts included, and the best so far is kept.
        progress: show a line with losses, rate and time left; True or a rich Console. It is the
            callback `training.ProgressBar`.

    Example:
        >>> import torch
        >>> X = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
        >>> net = RAN(1, topology="none", denominator="square", base="zero", dtype=torch.float64)
        >>> history = fit(net, (X, 1 / (1 + 25 * X**2)))
        >>> history.optimizer, history.training_loss < 1e-25
        ('lm', True)
    """
    settings = Settings(
        loss=loss,
        optimizer=optimizer,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        denominator_rate=denominator_rate,
        gate_rate=gate_rate,
        denominator_decay=denominator_decay,
        schedule=schedule,
        warmup=warmup,
        clip=clip,
        accumulate=accumulate,
        average=average,
        metrics=metrics,
        penalty=penalty,
        penalized=penalized,
        patience=patience,
        seed=seed,
        split_seed=seed,
        precision=precision,
        processes=processes,
        time_limit=time_limit,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        callbacks=callbacks,
        progress=progress,
    )
    require_module(model)
    count = check.integer(restarts, "restarts", 1)
    if topology is not None:
        asked: dict[str, Any] = {"validation": validation, "loss": loss, "seed": seed}
        shared = taking_part(processes)
        chosen: Any = None
        with shared.together():
            if shared.first:  # on its rows
                watchers = settings.watchers()
                chosen = select_topology(model, data, topology, size, callbacks=watchers, **asked)
        chosen = shared.from_first(chosen)
        assert isinstance(model, RAN)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # for what is new in a linear read-out
            model.rewire(chosen)
    if count == 1:
        return run(model, data, validation, settings)
    noise = check.nonnegative(restart_noise, "restart_noise")
    if n_jobs != 1 and taking_part(processes).count > 1:
        raise ValueError(
            f"n_jobs={n_jobs} starts processes of its own, and there are several already that fit "
            "together; use n_jobs=1, or processes='alone'"
        )
    network = core(model)
    return best_of(network, data, validation, settings, restarts=count, noise=noise, n_jobs=n_jobs)


def fit_path(
    model: nn.Module,
    data: Data,
    *,
    validation: float | Data,
    penalties: Sequence[float] | int = 12,
    tolerance: float = 0.02,
    refit: bool = True,
    **settings: Any,
) -> PenaltyPath:
    """Fit under ever stronger group lasso, each fit from the last, and choose by validation.

    Args:
        model: a RAN or DeepRAN; it is not changed.
        data: as in `fit`.
        validation: as in `fit`; the choice is made on it.
        penalties: their strengths, or how many to spread below the one that drops everything.
        tolerance: the fewest terms win among points whose validation loss is at most this share
            above the least.
        refit: train the pruned model once more without the penalty, which shrinks what it keeps.
        settings: further arguments of `fit`, but those of restarts, pairs and checkpoints. A
            callback that returns True ends the path; the choice is made among its points so far.
    """
    require_module(model)
    return follow(
        model,
        data,
        validation,
        Settings.of(settings),
        penalties=penalties,
        tolerance=check.nonnegative(tolerance, "tolerance"),
        refit=refit,
    )


def sweep(
    model: nn.Module | Callable[..., nn.Module],
    data: Data,
    grid: Mapping[str, Sequence[Any]],
    *,
    validation: float | Data | None = None,
    n_jobs: int = 1,
    **settings: Any,
) -> Sweep:
    """Fit every combination of a grid, through joblib: threads, processes, Dask or Ray.

    Choose the backend as usual, for instance with `joblib.parallel_config("dask")`.

    Args:
        model: a model, of which each trial fits a copy; or a function that makes one.
        data: as in `fit`.
        grid: lists of values by name: arguments of `fit`, and arguments of the function.
        validation: as in `fit`; all trials share the same rows.
        n_jobs: how many run at once.
        settings: arguments of `fit` that all trials share, but those of restarts and pairs; with
            a checkpoint each trial has a file of its own, the name with its number behind. A
            callback that returns True ends the trial it is called in.
    """
    import joblib  # here, so that training needs torch, numpy and safetensors alone

    in_this_process(Settings.of(settings), n_jobs)
    tried = combinations(grid)
    jobs = (
        joblib.delayed(trial)(
            model,
            data,
            validation,
            chosen=chosen,
            settings=settings,
            number=number,
            label=f", trial {number + 1} of {len(tried)}",
        )
        for number, chosen in enumerate(tried)
    )
    return Sweep(joblib.Parallel(n_jobs=n_jobs)(jobs))


def select_topology(
    model: nn.Module,
    data: Data,
    method: str = "residual",
    size: int | str = "d",
    *,
    validation: float | Data | None = None,
    loss: str | Loss = "auto",
    seed: int = 0,
    callbacks: Sequence[Callback] | None = None,
) -> Topology:
    """Choose the pairs of a RAN from data.

    Args:
        model: a RAN; its units are those that `learned` and `top-k` train. It is not changed.
        data: in memory, as in `fit`.
        method: `residual`: what products of two inputs explain of the residuals of main effects.
            `gradient`: mixed second derivatives of a small smooth network (the paper's C_ij).
            `learned`: many pairs under a rising group lasso, survivors kept. `top-k`: many pairs
            without one, the most varying kept. `correlation` and `random` as in `Topology`.
        size: how many pairs, a number or a rule such as "0.5d".
        validation: as in `fit`: these rows are not looked at.
        loss: as in `fit`.
        seed: of the split and of all training.
        callbacks: as in `fit`, for the fits on the way of `gradient`, `learned` and `top-k`; one
            that returns True ends the fit that it is called in.

    Example:
        >>> import torch
        >>> X = torch.randn(200, 5, generator=torch.Generator().manual_seed(0))
        >>> select_topology(RAN(5), (X, X[:, 0] + X[:, 1] * X[:, 3]), size=1).pairs
        ((1, 3),)
    """
    if not isinstance(model, RAN):
        raise TypeError(
            f"choosing pairs from data needs a RAN, got {type(model).__name__}; for other networks "
            "choose with Topology.residual(X, y) or the like, and build them with it"
        )
    check.choice(method, METHODS, "topology (how to choose it)")
    train = training_part(data, validation, 256, seed)
    if not isinstance(train, Rows):
        raise TypeError("choosing pairs needs data in memory: (X, y), not a Dataset or DataLoader")
    outputs = outputs_of(model, train)
    chosen = resolve_loss(loss, train.batch.y[:1], outputs)
    ready = prepare_source(train, chosen, outputs, model)
    learnable(ready)
    assert isinstance(ready, Rows)
    watchers = checked(callbacks)
    return choose_pairs(Choice(model, ready, chosen, size, seed, watchers), method)
