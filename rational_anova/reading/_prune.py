"""Units that a network does without: taken out one after another, the rest fitted again."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from .._core import checks as check
from .._core.types import Array
from ..networks import LayeredRAN
from ..tables import read_matrix, read_targets
from ..training import Diverged
from ._record import relative_error
from ._units import units_of

_SILENT = 1e-3  # of the spread of the outputs: units that do less go together, first
Group = tuple[tuple[int, tuple[int, ...]], ...]
_STEPS = 30  # of Levenberg-Marquardt after each


def pruned(
    net: LayeredRAN,
    X: Any,
    y: Any,
    tolerance: float = 0.01,
    *,
    validation: float = 0.2,
    patience: int = 3,
    seed: int = 0,
) -> LayeredRAN:
    """Return a smaller network that does as well: units are taken out while the rest can make up.

    The node, then the unit, that matters least to the outputs is taken out, and the others are
    fitted again by Levenberg-Marquardt; it stays out if the error on rows set aside is at most
    `tolerance`, or at most what it was.

    Args:
        net: a fitted network; it is not changed.
        X: (rows, in_features).
        y: (rows,) or (rows, outputs).
        tolerance: root mean square over the spread of y that is allowed in the end.
        validation: the share of rows set aside.
        patience: how many units in order are tried before what is left is kept.
        seed: of that share.
    """
    if not isinstance(net, LayeredRAN):
        raise TypeError(
            f"pruned takes a LayeredRAN, got {type(net).__name__}; ra.prune leaves out the silent "
            "terms of a RAN or DeepRAN"
        )
    limit = check.nonnegative(tolerance, "tolerance")
    table = read_matrix(X, net.in_features)
    target = read_targets(y, len(table))
    order = np.random.default_rng(seed).permutation(len(table))
    count = max(1, round(check.real(validation, "validation") * len(table)))
    some, rest = order[:count], order[count:]
    if not len(rest):
        raise ValueError(f"validation must leave rows to fit, got {validation} of {len(table)}")
    data = table[rest], target[rest]

    def error(of: LayeredRAN) -> float:
        return relative_error(units_of(of, table[some]).outputs, target[some])

    best, least = net, error(net)
    failed: set[Any] = set()
    while True:
        for group in _least_first(best, data[0], failed)[:patience]:
            small = _without(best, group, data)
            now = np.inf if small is None else error(small)
            if small is not None and now <= max(limit, least):
                best, failed, least = small, set(), max(least, now) if now > limit else least
                break
            failed.add(group)
        else:
            return best


def _least_first(net: LayeredRAN, X: Array, failed: set[Any]) -> list[Group]:
    """Groups of terms by what they matter: all silent ones, single nodes, single units."""
    found = importance(net, X)
    groups: list[tuple[float, Group]] = []
    silent = tuple(sorted(place for place, share in found.items() if share < _SILENT))
    if silent:
        groups.append((-1.0, silent))
    for layer in range(len(net.layers) - 1):
        for node in range(net.widths[layer + 1]):
            into = [p for p in found if p[0] == layer and p[1][-1] == node]
            out = [p for p in found if p[0] == layer + 1 and node in p[1][:-1]]
            weight = min(_joint(found, into), _joint(found, out))
            groups.append((weight / (len(into) + len(out)) ** 0.5, tuple(sorted(into))))
    groups += [(share, (place,)) for place, share in found.items()]
    return [group for _, group in sorted(groups) if group not in failed]


def _joint(found: dict[Any, float], places: list[Any]) -> float:
    return float(np.sqrt(sum(found[place] ** 2 for place in places)))


@torch.no_grad()
def importance(net: LayeredRAN, X: Array) -> dict[tuple[int, tuple[int, ...]], float]:
    """Return how much each unit moves the outputs, over their spread: slope times deviation."""
    rows = torch.from_numpy(np.ascontiguousarray(X)).to(next(net.parameters()))
    nodes = net.nodes(rows)
    spread = nodes[-1].std(0, correction=0).clamp(min=torch.finfo(rows.dtype).tiny)
    behind = torch.diag(1 / spread).expand(len(rows), -1, -1)
    found = {}
    for k in reversed(range(len(net.layers))):
        layer, h = net.edge_layers[k], nodes[k]
        messages = layer.messages(h)
        moved = messages - messages.mean(0)
        for n, term in enumerate(layer.terms):
            effect = behind[..., term[-1]] * moved[:, None, n]
            found[k, term] = float(effect.square().mean().sqrt())
        behind = layer.chain(h, behind)[1]
    return found


def _without(net: LayeredRAN, group: Group, data: tuple[Array, Array]) -> LayeredRAN | None:
    """Return the network without some units, which their means replace, fitted again."""
    kept = [
        [term for term in layer.terms if (k, term) not in group]
        for k, layer in enumerate(net.edge_layers)
    ]
    if any(not terms for terms in kept):
        return None
    small = _shifted(net, group, data[0]).keep(kept)
    if any(not layer.terms for layer in small.edge_layers):
        return None
    try:
        small.fit(data, epochs=_STEPS)
    except (Diverged, ValueError):
        return None
    return small


@torch.no_grad()
def _shifted(net: LayeredRAN, group: Group, X: Array) -> LayeredRAN:
    """Return a copy whose nodes are moved by the means of the units that go."""
    twin = copy.deepcopy(net)
    for unit in units_of(net, X).units:
        if (unit.layer, (*unit.nodes, unit.target)) in group:
            twin.edge_layers[unit.layer].bias[unit.target] += float(unit.curve.mean())
    return twin
