"""Which kernel runs: what the user asked for, what the tensors allow, and why not another."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from .._core import checks as check
from . import _c, _triton
from ._build import Unavailable, find_compiler, kernel_folder
from ._spec import Spec

CHOICES = ("auto", "off", "torch", "c", "triton")
VARIABLE = "RAN_KERNELS"

_asked: contextvars.ContextVar[str | None] = contextvars.ContextVar("kernels", default=None)
# Why a dtype has no C kernels; found out once.
_missing: dict[torch.dtype, str] = {}
_environment: str | None = None
# How Triton failed, if it did.
_broken: list[str] = []


def asked() -> str:
    """Return the choice in force: of `using`, else of the variable RAN_KERNELS, else "auto"."""
    global _environment
    chosen = _asked.get()
    if chosen is not None:
        return chosen
    if _environment is None:
        _environment = check.choice(os.environ.get(VARIABLE) or "auto", CHOICES, VARIABLE)
    return _environment


@contextlib.contextmanager
def using(choice: str) -> Iterator[None]:
    """Use one kind of kernel for what is called inside.

    Args:
        choice: "auto" (C on the CPU, Triton on CUDA, torch for what they cannot serve), "off" (the
            formula, differentiated by torch), "torch" (torch operations, derivatives by hand), "c"
            or "triton". What a kernel cannot serve goes to torch all the same. It holds for this
            thread, and for a backward pass that runs inside.

    Example:
        >>> with using("torch"):
        ...     info()["choice"]
        'torch'
    """
    token = _asked.set(check.choice(choice, CHOICES, "choice"))
    try:
        yield
    finally:
        _asked.reset(token)


def pick(spec: Spec, *tensors: Tensor | None) -> ModuleType | None:
    """Return the kernels that serve these tensors, of one dtype, or None for torch's operations."""
    choice = asked()
    # In forward mode tangents would be lost, and in a trace what a kernel writes, without a word.
    if choice in ("off", "torch") or forward_ad._current_level >= 0 or is_in_torch_dispatch_mode():
        return None
    first = tensors[0]
    assert first is not None
    for tensor in tensors:
        if tensor is not None and (_wrapped(tensor) or tensor.device != first.device):
            return None
    if first.device.type == "cpu" and choice != "triton":
        served = first.dtype in (torch.float32, torch.float64) and _c.serves(spec)
        return _c if served and missing(first.dtype) is None else None
    if choice == "c" or (first.device.type != "cuda" and choice != "triton"):
        return None
    if _broken or _triton.reason(first.device) is not None:
        return None
    return _triton if _triton.serves(spec) else None


def attempt(kernel: Any, name: str, *arguments: Any) -> Any:
    """Call a kernel. Where Triton fails, warn once and return None: torch serves from then on."""
    if kernel is _c:
        return getattr(kernel, name)(*arguments)
    try:
        return getattr(kernel, name)(*arguments)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # of the driver, the assembler, the card: whatever they are
        _broken.append(f"{type(error).__name__}: {error}")
        _warn(f"Triton failed ({_broken[0]})")
        return None


def _wrapped(tensor: Tensor) -> bool:
    """Return whether a tensor stands for others (of vmap, a tracer): it has no memory to read."""
    return (
        type(tensor) not in (Tensor, torch.nn.Parameter)
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or torch._C._functorch.is_legacy_batchedtensor(tensor)
        or tensor._is_zerotensor()
    )


def missing(dtype: torch.dtype) -> str | None:
    """Return why there are no C kernels for a dtype, building them at the first call."""
    if dtype in _missing:
        return _missing[dtype] or None
    try:
        _c.load(dtype)
        _missing[dtype] = ""
    except Unavailable as error:
        _missing[dtype] = str(error)
        if len([reason for reason in _missing.values() if reason]) == 1:
            _warn(str(error))
    return _missing[dtype] or None


def _warn(reason: str) -> None:
    where: dict[str, Any] = {"stacklevel": 3}
    if sys.version_info >= (3, 12):
        where = {"skip_file_prefixes": (str(Path(__file__).parents[1]),)}  # the caller's own line
    warnings.warn(
        f"rational units run on torch's operations, several times slower: {reason}. "
        f"Set {VARIABLE}=torch to do without this warning.",
        RuntimeWarning,
        **where,
    )


def info() -> dict[str, Any]:
    """Say which kernels run here, and why not the others.

    Returns:
        choice: what was asked for; see `using`.
        cpu, cuda: what serves tensors there: "c", "triton" or "torch".
        why: for each kind of kernel that does not serve, the reason.
        compiler, cache: what builds the C kernels, and where they are kept.
        threads: how many are used.

    Example:
        >>> sorted(info())
        ['cache', 'choice', 'compiler', 'cpu', 'cuda', 'threads', 'why']
    """
    choice = asked()
    compiler: str | None = None
    cache: str | None = None
    with contextlib.suppress(Unavailable):
        compiler = " ".join(find_compiler())
    with contextlib.suppress(Unavailable):
        cache = str(kernel_folder())
    why: dict[str, str] = {}
    if choice not in ("auto", "c"):
        why["c"] = f"{VARIABLE} or using() says {choice!r}"
    elif (reason := missing(torch.float32) or missing(torch.float64)) is not None:
        why["c"] = reason
    if choice not in ("auto", "triton"):
        why["triton"] = f"{VARIABLE} or using() says {choice!r}"
    elif (reason := _triton.reason() or (_broken[0] if _broken else None)) is not None:
        why["triton"] = reason
    elif choice == "auto" and not torch.cuda.is_available():
        why["triton"] = "there is no CUDA device"
    interpreted = choice == "triton" and "triton" not in why
    return {
        "choice": choice,
        "cpu": "triton" if interpreted else "torch" if "c" in why else "c",
        "cuda": "torch" if "triton" in why else "triton",
        "why": why,
        "compiler": compiler,
        "cache": cache,
        "threads": torch.get_num_threads(),
    }
