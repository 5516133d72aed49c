"""`LayeredRAN`: a deep network that can be read, with a unit of its own on every edge."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from .._core.saveable import remembered, saveable
from ..topology import Topology
from ..units import Rational1d, Rational2d, RationalUnit, number, symbols

if TYPE_CHECKING:
    import sympy

Edge = tuple[int, ...]
PAIRS = ("none", "first", "all")


class EdgeLayer(nn.Module):
    """Nodes that add up a unit for each edge: r(h_i), and r(h_i, h_j) for a pair of nodes.

    Args:
        inputs: number of nodes before.
        outputs: number of nodes behind.
        edges: (source, target) of each unit of one variable.
        pairs: (source, source, target) of each unit of two.
        single: arguments of the units of one variable.
        double: arguments of the units of two.

    Shape: (..., inputs) to (..., outputs).
    """

    _from: Tensor
    _to: Tensor

    def __init__(
        self,
        inputs: int,
        outputs: int,
        edges: Sequence[Edge],
        pairs: Sequence[Edge],
        single: dict[str, Any],
        double: dict[str, Any],
    ) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.edges = [(int(i), int(o)) for i, o in edges]
        self.pairs = [(int(i), int(j), int(o)) for i, j, o in pairs]
        self.unit = Rational1d(len(self.edges), **single) if self.edges else None
        self.pair: Rational2d | None = None
        if self.pairs:  # the columns of each pair are laid side by side
            apart = [(2 * k, 2 * k + 1) for k in range(len(self.pairs))]
            topology = Topology.of(apart, features=2 * len(self.pairs))
            self.pair = Rational2d(topology, **double)
        options = {name: single[name] for name in ("device", "dtype")}
        self.bias = nn.Parameter(torch.zeros(outputs, **options))
        count = len(self.edges) + 2 * len(self.pairs)
        device = single["device"]
        self.register_buffer(
            "_from", torch.empty(count, dtype=torch.long, device=device), persistent=False
        )
        self.register_buffer(
            "_to",
            torch.empty(len(self.edges) + len(self.pairs), dtype=torch.long, device=device),
            persistent=False,
        )
        self.reset_parameters()

    @property
    def terms(self) -> list[Edge]:
        """The edges, then the pairs: nodes that a unit reads, and last the node it is added to."""
        return [*self.edges, *self.pairs]

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set what belongs to no other module anew."""
        sources = [i for i, _ in self.edges] + [i for *pair, _ in self.pairs for i in pair]
        self._from.copy_(torch.tensor(sources, dtype=torch.long))
        self._to.copy_(torch.tensor([term[-1] for term in self.terms], dtype=torch.long))
        self.bias.zero_()

    def messages(self, h: Tensor) -> Tensor:
        """Return what each unit gives, (..., units), those of edges first."""
        columns = h.index_select(-1, self._from)
        parts = []
        if self.unit is not None:
            parts.append(self.unit(columns[..., : len(self.edges)]))
        if self.pair is not None:
            parts.append(self.pair(columns[..., len(self.edges) :]))
        return torch.cat(parts, -1) if parts else h[..., :0]

    def forward(self, h: Tensor) -> Tensor:
        """Return the nodes."""
        messages = self.messages(h)
        start = self.bias.to(messages.dtype).expand(*messages.shape[:-1], self.outputs)
        return start.index_add(-1, self._to, messages)

    def chain(self, h: Tensor, behind: Tensor) -> tuple[list[Tensor], Tensor]:
        """Return derivatives along each parameter, (rows, outputs, its size), and along h.

        Args:
            h: (rows, inputs).
            behind: derivatives along the nodes of this layer, (rows, outputs, nodes).
        """
        columns = h.index_select(-1, self._from)
        of_units = behind.index_select(-1, self._to)
        before = behind.new_zeros(*behind.shape[:2], self.inputs)
        parts, count = {}, len(self.edges)
        for name, unit, chosen, share, each in (
            ("unit", self.unit, slice(0, count), of_units[..., :count], 1),
            ("pair", self.pair, slice(count, None), of_units[..., count:], 2),
        ):
            if unit is None:
                continue
            own = columns[:, chosen].detach().requires_grad_()
            with torch.enable_grad():
                (slope,) = torch.autograd.grad(unit(own).sum(), own)
            spread = share.repeat_interleave(each, -1) * slope[:, None]
            before.index_add_(-1, self._from[chosen], spread)
            for key, rows in unit.jacobian(own.detach())[1].items():
                whole = share.reshape(*share.shape[:2], *[1] * (rows.dim() - 2), -1) * rows[:, None]
                parts[f"{name}.{key}"] = whole.flatten(2)
        parts["bias"] = behind
        return [parts[name] for name, _ in self.named_parameters()], before


