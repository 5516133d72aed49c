"""The terms of a network as groups of coefficients; `prune` leaves out those that are zero."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .._core.saveable import remembered
from ..networks import RAN, DeepRAN
from ..topology import Topology
from ..units import RationalUnit

_NEWTON = 8  # steps to the length of a shrunken group


class Part(NamedTuple):
    """Coefficients of a bank within one parameter: so many terms along `axis`, from `first` on."""

    name: str
    axis: int
    first: int
    terms: int
    target: float  # the value at which it counts as zero

    def read(self, parameter: Tensor, plain: bool = False) -> Tensor:
        """Return the coefficients as (terms, k), counted from the target unless `plain`."""
        rows = parameter.narrow(self.axis, self.first, self.terms).movedim(self.axis, 0)
        return rows.reshape(self.terms, -1) - (0.0 if plain else self.target)

    def write(self, parameter: Tensor, rows: Tensor, plain: bool = False) -> None:
        """Put (terms, k) back into the parameter, which may be a view."""
        place = parameter.narrow(self.axis, self.first, self.terms).movedim(self.axis, 0)
        place.copy_((rows + (0.0 if plain else self.target)).reshape(place.shape))


class Bank(NamedTuple):
    """The terms of one unit of a network.

    `plain` is for numbers that belong to the coefficients, such as curvatures, in their places.
    """

    name: str
    unit: RationalUnit
    parts: tuple[Part, ...]

    def read(self, values: Mapping[str, Tensor], plain: bool = False) -> Tensor:
        """Return the groups, (terms, k), from parameters by name."""
        return torch.cat([part.read(values[part.name], plain) for part in self.parts], 1)

    @torch.no_grad()
    def write(self, values: Mapping[str, Tensor], groups: Tensor, plain: bool = False) -> None:
        """Write groups back into parameters by name."""
        done = 0
        for part in self.parts:
            width = part.read(values[part.name]).shape[1]
            part.write(values[part.name], groups[:, done : done + width], plain)
            done += width


def banks(model: nn.Module) -> list[Bank]:
    """Return the terms that can be dropped: of a RAN all, of a DeepRAN the pairs of each block.

    A unit on its own is a bank of terms too.
    """
    if isinstance(model, RAN):
        found, done = [], 0
        for name, unit in (("main", model.main), ("pair", model.pair)):
            if unit is not None:
                head = None if model.head is None else Part("head.weight", 1, done, unit.units, 0.0)
                found.append(_bank(name, unit, head))
                done += unit.units
        return found
    if isinstance(model, DeepRAN):
        return [
            _bank(f"blocks.{n}.pair", block.pair, None)
            for n, block in enumerate(model.blocks)
            if isinstance(block.pair, RationalUnit)
        ]
    if isinstance(model, RationalUnit):
        return [_bank("", model, None)]
    return []


def _bank(name: str, unit: RationalUnit, head: Part | None) -> Bank:
    prefix = f"{name}." if name else ""
    top = unit.numerator
    parts = [Part(f"{prefix}numerator", top.dim() - 1, 0, unit.units, 0.0)]
    if unit.gate is not None and unit.base != "zero":
        parts.append(Part(f"{prefix}gate", 0, 0, unit.units, 1.0))
    if head is not None:
        parts.append(head)
    return Bank(name, unit, tuple(parts))


def named(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters by name, without history."""
    return {name: p.detach() for name, p in model.named_parameters()}


@torch.no_grad()
def alive(model: nn.Module) -> dict[str, Tensor]:
    """Return, for each bank by name, which of its terms are not zero for every input."""
    values = named(model)
    result = {}
    for bank in banks(model):
        unit = bank.unit
        silent = (unit.numerator == 0).reshape(-1, unit.units).all(0)
        if unit.gate is not None:
            silent = silent & (unit.gate == 1) if unit.base != "zero" else silent | (unit.gate == 0)
        for part in bank.parts:
            if part.name == "head.weight":
                silent = silent | (part.read(values[part.name]) == 0).all(1)
        if isinstance(model, DeepRAN):
            silent = silent | (values[bank.name.removesuffix("pair") + "weight"] == 0)
        result[bank.name] = ~silent
    return result


def active_terms(model: nn.Module) -> int | None:
    """Return how many terms are not zero, None for a network without terms."""
    kept = alive(model)
    return sum(int(mask.sum()) for mask in kept.values()) if kept else None


@contextmanager
def open_gates(model: nn.Module) -> Iterator[None]:
    """Put the gates of units with base zero into their numerators, and hold them at one.

    There gate * p/d has one scale too many: a penalty on p alone would be dodged by a large gate.
    """
    held: list[Tensor] = []
    for bank in banks(model):
        gate = bank.unit.gate
        if bank.unit.base == "zero" and isinstance(gate, nn.Parameter) and gate.requires_grad:
            with torch.no_grad():
                bank.unit.numerator.mul_(gate)
                gate.fill_(1.0)
            held.append(gate.requires_grad_(False))
    try:
        yield
    finally:
        for gate in held:
            gate.requires_grad_(True)


def shrink(
    groups: Tensor,  # (terms, k)
    metric: Tensor,  # (terms, k), positive
    threshold: float,
) -> Tensor:
    """Return argmin over z of sum metric (z - groups)^2 / 2 + threshold |z|, term by term.

    Zero exactly where |metric * groups| <= threshold. Else z = s a / (s metric + threshold) with
    a = metric * groups and s = |z|, the root of h(s) = |a / (s metric + threshold)| = 1. Newton's
    method on 1 - 1/h, which is nearly a line, comes to it from below.
    """
    pull = metric * groups
    size = torch.zeros_like(pull[:, :1])
    for _ in range(_NEWTON):
        ratio = pull / (size * metric + threshold)
        h = ratio.norm(dim=1, keepdim=True).clamp(min=1.0)
        slope = (ratio.square() * (metric / (size * metric + threshold))).sum(1, keepdim=True) / h
        size = size + torch.where(h > 1, h * (h - 1) / slope, torch.zeros_like(h))
    kept = pull.norm(dim=1, keepdim=True) > threshold
    return torch.where(kept, size * pull / (size * metric + threshold), torch.zeros_like(pull))


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
