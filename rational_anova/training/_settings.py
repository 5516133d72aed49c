"""`Settings`: the arguments of `fit` that one run needs, checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from .._core import checks as check
from .._core.callbacks import Callback, ProgressBar, checked
from ._losses import Loss
from .data import WAYS
from .optimizers import PENALIZED

if TYPE_CHECKING:
    from rich.console import Console

Metric: TypeAlias = Callable[[Tensor, Tensor], Any]  # of outputs and targets, a number

OPTIMIZERS = ("auto", "adam", "adamw", "lbfgs", "lm")
PRECISIONS = {"full": None, "bf16": torch.bfloat16, "fp16": torch.float16}

_RATES = {"adam": 2e-3, "adamw": 2e-3, "lbfgs": 1.0, "lm": 1.0}
PRIVATE = ("split_seed", "label")  # settings that are not arguments of `fit`
_SINKING = 1e-3


@dataclass(frozen=True)
class Settings:
    """The arguments of `fit` that one run needs."""

    loss: str | Loss | Callable[..., Tensor] = "auto"
    optimizer: str | Optimizer = "auto"
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    weight_decay: float = 0.0
    denominator_rate: float = 1.0
    gate_rate: float = 1.0
    denominator_decay: float | None = None
    schedule: str | LRScheduler = "constant"
    warmup: float = 0.0
    clip: float | None = None
    accumulate: int = 1
    average: float = 0.0
    metrics: Mapping[str, Metric] | None = None
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
    processes: str = "alone"
    label: str = ""  # what callbacks are told beside the optimiser

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Make settings from keywords; an unknown one is answered with the nearest known."""
        known = [field.name for field in fields(cls) if field.name not in PRIVATE]
        for name in given:
            check.choice(name, known, "a setting of fit")
        return cls(**{"split_seed": given.get("seed", 0), **given})

    def __post_init__(self) -> None:
        if not isinstance(self.optimizer, Optimizer):
            check.choice(self.optimizer, OPTIMIZERS, "optimizer")
        if not isinstance(self.schedule, LRScheduler):
            check.choice(self.schedule, ("constant", "cosine"), "schedule")
        check.choice(self.penalized, PENALIZED, "penalized")
        check.choice(self.precision, PRECISIONS, "precision")
        check.choice(self.processes, WAYS, "processes")
        check.integer(self.seed, "seed")
        check.integer(self.accumulate, "accumulate", 1)
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

    @property
    def optimizer_name(self) -> str:
        """The optimiser in a word."""
        given = self.optimizer
        return type(given).__name__ if isinstance(given, Optimizer) else given

    @property
    def schedule_name(self) -> str:
        """The schedule in a word."""
        given = self.schedule
        return type(given).__name__ if isinstance(given, LRScheduler) else given

    def _refuse_objects(self) -> None:
        """Raise for objects of torch that something else contradicts."""
        ours = isinstance(self.optimizer, Optimizer)
        if isinstance(self.optimizer, torch.optim.LBFGS):
            raise ValueError("torch's LBFGS needs a closure; pass optimizer='lbfgs'")
        if isinstance(self.schedule, LRScheduler):
            if not ours or self.schedule.optimizer is not self.optimizer:
                raise ValueError(
                    "a scheduler object moves the rates of its own optimiser; pass that one as "
                    "optimizer=, too"
                )
            if self.warmup:
                raise ValueError("warmup belongs to schedule='constant' or 'cosine', not to a "
                                 "scheduler object, which has its own")  # fmt: skip
        rates = [n for n in ("learning_rate", "denominator_decay") if getattr(self, n) is not None]
        rates += [n for n in ("weight_decay",) if getattr(self, n)]
        rates += [n for n in ("denominator_rate", "gate_rate") if getattr(self, n) != 1]
        if ours and rates:
            raise ValueError(
                f"an optimiser object has its rates and decays already, got {rates[0]} beside it; "
                "build it with ra.parameter_groups"
            )
        if ours and self.penalty:
            raise ValueError(
                "penalty needs proximal steps in Adam's metric; use optimizer='adam' or 'adamw'"
            )

    def _refuse(self) -> None:
        """Raise where an optimiser cannot do what is asked."""
        self._refuse_objects()
        if not 0 <= check.real(self.average, "average") < 1:
            raise ValueError(
                f"average is the share that is kept at each step, at least 0 and below 1, got "
                f"{self.average}"
            )
        for name, metric in (self.metrics or {}).items():
            if not callable(metric):
                raise TypeError(f"metrics[{name!r}] must be a function of outputs and targets")
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
        if self.optimizer in ("lm", "lbfgs") and self.average:
            raise ValueError(
                f"average={self.average} is for steps on batches, {self.optimizer} ends where the "
                "loss is least; leave it out, or use optimizer='adam'"
            )
        if self.optimizer in ("lm", "lbfgs") and self.accumulate != 1:
            raise ValueError(
                f"{self.optimizer} goes through all rows in chunks anyway, got "
                f"accumulate={self.accumulate}; leave it out, or use optimizer='adam'"
            )

    def rates(self, optimizer: str) -> dict[str, Any]:
        """Return the rates and decays of an optimiser, as `parameter_groups` takes them."""
        own = self.weight_decay if self.denominator_decay is None else self.denominator_decay
        if self.denominator_decay is None and self.penalty:
            # p/d with a small p and a small d is cheaper: without this, softplus(q) would sink
            # towards zero without end.
            own = max(own, _SINKING * self.penalty)
        rate = _RATES.get(optimizer, 0.0) if self.learning_rate is None else self.learning_rate
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
