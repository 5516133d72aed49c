"""What the activations in a part of a model are given, seen by calling the part alone.

The call needs no memory and changes nothing: it is done by a copy on torch's meta device, which
has shapes and no numbers.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

Shapes = dict[str, list[tuple[int, ...]]]


def shapes(holder: nn.Module, attributes: Iterable[str], features: int, dim: int) -> Shapes | None:
    """Return the shapes that each activation in a module is given, None if it cannot be called.

    Args:
        holder: the module.
        attributes: names of the activations in it.
        features: size of its input.
        dim: axis of the features where it is a layer of convolutions, else the last.
    """
    forms = [(2, features, 6, 6)] if dim == 1 else [(2, 5, features), (2, features, 6, 6)]
    for form in forms:
        seen: Shapes = {}
        with contextlib.suppress(Exception), contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(devices=[]))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(torch.no_grad())
            part = _without_memory(holder).train()  # torch's encoder layer has a short cut else
            for attribute in attributes:
                note = functools.partial(_note, seen.setdefault(attribute, []))
                stack.enter_context(listening(part, attribute, note))
            dtype = next((p.dtype for p in part.parameters() if p.is_floating_point()), None)
            part(torch.empty(form, device="meta", dtype=dtype))
            return seen
    return None


def _note(given: list[tuple[int, ...]], x: Tensor) -> None:
    given.append(tuple(x.shape))


@contextlib.contextmanager
def listening(holder: nn.Module, attribute: str, note: Callable[[Tensor], Any]) -> Iterator[None]:
    """Have `note` called with whatever an activation is called on."""
    activation = getattr(holder, attribute)
    if isinstance(activation, nn.Module):
        handle = activation.register_forward_pre_hook(
            lambda _, args, named: note([*args, *named.values()][0]), with_kwargs=True
        )
        try:
            yield
        finally:
            handle.remove()
        return

    def listener(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        note(x)
        return activation(x, *args, **kwargs)

    vars(holder)[attribute] = listener
    try:
        yield
    finally:
        vars(holder)[attribute] = activation


def bare(module: nn.Module, memo: dict[int, Any] | None = None) -> nn.Module:
    """Return a copy of a module without its hooks, which may keep what they see."""
    copied = copy.deepcopy(module, memo)
    for part in copied.modules():
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
    return copied


def _without_memory(module: nn.Module) -> nn.Module:
    memo: dict[int, Any] = {}
    for tensor in itertools.chain(module.parameters(), module.buffers()):
        empty: Tensor = torch.empty_like(tensor, device="meta")
        if isinstance(tensor, nn.Parameter):
            empty = nn.Parameter(empty, tensor.requires_grad)
        memo[id(tensor)] = empty
    return bare(module, memo)
