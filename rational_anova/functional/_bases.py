"""The bases: what a unit computes while its gate is closed.

A base is a function of one number. A unit of several inputs applies it to their mean, so that
every base serves one- and two-dimensional units alike and `mean` is the paper's (x + y)/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


# GELU by a hyperbolic tangent: z (1 + tanh(u))/2 = z sigmoid(2 u), u = c (z + a z^3)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBE = 0.044715
_QUICK = 1.702  # of z sigmoid(1.702 z)


def _gelu_tanh(z: Tensor) -> Tensor:
    return functional.gelu(z, approximate="tanh")


def _gelu_tanh_slope(z: Tensor) -> Tensor:
    square = z * z
    w = 2 * _TANH_SCALE * z * (1 + _TANH_CUBE * square)
    rest = torch.sigmoid(-w)  # not 1 - sigmoid(w), whose rounding the cubic would enlarge
    return torch.sigmoid(w) * (1 + 2 * _TANH_SCALE * z * (1 + 3 * _TANH_CUBE * square) * rest)


def _gelu_tanh_expression(sympy: Any, z: Any) -> Any:
    cube = sympy.Rational("0.044715") * z**3
    return z * (1 + sympy.tanh(sympy.sqrt(2 / sympy.pi) * (z + cube))) / 2


def _quick_gelu_slope(z: Tensor) -> Tensor:
    return _silu_slope(_QUICK * z)


def _formula(form: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return the form as a function of z alone; sympy, slow to import, waits for the first call."""

    def expression(z: Any) -> Any:
        import sympy

        return form(sympy, z)

    return expression


def _base(name: str) -> Base:
    return BASES[name]


def _same(z: Any) -> Any:
    return z


# NOTE[DIFF] The paper has the identity alone, with which a pair cannot vanish.
BASES: dict[str, Base] = {
    entry.name: entry
    for entry in (
        Base("identity", _same, torch.ones_like, _same),
        Base(
            "zero", torch.zeros_like, torch.zeros_like, _formula(lambda sympy, z: sympy.Integer(0))
        ),
        Base("mean", _same, torch.ones_like, _same),
        Base(
            "gelu",
            functional.gelu,
            _gelu_slope,
            _formula(lambda sympy, z: z * (1 + sympy.erf(z / sympy.sqrt(2))) / 2),
            flops=4,
        ),
        # What GPT-2, Gemma and SigLIP have for GELU, and what CLIP has.
        Base("gelu_tanh", _gelu_tanh, _gelu_tanh_slope, _formula(_gelu_tanh_expression), flops=7),
        Base(
            "quick_gelu",
            lambda z: z * torch.sigmoid(_QUICK * z),
            _quick_gelu_slope,
            _formula(lambda sympy, z: z / (1 + sympy.exp(-sympy.Rational("1.702") * z))),
            flops=5,
        ),
        Base(
            "silu",
            functional.silu,
            _silu_slope,
            _formula(lambda sympy, z: z / (1 + sympy.exp(-z))),
            flops=4,
        ),
        Base(
            "relu",
            torch.relu,
            lambda z: (z > 0).to(z.dtype),
            _formula(lambda sympy, z: sympy.Max(z, 0)),
            flops=1,
        ),
        Base(
            "tanh",
            torch.tanh,
            lambda z: 1 - torch.tanh(z) ** 2,
            _formula(lambda sympy, z: sympy.tanh(z)),
            flops=1,
        ),
    )
}
