"""How bounds pass through each kind of module; `register_layer` adds further kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from .._core.types import Array
from ..networks import (
    MLP,
    RAN,
    RANFFN,
    DeepRAN,
    GatedRationalBlock,
    MessageBlock,
    RANConvNet,
    RANFFNPlus,
)
from ..proofs import Interval, down, matmul, point, up
from ..units import Rational1d, Rational2d
from ._curves import BASE
from ._layer_bounds import (
    Applied,
    Layer,
    LayerBounds,
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

Step = Callable[[Any, LayerBounds, str], LayerBounds]
_STEPS: dict[type, Step] = {}
_START = {"reset_parameters", "extra_repr"}  # what a class may have of its own


def register_layer(*kinds: type) -> Callable[[Step], Step]:
    """Register how bounds pass through modules of some classes.

    The function takes the module, the `LayerBounds` before it and its name, and returns those
    behind it, by `grown` with new `box` and `jacobian` and a `Layer` with its Lipschitz constant.
    """

    def keep(step: Step) -> Step:
        _STEPS.update(dict.fromkeys(kinds, step))
        return step

    return keep


def walk(module: Any, state: LayerBounds, name: str) -> LayerBounds:
    """Pass bounds through a module."""
    kind = _known(module)
    if kind is not None:
        return _checked(_STEPS[kind](module, state, name), state, module)
    known = ", ".join(sorted(kind.__name__ for kind in _STEPS))
    raise TypeError(
        f"cannot certify {type(module).__name__} (at {name!r}); known are {known}; teach it with "
        "register_layer, or give the object a method certificate_bounds(box)"
    )


def _known(module: Any) -> type | None:
    """Return the class of a module, or the nearest above it, that has a step."""
    return next((kind for kind in type(module).__mro__ if kind in _STEPS), None)


def check_plain(model: nn.Module) -> None:
    """Raise if a module computes something else than the class does that its step is for."""
    for name, module in model.named_modules():
        kind = _known(module)
        if kind is None:
            continue  # if it is needed, the walk says so
        where = f"{type(module).__name__} at {name!r}" if name else type(module).__name__
        if module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module):
            raise ValueError(
                f"{where} has hooks or a forward of its own, which may change what it computes, so "
                "nothing is certified; remove them first"
            )
        changed = _overrides(type(module), kind)
        if changed:
            raise TypeError(
                f"{where} is a {kind.__name__} with another {', '.join(changed)}, so what is known "
                f"about {kind.__name__} need not hold; teach it with register_layer"
            )


def _overrides(own: type, kind: type) -> list[str]:
    """Return the methods in which a class differs from one above it, other than at its start."""
    between = own.__mro__[: own.__mro__.index(kind)]
    found = {name for each in between for name in vars(each) if hasattr(kind, name)}
    return sorted(n for n in found - _START if not n.startswith("__") or n == "__call__")


def _checked(behind: LayerBounds, before: LayerBounds, module: Any) -> LayerBounds:
    """Refuse a step that changes slopes and adds no factor: the product would not be a bound."""
    if behind.jacobian is not before.jacobian and len(behind.layers) == len(before.layers):
        raise ValueError(
            f"the step of {type(module).__name__} changed the Jacobian without a factor of the "
            "product bound; give grown(...) a Layer(name, lipschitz, theorem)"
        )
    return behind


@register_layer(nn.Sequential)
def _sequential(module: nn.Sequential, state: LayerBounds, name: str) -> LayerBounds:
    for key, child in module.named_children():
        state = walk(child, state, f"{name}.{key}" if name else key)
    return state


@register_layer(MLP)
def _mlp(module: MLP, state: LayerBounds, name: str) -> LayerBounds:
    return walk(module.layers, state, f"{name}.layers" if name else "layers")


@register_layer(nn.Identity, nn.Dropout)
def _identity(module: nn.Module, state: LayerBounds, name: str) -> LayerBounds:
    return state  # dropout is what it is in evaluation: nothing


@register_layer(nn.Linear)
def _linear(module: nn.Linear, state: LayerBounds, name: str) -> LayerBounds:
    weight = array(module.weight)
    size = spectral(weight)
    return state.grown(
        Layer(name or "linear", size, size),
        box=affine(state.box, weight, None if module.bias is None else array(module.bias)),
        jacobian=matmul(point(weight), state.jacobian),
    )


@register_layer(nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh)
def _activation(module: nn.Module, state: LayerBounds, name: str) -> LayerBounds:
    kind = type(module).__name__.lower()
    exact = getattr(module, "approximate", "none") == "none"
    value, slope, _ = BASE[kind if exact else "gelu_tanh"]
    steep = slope(state.box)
    most = float(steep.most.max())
    jacobian = scaled(state.jacobian, steep)
    return state.grown(Layer(name, most, most), box=value(state.box), jacobian=jacobian)


@register_layer(nn.LayerNorm)
def _layer_norm(module: nn.LayerNorm, state: LayerBounds, name: str) -> LayerBounds:
    n, box = len(state.box.low), state.box
    middle = matmul(point(np.eye(n) - 1 / n), Interval(box.low[:, None], box.high[:, None]))[:, 0]
    middle = middle.widened(4 * 2.0**-52 * box.most.max())
    slack = 1 + (4 * n + 32) * 2.0**-52
    low = (middle.least**2).mean() / slack + module.eps
    high = (middle.most**2).mean()
    scale = Interval(down(1 / np.sqrt(high * slack + module.eps) / slack), up(slack / np.sqrt(low)))
    limit = np.sqrt(max(n - 1, 0)) * slack  # |z| <= sqrt(n - 1) whatever the input
    z = (middle * scale).meet(Interval(np.full(n, -limit), np.full(n, limit)))
    weight = np.ones(n) if module.weight is None else array(module.weight)
    bias = np.zeros(n) if module.bias is None else array(module.bias)
    # dz = scale (I - 1/n - z z'/n), whose norm is at most scale
    centred = matmul(point(np.eye(n) - 1 / n), state.jacobian).widened(
        8 * 2.0**-52 * state.jacobian.most.max(initial=0.0)
    )
    along = matmul(Interval(z.low[None], z.high[None]), state.jacobian).over(point(float(n)))
    outer = Interval(z.low[:, None], z.high[:, None]) * along
    jacobian = ((centred - outer) * scale).times(weight[:, None])
    size = float(np.abs(weight).max(initial=0.0) * scale.high * (1 + 1e-12))
    box = z.times(weight) + point(bias)
    return state.grown(Layer(name, size, size), box=box, jacobian=jacobian)


def after(state: LayerBounds, layer: Layer, *parts: Applied) -> LayerBounds:
    """Return the state whose results are those of some units, side by side."""
    return state.grown(
        layer,
        box=joined(*(part.value for part in parts)),
        jacobian=joined(*(part.jacobian for part in parts)),
        units=(*state.units, *(record for part in parts for record in part.records)),
    )


@register_layer(Rational1d)
def _unit_1d(module: Rational1d, state: LayerBounds, name: str) -> LayerBounds:
    done = apply_1d(module, state, name or "unit")
    layer = Layer(name or "unit", float(done.steepest.max()), float(done.theorem.max()))
    return after(state, layer, done)


@register_layer(Rational2d)
def _unit_2d(module: Rational2d, state: LayerBounds, name: str) -> LayerBounds:
    done = apply_2d(module, state, name or "pair")
    layer = terms_layer(name or "pair", [(module, done, None)], len(state.box.low))
    return after(state, layer, done)


def terms_layer(name: str, parts: list[tuple[Any, Applied, Any]], features: int) -> Layer:
    """Return the norm of all slopes of some terms over `features` inputs."""
    sharp: list[Array] = []
    coarse: list[Array] = []
    for module, done, columns in parts:
        for rows, steep in ((sharp, done.steepest), (coarse, done.theorem[:, None])):
            if isinstance(module, Rational2d):
                rows.append(pair_matrix(module, steep, features))
            else:
                matrix = np.zeros((len(steep), features))
                matrix[np.arange(len(steep)), columns] = steep[:, 0]
                rows.append(matrix)
    return Layer(name, spectral(np.concatenate(sharp)), spectral(np.concatenate(coarse)))


@register_layer(RAN)
def _ran(module: RAN, state: LayerBounds, name: str) -> LayerBounds:
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
def _feed_forward(module: Any, state: LayerBounds, name: str) -> LayerBounds:
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
def _gated(module: GatedRationalBlock, state: LayerBounds, name: str) -> LayerBounds:
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
def _message_block(module: MessageBlock, state: LayerBounds, name: str) -> LayerBounds:
    return _messages(module, state, name)[0]


def _messages(
    module: MessageBlock, state: LayerBounds, name: str
) -> tuple[LayerBounds, Applied | None]:
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
def _deep(module: DeepRAN, state: LayerBounds, name: str) -> LayerBounds:
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
def _images(module: RANConvNet, state: LayerBounds, name: str) -> LayerBounds:
    raise TypeError(
        "RANConvNet cannot be certified on a box: it has an interval for each pixel, and slopes of "
        "every channel at every pixel would be matrices of channels * pixels squared; certify its "
        "head, a RAN, on a box of the last channels, or box=None for the denominators"
    )


def _message_norm(before: LayerBounds, sent: Applied, block: Any, name: str) -> tuple[float, float]:
    """Return the Lipschitz constants of messages as functions of the state before the block."""
    norm = walk(block.norm, before, name).layers[-1].lipschitz
    n = len(before.box.low)
    sharp, coarse = (
        spectral(pair_matrix(block.pair, steep, n)) * norm
        for steep in (sent.steepest, sent.theorem[:, None])
    )
    return sharp, coarse
