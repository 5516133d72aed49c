"""`match_budget`: the architecture of a family whose parameter count is nearest to a target.

The first shape that comes near the target without a bottleneck is taken, at the widths where its
count is nearest.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._core import checks as check
from ._architecture import Architecture
from ._families import FAMILIES, IMAGE_FAMILIES

# A shape is good enough at this distance from the target.
_NEAR = 5e-3
# Counts that differ by less than this share of the target are equally good: the more even wins.
_EVEN = 1e-3
# Hidden layers more uneven than this, or narrower than the output, are a bottleneck.
_UNEVEN = 4.0
# Among equally good embeddings, the one with about so many pairs a node.
_PAIRS_A_NODE = 4
# To avoid a bottleneck this much is given away; beyond it the caller is warned.
_FAR = 0.02


def match_budget(
    target: int, family: str, in_features: int, out_features: int, **fixed: Any
) -> Architecture:
    """Return the architecture whose parameter count is nearest to `target`.

    RAN and DeepRAN are matched by the number of pairs, the others by their widths. The plainest
    shape within 0.5 % of the target is taken: no embedding before one (DeepRAN), one hidden layer
    before two, the usual grid before a coarser one (KAN), eight frequencies before fewer (KAF).
    A RAN gets more heads where all pairs are too few. Convolutional networks have three stages,
    each twice as wide as the one before but for the last width, which is matched. Counts within
    0.1 % of each other are equal, and the more even architecture wins. Where every shape that near
    has a bottleneck, one without is taken up to 2 % off, and only then the least narrow.

    Args:
        target: number of parameters, head included; for KAN the masks are included, as KANbeFair
            counts them. They are not trained: a KAN trains about 9 % fewer than it is counted
            with at the usual grid, 12.5 % at the coarsest (one in `grid + order + 3`).
        family: `RAN`, `DeepRAN`, `MLP`, `KAN` or `KAF`; for images `RANConvNet` or `CNN`.
        in_features: number of inputs; for images of channels.
        out_features: number of outputs.
        fixed: what must stay as it is: `degrees`, `pair_degree`, `heads`, `constant` for RAN and
            DeepRAN, `width` and `blocks` for DeepRAN, `hidden_layers` (1 or 2) for the others,
            `grid` and `order` for KAN, `frequencies` for KAF, `stages` for RANConvNet and CNN,
            `degrees` and `constant` for RANConvNet.

    Returns:
        The architecture; a `RuntimeWarning` says so if it is more than 2 % off.

    Example:
        >>> found = match_budget(50_000, "DeepRAN", in_features=784, out_features=10)
        >>> found.arguments["topology"], found.parameters, f"{found.error:.4%}"
        (779, 50008, '0.0160%')
    """
    goal = check.integer(target, "target", 1)
    inputs = check.integer(in_features, "in_features", 1)
    outputs = check.integer(out_features, "out_features", 1)
    search, allowed = check.lookup(family, FAMILIES | IMAGE_FAMILIES, "family")
    for name, value in fixed.items():
        check.choice(name, allowed, f"{family}'s keyword arguments")
        if name == "constant":
            check.boolean(value, name)
        elif name not in ("degrees", "pair_degree") and value is not None:
            check.integer(value, name, 1)
    found: list[Architecture] = []
    for shape in search(goal, inputs, outputs, **fixed):
        found += shape
        sound = [each for each in shape if each.error <= _NEAR and not _bottleneck(each)]
        if sound:
            return min(sound, key=_rank)
    wide = [each for each in found if each.error <= _FAR and not _bottleneck(each)]
    if wide:
        return min(wide, key=lambda each: each.error)
    near = [each for each in found if each.error <= _NEAR]
    if near:
        return max(near, key=lambda each: (_narrowest(each), -each.error))
    best = min(found, key=lambda each: each.error)
    if best.parameters > goal and best.error > 0.5:
        raise ValueError(
            f"the smallest {family} with {inputs} inputs and {outputs} outputs that was found has "
            f"{best.parameters} parameters, more than target={goal}; raise the target"
            + (f", or lower {' or '.join(allowed)}" if allowed else "")
        )
    if best.error > _FAR:
        warnings.warn(
            f"the nearest {family} has {best.parameters} parameters ({best.summary}), "
            f"{best.error:.1%} off target={goal}",
            RuntimeWarning,
            stacklevel=2,
        )
    return best


def _rank(each: Architecture) -> tuple[float, ...]:
    """Order the sound members of one shape: by distance in steps, then by evenness."""
    arguments = each.arguments
    step = int(each.error / _EVEN)
    if each.family == "RAN":
        return step, arguments["heads"], each.error
    if "hidden" in arguments:
        return step, _ratio(each), each.error
    if "widths" in arguments:
        before, last = (1, *arguments["widths"])[-2:]
        return step, abs(math.log(last / (2 * before))), each.error
    nodes = arguments["width"] or arguments["in_features"]
    return step, abs(math.log((arguments["topology"] + 1) / (_PAIRS_A_NODE * nodes))), each.error


def _narrowest(each: Architecture) -> int:
    return min(each.arguments.get("hidden", (0,)))


def _ratio(each: Architecture) -> float:
    return max(each.arguments["hidden"]) / min(each.arguments["hidden"])


def _bottleneck(each: Architecture) -> bool:
    if "hidden" not in each.arguments:
        return False
    return _narrowest(each) < each.arguments["out_features"] or _ratio(each) > _UNEVEN
