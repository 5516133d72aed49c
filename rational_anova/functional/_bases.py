"""The bases: what a unit computes while its gate is closed.

A base is a function of one number. A unit of several inputs applies it to their mean, so that
every base serves one- and two-dimensional units alike and `mean` is the paper's (x + y)/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Base:
    """A base function with its slope and its symbolic form; see `BASES` for those there are."""

    name: str
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    expression: Callable[[Any], Any]
    flops: int = 0  # operations on one number; a transcendental function counts as one

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions without a name of their own cannot be pickled; the registry has them.
        return _base, (self.name,)

    @property
    def is_zero(self) -> bool:
        """Whether the unit vanishes when its gate or its numerator does."""
        return self.name == "zero"

    @property
    def is_linear(self) -> bool:
        """Whether the base is the identity (of the mean of the inputs)."""
        return self.name in ("identity", "mean")


def _gelu_slope(z: Tensor) -> Tensor:
    density = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    return 0.5 * torch.erfc(-z / math.sqrt(2)) + z * density


def _silu_slope(z: Tensor) -> Tensor:
    s = torch.sigmoid(z)
    return s * (1 + z * (1 - s))


def _base(name: str) -> Base:
    return BASES[name]


def _same(z: Any) -> Any:
    return z


# NOTE[DIFF] The paper has the identity alone, with which a pair cannot vanish.
BASES: dict[str, Base] = {
    entry.name: entry
    for entry in (
        Base("identity", _same, torch.ones_like, _same),
        Base("zero", torch.zeros_like, torch.zeros_like, lambda z: sympy.Integer(0)),
        Base("mean", _same, torch.ones_like, _same),
        Base(
            "gelu",
            functional.gelu,
            _gelu_slope,
            lambda z: z * (1 + sympy.erf(z / sympy.sqrt(2))) / 2,
            flops=4,
        ),
        Base("silu", functional.silu, _silu_slope, lambda z: z / (1 + sympy.exp(-z)), flops=4),
        Base(
            "relu",
            torch.relu,
            lambda z: (z > 0).to(z.dtype),
            lambda z: sympy.Max(z, 0),
            flops=1,
        ),
        Base("tanh", torch.tanh, lambda z: 1 - torch.tanh(z) ** 2, sympy.tanh, flops=1),
    )
}
