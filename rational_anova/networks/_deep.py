"""Deep networks: `DeepRAN` and the block of the paper's stability theorem.

A block of `DeepRAN` passes messages between pairs of nodes, then updates every node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.nn.functional import linear

from .._core import checks as check
from .._core.modules import untouched
from .._core.saveable import saveable
from ..functional import Sent, spread
from ..topology import Topology
from ..units import Rational1d, Rational2d
from ._ran import as_topology

_BLOCK_GATE = 0.1


class MessageBlock(nn.Module):
    """One block: pairs send messages to both of their nodes, then every node updates itself.

    z = norm(h);  m_ij = w_ij r_ij(z_i, z_j);  h <- h + gate (r(z + messages) - h).

    It has (m + n + 4) N + (T + S + 2) K + 1 parameters for N nodes and K pairs.

    Args:
        topology: nodes and pairs.
        init: `base`, or `paper` for the paper's start; see `Rational1d`.
        unit: makes the node-wise unit from the number of nodes.
        pair: makes the pair unit from the topology.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., N) to (..., N) and the messages (..., K).
    """

    ends: Tensor

    def __init__(
        self,
        topology: Topology,
        unit: Callable[[int], nn.Module],
        pair: Callable[[Topology], nn.Module],
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.topology = topology
        nodes, count = topology.features, topology.num_pairs
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.norm = nn.LayerNorm(nodes, **options)
        self.unit = unit(nodes)
        self.gate = nn.Parameter(torch.empty((), **options))
        self.pair = pair(topology) if count else None
        self.weight = nn.Parameter(torch.empty(count, **options)) if count else None
        ends = torch.empty(2, count, dtype=torch.long, device=device)
        self.register_buffer("ends", ends, persistent=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Go back to the start, as far as it belongs to no other module."""
        self.ends.copy_(torch.tensor(self.topology.index.T.copy()))
        self.gate.fill_(_BLOCK_GATE)
        if self.weight is not None:
            # A node hears 2 K / N messages on average; this keeps their sum of order one.
            self.weight.fill_(max(1.0, 2 * self.ends.shape[1] / self.topology.features) ** -0.5)

    def forward(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new state and the messages."""
        z = _normalised(self.norm, h)
        if self.pair is None:
            return self._updated(h, z), h[..., :0]
        sent = self._send(z)
        assert sent.messages is not None
        return self._updated(h, sent.features), sent.messages

    def advance(self, h: Tensor, readout: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the new state, and what a readout (outputs, K) reads of the messages."""
        z = _normalised(self.norm, h)
        if self.pair is None:
            return self._updated(h, z), None
        sent = self._send(z, readout, keep=False)
        return self._updated(h, sent.features), sent.read

    def _updated(self, h: Tensor, z: Tensor) -> Tensor:
        return h + self.gate * (self.unit(z) - h)

    def _send(self, z: Tensor, readout: Tensor | None = None, keep: bool = True) -> Sent:
        assert self.pair is not None
        if isinstance(self.pair, Rational2d) and untouched(self.pair, Rational2d):
            return self.pair.send(z, self.weight, readout, keep)
        messages = (self.pair(z) * self.weight).to(z.dtype)  # autocast keeps weights in float32
        return spread(z, messages, self.ends, readout, keep)


# NOTE[DIFF] The paper gives the count of its model, not what is counted; this reading is exact, and
# so is that of `TwoBlockRAN`.
@saveable
class DeepRAN(nn.Module):
    r"""A deep RAN (paper Fig. 2): blocks of pairwise messages and node-wise rational updates.

    The head reads the last state and the last messages. With two blocks, N nodes, K pairs, degrees
    (3, 2), no embedding and C outputs this is the paper's vision model, and has exactly
    (18 + C) N + (26 + C) K + C + 2 parameters.

    Args:
        in_features: number of inputs.
        out_features: number C of outputs.
        width: number N of nodes behind a linear embedding; None: the inputs are the nodes.
        blocks: number of blocks.
        topology: pairs among the nodes, as in `RAN`; or a list with one for each block.
        degrees: degrees of the node-wise units.
        pair_degree: total degree of the pair units.
        heads: number of quotients in each unit.
        denominator: as in `Rational1d`.
        base: base of the node-wise units.
        pair_base: base of the pair units.
        gate: start of the unit gates, as in `Rational1d`.
        init: `base`, or `paper` for the paper's start; see `Rational1d`.
        unit: makes the node-wise units instead: a function from the number of nodes to a module,
            for instance `lambda nodes: torch.nn.ReLU()`. Such a network cannot be saved by `save`.
        eps: added to the denominators; None means the default of the denominator.
        constant: whether the polynomials in the denominators have constant terms, as in
            `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., in_features) to (..., out_features).

    Example:
        >>> net = DeepRAN(20, 4, topology=Topology.random(20, 30))
        >>> N, K, C = 20, 30, 4
        >>> sum(p.numel() for p in net.parameters()) == (18 + C) * N + (26 + C) * K + C + 2
        True
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        width: int | None = None,
        blocks: int = 2,
        topology: Topology | str | int | Sequence[Topology] | None = None,
        degrees: tuple[int, int] = (3, 2),
        *,
        pair_degree: int | tuple[int, int] = 2,
        heads: int = 1,
        denominator: str = "softplus",
        base: str = "identity",
        pair_base: str = "zero",
        gate: float | str | None = "auto",
        init: str = "base",
        unit: Callable[[int], nn.Module] | None = None,
        eps: float | None = None,
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check.integer(in_features, "in_features", 1)
        self.out_features = check.integer(out_features, "out_features", 1)
        count = check.integer(blocks, "blocks", 1)
        nodes = self.in_features if width is None else check.integer(width, "width", 1)
        topologies = _each_block(topology, nodes, count)
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        shared: dict[str, Any] = {
            "heads": heads,
            "gate": gate,
            "eps": eps,
            "constant": constant,
            "init": check.choice(init, ("base", "paper"), "init"),
            "noise": noise,
            **options,
        }

        def node(nodes: int) -> nn.Module:
            return Rational1d(nodes, degrees, denominator, base, **shared)

        def pair(topology: Topology) -> nn.Module:
            return Rational2d(topology, pair_degree, denominator, pair_base, **shared)

        self.topology = topologies if isinstance(topology, list | tuple) else topologies[0]
        self.embed = None if width is None else nn.Linear(self.in_features, nodes, **options)
        self.blocks = nn.ModuleList(
            MessageBlock(each, unit or node, pair, **options) for each in topologies
        )
        read = nodes + topologies[-1].num_pairs
        self.head = nn.Linear(read, self.out_features, **options)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_features)
        h = x if self.embed is None else self.embed(x)
        # Where head and blocks are as they came, the head reads messages as they are made: laying
        # them side by side, and the products with them, cost as much as the pairs.
        if not self._direct(h):
            messages = h[..., :0]
            for block in self.blocks:
                h, messages = block(h)
            return self.head(torch.cat([h, messages], -1))
        of_nodes, of_pairs = self.head.weight.tensor_split([h.shape[-1]], -1)
        read = None
        for n, block in enumerate(self.blocks, 1):
            assert isinstance(block, MessageBlock)  # says `_direct`
            h, read = block.advance(h, of_pairs if n == len(self.blocks) else None)
        result = linear(h, of_nodes, self.head.bias)
        return result if read is None else result + read

    def _direct(self, h: Tensor) -> bool:
        device = h.device.type
        mixed = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
        return (
            not mixed
            and untouched(self.head, nn.Linear)
            and all(untouched(block, MessageBlock) for block in self.blocks)
        )


def _normalised(norm: nn.LayerNorm, h: Tensor) -> Tensor:
    """Apply the norm; in forward mode by plain operations, for second derivatives there.

    Differentiating torch's own forward rule of the layer norm again gives wrong numbers.
    """
    if forward_ad._current_level < 0:
        return norm(h)
    centred = h - h.mean(-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + norm.eps)
    return centred * scale * norm.weight + norm.bias


def _each_block(
    topology: Topology | str | int | Sequence[Topology] | None, nodes: int, blocks: int
) -> list[Topology]:
    if isinstance(topology, list | tuple):
        if len(topology) != blocks:
            raise ValueError(f"{len(topology)} topologies were given for {blocks} blocks")
        return [as_topology(each, nodes) for each in topology]
    return [as_topology(topology, nodes)] * blocks  # type: ignore[arg-type]


# What the gates of the two blocks start from.
_FIRST, _SECOND = 0.6, 0.2


@saveable
class TwoBlockRAN(nn.Module):
    r"""Another network that the paper's count of its vision model fits: pairs of block 2 are read.

    Block 1: z = norm(h), m_ij = r_ij(z_i, z_j), node i hears u_ij m_ij and node j hears v_ij m_ij;
    h <- h + a (r(z + heard) - h). Block 2: z = norm(h), h <- h + b (r(z) - h), and the head reads h
    and r_ij(z_i, z_j), which goes nowhere else. Pairs have base (x + y)/2 and gate 1. With N nodes,
    K pairs, degrees (3, 2) and C outputs it has exactly (18 + C) N + (26 + C) K + C + 2 parameters,
    as many as a `DeepRAN` of two blocks.

    Args:
        in_features: number N of inputs, which are the nodes.
        out_features: number C of outputs.
        topology: pairs among the nodes, as in `RAN`.
        degrees: degrees of the node-wise units.
        pair_degree: total degree of the pair units.
        denominator: as in `Rational1d`.
        pair_base: base of the pair units.
        constant: as in `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., in_features) to (..., out_features).

    Example:
        >>> net = TwoBlockRAN(20, 4, topology=Topology.random(20, 30))
        >>> N, K, C = 20, 30, 4
        >>> sum(p.numel() for p in net.parameters()) == (18 + C) * N + (26 + C) * K + C + 2
        True
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        topology: Topology | str | int | None = None,
        degrees: tuple[int, int] = (3, 2),
        *,
        pair_degree: int | tuple[int, int] = 2,
        denominator: str = "softplus",
        pair_base: str = "mean",
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = nodes = check.integer(in_features, "in_features", 1)
        self.out_features = check.integer(out_features, "out_features", 1)
        self.topology = as_topology(topology, nodes)
        count = self.topology.num_pairs
        if not count:
            raise ValueError("TwoBlockRAN needs at least one pair, got a topology without any")
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        shared: dict[str, Any] = {"constant": constant, "noise": noise, **options}

        def pair() -> Rational2d:
            return Rational2d(
                self.topology, pair_degree, denominator, pair_base, gate=1.0, **shared
            )

        self.norm1, self.norm2 = (nn.LayerNorm(nodes, **options) for _ in "12")
        self.unit1, self.unit2 = (Rational1d(nodes, degrees, denominator, **shared) for _ in "12")
        self.pair1, self.pair2 = pair(), pair()
        self.weight = nn.Parameter(torch.empty(2, count, **options))
        self.gate = nn.Parameter(torch.empty(2, **options))
        self.head = nn.Linear(nodes + count, self.out_features, **options)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set weights and gates to their start; the other parameters belong to other modules."""
        # A node hears 2 K / N messages on average; this keeps their sum of order one.
        heard = 2 * self.weight.shape[1] / self.in_features
        self.weight.fill_(max(1.0, heard) ** -0.5)
        self.gate.copy_(torch.tensor([_FIRST, _SECOND]))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_features)
        z = _normalised(self.norm1, x)
        messages, heard = self.pair1(z), z
        for end, weight in zip(self.pair1.pairs, self.weight, strict=True):
            heard = heard.index_add(-1, end, (weight * messages).to(z.dtype))
        h = x + self.gate[0] * (self.unit1(heard) - x)
        z = _normalised(self.norm2, h)
        h = h + self.gate[1] * (self.unit2(z) - h)
        return self.head(torch.cat([h, self.pair2(z)], -1))


# NOTE[DIFF] The theorem asks for a "sufficiently small" gate. The gradient norm shrinks by about
# sqrt((1 - gate)^2 + gate^2) a block, to 0.37 after 100 blocks at 0.01 and to 5e-5 at 0.1.
_GATE = 0.01


class _Orthogonal(nn.Linear):
    """A square linear map that starts orthogonal."""

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if not self.weight.is_meta:
            # In float32 on the CPU: half precision has no such factorisation.
            start = torch.empty(self.weight.shape, dtype=torch.float32, device="cpu")
            self.weight.copy_(nn.init.orthogonal_(start))


@saveable
class GatedRationalBlock(nn.Module):
    r"""h + gate * (phi(W h) - h), with phi a rational function p/d for each feature.

    The block of the paper's section on deep training stability.
    W starts orthogonal, so its norm is 1 as the theorem assumes, and phi starts as the identity.
    The ratio of gradient norms across L blocks then lies between (1 - 2 gate)^L and 1.

    Args:
        features: size of the state h.
        degrees: degrees of phi.
        denominator: as in `Rational1d`.
        gate: start of the block's gate; None for no gate, h -> phi(W h).
        heads: number of quotients in phi.
        eps: added to the denominators; None means the default of the denominator.
        constant: whether the polynomials in the denominators have constant terms, as in
            `Rational1d`.
        noise: standard deviation of noise on the coefficients of phi at the start.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., features) to (..., features).

    Example:
        >>> block = GatedRationalBlock(8)
        >>> block(torch.randn(2, 8)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        features: int,
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "softplus",
        *,
        gate: float | None = _GATE,
        heads: int = 1,
        eps: float | None = None,
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.features = check.integer(features, "features", 1)
        size = self.features
        self.linear = _Orthogonal(size, size, bias=False, device=device, dtype=dtype)
        self.unit = Rational1d(
            self.features,
            degrees,
            denominator,
            heads=heads,
            gate=None,
            eps=eps,
            constant=constant,
            noise=noise,
            device=device,
            dtype=dtype,
        )
        self._start = None if gate is None else check.real(gate, "gate")
        alpha = None if gate is None else torch.empty((), device=device, dtype=dtype)
        self.gate = None if alpha is None else nn.Parameter(alpha)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set the gate to its start; the other parameters belong to other modules."""
        if self.gate is not None and self._start is not None:
            self.gate.fill_(self._start)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block."""
        check.features(check.floating(h, "h"), self.features, name="h")
        new = self.unit(self.linear(h))
        return new if self.gate is None else h + self.gate * (new - h)
