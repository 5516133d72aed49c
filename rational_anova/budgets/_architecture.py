"""`Architecture`: a network before it is built, with its exact size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from ..networks import CNN, KAF, KAN, MLP, RAN, DeepRAN, RANConvNet

_CLASSES: dict[str, Callable[..., nn.Module]] = {
    "RAN": RAN,
    "DeepRAN": DeepRAN,
    "MLP": MLP,
    "KAN": KAN,
    "KAF": KAF,
    "RANConvNet": RANConvNet,
    "CNN": CNN,
}
_MATCHED = (
    "width",
    "widths",
    "blocks",
    "hidden",
    "frequencies",
    "grid",
    "order",
    "heads",
    "topology",
)


@dataclass(frozen=True)
class Architecture:
    """An architecture of one family, ready to be built.

    Attributes:
        family: `RAN`, `DeepRAN`, `MLP`, `KAN`, `KAF`, `RANConvNet` or `CNN`.
        arguments: keyword arguments of its class.
        parameters: its exact count; for `KAN` the masks are included, as KANbeFair counts them.
        target: what was asked for.
    """

    family: str
    arguments: dict[str, Any] = field(hash=False)
    parameters: int
    target: int

    @property
    def error(self) -> float:
        """Relative distance to the target."""
        return abs(self.parameters - self.target) / self.target

    @property
    def summary(self) -> str:
        """What was matched, in a few words."""
        words = {key: self.arguments[key] for key in _MATCHED if self.arguments.get(key)}
        words["pairs"] = words.pop("topology", None)
        return ", ".join(f"{key} {value}" for key, value in words.items() if value is not None)

    def build(self, **changes: Any) -> nn.Module:
        """Build the network; `changes` are further keyword arguments of its class."""
        return _CLASSES[self.family](**{**self.arguments, **changes})
