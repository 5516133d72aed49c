"""The input box cut into pieces: bounds of a network are sharper on each, and hold on all of them.

Intervals forget what layers have in common, and planes are the closer the smaller the box is. So a
box is halved where the sign of a slope is still open, and then where the network is the steepest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from ..proofs import Cells, Interval, matmul, point, up
from ..units import RationalUnit
from ._layer_bounds import LayerBounds, Settings, interval_norm
from ._layers import walk
from ._monotone import Witnesses
from .relaxation import Relaxation, Relaxed


@dataclass(frozen=True)
class Piece:
    """What is known on one piece of the box."""

    box: Interval
    range: Interval
    lipschitz: float
    slopes: Interval  # (outputs, inputs)
    centre: np.ndarray
    at_centre: Interval  # slopes there


def run(model: nn.Module, box: Interval, settings: Settings) -> LayerBounds:
    """Pass a box through a model."""
    return walk(model, LayerBounds(box, point(np.eye(len(box.low))), settings), "")


def piece(
    model: nn.Module, box: Interval, settings: Settings, planes: Relaxation | None
) -> tuple[Piece, LayerBounds]:
    """Bound a model on a box, with what is known of its layers."""
    relaxed = None if planes is None else planes(box)
    if relaxed is not None:
        settings = replace(settings, inputs=relaxed.inputs)
    state = run(model, box, settings)
    product = product_of([layer.lipschitz for layer in state.layers])
    return _piece(model, box, settings, relaxed, state.box, state.jacobian, product), state


def _piece(
    model: nn.Module,
    box: Interval,
    settings: Settings,
    relaxed: Relaxed | None,
    span: Interval,
    slopes: Interval,
    product: float,
) -> Piece:
    centre = 0.5 * box.low + 0.5 * box.high
    middle = run(model, point(centre), replace(settings, inputs={}))
    if relaxed is not None:
        span, slopes = span.meet(relaxed.range), slopes.meet(relaxed.slopes)
    if not isinstance(model, RationalUnit):
        # f(c) + J(X)(X - c) keeps what layers have in common.
        radius = up(np.maximum(box.high - centre, centre - box.low))
        reach = matmul(slopes.known(), Interval(-radius[:, None], radius[:, None]))[:, 0]
        span = span.meet(middle.box + reach)
    slopes = slopes.known()
    size = float(min(product, interval_norm(slopes)))
    return Piece(box, span.known(), size, slopes, centre, middle.jacobian.known())


def product_of(factors: list[float]) -> float:
    """Multiply bounds; what has none makes the product unbounded."""
    found = math.prod(factors) * (1 + 1e-12)
    return math.inf if math.isnan(found) else found  # 0 * inf


def cut(
    model: nn.Module,
    whole: Piece,
    settings: Settings,
    planes: Relaxation | None,
    most: int,
    seen: Witnesses,
) -> list[Piece]:
    """Halve pieces until there are `most` of them: for open signs first, then for the steepest.

    Args:
        model: the network.
        whole: bounds on all of the box.
        settings: how closely to look at units.
        planes: the network's relaxation, if there is one.
        most: greatest number of pieces.
        seen: points where signs are proved; those of the pieces' centres are added.
    """
    pieces = [whole]
    while len(pieces) < most:
        worst = [_open(one, seen) for one in pieces]
        at = int(np.argmax([score for score, _ in worst]))
        score, wanted = worst[at]
        if not score > 0:
            if planes is None:
                break
            at = int(np.argmax([one.lipschitz for one in pieces]))
            wanted = np.zeros(len(whole.centre), dtype=bool)
        halves = _halves(pieces[at], wanted)
        if not halves:
            break
        pieces.pop(at)
        for box in halves:
            pieces.append(_part(model, box, settings, planes, whole))
            seen.add(pieces[-1].centre, pieces[-1].at_centre)
    return pieces


def _part(
    model: nn.Module, box: Interval, settings: Settings, planes: Relaxation | None, whole: Piece
) -> Piece:
    """Bound a model on a part of the box; by planes alone where they bound slopes."""
    if planes is None or not planes.sloped:
        return piece(model, box, settings, planes)[0]
    relaxed = planes(box)
    return _piece(model, box, settings, relaxed, whole.range, whole.slopes, whole.lipschitz)


def _open(one: Piece, seen: Witnesses) -> tuple[float, np.ndarray]:
    """Return how far slopes of open signs reach to the other side, and which inputs have such."""
    falls = np.where(seen.falls < 0, np.maximum(-one.slopes.low, 0), 0)
    rises = np.where(seen.rises < 0, np.maximum(one.slopes.high, 0), 0)
    both = np.minimum(np.maximum(falls, rises), 1e300)
    return float(both.sum()), np.asarray(both.any(0))


def _halves(one: Piece, wanted: np.ndarray) -> list[Interval]:
    """Cut a piece in two across the input of the widest effect."""
    low, high = one.box.low, one.box.high
    middle = one.centre
    effect = np.nan_to_num(one.slopes.most.sum(0), posinf=1e150) * (high - low)
    effect = np.where(wanted, 2 * effect, effect)
    effect[(middle <= low) | (middle >= high)] = -1.0
    if not (effect >= 0).any():
        return []
    halves = Cells.of(low[None], high[None]).halves(effect[None])
    return [Interval(low, high) for low, high in zip(halves.low, halves.high, strict=True)]