# Not a network of the paper: the blocks of its deep network normalise over the nodes, so
# that no part of it is a function of one node that could be given a name.
@saveable
class LayeredRAN(nn.Module):
    r"""A deep RAN that can be read: nodes in layers, a rational unit on every edge.

    h_o = b_o + sum_i r_io(h_i) + sum_(i,j) r_ijo(h_i, h_j), layer after layer, from the inputs to
    the outputs: the shape of a Kolmogorov-Arnold network, with units of two nodes for products and
    quotients. `prune` leaves out units, `ra.read_network` gives names to those that stay, and
    `ra.plot_network` draws them.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        hidden: numbers of nodes in the layers between; () for none.
        degrees: degrees of the units of one node.
        pairs: which nodes have units of two: pairs of `all` layers, of the inputs alone (`first`),
            or `none`.
        pair_degree: total degree of the units of two nodes.
        terms: for each layer its edges (i, o) and pairs (i, j, o), instead of all of them.
        denominator: as in `Rational1d`.
        gate: start of the gates, as in `Rational1d`; None for units without.
        scale: standard deviation of the slopes that units have at the start, times the root of
            the number of nodes before.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., in_features) to (..., out_features).

    Example:
        >>> net = LayeredRAN(2, 1, hidden=(5,))
        >>> net(torch.zeros(4, 2)).shape
        torch.Size([4, 1])
        >>> [len(layer.edges) for layer in net.layers]
        [10, 5]
    """

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        hidden: Sequence[int] = (5,),
        degrees: tuple[int, int] = (4, 4),
        *,
        pairs: str = "none",
        pair_degree: int | tuple[int, int] = 2,
        terms: Sequence[Sequence[Edge]] | None = None,
        denominator: str = "polynomial",
        gate: float | str | None = None,
        scale: float = 1.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check.integer(in_features, "in_features", 1)
        self.out_features = check.integer(out_features, "out_features", 1)
        if isinstance(hidden, int):
            raise TypeError(f"hidden must list the widths of the hidden layers, got {hidden!r}")
        check.choice(pairs, PAIRS, "pairs")
        self.widths = (self.in_features, *hidden, self.out_features)
        for width in self.widths:
            check.integer(width, "each width", 1)
        self.scale = check.nonnegative(scale, "scale")
        shared: dict[str, Any] = {
            "denominator": denominator,
            "base": "zero",
            "gate": gate,
            "device": device,
            "dtype": dtype,
        }
        single, double = {"degrees": degrees, **shared}, {"degree": pair_degree, **shared}
        sizes = list(itertools.pairwise(self.widths))
        if terms is None:
            terms = [_every(n, o, pairs, first=k == 0) for k, (n, o) in enumerate(sizes)]
        elif len(terms) != len(sizes):
            raise ValueError(f"terms of {len(terms)} layers were given for {len(sizes)} layers")
        self.layers = nn.ModuleList()
        for (inputs, outputs), own in zip(sizes, terms, strict=True):
            _check_terms(own, inputs, outputs)
            edges = [term for term in own if len(term) == 2]
            doubles = [term for term in own if len(term) == 3]
            self.layers.append(EdgeLayer(inputs, outputs, edges, doubles, single, double))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the units of a start: random parabolas, of which each node adds up so many."""
        for layer in self.edge_layers:
            for unit in (layer.unit, layer.pair):
                if unit is None or unit.numerator.is_meta:
                    continue
                powers = torch.tensor(unit.form.numerator, device="cpu").sum(1)
                size = torch.where(powers == 0, 0.0, _FADING ** (powers - 1.0))
                size[powers > 2] = 0.0
                draw = torch.randn(unit.numerator.shape, device="cpu") * size[:, None]
                unit.numerator.copy_(self.scale * layer.inputs**-0.5 * draw)

    @property
    def edge_layers(self) -> list[EdgeLayer]:
        """The layers."""
        return [layer for layer in self.layers if isinstance(layer, EdgeLayer)]

    def nodes(self, x: Tensor) -> list[Tensor]:
        """Return the values of the nodes, layer after layer: the inputs first, the outputs last."""
        check.features(check.floating(x), self.in_features)
        values = [x]
        for layer in self.edge_layers:
            values.append(layer(values[-1]))
        return values

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        return self.nodes(x)[-1]

    def jacobian_matrix(
        self,
        x: Tensor,  # (rows, in_features)
    ) -> tuple[Tensor, Tensor]:
        """Return f(x) and its derivatives along the parameters by hand: (rows, outputs, size).

        The last axis has the parameters in the order of `parameters()`, flattened.
        """
        nodes = [node.detach() for node in self.nodes(x)]
        behind = torch.eye(self.out_features, dtype=nodes[-1].dtype, device=x.device)
        behind = behind.expand(len(x), -1, -1)  # of the outputs along the nodes of a layer
        parts: list[list[Tensor]] = []
        for layer, h in zip(reversed(self.edge_layers), reversed(nodes[:-1]), strict=True):
            own, behind = layer.chain(h, behind)
            parts.insert(0, own)
        return nodes[-1], torch.cat([part for layer in parts for part in layer], -1)

    def fit(self, data: Any, opt: str = "lm", **options: Any) -> Any:
        """Train the network in place: `rational_anova.fit` as a method.

        Args:
            data: as in `rational_anova.fit`.
            opt: the optimiser, in any case.
            options: further arguments of `rational_anova.fit`.

        Returns:
            The record, a `History`.
        """
        # Training is built on networks, not the other way round: it is looked up when called.
        training = importlib.import_module("rational_anova.training")
        if "optimizer" in options:
            raise TypeError(f"the optimiser is called opt here: opt={options['optimizer']!r}")
        return training.fit(self, data, optimizer=str(opt).lower(), **options)

    def prune(self, X: Any, y: Any, tolerance: float = 0.01, **options: Any) -> LayeredRAN:
        """Return a smaller network that does as well; see `reading.pruned`, which this calls.

        Args:
            X: (rows, in_features).
            y: (rows,) or (rows, outputs).
            tolerance: root mean square over the spread of y that is allowed in the end.
            options: further arguments of `reading.pruned`.
        """
        reading = importlib.import_module("rational_anova.reading")
        small: LayeredRAN = reading.pruned(self, X, y, tolerance, **options)
        return small

    @torch.no_grad()
    def keep(self, terms: Sequence[Sequence[Edge]]) -> LayeredRAN:
        """Return a network with some of the units, which keep their coefficients.

        Nodes that no unit is added to, or that none reads, are left out, and the units with them.

        Args:
            terms: for each layer the edges (i, o) and pairs (i, j, o) that stay.
        """
        kept = _connected([list(map(tuple, each)) for each in terms], self.widths)
        inner = [sorted({term[-1] for term in layer}) for layer in kept[:-1]]
        hidden = [max(1, len(nodes)) for nodes in inner]
        place = [
            {n: n for n in range(self.in_features)},
            *({n: k for k, n in enumerate(nodes)} for nodes in inner),
            {n: n for n in range(self.out_features)},
        ]
        renamed = [
            [(*(place[k][n] for n in term[:-1]), place[k + 1][term[-1]]) for term in layer]
            for k, layer in enumerate(kept)
        ]
        like = next(self.parameters())
        small = LayeredRAN(
            **{
                **remembered(self),
                "hidden": hidden,
                "terms": renamed,
                "device": like.device,
                "dtype": like.dtype,
            }
        )
        for old, new, names, nodes in zip(
            self.edge_layers,
            small.edge_layers,
            kept,
            [*inner, range(self.out_features)],
            strict=True,
        ):
            new.bias.copy_(old.bias[list(nodes)] if len(nodes) else new.bias)
            for kind, size in (("unit", 2), ("pair", 3)):
                own: list[Edge] = [term for term in old.terms if len(term) == size]
                chosen = [own.index(term) for term in names if len(term) == size]
                if chosen:
                    for name, parameter in getattr(new, kind).named_parameters():
                        parameter.copy_(getattr(getattr(old, kind), name)[..., chosen])
        return small.train(self.training)

    def to_sympy(self, names: Sequence[Any] | None = None) -> list[sympy.Expr]:
        """Return the formula of each output, exactly as the network computes it.

        Args:
            names: names or symbols of the inputs; x0, x1, ... by default.
        """
        nodes: list[Any] = list(symbols(names, self.in_features))
        for layer in self.edge_layers:
            total = [number(b) for b in layer.bias.tolist()]
            given: list[Any] = []
            if layer.unit is not None:
                given += _written(layer.unit, [nodes[i] for i, _ in layer.edges])
            if layer.pair is not None:
                given += _written(layer.pair, [nodes[n] for i, j, _ in layer.pairs for n in (i, j)])
            for term, expression in zip(layer.terms, given, strict=True):
                total[term[-1]] += expression
            nodes = total
        return nodes

    def extra_repr(self) -> str:
        """Describe the shape."""
        units = sum(len(layer.terms) for layer in self.edge_layers)
        return f"{' -> '.join(map(str, self.widths))} nodes, {units} units"


_FADING = 1.0  # of a coefficient at the start, from power to power


def _written(unit: RationalUnit, nodes: Sequence[Any]) -> list[Any]:
    """Return the formulas of units in expressions, some of which may be equal."""
    names = symbols([f"h{n}" for n in range(len(nodes))], len(nodes))
    given = dict(zip(names, nodes, strict=True))
    return [each.subs(given, simultaneous=True) for each in unit.to_sympy(names)]


def _every(inputs: int, outputs: int, pairs: str, first: bool) -> list[Edge]:
    terms: list[Edge] = list(itertools.product(range(inputs), range(outputs)))
    if pairs == "all" or (pairs == "first" and first):
        both = itertools.combinations(range(inputs), 2)
        terms += [(i, j, o) for (i, j), o in itertools.product(both, range(outputs))]
    return terms


def _check_terms(terms: Sequence[Edge], inputs: int, outputs: int) -> None:
    for term in terms:
        good = len(term) in (2, 3) and all(0 <= n < inputs for n in term[:-1])
        if not good or not 0 <= term[-1] < outputs or len(set(term[:-1])) < len(term) - 1:
            raise ValueError(
                f"a term of a layer of {inputs} to {outputs} nodes is (i, o) or (i, j, o) with two "
                f"different nodes before and one behind, got {tuple(term)}"
            )


def _connected(terms: list[list[Edge]], widths: Sequence[int]) -> list[list[Edge]]:
    """Return the terms that lie on a way from an input to an output."""
    before = None
    while before != terms:
        before = terms
        heard = [set(range(widths[0])), *({t[-1] for t in layer} for layer in terms)]
        read = [*({n for t in layer for n in t[:-1]} for layer in terms), set(range(widths[-1]))]
        terms = [
            [t for t in layer if t[-1] in read[k + 1] and {*t[:-1]} <= heard[k]]
            for k, layer in enumerate(terms)
        ]
    return terms
