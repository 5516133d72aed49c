"""Checks shared by every layer: each error names the value and what is allowed."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
HIGHEST = 1000  # degree of a unit: powers beyond it are 0 or infinite almost everywhere


def choice(value: object, options: Iterable[str], name: str) -> str:
    """Return `value` if it is one of `options`, else offer the nearest match."""
    names = list(options)
    if isinstance(value, str) and value in names:
        return value
    plain = {option.casefold(): option for option in names}
    near = difflib.get_close_matches(str(value).casefold(), plain, n=1, cutoff=0.5)
    hint = f"; did you mean {plain[near[0]]!r}?" if near else ""
    allowed = ", ".join(repr(option) for option in names)
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"{name} must be one of {allowed}, got {value!r}{hint}")


def lookup(value: object, table: Mapping[str, T], name: str) -> T:
    """Return the entry of `table` called `value`."""
    return table[choice(value, table, name)]


def integer(value: object, name: str, minimum: int = 0) -> int:
    """Return `value` as an int that is at least `minimum`; floats are refused."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be >= {minimum}, got {value}")
    return int(value)


def boolean(value: object, name: str) -> bool:
    """Return `value` if it is True or False; words and numbers are refused."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def nonnegative(value: object, name: str) -> float:
    """Return `value` as a finite float that is zero or more."""
    number = real(value, name)
    if number < 0:
        raise ValueError(f"{name} must be >= 0, got {value}")
    return number


def real(value: object, name: str) -> float:
    """Return `value` as a finite float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f"{name} must be finite, got {value}")
    return number


def _two(value: Any, demand: str) -> tuple[Any, Any]:
    try:
        first, second = list(value) if not isinstance(value, str) else []
    except (TypeError, ValueError):
        raise TypeError(f"{demand}, got {value!r}") from None
    return first, second


def interval(value: object, name: str) -> tuple[float, float]:
    """Return `value` as (low, high) with low < high."""
    low, high = (real(end, name) for end in _two(value, f"{name} must be two numbers (low, high)"))
    if low >= high:
        raise ValueError(f"{name} must have low < high, got ({low}, {high})")
    return low, high


def degrees(value: object, name: str = "degrees") -> tuple[int, int]:
    """Return (numerator degree >= 0, denominator degree >= 1), neither beyond `HIGHEST`."""
    top, bottom = _two(value, f"{name} must be two integers (numerator, denominator)")
    found = (
        integer(top, f"{name}[0], the numerator's degree,", 0),
        integer(bottom, f"{name}[1], the denominator's degree,", 1),
    )
    if max(found) > HIGHEST:
        raise ValueError(f"{name} must be at most {HIGHEST}, got {found}")
    return found


def floating(x: object, name: str = "x") -> Tensor:
    """Return `x` if it is a real floating-point tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(
            f"{name} must be a real floating-point tensor, got dtype {x.dtype}; "
            "convert it first, for instance with x.float()"
        )
    return x


def features(x: Tensor, expected: int, dim: int = -1, name: str = "x") -> None:
    """Raise unless `x` has `expected` features along `dim`."""
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise ValueError(
            f"{name} needs a feature axis {dim}, got a tensor of shape {tuple(x.shape)}"
        )
    if x.shape[dim] != expected:
        raise ValueError(
            f"{name} must have {expected} features on axis {dim}, "
            f"got {x.shape[dim]} (shape {tuple(x.shape)})"
        )


def compute_dtype(*tensors: Tensor | None) -> torch.dtype:
    """The dtype to compute in: the widest given, and never below float32."""
    dtype = torch.float32
    for tensor in tensors:
        if tensor is not None:
            dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
