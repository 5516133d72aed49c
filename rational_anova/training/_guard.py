"""Keeps denominators of kind `polynomial` away from zero on the data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..units import RationalUnit

# No step may bring the least denominator of a unit below this share of what it was.
_SHARE = 0.1


class Guard:
    """Watches, while the model runs, the least denominator of each unit that has no lower bound.

    Args:
        model: whose units.
    """

    def __init__(self, model: nn.Module) -> None:
        self.units = {
            name: unit
            for name, unit in model.named_modules()
            if isinstance(unit, RationalUnit) and unit.form.kind.minimum <= 0
        }
        self.least: dict[str, Tensor] = {}
        self._handles: list[Any] = []

    def __enter__(self) -> Guard:
        self.least = {}
        for name, unit in self.units.items():
            self._handles.append(unit.register_forward_pre_hook(self._watch(name)))
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _watch(self, name: str) -> Any:
        def hook(unit: RationalUnit, inputs: tuple[Tensor, ...]) -> None:
            least = unit.denominator_min(inputs[0].detach())
            known = self.least.get(name)
            self.least[name] = least if known is None else torch.minimum(known, least)

        return hook

    def admissible(self, before: dict[str, Tensor]) -> bool:
        """Say whether no denominator has come near zero since `before`."""
        return all(
            bool(((least > 0) & (least >= _SHARE * before[name])).all())
            for name, least in self.least.items()
        )

    @torch.no_grad()
    def recede(self) -> int:
        """Halve the coefficients of denominators at or below zero; return how many there were.

        Without coefficients the denominator is one, so this comes to an end.
        """
        count = 0
        for name, least in self.least.items():
            low = ~(least > 0)
            unit = self.units[name]
            unit.denominator.mul_(torch.where(low, 0.5, 1.0).to(unit.denominator))
            count += int(low.sum())
        return count

    def crossed(self) -> list[str]:
        """Return the units whose denominator is zero or less somewhere on the data."""
        return [name for name, least in self.least.items() if bool((least <= 0).any())]
