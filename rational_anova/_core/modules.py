"""Whether a module is what it looks like: a short cut past it must not pass by someone's change."""

from __future__ import annotations

from torch import nn


def untouched(module: nn.Module | None, kind: type[nn.Module], watched: bool = False) -> bool:
    """Say whether a module is exactly of a class, and nothing stands in for it or listens to it.

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
