"""Which parameters are denominators and gates: they have rates and decays of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..units import RationalUnit
from .optimizers import Vector


@dataclass(frozen=True)
class Rates:
    """Learning rates and decays; see `fit`."""

    learning_rate: float
    weight_decay: float
    denominator_rate: float
    gate_rate: float
    denominator_decay: float

    def of(self, role: str) -> tuple[float, float]:
        """Return rate and decay of a role."""
        if role == "denominator":
            return self.learning_rate * self.denominator_rate, self.denominator_decay
        if role == "gate":
            return self.learning_rate * self.gate_rate, 0.0
        return self.learning_rate, self.weight_decay


def roles(model: nn.Module) -> dict[str, str]:
    """Return `denominator`, `gate` or `weight` for each parameter by name."""
    bottoms = {id(m.denominator) for m in model.modules() if isinstance(m, RationalUnit)}
    return {
        name: "denominator"
        if id(parameter) in bottoms
        else ("gate" if name.rpartition(".")[2] == "gate" else "weight")
        for name, parameter in model.named_parameters()
    }


def parameter_groups(model: nn.Module, rates: Rates) -> list[dict[str, Any]]:
    """Return the groups for an optimiser of torch, weights first."""
    role = roles(model)
    groups = []
    for kind in ("weight", "denominator", "gate"):
        chosen = [p for n, p in model.named_parameters() if role[n] == kind and p.requires_grad]
        if chosen:
            rate, decay = rates.of(kind)
            groups.append({"params": chosen, "lr": rate, "weight_decay": decay, "role": kind})
    return groups


def ridge(model: nn.Module, rates: Rates) -> list[float]:
    """Return the decay of each trainable parameter, in order."""
    role = roles(model)
    return [rates.of(role[n])[1] for n, p in model.named_parameters() if p.requires_grad]


def ridge_vector(model: nn.Module, rates: Rates) -> Tensor:
    """Return the decay of each trainable number, (size,)."""
    vector = Vector(model)
    parts = zip(vector.parameters.values(), ridge(model, rates), strict=True)
    return torch.cat([torch.full_like(p.detach().reshape(-1), value) for p, value in parts])
