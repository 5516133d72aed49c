"""Which function an activation is: asked by its values, so that no framework need be known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..functional import BASES
from ._trial import bare

Activation = Callable[[Tensor], Tensor]

_POINTS = 801
_REACH = 20.0
# Implementations of one function differ by rounded constants, below the precision of float32.
_CLOSE = 1e-7
_LINEAR = ("identity", "mean", "zero")


def values(activation: Activation) -> Tensor | None:
    """Return the activation on a grid in float64, or None where it is no function of one number.

    That it acts on each number alone is seen from a second order of the same numbers.
    """
    x = _grid()
    order = torch.arange(_POINTS - 1, -1, -1, device="cpu")
    try:
        with torch.no_grad(), torch.device("cpu"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = settled(activation)
            # Copies: an activation may work in place.
            y, turned = function(x.clone()), function(x[order].unsqueeze(-1))
    except Exception:  # whatever a callable that is no activation may raise
        return None
    if not isinstance(y, Tensor) or y.shape != x.shape or not isinstance(turned, Tensor):
        return None
    if turned.shape != (_POINTS, 1) or not y.isfinite().all():
        return None
    return y if torch.allclose(turned[:, 0], y[order], rtol=1e-9, atol=1e-12) else None


def settled(activation: Activation) -> Activation:
    """Return an activation as it evaluates; a module's copy, which has its state to itself."""
    if not isinstance(activation, nn.Module):
        return activation
    forward: Activation = bare(activation).cpu().eval().forward
    return forward


def recognise(activation: Activation) -> str | None:
    """Return the base that an activation equals to the precision of float32, if there is one.

    Example:
        >>> recognise(nn.GELU()), recognise(nn.GELU(approximate="tanh")), recognise(nn.Mish())
        ('gelu', 'gelu_tanh', None)
    """
    y = values(activation)
    return None if y is None else _named(y)


def is_activation(activation: Any) -> bool:
    """Say whether something is a function of one number that is not linear and has no weights."""
    if isinstance(activation, nn.Module) and (
        any(True for _ in activation.parameters()) or any(True for _ in activation.children())
    ):
        return False
    y = values(activation)
    return y is not None and _named(y, _LINEAR) is None


def describe(activation: Any) -> str:
    """Return an activation as a report names it."""
    if isinstance(activation, nn.Module):
        return repr(activation)
    return str(getattr(activation, "__name__", None) or repr(activation))


def _named(y: Tensor, names: tuple[str, ...] | None = None) -> str | None:
    x = _grid()
    for name in names or tuple(name for name in BASES if name not in _LINEAR):
        if ((BASES[name].value(x) - y).abs() <= _CLOSE * (1 + x.abs())).all():
            return name
    return None


def _grid() -> Tensor:
    with torch.device("cpu"):  # whatever the default device is
        return torch.linspace(-_REACH, _REACH, _POINTS, dtype=torch.float64)
