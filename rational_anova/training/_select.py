"""Ways to choose the pairs of a RAN from data, by name; all look at training rows alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .._core.callbacks import Callback
from .._core.saveable import remembered
from ..networks import MLP, RAN
from ..topology import Topology, max_pairs, resolve_size
from ._fit import run
from ._losses import Loss
from ._settings import Settings
from ._terms import alive
from .data import Rows
from .optimizers import Penalty

# Pairs that `learned` and `top-k` train at once; of more, the best by `residual` are taken.
_CANDIDATES = 500
_STEPS = 400  # of Adam for each fit on the way
_SHARES = (0.01, 0.03, 0.1, 0.2, 0.4, 0.8)  # of the penalty under which no pair would ever come
_PROBE = (64, 64)
_PROBE_STEPS = 1000
_BATCH = 256
_TAIL = 5.0  # standard deviations


class Choice(NamedTuple):
    """What pairs are chosen from, and how many.

    Attributes:
        model: whose pairs.
        train: the rows.
        loss: of the fits on the way.
        size: how many, a number or a rule.
        seed: of all training.
        callbacks: of the fits on the way.
    """

    model: RAN
    train: Rows
    loss: Loss
    size: int | str
    seed: int
    callbacks: tuple[Callback, ...]

    @property
    def data(self) -> tuple[Tensor, ...]:
        """The rows, as `fit` takes them."""
        return tuple(part for part in self.train.batch if part is not None)

    def settings(self, steps: int, stage: str) -> Settings:
        """Return the settings of a fit on the way."""
        batch = min(_BATCH, len(self.train))
        return Settings(
            loss=self.loss,
            optimizer="adam",
            epochs=max(1, round(steps * batch / len(self.train))),
            batch_size=batch,
            learning_rate=1e-2,
            schedule="cosine",
            clip=1.0,
            seed=self.seed,
            split_seed=self.seed,
            callbacks=self.callbacks,
            label=f", {stage}",
        )


def choose_pairs(choice: Choice, method: str) -> Topology:
    """Return the model's main terms with pairs chosen by a method; see `select_topology`."""
    model, train = choice.model, choice.train
    if train.batch.weight is not None:
        train = Rows(*train.take(train.batch.weight > 0))
    plain = method in ("random", "correlation", "residual")
    rows = train if plain else _standard(train, choice.loss)
    chosen = METHODS[method](choice._replace(train=rows))
    return Topology(model.in_features, chosen.pairs, model.topology.mains)


def _table(choice: Choice) -> tuple[Tensor, Tensor]:
    """Return X and the targets as numbers: classes become indicators."""
    x, y, _ = choice.train.batch
    if choice.loss.classes == "exclusive":
        y = torch.nn.functional.one_hot(y, choice.model.out_features)
    return x, y.double()


def _standard(train: Rows, loss: Loss) -> Rows:
    """Return rows of order one, heavy tails cut, so that one learning rate suits all data."""

    def scaled(values: Tensor) -> Tensor:
        spread = values.std(0)
        return (values - values.mean(0)) / torch.where(spread > 0, spread, torch.ones_like(spread))

    x, y, weight = train.batch
    return Rows(scaled(x).clamp(-_TAIL, _TAIL), y if loss.classes else scaled(y), weight)


def _random(choice: Choice) -> Topology:
    return Topology.random(choice.model.in_features, choice.size, choice.seed)


def _correlation(choice: Choice) -> Topology:
    x, y = _table(choice)
    return Topology.correlation(x, y.squeeze(1) if y.shape[1] == 1 else None, choice.size)


def _residual(choice: Choice) -> Topology:
    x, y = _table(choice)
    return Topology.residual(x, y, choice.size, weight=choice.train.batch.weight)


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


def _gradient(choice: Choice) -> Topology:
    """Fit a smooth network, and take the pairs on which its mixed second derivatives are large.

    Main effects, which have none, are fitted first: a probe that must learn them too has large
    derivatives everywhere.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(choice.seed)
        probe = _Probe(_main_effects(choice))
    settings = replace(
        choice.settings(_PROBE_STEPS, "smooth network"),
        optimizer="adamw",
        learning_rate=3e-3,
        weight_decay=0.1,
    )
    run(probe, choice.data, None, settings)
    return Topology.gradient(probe, choice.train.batch.x, choice.size)


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


def _main_effects(choice: Choice) -> RAN:
    """Return the model with main effects alone, fitted."""
    model = choice.model
    mains = _silent(model, Topology(model.in_features, mains=_mains(model)))
    run(mains, choice.data, None, choice.settings(_STEPS, "main effects"))
    return mains


def _candidates(choice: Choice) -> Topology:
    """Return main effects with all pairs, or with many."""
    d = choice.model.in_features
    most = max(_CANDIDATES, 2 * resolve_size(choice.size, d))
    if max_pairs(d) <= most:
        pairs = Topology.all(d).pairs
    else:
        pairs = _residual(choice._replace(size=most)).pairs
    return Topology(d, pairs, _mains(choice.model))


def _top(choice: Choice) -> Topology:
    """Train many pairs without a penalty, and keep those that contribute most."""
    candidates = _candidates(choice)
    wide = _main_effects(choice).rewire(candidates)
    run(wide, choice.data, None, choice.settings(_STEPS, "many pairs"))
    return _strongest(wide, choice.train, resolve_size(choice.size, choice.model.in_features))


def _learned(choice: Choice) -> Topology:
    """Train many pairs under a rising group lasso on them, until no more than wanted survive."""
    model, train = choice.model, choice.train
    wanted = resolve_size(choice.size, model.in_features)
    candidates = _candidates(choice)
    wide = _main_effects(choice).rewire(candidates)
    most = (
        Penalty(wide, 1.0, "pairs").largest(train, choice.loss, model.out_features)
        if candidates.num_pairs
        else 0.0
    )
    best = copy.deepcopy(wide)
    for share in _SHARES:
        settings = choice.settings(_STEPS // 2, f"many pairs, penalty {share * most:.3g}")
        run(wide, choice.data, None, replace(settings, penalty=share * most, penalized="pairs"))
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


METHODS: dict[str, Callable[[Choice], Topology]] = {
    "random": _random,
    "correlation": _correlation,
    "residual": _residual,
    "gradient": _gradient,
    "learned": _learned,
    "top-k": _top,
}
