"""`match_budget`: the architecture of a family whose parameter count is nearest to a target."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from .. import _validation as check
from ..networks import KAF, KAN, MLP, RAN, DeepRAN
from ..topology import max_pairs
from . import _parameters as count

# Counts nearer to each other than this share of the target are equally good; the more even
# architecture is then taken.
_EVEN = 1e-3
# Among equally good widths of an embedding, the one with about so many pairs a node.
_PAIRS_A_NODE = 4
_MATCHED = ("width", "blocks", "hidden", "frequencies", "grid", "order", "heads", "topology")
# A simpler shape (no embedding, one hidden layer) is kept while it is this near.
_NEAR = 5e-3


@dataclass(frozen=True)
class Architecture:
    """An architecture of one family, ready to be built.

    Attributes:
        family: `RAN`, `DeepRAN`, `MLP`, `KAN` or `KAF`.
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
        return FAMILIES[self.family][0](**{**self.arguments, **changes})


def match_budget(
    target: int, family: str, in_features: int, out_features: int, **fixed: Any
) -> Architecture:
    """Return the architecture whose parameter count is nearest to `target`.

    Args:
        target: number of parameters, head included.
        family: `RAN`, `DeepRAN`, `MLP`, `KAN` or `KAF`.
        in_features: number of inputs.
        out_features: number of outputs.
        fixed: what must stay as it is: `degrees`, `pair_degree`, `heads` for RAN and DeepRAN,
            `width` and `blocks` for DeepRAN, `hidden_layers` (1 or 2) for the others, `grid` and
            `order` for KAN, `frequencies` for KAF.

    RAN and DeepRAN are matched by the number of pairs, the others by their widths. Where pairs
    alone cannot reach the target, a RAN gets more heads and a DeepRAN a linear embedding.

    Example:
        >>> found = match_budget(50_000, "DeepRAN", in_features=784, out_features=10)
        >>> found.arguments["topology"], found.parameters, f"{found.error:.4%}"
        (779, 50008, '0.0160%')
    """
    goal = check.integer(target, "target", 1)
    inputs = check.integer(in_features, "in_features", 1)
    outputs = check.integer(out_features, "out_features", 1)
    _, search, allowed = check.lookup(family, FAMILIES, "family")
    for name in fixed:
        check.choice(name, allowed, f"{family}'s keyword arguments")
    found = list(search(goal, inputs, outputs, **fixed))
    best = min(found, key=lambda each: abs(each.parameters - goal))
    if best.parameters > goal and best.error > 0.5:
        raise ValueError(
            f"the smallest {family} with {inputs} inputs and {outputs} outputs that was found has "
            f"{best.parameters} parameters, more than target={goal}; raise the target, or lower "
            f"degrees, grid or frequencies"
        )
    near = [each for each in found if each.error <= best.error + _EVEN]
    return min(near, key=lambda each: _unevenness(each))


def _unevenness(each: Architecture) -> float:
    arguments = each.arguments
    if each.family == "RAN":
        return float(arguments["heads"])
    if "hidden" in arguments:
        widths = arguments["hidden"]
        return abs(math.log(widths[0] / widths[-1]))
    nodes = arguments.get("width") or arguments["in_features"]
    return abs(math.log((arguments["topology"] + 1) / (_PAIRS_A_NODE * nodes)))


def _ran(
    target: int,
    inputs: int,
    outputs: int,
    degrees: tuple[int, int] = (2, 2),
    pair_degree: int | tuple[int, int] = 2,
    heads: int | None = None,
) -> Iterator[Architecture]:
    linear, most = outputs > 1, max_pairs(inputs)

    def size(heads: int, pairs: int) -> int:
        main = count.unit_parameters(1, check.degrees(degrees), heads)
        pair = count.unit_parameters(2, _both(pair_degree), heads)
        return count.ran_parameters(inputs, outputs, linear, main, pair, pairs)

    # As many heads as all pairs can have, or one more and fewer pairs.
    full = _solve(target, lambda number: size(number, most), 1, target)
    for number in [heads] if heads else sorted({max(1, full - 1), full, full + 1}):
        pairs = _solve(target, functools.partial(size, number), 0, most)
        arguments = {
            "in_features": inputs,
            "out_features": outputs,
            "topology": pairs,
            "degrees": degrees,
            "pair_degree": pair_degree,
            "heads": number,
        }
        yield Architecture("RAN", arguments, size(number, pairs), target)


