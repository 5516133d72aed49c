"""Parameter groups of a converted model, for any optimiser of torch."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from .. import _validation as check
from ..units import RationalUnit
from ._depths import depths


def parameter_groups(
    model: nn.Module,
    learning_rate: float,
    weight_decay: float = 0.0,
    *,
    numerator_rate: float = 1.0,
    denominator_rate: float = 1.0,
    gate_rate: float = 1.0,
    denominator_decay: float = 0.0,
    layer_decay: float = 1.0,
) -> list[dict[str, Any]]:
    """Return groups with rates of their own for numerators, denominators and gates.

    Biases, norms and other vectors do not decay, nor do numerators and gates.

    Args:
        model: a converted model, or any other.
        learning_rate: of the weights at the top.
        weight_decay: of the weights.
        numerator_rate: the numerators' rate, as a multiple.
        denominator_rate: the denominators' rate, as a multiple.
        gate_rate: the gates' rate, as a multiple.
        denominator_decay: weight decay of the denominators.
        layer_decay: factor on the rates from each block to the one below, and once more for what
            comes before the first block; 1 for equal rates. Blocks are modules of one kind in a
            list, with units or without; those of stages are counted on, those of an encoder and a
            decoder apart.

    Example:
        >>> import torch
        >>> from rational_anova import replace_activations_
        >>> model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        >>> _ = replace_activations_(model)
        >>> groups = parameter_groups(model, 1e-3, weight_decay=0.05, gate_rate=10.0)
        >>> [(group["role"], group["lr"]) for group in groups]
        [('weight', 0.001), ('vector', 0.001), ('numerator', 0.001), ('denominator', 0.001),
         ('gate', 0.01)]
        >>> optimizer = torch.optim.AdamW(groups)
    """
    rate = check.nonnegative(learning_rate, "learning_rate")
    factor = check.nonnegative(layer_decay, "layer_decay")
    rates = {
        "weight": (1.0, check.nonnegative(weight_decay, "weight_decay")),
        "vector": (1.0, 0.0),
        "numerator": (check.nonnegative(numerator_rate, "numerator_rate"), 0.0),
        "denominator": (
            check.nonnegative(denominator_rate, "denominator_rate"),
            check.nonnegative(denominator_decay, "denominator_decay"),
        ),
        "gate": (check.nonnegative(gate_rate, "gate_rate"), 0.0),
    }
    roles, below = _roles(model), depths(model) if factor != 1 else {}
    if factor != 1 and not below:
        raise ValueError(
            f"layer_decay={layer_decay} cannot be done: {type(model).__name__} has no blocks in an "
            "nn.ModuleList or nn.Sequential; leave it at 1"
        )
    found: dict[tuple[str, int], list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            depth = below.get(name, 0)
            found.setdefault((roles[name], depth), []).append(parameter)
    order = {role: n for n, role in enumerate(rates)}
    return [
        {
            "params": found[role, depth],
            "lr": rate * rates[role][0] * factor**depth,
            "weight_decay": rates[role][1],
            "role": role,
            "depth": depth,
        }
        for role, depth in sorted(found, key=lambda key: (key[1], order[key[0]]))
    ]


def _roles(model: nn.Module) -> dict[str, str]:
    """Return for each parameter by name what it is."""
    known: dict[int, str] = {}
    for unit in model.modules():
        if isinstance(unit, RationalUnit):
            known |= {id(unit.numerator): "numerator", id(unit.denominator): "denominator"}
            if unit.gate is not None:
                known[id(unit.gate)] = "gate"
    return {
        name: known.get(id(p), "weight" if p.dim() > 1 else "vector")
        for name, p in model.named_parameters()
    }
