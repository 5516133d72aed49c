"""Several processes that fit one model: sums over all of them, and what they must agree on.

Nothing here starts a process: `torchrun` or `accelerate launch` does, and `torch.distributed` has
to be initialised. Every decision of a fit is made of numbers that all processes have alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

T = TypeVar("T")

WAYS = ("auto", "split", "shards", "alone")


class Lost(RuntimeError):
    """Another process of the fit has ended or can no longer be reached."""


@dataclass(frozen=True)
class Processes:
    """The processes of a fit, seen from one of them; `ALONE` is a fit in one process."""

    rank: int
    count: int

    @property
    def first(self) -> bool:
        """Whether this is the one that writes files and calls callbacks."""
        return self.rank == 0

    @torch.no_grad()
    def add_up(self, *parts: Tensor) -> None:
        """Replace tensors of one dtype by their sums over all processes."""
        if self.count == 1 or not parts:
            return
        flat = torch.cat([part.detach().reshape(-1) for part in parts]).to(_device(parts[0]))
        self._reach(lambda: distributed.all_reduce(flat))
        done = 0
        for part in parts:
            part.copy_(flat[done : done + part.numel()].view_as(part))
            done += part.numel()

    def totals(self, *numbers: float) -> tuple[float, ...]:
        """Return the sums of numbers over all processes."""
        if self.count == 1:
            return numbers
        values = torch.tensor(numbers, dtype=torch.float64)
        self.add_up(values)
        return tuple(values.tolist())

    def least(self, values: Tensor) -> Tensor:
        """Return the least of each number over all processes."""
        if self.count == 1:
            return values
        result = values.detach().clone().to(_device(values))
        self._reach(lambda: distributed.all_reduce(result, distributed.ReduceOp.MIN))
        return result.to(values.device)

    def from_first(self, value: T) -> T:
        """Return what the first process has here; the others' values are not looked at."""
        if self.count == 1:
            return value
        held = [value if self.first else None]
        self._reach(lambda: distributed.broadcast_object_list(held, 0))
        return held[0]  # type: ignore[return-value]

    def of_all(self, value: T) -> list[T]:
        """Return the values of all processes, in their order."""
        if self.count == 1:
            return [value]
        held: list[Any] = [None] * self.count
        self._reach(lambda: distributed.all_gather_object(held, value))
        return held

    @torch.no_grad()
    def spread(self, tensors: Sequence[Tensor]) -> None:
        """Give all processes the first one's numbers."""
        if self.count == 1:
            return
        for tensor in tensors:
            held = tensor.detach().to(_device(tensor)).contiguous()
            self._reach(partial(distributed.broadcast, held, 0))
            tensor.copy_(held)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raise in all processes what is wrong in one of them, so that none waits for it."""
        trouble: Exception | None = None
        try:
            yield
        except Lost:
            raise
        except Exception as error:
            trouble = error
        if self.count > 1:
            said = self.of_all(None if trouble is None else f"{trouble}")
            if trouble is None and any(each is not None for each in said):
                rank, text = next((n, each) for n, each in enumerate(said) if each is not None)
                raise ValueError(f"on process {rank}: {text}")
        if trouble is not None:
            raise trouble

    def agree(self, value: str, what: str, hint: str) -> None:
        """Raise on all processes unless they have the same text."""
        for rank, other in enumerate(self.of_all(value)):
            if other != self.from_first(value):
                raise ValueError(f"{what} on process {rank} is not that on process 0: {hint}")

    def _reach(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except RuntimeError as error:
            raise Lost(
                "another process of this fit has ended, or cannot be reached; see its own "
                f"messages, and start all of them again ({str(error).splitlines()[0]})"
            ) from error


ALONE = Processes(0, 1)


def processes(way: str) -> Processes:
    """Return those that take part in a fit; raises if they were started and do not know it."""
    if way == "alone":
        return ALONE
    if distributed.is_available() and distributed.is_initialized():
        return Processes(distributed.get_rank(), distributed.get_world_size())
    started = os.environ.get("WORLD_SIZE", "1")
    if way == "auto" and (started == "1" or "TORCHELASTIC_RUN_ID" not in os.environ):
        return ALONE
    raise RuntimeError(
        f"torchrun has started {started} processes, and torch.distributed is not initialised, so "
        "that each would fit a model of its own; call torch.distributed.init_process_group() "
        "first, or pass processes='alone'"
        if way == "auto"
        else f"processes={way!r} needs torch.distributed to be initialised: start the script with "
        "torchrun, and call torch.distributed.init_process_group() first"
    )


def _device(like: Tensor) -> torch.device:
    """Return where a backend wants its tensors: NCCL takes those of a GPU alone."""
    if like.device.type == "cpu" and distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return like.device


def core(model: nn.Module) -> nn.Module:
    """Return the network itself, without what runs it: DDP, `torch.compile`."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return core(model.module)
    inner = getattr(model, "_orig_mod", None)
    return core(inner) if isinstance(inner, nn.Module) else model


def reduces(model: nn.Module) -> bool:
    """Return whether a model averages its gradients over processes by itself."""
    inner = getattr(model, "_orig_mod", None)
    return isinstance(model, nn.parallel.DistributedDataParallel) or (
        isinstance(inner, nn.Module) and reduces(inner)
    )


def refuse_sharded(model: nn.Module) -> None:
    """Raise for models whose parameters are spread over processes, and for `DataParallel`."""
    kind = type(model).__name__
    if isinstance(model, nn.DataParallel):
        raise TypeError(
            "fit takes no nn.DataParallel, which splits batches itself; pass its .module, or use "
            "DistributedDataParallel with torchrun"
        )
    spread = any(hasattr(p, "device_mesh") for p in model.parameters())
    if spread or any(type(m).__name__ == "FullyShardedDataParallel" for m in model.modules()):
        raise TypeError(
            f"the parameters of this {kind} are spread over processes (FSDP), and fit needs them "
            "whole; use DistributedDataParallel, or a loop of your own with ra.parameter_groups "
            "(docs/guides/several_processes.md)"
        )
