"""How bounds pass through the networks of this package."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._core.types import Array
from ..networks import (
    RAN,
    RANFFN,
    DeepRAN,
    GatedRationalBlock,
    MessageBlock,
    RANConvNet,
    RANFFNPlus,
)
from ._interval import Interval, matmul, point
from ._state import (
    Applied,
    Layer,
    State,
    affine,
    apply_1d,
    apply_2d,
    array,
    blend,
    interval_norm,
    joined,
    pair_matrix,
    scaled,
    spectral,
)
from ._walk import after, register_layer, terms_layer, walk


@register_layer(RAN)
def _ran(module: RAN, state: State, name: str) -> State:
    lead = f"{name}." if name else ""
    parts: list[tuple[Any, Applied, Any]] = []
    if module.main is not None:
        mains = np.array(module.topology.mains)
        parts.append((module.main, apply_1d(module.main, state, f"{lead}main", mains), mains))
    if module.pair is not None:
        parts.append((module.pair, apply_2d(module.pair, state, f"{lead}pair"), None))
    layer = terms_layer(f"{lead}terms", parts, len(state.box.low))
    state = after(state, layer, *(done for _, done, _ in parts))
    if module.head is not None:
        return walk(module.head, state, f"{lead}head")
    ones = np.ones((1, len(state.box.low)))
    size = spectral(ones)
    return state.grown(
        Layer(f"{lead}sum", size, size),
        box=affine(state.box, ones, None),
        jacobian=matmul(point(ones), state.jacobian),
    )


@register_layer(RANFFN, RANFFNPlus)
def _feed_forward(module: Any, state: State, name: str) -> State:
    lead = f"{name}." if name else ""
    state = walk(module.fc1, state, f"{lead}fc1")
    count = len(state.box.low)
    done: list[tuple[Any, Applied, Any]] = []
    done.append((module.unit, apply_1d(module.unit, state, f"{lead}unit"), np.arange(count)))
    if module.pair is not None:
        done.append((module.pair, apply_2d(module.pair, state, f"{lead}pair"), None))
    layer = Layer(f"{lead}unit", float(done[0][1].steepest.max()), float(done[0][1].theorem.max()))
    if len(done) > 1:
        layer = terms_layer(f"{lead}terms", done, count)
    state = after(state, layer, *(part for _, part, _ in done))
    return walk(module.fc2, state, f"{lead}fc2")


@register_layer(GatedRationalBlock)
def _gated(module: GatedRationalBlock, state: State, name: str) -> State:
    lead = f"{name}." if name else ""
    weight = array(module.linear.weight)
    inner = walk(module.linear, state, f"{lead}linear")
    done = apply_1d(module.unit, inner, f"{lead}unit")
    gate = 1.0 if module.gate is None else float(module.gate.detach())
    size, rest = spectral(weight), abs(1 - gate) * (1 + 1e-15)
    slopes = np.array([record.slopes[0] for record in done.records])
    own = block_jacobian(weight, Interval(slopes[:, 0], slopes[:, 1]), gate)
    steep, coarse = float(done.steepest.max()), float(done.theorem.max())
    layer = Layer(
        name or "block",
        min(rest + abs(gate) * steep * size, interval_norm(own)) * (1 + 1e-14),
        (rest + abs(gate) * coarse * size) * (1 + 1e-14),
    )
    if module.gate is None:
        return after(state, layer, done)
    return state.grown(
        layer,
        box=blend(state.box, done.value, gate),
        jacobian=blend(state.jacobian, done.jacobian, gate).meet(matmul(own, state.jacobian)),
        units=(*state.units, *done.records),
    )


def block_jacobian(weight: Array, slopes: Interval, gate: float) -> Interval:
    """Return (1 - gate) I + gate diag(slopes) W."""
    own = scaled(point(weight), slopes)
    return own if gate == 1.0 else blend(point(np.eye(len(weight))), own, gate)


@register_layer(MessageBlock)
def _message_block(module: MessageBlock, state: State, name: str) -> State:
    return _messages(module, state, name)[0]


def _messages(module: MessageBlock, state: State, name: str) -> tuple[State, Applied | None]:
    """Return the state behind a block, and its weighted messages."""
    z = walk(module.norm, state, f"{name}.norm")
    n, sent = len(z.box.low), None
    heard = z
    if module.pair is not None and module.weight is not None:
        sent = apply_2d(module.pair, z, f"{name}.pair")  # type: ignore[arg-type]
        weight = array(module.weight)
        rows = Interval(weight, weight)
        sent = Applied(sent.value * rows, scaled(sent.jacobian, rows),
                       sent.steepest * np.abs(weight)[:, None] * (1 + 1e-15),
                       sent.theorem * np.abs(weight) * (1 + 1e-15), sent.records)  # fmt: skip
        spread = np.zeros((n, len(weight)))
        for end in module.ends.cpu().numpy():
            spread[end, np.arange(len(weight))] = 1.0
        both = [
            spectral(np.eye(n) + spread @ pair_matrix(module.pair, steep, n))  # type: ignore[arg-type]
            for steep in (sent.steepest, sent.theorem[:, None])
        ]
        heard = z.grown(
            Layer(f"{name}.messages", *both),
            box=z.box + affine(sent.value, spread, None),
            jacobian=z.jacobian + matmul(point(spread), sent.jacobian),
            units=(*z.units, *sent.records),
        )
    new = walk(module.unit, heard, f"{name}.unit")
    # The factors since the norm belong to the branch; with the gate they make one factor.
    inner, gate = new.layers[len(state.layers) :], float(module.gate.detach())
    whole = [
        abs(1 - gate) + abs(gate) * float(np.prod([getattr(part, kind) for part in inner]))
        for kind in ("lipschitz", "theorem")
    ]
    behind = state.grown(
        Layer(name, whole[0] * (1 + 1e-14), whole[1] * (1 + 1e-14)),
        box=blend(state.box, new.box, gate),
        jacobian=blend(state.jacobian, new.jacobian, gate),
        units=new.units,
    )
    return behind, sent


@register_layer(DeepRAN)
def _deep(module: DeepRAN, state: State, name: str) -> State:
    lead = f"{name}." if name else ""
    if module.embed is not None:
        state = walk(module.embed, state, f"{lead}embed")
    for n, block in enumerate(module.blocks):
        before = state
        state, sent = _messages(block, state, f"{lead}blocks.{n}")  # type: ignore[arg-type]
    if sent is not None:
        # The head reads state and messages of the last block side by side.
        own = _message_norm(before, sent, block, f"{lead}blocks.{n}.norm")
        last = state.layers[-1]
        both = np.hypot((last.lipschitz, last.theorem), own) * (1 + 1e-14)
        state = replace(
            state,
            box=joined(state.box, sent.value),
            jacobian=joined(state.jacobian, sent.jacobian),
            layers=(*state.layers[:-1], Layer(last.name, *both.tolist())),
        )
    return walk(module.head, state, f"{lead}head")


@register_layer(RANConvNet)
def _images(module: RANConvNet, state: State, name: str) -> State:
    raise TypeError(
        "RANConvNet cannot be certified on a box: it has an interval for each pixel, and slopes of "
        "every channel at every pixel would be matrices of channels * pixels squared; certify its "
        "head, a RAN, on a box of the last channels, or box=None for the denominators"
    )


def _message_norm(before: State, sent: Applied, block: Any, name: str) -> tuple[float, float]:
    """Return the Lipschitz constants of messages as functions of the state before the block."""
    norm = walk(block.norm, before, name).layers[-1].lipschitz
    n = len(before.box.low)
    sharp, coarse = (
        spectral(pair_matrix(block.pair, steep, n)) * norm
        for steep in (sent.steepest, sent.theorem[:, None])
    )
    return sharp, coarse
