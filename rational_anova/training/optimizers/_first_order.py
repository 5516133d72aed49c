"""Adam, AdamW and L-BFGS behind the same two methods as `lm`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from .._losses import Loss
from ..data import ALONE, Batch, Processes, Source, device_of, reduces
from ._group_lasso import Penalty
from ._jacobian import batch_loss

Groups = list[dict[str, Any]]

_ROWS = 8192  # of a chunk in a full-batch pass
_LBFGS_MEMORY, _LBFGS_INNER = 50, 20


class FirstOrder:
    """Adam or AdamW on batches, with proximal steps after each.

    Args:
        model: what to train.
        loss: what to minimise.
        groups: parameter groups with `lr` and `weight_decay`.
        name: `adam` or `adamw`; or the optimiser itself, whose groups count then.
        scheduler: moves the rates of that optimiser, or None.
        average: share of the running mean of the weights that is kept, 0 for none.
        clip: largest norm of the gradient, or None.
        penalty: group lasso, or None.
        precision: dtype of autocast, or None.
        run: what is called in the model's place: the model in DDP, or compiled.
        processes: that take a step together, each on its rows of the batch.
        pieces: into how many parts a batch is cut, whose gradients add up.
    """

    full_batch = False
    converged = ""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        groups: Groups,
        *,
        name: str | torch.optim.Optimizer,
        clip: float | None,
        penalty: Penalty | None,
        precision: torch.dtype | None,
        run: nn.Module | None = None,
        processes: Processes = ALONE,
        pieces: int = 1,
        scheduler: LRScheduler | None = None,
        average: float = 0.0,
    ) -> None:
        self.model, self.loss, self.clip, self.penalty = model, loss, clip, penalty
        self.run = model if run is None else run
        self.processes, self.pieces = processes, pieces
        self.scheduler, self.average = scheduler, average
        if isinstance(name, str):
            kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
            self.optimizer: torch.optim.Optimizer = kind(groups, fused=_can_fuse(groups))
        else:
            self.optimizer = _of_model(name, model)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.mean = [p.detach().clone() for p in self._averaged()] if average else []
        self.precision = precision
        device = device_of(model).type
        self.scaler = torch.amp.GradScaler(device, enabled=precision == torch.float16)

    @property
    def rate(self) -> float:
        """The learning rate of the first group."""
        return float(self.optimizer.param_groups[0]["lr"])

    def set_rate(self, factor: float) -> None:
        """Multiply the rates that were asked for, or those where a scheduler is."""
        rates = self.rates if self.scheduler is None else self.scheduler.get_last_lr()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * factor

    def step(self, batch: Batch | None = None, mass: float | None = None) -> float:
        """Take one step; return the loss before it, and change nothing if that is not finite."""
        assert batch is not None
        self.optimizer.zero_grad(set_to_none=True)
        value = self._one(batch) if self._whole() else self._shared(batch, mass or batch.mass)
        if not math.isfinite(value):
            return value
        self.scaler.unscale_(self.optimizer)
        size = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip or math.inf)
        if not bool(torch.isfinite(size)) and not self.scaler.is_enabled():
            return math.nan
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.scheduler is not None:
            self.set_rate(1.0)  # it goes on from its own rates
            self.scheduler.step()
        if self.average:
            with torch.no_grad():
                torch._foreach_lerp_(self.mean, self._averaged(), 1 - self.average)
        if self.penalty is not None and self.rate > 0:
            self.penalty.step(self._metric(), self.rate)
        return value

    def _averaged(self) -> list[Tensor]:
        return [p.detach() for p in self.model.parameters() if p.is_floating_point()]

    @torch.no_grad()
    def exchange(self) -> None:
        """Let the running mean and the weights change places; nothing without a mean."""
        for mean, weight in zip(self.mean, self._averaged(), strict=False):
            kept = weight.clone()
            weight.copy_(mean)
            mean.copy_(kept)

    def _whole(self) -> bool:
        return self.processes.count == 1 and self.pieces == 1

    def _one(self, batch: Batch) -> float:
        """Leave the gradient of a batch, unless its loss is not finite; return the loss."""
        with self._autocast():
            loss = batch_loss(self.run, batch, self.loss)
        value = float(loss.detach())
        if math.isfinite(value):
            self.scaler.scale(loss).backward()
        return value

    def _shared(self, batch: Batch, mass: float) -> float:
        """Do the same in pieces, and for the whole batch of which each process has a part."""
        count = self.processes.count
        parts = cut(batch, self.pieces)
        averages = reduces(self.run)  # so each process brings its gradient times their number
        total = torch.zeros((), dtype=torch.float64, device=batch.x.device)
        for n, part in enumerate(parts, 1):
            waits: Any = nullcontext()
            if averages and n < len(parts):
                waits = self.run.no_sync()  # type: ignore[operator]
            with waits:
                with self._autocast():
                    loss = batch_loss(self.run, part, self.loss, mass)
                self.scaler.scale(loss * count if averages else loss).backward()
            total += loss.detach()
        if averages or count == 1:
            return self.processes.totals(float(total))[0]
        return self._add_gradients(float(total))

    def _add_gradients(self, value: float) -> float:
        """Add up the gradients of all processes, dtype by dtype; return the sum of the values."""
        moved = [p for group in self.optimizer.param_groups for p in group["params"]]
        # Rows of one process may not need what those of another do.
        used = (float(p.grad is not None) for p in moved)
        value, *counts = self.processes.totals(value, *used)
        moved = [p for p, count in zip(moved, counts, strict=True) if count]
        for parameter in moved:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        for dtype in dict.fromkeys(p.dtype for p in moved):
            alike = [p.grad for p in moved if p.dtype == dtype and p.grad is not None]
            self.processes.add_up(*alike)
        return value

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.precision is None:
            return nullcontext()
        return torch.autocast(device_of(self.model).type, self.precision)

    def _metric(self) -> dict[str, Tensor]:
        """Return by what Adam divides each coordinate of its mean gradient."""
        group_of = {id(p): g for g in self.optimizer.param_groups for p in g["params"]}
        result = {}
        for name, parameter in self.model.named_parameters():
            state = self.optimizer.state.get(parameter)
            if not state:
                result[name] = torch.ones_like(parameter)
                continue
            group = group_of[id(parameter)]
            done = float(state["step"])
            correction = 1 - group["betas"][1] ** done
            root = (state["exp_avg_sq"] / correction).sqrt() + group["eps"]
            # Groups may have rates of their own, and the caller shrinks at the first one's.
            result[name] = root * (self.rate / group["lr"]) if group["lr"] else root
        return result

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must hold."""
        state = {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}
        if self.scheduler is not None:
            state["scheduler"] = self.scheduler.state_dict()
        return {**state, "mean": self.mean} if self.average else state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        for mean, kept in zip(self.mean, state.get("mean", ()), strict=False):
            mean.copy_(kept)


