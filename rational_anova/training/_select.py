"""Ways to choose the pairs of a RAN from data, by name; all look at training rows alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..networks import MLP, RAN
from ..topology import Topology, max_pairs, resolve_size
from ._data import Rows
from ._fit import Settings, run
from ._losses import Loss
from ._terms import alive

# Pairs that `learned` and `top-k` train at once; of more, the best by `residual` are taken.
_CANDIDATES = 500
_STEPS = 400  # of Adam for each fit on the way
_PENALTIES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)  # times the spread of the slopes
_PROBE = (64, 64)
_PROBE_STEPS = 1500
_BATCH = 256


def choose_pairs(
    model: RAN, train: Rows, loss: Loss, method: str, size: int | str, seed: int
) -> Topology:
    """Return the model's main terms with pairs chosen by a method; see `select_topology`."""
    chosen = METHODS[method](model, train, loss, size, seed)
    return Topology(model.in_features, chosen.pairs, model.topology.mains)


def _table(train: Rows, loss: Loss, outputs: int) -> tuple[Tensor, Tensor]:
    """Return X and the targets as numbers: classes become indicators."""
    x, y, _ = train.batch
    if loss.classes == "exclusive":
        y = torch.nn.functional.one_hot(y, outputs)
    return x, y.double()


def _random(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    return Topology.random(model.in_features, size, seed)


def _correlation(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    x, y = _table(train, loss, model.out_features)
    return Topology.correlation(x, y.squeeze(1) if y.shape[1] == 1 else None, size)


def _residual(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    x, y = _table(train, loss, model.out_features)
    return Topology.residual(x, y, size, weight=train.batch.weight)


def _gradient(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Fit a smooth network, and take the pairs on which its mixed second derivatives are large."""
    x, y, weight = train.batch
    middle, scale = x.mean(0), x.std(0)
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    inputs = ((x - middle) / scale).float()
    target = y
    if loss.classes is None:
        target = ((y - y.mean(0)) / y.std(0).clamp(min=torch.finfo(y.dtype).tiny)).float()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = MLP(model.in_features, model.out_features, _PROBE, "silu").to(x.device)
    data = (inputs, target.float() if loss.classes == "binary" else target)
    settings = Settings(
        loss=loss,
        optimizer="adamw",
        epochs=_epochs(len(x), _PROBE_STEPS),
        batch_size=min(_BATCH, len(x)),
        learning_rate=3e-3,
        weight_decay=1e-1,
        schedule="cosine",
        seed=seed,
    )
    run(probe, data if weight is None else (*data, weight.float()), None, settings)
    return Topology.gradient(probe, inputs, size)


def _candidates(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> RAN:
    """Return a copy of the model that has all pairs, or many."""
    d = model.in_features
    most = max(_CANDIDATES, 2 * resolve_size(size, d))
    if max_pairs(d) <= most:
        pairs = Topology.all(d).pairs
    else:
        pairs = _residual(model, train, loss, most, seed).pairs
    return copy.deepcopy(model).rewire(Topology(d, pairs, model.topology.mains))


def _settings(train: Rows, loss: Loss, seed: int) -> Settings:
    return Settings(
        loss=loss,
        optimizer="adam",
        epochs=_epochs(len(train), _STEPS),
        batch_size=min(_BATCH, len(train)),
        learning_rate=1e-2,
        schedule="cosine",
        clip=1.0,
        seed=seed,
    )


def _epochs(rows: int, steps: int) -> int:
    return max(1, round(steps * min(_BATCH, rows) / rows))


def _top(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Train many pairs without a penalty, and keep those that contribute most."""
    wide = _candidates(model, train, loss, size, seed)
    run(wide, tuple(part for part in train.batch if part is not None), None,
        _settings(train, loss, seed))  # fmt: skip
    return _strongest(wide, train, resolve_size(size, model.in_features))


def _learned(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Train many pairs under a rising group lasso, until no more than wanted survive."""
    wanted = resolve_size(size, model.in_features)
    wide = _candidates(model, train, loss, size, seed)
    settings = _settings(train, loss, seed)
    data = tuple(part for part in train.batch if part is not None)
    unit = _unit(train, loss)
    best = wide
    for strength in _PENALTIES:
        run(wide, data, None, replace(settings, penalty=strength * unit))
        left = int(alive(wide).get("pair", torch.zeros(1)).sum())
        if left >= wanted:
            best = copy.deepcopy(wide)
        if left <= wanted:
            break
    return _strongest(best, train, wanted)


def _unit(train: Rows, loss: Loss) -> float:
    """Return the scale of a penalty: the size of the loss's slopes at the start."""
    if loss.classes:
        return 1.0
    return float(train.batch.y.double().std())


@torch.no_grad()
def _strongest(model: RAN, train: Rows, count: int) -> Topology:
    """Return the pairs whose contribution to the output varies most over the rows."""
    if model.pair is None or not count:
        return Topology.none(model.in_features)
    x = train.batch.x[:4096].to(next(model.parameters()))
    strength = model.pair(x).std(0)
    if model.head is not None:
        strength = strength * model.head.weight[:, -model.pair.units :].norm(dim=0)
    order = torch.argsort(strength, descending=True, stable=True)[:count]
    kept = [int(n) for n in order if strength[n] > 0]
    return Topology(model.in_features, [model.topology.pairs[n] for n in sorted(kept)])


Method = Callable[[Any, Rows, Loss, int | str, int], Topology]
METHODS: dict[str, Method] = {
    "random": _random,
    "correlation": _correlation,
    "residual": _residual,
    "gradient": _gradient,
    "learned": _learned,
    "top-k": _top,
}
