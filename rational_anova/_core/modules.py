"""What a module of torch is: exactly of a class, or a linear map whoever wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


def untouched(module: nn.Module | None, kind: type[nn.Module], watched: bool = False) -> bool:
    """Return whether a module is exactly of a class, and nothing stands in for it or listens to it.

    A short cut past a module must not pass by someone's change.

    Args:
        module: the module.
        kind: the class whose `forward` the short cut knows.
        watched: whether hooks on what goes in are no objection.
    """
    return type(module) is kind and module is not None and not _touched(module, watched)


def _touched(module: nn.Module, watched: bool) -> bool:
    hooks = (module._forward_hooks, module._backward_hooks, module._backward_pre_hooks)
    return (
        any(hooks)
        or (bool(module._forward_pre_hooks) and not watched)
        or "forward" in vars(module)
        or module._compiled_call_impl is not None
        or hasattr(module, "parametrizations")
        or nn.modules.module._has_any_global_hook()
    )


@dataclass(frozen=True)
class Linear:
    """What is known of a linear map: its sizes, the axis of its features, and its weight."""

    inputs: int
    outputs: int
    dim: int
    weight: torch.Tensor


def linear_map(module: Any) -> Linear | None:
    """Return the sizes of a linear map: of torch, of GPT-2's transposed kind, or a 1 x 1 kernel."""
    weight = getattr(module, "weight", None)
    if isinstance(module, nn.Linear):
        return Linear(module.in_features, module.out_features, -1, module.weight)
    if isinstance(module, nn.Conv2d) and module.kernel_size == (1, 1) and module.groups == 1:
        return Linear(module.in_channels, module.out_channels, 1, module.weight)
    if isinstance(weight, torch.Tensor) and weight.dim() == 2 and hasattr(module, "nf"):
        return Linear(weight.shape[0], weight.shape[1], -1, weight)
    return None
