"""Influence along a run of SGD: what updates add up to, and how steady the pattern is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from ..training import Loss
from ._influence import change, descent
from ._model import State, positive
from ._ntk import _total

Updates = Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class Accumulated:
    """Changes at x_o by a run of steps, those of a subset counted.

    Attributes:
        expected: (steps counted, rows_o, C), to first order, each at the weights of its time.
        true: the same, what the steps really changed.
        steps: which steps were counted.
    """

    expected: Tensor
    true: Tensor
    steps: tuple[int, ...]

    @property
    def total(self) -> Tensor:
        """The accumulated influence (rows_o, C), to first order (paper Eq. 20)."""
        return self.expected.sum(0)

    @property
    def true_total(self) -> Tensor:
        """What the steps that were counted really changed, (rows_o, C)."""
        return self.true.sum(0)


@dataclass(frozen=True)
class Stability:
    """How steady the pattern of influence is along a run.

    Attributes:
        profiles: (steps + 1, rows_o), |K_t(x_o, x_u)| over its sum over x_o.
        similarity: (steps + 1 - window,): the least correlation between the profile at a time and
            those of the `window` steps after it; 1 is steady.
        window: number of steps.
    """

    profiles: Tensor
    similarity: Tensor
    window: int

    @property
    def worst(self) -> float:
        """The least similarity in any window."""
        return float(self.similarity.min())


def accumulated_influence(
    model: nn.Module,
    updates: Updates,
    x_o: Any,
    rate: float,
    loss: str | Loss = "auto",
    *,
    subset: Iterable[int] | None = None,
    of: str = "outputs",
) -> Accumulated:
    r"""Run SGD on a copy, and add up the influence of a subset of its steps on x_o (Eq. 20).

    Args:
        model: the network; it is not changed.
        updates: (x_u, y_u) of each step, batches of one row or more.
        x_o: (rows_o, features), points that are looked at.
        rate: of all steps.
        loss: as for `influence`.
        subset: steps that count, from 0; None for all. The others are taken all the same.
        of: as for `influence`.

    Example:
        >>> from rational_anova import RAN
        >>> x, y = torch.linspace(-1, 1, 6).reshape(3, 2), torch.ones(3)
        >>> steps = [(x[n : n + 1], y[n : n + 1]) for n in range(3)]
        >>> found = accumulated_influence(RAN(2), steps, x, 0.01, subset=[0, 2])
        >>> found.total.shape, found.steps
        (torch.Size([3, 1]), (0, 2))
    """
    rate = positive(rate, "rate")
    counted = _subset(subset, len(updates))
    state = State.of(model, torch.float64)
    here = state.points(x_o, "x_o")
    found = []
    for n, (x, y) in enumerate(updates):
        step = descent(state, state.points(x, f"x_u of update {n}"), y, loss)
        if n in counted:
            found.append(change(state, here, step, rate, of))
        state = state.moved({k: rate * v for k, v in step.items()})
    expected, true = ([getattr(each, k) for each in found] for k in ("expected", "true"))
    return Accumulated(torch.stack(expected), torch.stack(true), tuple(sorted(counted)))


def influence_stability(
    model: nn.Module,
    updates: Updates,
    x_u: Any,
    x_o: Any,
    rate: float,
    loss: str | Loss = "auto",
    *,
    window: int = 5,
) -> Stability:
    r"""Look whether the relative sizes of K_t(x_o, x_u) over x_o stay as they are, as SGD runs.

    The paper assumes so over short windows; this measures it.

    Args:
        model: the network; it is not changed.
        updates: (x_u, y_u) of each step.
        x_u: (1, features), the point whose influence is followed.
        x_o: (rows_o, features), two points at least.
        rate: of all steps.
        loss: as for `influence`.
        window: number of steps over which profiles are compared.

    Example:
        >>> from rational_anova import RAN
        >>> x, y = torch.linspace(-1, 1, 6).reshape(3, 2), torch.ones(3)
        >>> steps = [(x, y)] * 8
        >>> found = influence_stability(RAN(2), steps, x[:1], x, 0.01, window=3)
        >>> found.profiles.shape, found.similarity.shape
        (torch.Size([9, 3]), torch.Size([6]))
    """
    rate, count = positive(rate, "rate"), len(updates)
    if check.integer(window, "window", 1) > count:
        raise ValueError(f"window must be at most the number of updates, {count}, got {window}")
    state = State.of(model, torch.float64)
    here, there = state.points(x_o, "x_o"), state.points(x_u, "x_u")
    if len(there) != 1 or len(here) < 2:
        raise ValueError(
            "x_u must be one point and x_o two at least, to compare influences among them; "
            f"got {len(there)} and {len(here)} rows"
        )
    profiles = [_profile(state, here, there)]
    for n, (x, y) in enumerate(updates):
        step = descent(state, state.points(x, f"x_u of update {n}"), y, loss)
        state = state.moved({k: rate * v for k, v in step.items()})
        profiles.append(_profile(state, here, there))
    rows = torch.stack(profiles)
    centred = rows - rows.mean(1, keepdim=True)  # else all that is not negative looks alike
    unit = centred / centred.norm(dim=1, keepdim=True)
    windows = unit.unfold(0, window + 1, 1)  # (windows, rows_o, window + 1)
    similarity = (windows * windows[..., :1]).sum(1).amin(1).clamp(max=1)
    return Stability(rows, similarity, window)


def _subset(subset: Iterable[int] | None, count: int) -> set[int]:
    chosen = set(range(count)) if subset is None else {check.integer(n, "step") for n in subset}
    if not chosen or max(chosen) >= count:
        raise ValueError(
            f"subset must name steps from 0 to {count - 1}, one at least, got {sorted(chosen)}"
        )
    return chosen


def _profile(state: State, x_o: Tensor, x_u: Tensor) -> Tensor:
    sizes = _total(state, x_o, x_u).flatten(2).norm(dim=2)[:, 0]
    whole = sizes.sum()
    if not torch.isfinite(whole) or whole == 0:
        raise ValueError(
            f"the kernel at x_u adds up to {whole.item():g} over x_o, so there is no profile; "
            "use a smaller rate, or other points"
        )
    if (sizes - sizes[0]).abs().max() <= 1e-12 * sizes.max():
        raise ValueError(
            "x_u influences all of x_o alike, so there is no pattern to follow; use other points"
        )
    return sizes / whole