def _deep_ran(
    target: int,
    inputs: int,
    outputs: int,
    degrees: tuple[int, int] = (3, 2),
    pair_degree: int | tuple[int, int] = 2,
    heads: int = 1,
    blocks: int = 2,
    width: int | None = None,
) -> Iterator[Architecture]:
    node = count.unit_parameters(1, check.degrees(degrees), heads)
    pair = count.unit_parameters(2, _both(pair_degree), heads)

    def matched(nodes: int | None) -> Architecture:
        embedding = 0 if nodes is None else count.mlp_layer(inputs, nodes)

        def size(pairs: int) -> int:
            n = inputs if nodes is None else nodes
            body = count.deep_ran_parameters(n, pairs, outputs, blocks, node, pair)
            return embedding + body

        pairs = _solve(target, size, 0, max_pairs(inputs if nodes is None else nodes))
        arguments = {
            "in_features": inputs,
            "out_features": outputs,
            "width": nodes,
            "blocks": blocks,
            "topology": pairs,
            "degrees": degrees,
            "pair_degree": pair_degree,
            "heads": heads,
        }
        return Architecture("DeepRAN", arguments, size(pairs), target)

    plain = matched(width)
    yield plain
    if width is not None or plain.error <= _NEAR:
        return
    for nodes in range(1, target + 1):
        embedded = matched(nodes)
        yield embedded
        if embedded.parameters > target * (1 + _NEAR):
            return


def _layered(
    family: str,
    layer: Callable[..., int],
    target: int,
    inputs: int,
    outputs: int,
    hidden_layers: int | None = None,
    **settings: int,
) -> Iterator[Architecture]:
    if hidden_layers not in (None, 1, 2):
        raise ValueError(f"hidden_layers must be 1, 2 or None, got {hidden_layers!r}")
    cost = functools.partial(layer, **settings)

    def architecture(hidden: list[int]) -> Architecture:
        size = count.layered_parameters([inputs, *hidden, outputs], cost)
        arguments = {
            "in_features": inputs,
            "out_features": outputs,
            "hidden": tuple(hidden),
            **settings,
        }
        return Architecture(family, arguments, size, target)

    def last(first: list[int]) -> Architecture:
        return architecture(
            [*first, _solve(target, lambda h: architecture([*first, h]).parameters, 1, target)]
        )

    one = last([])
    if hidden_layers != 2:
        yield one
    if hidden_layers == 1 or (hidden_layers is None and one.error <= _NEAR):
        return
    for width in range(1, target + 1):
        two = last([width])
        yield two
        if two.arguments["hidden"][1] == 1 and two.parameters > target:
            return


def _kaf(
    target: int, inputs: int, outputs: int, frequencies: int | None = None, **fixed: Any
) -> Iterator[Architecture]:
    """Search widths; where the waves alone are too many for the target, halve them."""
    search = functools.partial(_layered, "KAF", count.kaf_layer, target, inputs, outputs)
    for number in [frequencies] if frequencies else (8, 4, 2, 1):
        found = list(search(frequencies=number, **fixed))
        yield from found
        if min(each.error for each in found) <= _NEAR:
            return


def _solve(target: int, size: Callable[[int], int], low: int, high: int) -> int:
    """Return the integer in [low, high] at which the affine `size` is nearest to the target."""
    if high <= low:
        return low
    step = size(low + 1) - size(low)
    return min(max(low + round((target - size(low)) / step), low), high)


def _both(degree: int | tuple[int, int]) -> tuple[int, int]:
    return check.degrees((degree, degree) if isinstance(degree, int) else degree, "pair_degree")


_Search = Callable[..., Iterator[Architecture]]
_PAIRED = ("degrees", "pair_degree", "heads")
FAMILIES: dict[str, tuple[Callable[..., nn.Module], _Search, tuple[str, ...]]] = {
    "RAN": (RAN, _ran, _PAIRED),
    "DeepRAN": (DeepRAN, _deep_ran, (*_PAIRED, "width", "blocks")),
    "MLP": (MLP, functools.partial(_layered, "MLP", count.mlp_layer), ("hidden_layers",)),
    "KAN": (
        KAN,
        functools.partial(_layered, "KAN", count.kan_layer),
        ("hidden_layers", "grid", "order"),
    ),
    "KAF": (KAF, _kaf, ("hidden_layers", "frequencies")),
}
