"""One module put in the place of another, and back; one unit in several places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ..units import Rational1d

# By this flag torch's own encoder layer takes a short cut past its activation.
_SHORT_CUT = "activation_relu_or_gelu"


@dataclass
class Swap:
    """What stands in a place of a model, and what is to stand there.

    Attributes:
        holder: the module whose attribute it is.
        name: of the place in the model.
        old: what was there, a module or a plain function.
        new: what comes there.
        owner: the place whose unit `new` uses, if it has none of its own.
    """

    holder: nn.Module
    name: str
    old: Any
    new: nn.Module
    owner: str | None = None
    _flag: Any = None

    @property
    def attribute(self) -> str:
        """Name of the attribute in its holder."""
        return self.name.rpartition(".")[2]

    @property
    def stands(self) -> bool:
        """Whether the new module is where it was put."""
        return self.holder._modules.get(self.attribute) is self.new

    def put(self) -> None:
        """Put the new one in place."""
        self.new.train(self.holder.training)
        vars(self.holder).pop(self.attribute, None)  # a plain function
        self.holder._modules[self.attribute] = self.new  # keeps its place in the order
        if hasattr(self.holder, _SHORT_CUT):
            self._flag = getattr(self.holder, _SHORT_CUT)
            setattr(self.holder, _SHORT_CUT, 0)

    def back(self) -> None:
        """Put the old one back, in the mode that the model is in now."""
        if isinstance(self.old, nn.Module):
            self.old.train(self.holder.training)
            self.holder._modules[self.attribute] = self.old
        else:
            del self.holder._modules[self.attribute]
            vars(self.holder)[self.attribute] = self.old
        if self._flag is not None:
            setattr(self.holder, _SHORT_CUT, self._flag)


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
