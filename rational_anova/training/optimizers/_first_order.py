"""Adam, AdamW and L-BFGS behind the same two methods as `lm`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from .._data import Batch, Source, device_of
from .._losses import Loss
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
        name: `adam` or `adamw`.
        clip: largest norm of the gradient, or None.
        penalty: group lasso, or None.
        precision: dtype of autocast, or None.
    """

    full_batch = False
    converged = ""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        groups: Groups,
        *,
        name: str,
        clip: float | None,
        penalty: Penalty | None,
        precision: torch.dtype | None,
    ) -> None:
        self.model, self.loss, self.clip, self.penalty = model, loss, clip, penalty
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
        self.optimizer = kind(groups, fused=_can_fuse(groups))
        self.rates = [group["lr"] for group in groups]
        self.precision = precision
        device = device_of(model).type
        self.scaler = torch.amp.GradScaler(device, enabled=precision == torch.float16)

    @property
    def rate(self) -> float:
        """The learning rate of the first group."""
        return float(self.optimizer.param_groups[0]["lr"])

    def set_rate(self, factor: float) -> None:
        """Multiply the rates that were asked for."""
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor

    def step(self, batch: Batch | None = None) -> float:
        """Take one step; return the loss before it, and change nothing if that is not finite."""
        assert batch is not None
        self.optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            loss = batch_loss(self.model, batch, self.loss)
        value = float(loss.detach())
        if not math.isfinite(value):
            return value
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        size = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip or math.inf)
        if not bool(torch.isfinite(size)) and not self.scaler.is_enabled():
            return math.nan
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.penalty is not None and self.rate > 0:
            self.penalty.step(self._metric(), self.rate)
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
        return {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])


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

    def set_rate(self, factor: float) -> None:
        """Multiply the step length that was asked for."""
        self.optimizer.param_groups[0]["lr"] = self.first * factor

    def step(self, batch: Batch | None = None) -> float:
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
            share = float(len(batch.x) if batch.weight is None else batch.weight.sum())
            if not share:
                continue
            loss = batch_loss(self.model, batch, self.loss) * share
            loss.backward()
            total, mass = total + float(loss.detach()), mass + share
        self.value = total / mass
        for parameter, ridge in zip(self.parameters, self.ridge, strict=True):
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
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
