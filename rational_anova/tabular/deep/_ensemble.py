"""The deep part of a model: networks whose decisions are mixed with the shallow one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from scipy.special import expit, softmax

from ..._core.types import Array
from .._fitting import Mixture, fit_mixture
from ..fit import LEAST_WEIGHT, Logistic, Loss, Problem, Softmax, Squared
from ..model import Additive, Feature, Rows, folds
from ._inputs import Inputs
from ._network import LOSSES, Data, Network, train

MEASURES: dict[str, Callable[[int], Loss]] = {
    "squared": Squared,
    "logistic": lambda outputs: Logistic(),
    "softmax": Softmax,
}
WEIGHTS = np.linspace(0, 1, 21)
TEMPERS = np.linspace(0.6, 1, 9)  # factors of log odds; networks are too sure of themselves
# Before the rows speak: rather the networks, and log odds as they are.
USUAL_WEIGHT, WEIGHT_SPREAD, TEMPER_SPREAD = 0.7, 0.2, 0.15
MOST_AVERAGING = 0.15  # of a network's loss that averaging is believed to take away
LEAST = 0.05  # a mixture must be worth this many units of log likelihood, or the networks go


@dataclass(frozen=True)
class Blend:
    """temper * ((1 - weight) * shallow + weight * deep)."""

    weight: float
    temper: float

    def mixed(self, shallow: Array, deep: Array) -> Array:
        """Return the mixture of two decisions."""
        return np.asarray(self.temper * ((1 - self.weight) * shallow + self.weight * deep))


def choose(
    loss: str, y: Array, weight: Array, shallow: Array, deep: Array, averaging: float = 0.0
) -> Blend:
    """Return the likeliest mixture at rows that neither of the two was fitted to.

    Args:
        loss: `squared`, `logistic` or `softmax`.
        y: targets, (rows, outputs).
        weight: of the rows.
        shallow: decisions, (rows, outputs).
        deep: decisions of one network, (rows, outputs).
        averaging: by how much the mean of all networks lowers the mean loss (squared errors, or
            the deviance) against one of them.
    """
    measure, rows = MEASURES[loss](y.shape[1]), float(weight.sum())
    averaging = min(averaging, MOST_AVERAGING * measure.mean(y, deep, weight))

    def cost(blend: Blend) -> float:
        """Return minus the log likelihood, up to a constant, for a noise that fits."""
        mean = measure.mean(y, blend.mixed(shallow, deep), weight)
        mean -= (blend.weight * blend.temper) ** 2 * averaging
        return rows / 2 * (float(np.log(max(mean, 1e-300))) if loss == "squared" else mean)

    def prior(blend: Blend) -> float:
        far = ((blend.weight - USUAL_WEIGHT) / WEIGHT_SPREAD) ** 2
        return (far + (np.log(blend.temper) / TEMPER_SPREAD) ** 2) / 2

    tempers = [1.0] if loss == "squared" else TEMPERS
    every = [Blend(float(w), float(t)) for w in WEIGHTS for t in tempers]
    costs = [cost(blend) for blend in every]
    best = int(np.argmin([c + prior(b) for c, b in zip(costs, every, strict=True)]))
    alone = Blend(0.0, 1.0)
    return every[best] if costs[best] + LEAST < cost(alone) else alone


def variance(loss: str, one: Array, other: Array, weight: Array) -> float:
    """Return what a network's variance adds to the mean loss, from two that differ by chance."""
    square = (one - other) ** 2 / 2
    if loss == "logistic":
        p = expit((one + other) / 2)
        square *= p * (1 - p)
    elif loss == "softmax":
        p = softmax((one + other) / 2, axis=1)
        mean = (p * (one - other)).sum(1, keepdims=True)
        square = p * (one - other - mean) ** 2 / 2
    return float(np.average(square.sum(1), weights=weight))


