"""A model as a function of its weights, so that steps can be looked at without taking them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from .._core import checks as check
from ..tables import as_tensor, check_finite_tensor

Weights = dict[str, Tensor]
# Modules that make an output random, or dependent on other rows, while they are in training mode.
_DROPOUTS = (nn.modules.dropout._DropoutNd,)
_BATCH = (nn.modules.batchnorm._BatchNorm,)


@dataclass(frozen=True)
class State:
    """A model at some weights; the model itself is never changed.

    Attributes:
        model: the module.
        weights: what SGD moves: the parameters that require gradients, by name.
        fixed: frozen parameters and buffers.
    """

    model: nn.Module
    weights: Weights
    fixed: Weights

    @staticmethod
    def of(model: Any, dtype: torch.dtype | None = None) -> State:
        """Return the state of a model, checked; with `dtype`, in that precision."""
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
        _check_mode(model)
        given = dict(model.named_parameters())
        weights = {name: _cast(p, dtype) for name, p in given.items() if p.requires_grad}
        if not weights:
            raise ValueError(
                f"{type(model).__name__} has {len(given)} parameters and none that requires a "
                "gradient, so nothing moves in a step; call model.requires_grad_(True), or pass a "
                "model with parameters"
            )
        for name, values in weights.items():
            _check_finite(values, f"the weight {name!r}", "load or train the model anew")
        fixed = {name: _cast(p, dtype) for name, p in given.items() if name not in weights}
        fixed |= {name: _cast(b, dtype) for name, b in model.named_buffers()}
        return State(model, weights, fixed)

    @property
    def like(self) -> Tensor:
        """A weight, for dtype and device."""
        return next(iter(self.weights.values()))

    @property
    def size(self) -> int:
        """Number of weights."""
        return sum(values.numel() for values in self.weights.values())

    def outputs(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Return the outputs at other weights, (rows, outputs)."""
        values = functional_call(self.model, {**self.fixed, **weights}, (x,))
        return values.reshape(len(x), -1)

    def values(self, x: Tensor) -> Tensor:
        """Return the outputs, without a graph."""
        with torch.no_grad():
            return self.outputs(self.weights, x)

    def slope(self, x: Tensor, step: Weights) -> Tensor:
        """Return the derivative of the outputs along a step of the weights, (rows, outputs)."""
        along: Tensor = jvp(lambda w: self.outputs(w, x), (self.weights,), (step,))[1]
        return along

    def moved(self, step: Weights) -> State:
        """Return the state after a step."""
        return replace(self, weights={k: v + step[k] for k, v in self.weights.items()})

    def points(self, x: Any, name: str) -> Tensor:
        """Return inputs as this state takes them, or say what is wrong with them."""
        rows = as_tensor(x, name).to(self.like.device, self.like.dtype)
        if rows.dim() < 2 or not rows.numel():
            hint = f"; a single point is {name}[None]" if rows.dim() == 1 and rows.numel() else ""
            raise ValueError(
                f"{name} must be (rows, features) with a row at least, "
                f"got shape {tuple(rows.shape)}{hint}"
            )
        check_finite_tensor(rows, name)
        wanted = getattr(self.model, "in_features", None)
        if isinstance(wanted, int):
            check.features(rows, wanted, name=name)
        try:
            values = self.values(rows)
        except RuntimeError as error:
            raise ValueError(
                f"the model does not take {name} of shape {tuple(rows.shape)}: {error}"
            ) from error
        _check_finite(values, f"the model's output at {name}", "look at its weights")
        return rows


def _cast(values: Tensor, dtype: torch.dtype | None) -> Tensor:
    plain = values.detach()
    return plain if dtype is None or not plain.is_floating_point() else plain.to(dtype)


def _check_finite(values: Tensor, name: str, remedy: str) -> None:
    wrong = ~torch.isfinite(values)
    if wrong.any():
        place = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"{name} is {values[wrong][0].item()} at {place}; {remedy}")


def _check_mode(model: nn.Module) -> None:
    for name, part in model.named_modules():
        random = isinstance(part, _DROPOUTS) and part.p > 0
        if part.training and (random or isinstance(part, _BATCH)):
            raise ValueError(
                f"{name or 'the model'} is a {type(part).__name__} in training mode, so an output "
                "is no function of its input alone; call model.eval() first"
            )


def positive(value: Any, name: str) -> float:
    """Return a finite number above zero."""
    number = check.real(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be > 0, got {value}; a usual value is 1e-3")
    return number
