"""One unit in several places of a model."""

from __future__ import annotations

from torch import Tensor, nn

from ..units import Rational1d


class SharedUnit(nn.Module):
    """Stands where another place's unit is used again.

    It has no parameters of its own, so that a state dictionary names each coefficient once: files
    of Hugging Face refuse two names for one tensor.
    """

    def __init__(self, unit: Rational1d) -> None:
        super().__init__()
        self._held = (unit,)  # in a tuple, so that it is not registered here as well

    @property
    def unit(self) -> Rational1d:
        """The unit of the other place."""
        return self._held[0]

    def forward(self, x: Tensor) -> Tensor:
        """Apply the shared unit."""
        y: Tensor = self.unit(x)
        return y

    def extra_repr(self) -> str:
        """Describe the unit behind it."""
        return repr(self.unit)