@dataclass(frozen=True)
class Deep:
    """What is added to the shallow decision.

    Args:
        inputs: from rows to the inputs of the networks.
        networks: their mean counts.
        middle: of the targets, (outputs,); what the networks give is in units of `scale` from it.
        scale: of the targets.
        blend: how much of the networks there is.
        share_: of the variance of the whole decision, the part that the effects explain.
        held_: decisions at the training rows, by networks that did not see the row; not saved.
    """

    inputs: Inputs | None
    networks: list[Network]
    middle: Array
    scale: float
    blend: Blend
    share_: float = 1.0
    held_: Array | None = field(default=None, compare=False, repr=False)

    @property
    def weight_(self) -> float:
        """The networks' share of the mixture, from 0 (there is no deep part) to 1."""
        return self.blend.weight

    def decision(self, rows: Rows, shallow: Array) -> Array:
        """Return what is to be added to the shallow decision, both (rows, outputs)."""
        if self.inputs is None or not self.networks:
            return np.zeros_like(shallow)
        result = np.empty_like(shallow)
        for piece, some in rows.chunks():
            x = self.inputs.at(some, shallow[piece])
            result[piece] = np.mean([self.of(network, x) for network in self.networks], 0)
        return self.blend.mixed(shallow, result) - shallow

    def of(self, network: Network, x: torch.Tensor) -> Array:
        """Return the decisions of one network for its inputs."""
        with torch.no_grad():
            return np.asarray(self.middle + self.scale * network(x).double().numpy())

    def to_arrays(self) -> dict[str, Array]:
        """Return all that `from_arrays` needs, as arrays by name."""
        result = {
            "middle": self.middle,
            "numbers": np.array([self.scale, self.blend.weight, self.blend.temper, self.share_]),
        }
        if self.inputs is not None:
            result |= {f"inputs.{k}": v for k, v in self.inputs.to_arrays().items()}
        for k, network in enumerate(self.networks):
            state = network.state_dict()
            result |= {f"network.{k}.{name}": t.numpy() for name, t in state.items()}
        return result

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Deep:
        """Return the deep part that `to_arrays` described."""
        scale, weight, temper, share = (float(v) for v in arrays["numbers"])
        inputs = _under("inputs.", arrays)
        networks: list[Network] = []
        while state := _under(f"network.{len(networks)}.", arrays):
            tensors = {name: torch.tensor(a) for name, a in state.items()}
            outputs, width = tensors["head.weight"].shape
            blocks = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
            with torch.random.fork_rng(devices=[]):  # its start is drawn, and of no use
                network = Network(tensors["embed.weight"].shape[1], outputs, width, blocks)
            network.load_state_dict(tensors)
            networks.append(network.eval().requires_grad_(False))
        return cls(
            Inputs.from_arrays(inputs) if inputs else None,
            networks,
            arrays["middle"],
            scale,
            Blend(weight, temper),
            share,
        )


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}


# From the rows to use (booleans) to the decisions, at all rows, of effects fitted to those alone.
Refit = Callable[[Array], Array]
Report = Callable[[str], bool | None]

FOLDS = 5
LEAST_ROWS = 100  # below which there is no deep part
REFIT_ROWS = 5000  # rows times refits, about; one refit at least


def fit_deep(
    features: list[Feature],
    rows: Rows,
    y: Array,
    weight: Array,
    offset: Array,
    loss: str,
    seed: int,
    refit: Refit | None = None,
    report: Report | None = None,
) -> Deep:
    """Return the deep part for targets and shallow decisions, both (rows, outputs).

    Args:
        features: the inputs.
        rows: of training, with `target_encoded` if there is any.
        y: targets on the scale of the decisions; indicators for classes.
        weight: of the rows, positive.
        offset: shallow decisions without each row's own pull, see
            `_deep_stage.left_out`.
        loss: `squared`, `logistic` or `softmax`.
        seed: of folds and networks.
        refit: fits the effects again to some of the rows; without it `offset` must do to compare.
        report: called with the name of each stage; if it returns True there is no deep part.
    """
    say = report or (lambda stage: False)
    squared = loss == "squared"
    middle = np.average(y, axis=0, weights=weight) if squared else np.zeros(y.shape[1])
    scale = float(np.sqrt(weight @ (y - middle) ** 2 / weight.sum())[0]) if squared else 1.0
    nothing = Deep(None, [], middle, scale or 1.0, Blend(0.0, 1.0))
    fold = folds(rows.values, FOLDS, seed)
    if len(rows) < LEAST_ROWS or len(np.unique(fold)) < FOLDS or not scale:
        return nothing
    inputs = Inputs.of(features, rows, weight, offset)
    x = inputs.at(rows, offset)
    target, weights = (torch.tensor(v, dtype=torch.float32) for v in ((y - middle) / scale, weight))
    data = Data(x, target, weights, LOSSES[loss])
    deep = replace(nothing, inputs=inputs, networks=[], blend=Blend(1.0, 1.0))
    count = min(max(round(REFIT_ROWS / len(rows)), 1), FOLDS)
    again = [k for k in range(count if refit else 0) if squared or _every_class(y[fold != k])]
    shallow, own = offset.copy(), np.empty_like(offset)
    for k in range(FOLDS):
        if say(f"network {k + 1} of {FOLDS + 1}"):
            return nothing
        held = fold == k
        deep.networks.append(train(data, torch.tensor(held), seed + k))
        seen = x[torch.tensor(held)]
        if refit and k in again:
            # Effects that saw a row look better at it than they are; so would the networks.
            shallow[held] = refit(~held)[held]
            seen = inputs.at(rows[held], shallow[held])
        own[held] = deep.of(deep.networks[-1], seen)
    # One more for the last part: two that differ by chance say what the mean of all will gain.
    if say(f"network {FOLDS + 1} of {FOLDS + 1}"):
        return nothing
    deep.networks.append(train(data, torch.tensor(held), seed + FOLDS))
    spare = variance(loss, own[held], deep.of(deep.networks[-1], seen), weight[held])
    used = np.isin(fold, again or range(FOLDS))
    averaging = spare * FOLDS / (FOLDS + 1)
    blend = choose(loss, y[used], weight[used], shallow[used], own[used], averaging)
    say(f"networks' weight {blend.weight:.2f}")
    if not blend.weight:
        return nothing
    deep = replace(deep, blend=blend, held_=blend.mixed(shallow, own))
    total = offset + deep.decision(rows, offset)
    return replace(deep, share_=share(offset, total, weight))


