"""`prune`: leave out the terms that are zero."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ..networks import RAN, DeepRAN
from ..serialization import remembered
from ..topology import Topology
from ._terms import alive


def prune(model: nn.Module) -> nn.Module:
    """Return a smaller model without the terms that are zero for every input.

    The output stays the same, up to the order of summation. A RAN loses main effects and pairs, a
    DeepRAN the pairs of each block.

    Args:
        model: a `RAN` or `DeepRAN`; it is not changed.

    Example:
        >>> net = RAN(3, topology="all")
        >>> with torch.no_grad():
        ...     _ = net.pair.numerator[:, 1:].zero_(), net.pair.numerator[:, 0].fill_(1.0)
        >>> prune(net).topology.pairs
        ((0, 1),)
    """
    if isinstance(model, RAN):
        kept = alive(model)
        mains = [m for m, k in zip(model.topology.mains, _mask(kept, "main"), strict=True) if k]
        pairs = [p for p, k in zip(model.topology.pairs, _mask(kept, "pair"), strict=True) if k]
        if not mains and not pairs:
            raise ValueError(
                "all terms are zero, so nothing would be left; fit with a smaller penalty"
            )
        return copy.deepcopy(model).rewire(Topology(model.in_features, pairs, mains))
    if isinstance(model, DeepRAN):
        return _prune_deep(model)
    raise TypeError(f"prune needs a RAN or a DeepRAN, got {type(model).__name__}")


def _mask(kept: dict[str, Tensor], name: str) -> list[bool]:
    return kept[name].tolist() if name in kept else []


@torch.no_grad()
def _prune_deep(model: DeepRAN) -> DeepRAN:
    masks = alive(model)
    chosen, topologies = [], []
    topology: Topology
    for n, block in enumerate(model.blocks):
        topology = block.topology  # type: ignore[assignment]
        mask = masks.get(f"blocks.{n}.pair", torch.zeros(0, dtype=torch.bool))
        places = mask.nonzero().flatten()
        pairs = [topology.pairs[int(k)] for k in places]
        chosen.append(places)
        topologies.append(Topology(topology.features, pairs, topology.mains))
    like = next(model.parameters())
    options = {"topology": topologies, "device": like.device, "dtype": like.dtype}
    result = DeepRAN(**{**remembered(model), **options})
    state = model.state_dict()
    for n, places in enumerate(chosen):
        for name in ("numerator", "denominator", "gate"):
            _select(state, f"blocks.{n}.pair.{name}", places)
        _select(state, f"blocks.{n}.weight", places)
    nodes = topologies[-1].features
    columns = torch.cat([torch.arange(nodes, device=like.device), nodes + chosen[-1]])
    _select(state, "head.weight", columns)
    result.load_state_dict({k: v for k, v in state.items() if k in result.state_dict()})
    flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    for name, parameter in result.named_parameters():
        parameter.requires_grad_(flags[name])
    return result.train(model.training)


def _select(state: dict[str, Tensor], name: str, places: Tensor) -> None:
    if name in state:
        state[name] = state[name].index_select(-1, places)
