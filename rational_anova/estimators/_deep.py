"""The deep part of a model: networks whose decisions are mixed with the shallow one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from .._core.types import Array
from ._deep_blend import Blend
from ._deep_inputs import Inputs
from ._deep_network import Network
from ._terms import Rows


@dataclass(frozen=True)
class Deep:
    """What is added to the shallow decision.

    Args:
        inputs: from rows to the inputs of the networks.
        networks: their mean counts.
        middle: of the targets, (outputs,); what the networks give is in units of `scale` from it.
        scale: of the targets.
        blend: how much of the networks there is.
        share_: of the variance of the whole decision, the part that the effects explain.
        held_: decisions at the training rows, by networks that did not see the row; not saved.
    """

    inputs: Inputs | None
    networks: list[Network]
    middle: Array
    scale: float
    blend: Blend
    share_: float = 1.0
    held_: Array | None = field(default=None, compare=False, repr=False)

    @property
    def weight_(self) -> float:
        """The networks' share of the mixture, from 0 (there is no deep part) to 1."""
        return self.blend.weight

    def decision(self, rows: Rows, shallow: Array) -> Array:
        """Return what is to be added to the shallow decision, both (rows, outputs)."""
        if self.inputs is None or not self.networks:
            return np.zeros_like(shallow)
        result = np.empty_like(shallow)
        for piece, some in rows.chunks():
            x = self.inputs.at(some, shallow[piece])
            result[piece] = np.mean([self.of(network, x) for network in self.networks], 0)
        return self.blend.mixed(shallow, result) - shallow

    def of(self, network: Network, x: torch.Tensor) -> Array:
        """Return the decisions of one network for its inputs."""
        with torch.no_grad():
            return np.asarray(self.middle + self.scale * network(x).double().numpy())

    def to_arrays(self) -> dict[str, Array]:
        """Return all that `from_arrays` needs, as arrays by name."""
        result = {
            "middle": self.middle,
            "numbers": np.array([self.scale, self.blend.weight, self.blend.temper, self.share_]),
        }
        if self.inputs is not None:
            result |= {f"inputs.{k}": v for k, v in self.inputs.to_arrays().items()}
        for k, network in enumerate(self.networks):
            state = network.state_dict()
            result |= {f"network.{k}.{name}": t.numpy() for name, t in state.items()}
        return result

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Deep:
        """Return the deep part that `to_arrays` described."""
        scale, weight, temper, share = (float(v) for v in arrays["numbers"])
        inputs = _under("inputs.", arrays)
        networks: list[Network] = []
        while state := _under(f"network.{len(networks)}.", arrays):
            tensors = {name: torch.tensor(a) for name, a in state.items()}
            outputs, width = tensors["head.weight"].shape
            blocks = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
            with torch.random.fork_rng(devices=[]):  # its start is drawn, and of no use
                network = Network(tensors["embed.weight"].shape[1], outputs, width, blocks)
            network.load_state_dict(tensors)
            networks.append(network.eval().requires_grad_(False))
        return cls(
            Inputs.from_arrays(inputs) if inputs else None,
            networks,
            arrays["middle"],
            scale,
            Blend(weight, temper),
            share,
        )


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
