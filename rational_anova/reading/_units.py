"""What a network says on rows, unit by unit: what each reads and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from .._core.least_squares import lstsq
from .._core.types import Array
from ..networks import RAN, LayeredRAN
from ..units import RationalUnit
from ._curves import Choice
from ._library import quotient


@dataclass(frozen=True)
class Unit:
    """One unit of a network on rows.

    Attributes:
        layer: of its target, the first being 0.
        nodes: what it reads, nodes of the layer before.
        target: the node that it is added to.
        inputs: the values of the nodes, (rows,) each.
        curve: what it gives, (rows,).
        bank: the units that it is one of.
    """

    layer: int
    nodes: tuple[int, ...]
    target: int
    inputs: tuple[Array, ...]
    curve: Array
    bank: RationalUnit

    def as_it_is(self) -> Choice:
        """Return the unit without a name: the quotient of polynomials that it is on these rows."""
        form = self.bank.form
        top = list(form.numerator)
        below = [row for row in _up_to(len(self.nodes), form.degrees[1]) if any(row)]
        shape = quotient(len(self.nodes), top, below)
        above, under = (
            np.stack(
                [
                    np.prod([x**k for x, k in zip(self.inputs, row, strict=True)], axis=0)
                    for row in powers
                ],
                1,
            )
            for powers in (top, below)
        )
        found = lstsq(np.hstack([above, -self.curve[:, None] * under]), self.curve)
        left = shape.at(self.inputs, found.tolist()) - self.curve
        error = float(np.sqrt(np.mean(left**2)) / (self.curve.std() or 1.0))
        return Choice(shape, tuple(found.tolist()), 0.0, error)


def _up_to(variables: int, degree: int) -> list[tuple[int, ...]]:
    if variables == 1:
        return [(k,) for k in range(degree + 1)]
    return [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]


@dataclass(frozen=True)
class Units:
    """A network on rows: its units, and the shift of each node.

    Attributes:
        units: layer by layer.
        shifts: of each layer, (nodes,).
        widths: numbers of nodes, from the inputs to the outputs.
        outputs: what the network predicts, (rows, outputs).
    """

    units: list[Unit]
    shifts: list[Array]
    widths: tuple[int, ...]
    outputs: Array


def check_readable(net: Any) -> None:
    """Raise an error for a network without units that stand alone."""
    if isinstance(net, LayeredRAN) or (isinstance(net, RAN) and net.out_features == 1):
        return
    if isinstance(net, RAN):
        raise TypeError(
            f"a RAN of {net.out_features} outputs shares its units among them and is not read unit "
            "by unit; net.symbolic_formula(X) gives its formulas, a LayeredRAN can be read"
        )
    if isinstance(net, nn.Module):
        raise TypeError(
            f"{type(net).__name__} has no units that could be named one by one (a DeepRAN "
            "normalises over its nodes); a LayeredRAN or a RAN of one output can be read"
        )
    raise TypeError(f"net must be a LayeredRAN or a RAN, got {net!r}")


@torch.no_grad()
def units_of(net: LayeredRAN | RAN, X: Array) -> Units:
    """Return what the units of a network do on rows, in float64."""
    rows = torch.from_numpy(np.ascontiguousarray(X)).to(next(net.parameters()))
    if isinstance(net, RAN):
        return _of_shallow(net, X, rows)
    nodes = net.nodes(rows)
    units: list[Unit] = []
    for k, (layer, h) in enumerate(zip(net.edge_layers, nodes, strict=False)):
        given, read = _array(layer.messages(h)), _array(h)
        for n, term in enumerate(layer.terms):
            bank = layer.unit if len(term) == 2 else layer.pair
            assert bank is not None
            inputs = tuple(read[:, i] for i in term[:-1])
            units.append(Unit(k, term[:-1], term[-1], inputs, given[:, n], bank))
    shifts = [_array(layer.bias) for layer in net.edge_layers]
    return Units(units, shifts, net.widths, _array(nodes[-1]))


def _of_shallow(net: RAN, X: Array, rows: torch.Tensor) -> Units:
    given = _array(net.features(rows))
    shift = np.zeros(1)
    if net.head is not None:
        given, shift = given * _array(net.head.weight)[0], _array(net.head.bias)
    terms: list[Sequence[int]] = [(n,) for n in net.topology.mains]
    terms += [tuple(pair) for pair in net.topology.pairs]
    units = []
    for n, term in enumerate(terms):
        bank = net.main if len(term) == 1 else net.pair
        assert bank is not None
        units.append(Unit(0, tuple(term), 0, tuple(X[:, i] for i in term), given[:, n], bank))
    return Units(units, [shift], (net.in_features, 1), _array(net(rows)))


def _array(values: torch.Tensor) -> Array:
    return np.asarray(values.detach().double().cpu().numpy())
