"""The trainable parameters as one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Vector:
    """All parameters of a model that require a gradient, in order, as one flat vector.

    Args:
        model: whose parameters.
    """

    def __init__(self, model: nn.Module) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        if not named:
            raise ValueError("no parameter of the model requires a gradient: nothing to train")
        self.parameters = dict(named)
        self.spans: dict[str, slice] = {}
        done = 0
        for name, parameter in named:
            self.spans[name] = slice(done, done + parameter.numel())
            done += parameter.numel()
        self.size = done

    def get(self) -> Tensor:
        """Return a copy of the parameters, (size,)."""
        return torch.cat([p.detach().reshape(-1) for p in self.parameters.values()])

    @torch.no_grad()
    def set(self, values: Tensor) -> None:
        """Write the parameters back."""
        for name, parameter in self.parameters.items():
            parameter.copy_(values[self.spans[name]].view_as(parameter))

    def views(self, values: Tensor) -> dict[str, Tensor]:
        """Return the parts of a vector by name, in the shapes of the parameters, as views."""
        return {
            name: values[self.spans[name]].view(parameter.shape)
            for name, parameter in self.parameters.items()
        }

    def join(self, parts: dict[str, Tensor], lead: int) -> Tensor:
        """Lay (..., shape of the parameter) for each name side by side: (..., size).

        Args:
            parts: one tensor for each parameter.
            lead: how many axes stand before those of the parameter.
        """
        return torch.cat([parts[n].reshape(*parts[n].shape[:lead], -1) for n in self.spans], -1)
