"""What one step of SGD at one point does at others: to first order, and truly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vjp

from .._core import checks as check
from ..tables import as_tensor
from ..training import Loss, resolve_loss
from ._decomposition import targets
from ._model import State, Weights, positive

WATCHED = ("outputs", "log_probabilities")


@dataclass(frozen=True)
class Influence:
    """A change at x_o by one step at (x_u, y_u).

    Attributes:
        expected: (rows_o, C), to first order in the rate.
        true: (rows_o, C), what the step really changes.
        rate: of the step.
    """

    expected: Tensor
    true: Tensor
    rate: float

    @property
    def error(self) -> float:
        """Root mean square of `true` - `expected`."""
        return float((self.true - self.expected).square().mean().sqrt())

    @property
    def relative_error(self) -> float:
        """`error` over the root mean square of `true`."""
        size = float(self.true.square().mean().sqrt())
        return self.error / size if size else math.inf if self.error else 0.0


@dataclass(frozen=True)
class RateStudy:
    """The error of the first order at several rates.

    Attributes:
        rates: the rates.
        errors: root mean square of true minus expected change, at each rate.
        slope: of log error against log rate: 2 where second-order terms rule, as they should.
    """

    rates: tuple[float, ...]
    errors: tuple[float, ...]
    slope: float


def influence(
    model: nn.Module,
    x_u: Any,
    y_u: Any,
    x_o: Any,
    rate: float,
    loss: str | Loss = "auto",
    *,
    of: str = "outputs",
) -> Influence:
    r"""Return the change at x_o by one step of SGD at (x_u, y_u), expected and true.

    Expected is -rate (grad f(x_o))^T grad L(f(x_u), y_u) (paper Eq. 12), true is f(x_o) after the
    step minus before (Eq. 11). The model is not changed. Everything is computed in float64: small
    changes would drown in the rounding of float32.

    Args:
        model: the network.
        x_u: (rows_u, features), the batch of the step; the loss is its mean.
        y_u: its targets, as for `fit`.
        x_o: (rows_o, features), points that are looked at.
        rate: the learning rate.
        loss: as for `fit`.
        of: `outputs`, or `log_probabilities` for a classifier with an output for each class.

    Example:
        >>> from rational_anova import RAN
        >>> x = torch.linspace(-1, 1, 6).reshape(3, 2)
        >>> found = influence(RAN(2), x[:1], torch.tensor([1.0]), x, rate=1e-3)
        >>> found.true.shape, found.relative_error < 0.01
        (torch.Size([3, 1]), True)
    """
    rate = positive(rate, "rate")
    state = State.of(model, torch.float64)
    here = state.points(x_o, "x_o")
    step = descent(state, state.points(x_u, "x_u"), y_u, loss)
    return change(state, here, step, rate, of)


def influence_over_rates(
    model: nn.Module,
    x_u: Any,
    y_u: Any,
    x_o: Any,
    rates: Sequence[float] = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4),
    loss: str | Loss = "auto",
    *,
    of: str = "outputs",
) -> RateStudy:
    """Return how the error of `influence` shrinks with the rate: as its square.

    Args:
        model: the network.
        x_u: as for `influence`.
        y_u: as for `influence`.
        x_o: as for `influence`.
        rates: two different ones at least.
        loss: as for `influence`.
        of: as for `influence`.

    Example:
        >>> from rational_anova import RAN
        >>> x = torch.linspace(-1, 1, 6).reshape(3, 2)
        >>> study = influence_over_rates(RAN(2), x[:1], torch.tensor([1.0]), x)
        >>> 1.8 < study.slope < 2.2
        True
    """
    sizes = [positive(rate, "each rate") for rate in rates]
    if len(set(sizes)) < 2:
        raise ValueError(f"a slope needs two different rates at least, got {list(rates)}")
    state = State.of(model, torch.float64)
    here = state.points(x_o, "x_o")
    step = descent(state, state.points(x_u, "x_u"), y_u, loss)
    errors = tuple(change(state, here, step, rate, of).error for rate in sizes)
    return RateStudy(tuple(sizes), errors, _slope(sizes, errors))


def descent(state: State, x: Tensor, y: Any, loss: str | Loss) -> Weights:
    """Return minus the gradient of the mean loss: the step of SGD at rate one."""
    outputs, pull = vjp(lambda w: state.outputs(w, x), state.weights)[:2]
    kind = resolve_loss(loss, as_tensor(y, "y_u"), outputs.shape[1])
    slope = kind.slope(outputs.detach(), targets(y, kind, outputs))
    found: Weights = pull(-slope / len(x))[0]
    return {name: values.detach() for name, values in found.items()}


@torch.no_grad()
def change(state: State, x: Tensor, step: Weights, rate: float, of: str = "outputs") -> Influence:
    """Return the change at x by a step times a rate."""
    before, after = state.values(x), _after(state, x, step, rate)
    expected = rate * state.slope(x, step)
    if check.choice(of, WATCHED, "of") == "outputs":
        return Influence(expected, after - before, rate)
    if before.shape[1] < 2:
        raise ValueError("log-probabilities need an output for each class; use of='outputs'")
    pi = torch.softmax(before, -1)
    expected = expected - (pi * expected).sum(-1, keepdim=True)  # A = I - 1 pi^T
    true = torch.log_softmax(after, -1) - torch.log_softmax(before, -1)
    return Influence(expected, true, rate)


def _after(state: State, x: Tensor, step: Weights, rate: float) -> Tensor:
    values = state.moved({k: rate * v for k, v in step.items()}).values(x)
    if not torch.isfinite(values).all():
        raise ValueError(
            f"after a step at rate {rate:g} the outputs are not finite; use a smaller rate"
        )
    return values


def _slope(rates: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of the least-squares line in the logarithms; nan if errors vanish."""
    points = [(math.log(r), math.log(e)) for r, e in zip(rates, errors, strict=True) if e > 0]
    if len({x for x, _ in points}) < 2:
        return math.nan  # the model is linear in its weights here: the first order is exact
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    up = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return up / sum((x - mean_x) ** 2 for x, _ in points)
