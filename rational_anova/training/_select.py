"""Ways to choose the pairs of a RAN from data, by name; all look at training rows alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .._core.saveable import remembered
from ..networks import MLP, RAN
from ..topology import Topology, max_pairs, resolve_size
from ._data import Rows
from ._fit import Settings, run
from ._losses import Loss
from ._terms import alive
from .optimizers import Penalty

# Pairs that `learned` and `top-k` train at once; of more, the best by `residual` are taken.
_CANDIDATES = 500
_STEPS = 400  # of Adam for each fit on the way
_SHARES = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8)  # of the penalty under which no pair would ever come
_PROBE = (64, 64)
_PROBE_STEPS = 1000
_BATCH = 256
_TAIL = 5.0  # standard deviations


def choose_pairs(
    model: RAN, train: Rows, loss: Loss, method: str, size: int | str, seed: int
) -> Topology:
    """Return the model's main terms with pairs chosen by a method; see `select_topology`."""
    weight = train.batch.weight
    if weight is not None:
        train = Rows(*train.take(weight > 0))
    rows = train if method in ("random", "correlation", "residual") else _standard(train, loss)
    chosen = METHODS[method](model, rows, loss, size, seed)
    return Topology(model.in_features, chosen.pairs, model.topology.mains)


def _table(train: Rows, loss: Loss, outputs: int) -> tuple[Tensor, Tensor]:
    """Return X and the targets as numbers: classes become indicators."""
    x, y, _ = train.batch
    if loss.classes == "exclusive":
        y = torch.nn.functional.one_hot(y, outputs)
    return x, y.double()


def _standard(train: Rows, loss: Loss) -> Rows:
    """Return rows of order one, heavy tails cut, so that one learning rate suits all data."""

    def scaled(values: Tensor) -> Tensor:
        spread = values.std(0)
        return (values - values.mean(0)) / torch.where(spread > 0, spread, torch.ones_like(spread))

    x, y, weight = train.batch
    return Rows(scaled(x).clamp(-_TAIL, _TAIL), y if loss.classes else scaled(y), weight)


def _random(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    return Topology.random(model.in_features, size, seed)


def _correlation(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    x, y = _table(train, loss, model.out_features)
    return Topology.correlation(x, y.squeeze(1) if y.shape[1] == 1 else None, size)


def _residual(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    x, y = _table(train, loss, model.out_features)
    return Topology.residual(x, y, size, weight=train.batch.weight)


class _Probe(nn.Module):
    """Fitted main effects, and a smooth network on what they leave over."""

    def __init__(self, mains: RAN) -> None:
        super().__init__()
        self.mains = mains.requires_grad_(False)
        like = next(mains.parameters())
        self.rest = MLP(mains.in_features, mains.out_features, _PROBE, "silu").to(like)
        with torch.no_grad():
            last = self.rest.layers[-1]
            last.weight.zero_()  # type: ignore[operator]
            last.bias.zero_()  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.mains(x) + self.rest(x)
        return result


def _gradient(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Fit a smooth network, and take the pairs on which its mixed second derivatives are large.

    Main effects, which have none, are fitted first: a probe that must learn them too has large
    derivatives everywhere.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = _Probe(_main_effects(model, train, loss, seed))
    settings = replace(
        _settings(train, loss, seed, _PROBE_STEPS),
        optimizer="adamw",
        learning_rate=3e-3,
        weight_decay=0.1,
    )
    run(probe, _parts(train), None, settings)
    return Topology.gradient(probe, train.batch.x, size)


def _parts(train: Rows) -> tuple[Tensor, ...]:
    return tuple(part for part in train.batch if part is not None)


def _mains(model: RAN) -> Any:
    return model.topology.mains or range(model.in_features)


def _silent(model: RAN, topology: Topology) -> RAN:
    """Return a network of the model's kind that starts at zero.

    One with base identity starts as the sum of its inputs, far from a target of order one if there
    are hundreds of them.
    """
    like = next(model.parameters())
    options = {"base": "zero", "topology": topology, "device": like.device, "dtype": like.dtype}
    return RAN(**{**remembered(model), **options})


def _main_effects(model: RAN, train: Rows, loss: Loss, seed: int) -> RAN:
    """Return the model with main effects alone, fitted."""
    mains = _silent(model, Topology(model.in_features, mains=_mains(model)))
    run(mains, _parts(train), None, _settings(train, loss, seed, _STEPS))
    return mains


def _candidates(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Return main effects with all pairs, or with many."""
    d = model.in_features
    most = max(_CANDIDATES, 2 * resolve_size(size, d))
    if max_pairs(d) <= most:
        pairs = Topology.all(d).pairs
    else:
        pairs = _residual(model, train, loss, most, seed).pairs
    return Topology(d, pairs, _mains(model))


def _settings(train: Rows, loss: Loss, seed: int, steps: int) -> Settings:
    batch = min(_BATCH, len(train))
    return Settings(
        loss=loss,
        optimizer="adam",
        epochs=max(1, round(steps * batch / len(train))),
        batch_size=batch,
        learning_rate=1e-2,
        schedule="cosine",
        clip=1.0,
        seed=seed,
        split_seed=seed,
    )


def _top(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Train many pairs without a penalty, and keep those that contribute most."""
    candidates = _candidates(model, train, loss, size, seed)
    wide = _main_effects(model, train, loss, seed).rewire(candidates)
    run(wide, _parts(train), None, _settings(train, loss, seed, _STEPS))
    return _strongest(wide, train, resolve_size(size, model.in_features))


def _learned(model: RAN, train: Rows, loss: Loss, size: int | str, seed: int) -> Topology:
    """Train many pairs under a rising group lasso on them, until no more than wanted survive."""
    wanted = resolve_size(size, model.in_features)
    candidates = _candidates(model, train, loss, size, seed)
    wide = _main_effects(model, train, loss, seed).rewire(candidates)
    most = (
        Penalty(wide, 1.0, "pairs").largest(train, loss, model.out_features)
        if candidates.num_pairs
        else 0.0
    )
    settings = _settings(train, loss, seed, _STEPS // 2)
    best = copy.deepcopy(wide)
    for share in _SHARES:
        run(wide, _parts(train), None, replace(settings, penalty=share * most, penalized="pairs"))
        left = int(alive(wide)["pair"].sum()) if wide.pair is not None else 0
        if left >= wanted or share == _SHARES[0]:
            best = copy.deepcopy(wide)
        if left <= wanted:
            break
    return _strongest(best, train, wanted)


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