def _of_model(optimizer: torch.optim.Optimizer, model: nn.Module) -> torch.optim.Optimizer:
    """Return an optimiser of torch that trains this model; raises if it trains another."""
    own = {id(p) for p in model.parameters()}
    given = [p for group in optimizer.param_groups for p in group["params"]]
    if not all(id(p) in own for p in given):
        raise ValueError(
            f"the {type(optimizer).__name__} has parameters that are not this model's; build it on "
            "model.parameters() or ra.parameter_groups(model, ...), after the model is as it stays"
        )
    return optimizer


def cut(batch: Batch, pieces: int) -> list[Batch]:
    """Return a batch in so many parts of nearly equal size, fewer if it has fewer rows."""
    rows = torch.arange(len(batch.x)).tensor_split(min(pieces, len(batch.x)))
    x, y, weight = batch
    return [Batch(x[r], y[r], None if weight is None else weight[r]) for r in rows]


def _can_fuse(groups: Groups) -> bool:
    parameters = [p for group in groups for p in group["params"]]
    return all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters)


class LBFGS:
    """L-BFGS with a strong Wolfe line search on all the data; each step is up to 20 iterations.

    Args:
        model: what to train.
        data: all rows.
        loss: what to minimise.
        prepare: brings a chunk to the model's device and checks it.
        ridge: for each parameter in order, the factor of its square, halved.
        rate: the first step length that the line search tries.
    """

    full_batch = True

    def __init__(
        self,
        model: nn.Module,
        data: Source,
        loss: Loss,
        *,
        prepare: Any,
        ridge: Sequence[float],
        rate: float,
    ) -> None:
        self.model, self.data, self.loss, self.prepare = model, data, loss, prepare
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.ridge = ridge
        self.first = rate
        self.converged = ""
        self.value = math.inf
        self.optimizer = torch.optim.LBFGS(
            self.parameters,
            lr=rate,
            max_iter=_LBFGS_INNER,
            history_size=_LBFGS_MEMORY,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )

    @property
    def rate(self) -> float:
        """The step length that the line search tries first."""
        return float(self.optimizer.param_groups[0]["lr"])

    def exchange(self) -> None:
        """Do nothing: there is no running mean."""

    def set_rate(self, factor: float) -> None:
        """Multiply the step length that was asked for."""
        self.optimizer.param_groups[0]["lr"] = self.first * factor

    def step(self, batch: Batch | None = None, mass: float | None = None) -> float:
        """Take one step; return the mean loss after it."""
        before = [p.detach().clone() for p in self.parameters]
        self.optimizer.step(self._objective)
        self._objective()
        same = all(torch.equal(a, b) for a, b in zip(before, self.parameters, strict=True))
        if same:
            self.converged = "the line search finds nothing lower"
        return self.value

    def _objective(self) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        total, mass = 0.0, 0.0
        for chunk in self.data.chunks(_ROWS):
            batch = self.prepare(chunk)
            share = batch.mass
            if not share:
                continue
            loss = batch_loss(self.model, batch, self.loss) * share
            loss.backward()
            total, mass = total + float(loss.detach()), mass + share
        total, mass = self.data.processes.totals(total, mass)
        self.value = total / mass
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        for dtype in dict.fromkeys(p.dtype for p in self.parameters):
            same = [p.grad for p in self.parameters if p.dtype == dtype and p.grad is not None]
            self.data.processes.add_up(*same)
        for parameter, ridge in zip(self.parameters, self.ridge, strict=True):
            assert parameter.grad is not None
            parameter.grad /= mass
            if ridge:
                parameter.grad += ridge * parameter.detach()
                total += mass * ridge * float(parameter.detach().square().sum()) / 2
        like = self.parameters[0]
        return torch.tensor(total / mass, dtype=like.dtype, device=like.device)

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must hold."""
        return {"optimizer": self.optimizer.state_dict(), "converged": self.converged}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.converged = state["converged"]