def share(shallow: Array, total: Array, weight: Array) -> float:
    """Return how much of the variance of the whole decision the effects explain, from 0 to 1.

    It is what a multiple of the shallow decision explains: Cov(shallow, total)^2 / (Var Var).
    """
    a, b = (f - np.average(f, axis=0, weights=weight) for f in (shallow, total))
    own, whole, common = (float(weight @ (p * q).sum(1)) for p, q in ((a, a), (b, b), (a, b)))
    return common**2 / (own * whole) if own * whole else float(not whole)


def _every_class(y: Array) -> bool:
    """Return whether all classes are there, of an indicator (two classes) or one for each."""
    return bool(y.any(0).all() and not y.all(0).any())


NAMES = {Squared: "squared", Logistic: "logistic", Softmax: "softmax"}
MOST_PULL = 0.9  # of a row on its own decision
MOST_STEP = 2.0  # of log odds


def deepen(
    model: Additive, problem: Problem, mixture: Mixture, seed: int,
    scale: float = 1.0, shift: float = 0.0,
) -> Deep:  # fmt: skip
    """Return the deep part for a shallow model of a problem.

    Args:
        model: the shallow model.
        problem: to which it was fitted.
        mixture: with which it was fitted.
        seed: of the fit.
        scale: as in `fit_mixture`.
        shift: as in `fit_mixture`.
    """
    loss = NAMES[type(problem.loss)]
    y = shift + scale * problem.y
    quiet = [(share, replace(options, report=None)) for share, options in mixture]

    def refit(keep: Array) -> Array:
        some = fit_mixture(quiet, model.features, problem.part(keep), seed, scale, shift)
        return some.decision(problem.rows)

    offset = left_out(model, problem.rows, y, problem.weight, loss)
    return fit_deep(
        model.features,
        problem.rows,
        y,
        problem.weight,
        offset,
        loss,
        seed,
        refit,
        mixture[0][1].report,
    )


def left_out(model: Additive, rows: Rows, y: Array, weight: Array, loss: str) -> Array:
    """Return the decisions at training rows as they would be without the row itself, nearly.

    The pull of a row on its own decision is the posterior's variance there over that of its noise.
    """
    f = model.decision(rows)
    if loss == "squared":
        residual, precision = y - f, np.full(f.shape, 1 / max(model.noise, 1e-300))
    else:
        p = softmax(f) if loss == "softmax" else 1 / (1 + np.exp(-np.clip(f, -500, 500)))
        precision = np.maximum(p * (1 - p), LEAST_WEIGHT)
        residual = (y - p) / precision
    pull = np.minimum(model.spread(rows) ** 2 * precision * weight[:, None], MOST_PULL)
    step = pull / (1 - pull) * residual
    # One step of Newton goes too far where a class was thought impossible.
    return np.asarray(f - (step if loss == "squared" else np.clip(step, -MOST_STEP, MOST_STEP)))


def has_deep_part(estimator: Any) -> bool:
    """Return whether networks add to the effects of a fitted estimator."""
    deep = getattr(estimator, "deep_", None)
    return deep is not None and bool(deep.weight_)


def effects_only(estimator: Any, what: str) -> None:
    """Raise an error where networks add to the effects, and `what` would leave them out."""
    if has_deep_part(estimator):
        raise ValueError(
            f"{what} needs a model that is the sum of its effects, and this one has networks "
            "beside them; fit with depth='shallow'"
        )
