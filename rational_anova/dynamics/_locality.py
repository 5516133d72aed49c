"""How far an update reaches: kernels against distance, and maps over two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from ..training import Loss
from ._influence import change, descent
from ._model import State, positive
from ._ntk import _total


@dataclass(frozen=True)
class Locality:
    """How much an update at a point changes the output around it, relative to the point itself.

    Attributes:
        distances: (D,).
        reach: (D, directions), |K(x_u + distance direction, x_u)| / |K(x_u, x_u)|.
    """

    distances: Tensor
    reach: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean over the directions, (D,)."""
        return self.reach.mean(1)


@dataclass(frozen=True)
class InfluenceMap:
    """The change by one step over a plane of two inputs; the others are as at the update.

    Attributes:
        features: the two inputs.
        u: (points,), values of the first.
        v: (points,), values of the second.
        expected: (points, points), to first order; the first axis goes along u.
        true: the same, what really changes.
        at: (2,), where the update is.
    """

    features: tuple[int, int]
    u: Tensor
    v: Tensor
    expected: Tensor
    true: Tensor
    at: Tensor


def locality(
    model: nn.Module,
    x_u: Any,
    distances: Sequence[float] | Tensor,
    *,
    directions: int | Any = 32,
    seed: int = 0,
) -> Locality:
    r"""Return how the kernel falls (or does not) with the distance from a point.

    Args:
        model: any network, so that an MLP, a KAN and a RAN can be compared.
        x_u: (1, features), the point of the update.
        distances: numbers >= 0.
        directions: how many random ones; or (directions, features), which are scaled to length 1.
        seed: of random directions.

    Example:
        >>> from rational_anova import MLP
        >>> found = locality(MLP(3, 1), torch.zeros(1, 3), [0.0, 1.0, 2.0], directions=4)
        >>> found.reach.shape, found.reach[0].tolist()
        (torch.Size([3, 4]), [1.0, 1.0, 1.0, 1.0])
    """
    state = State.of(model, torch.float64)
    centre = _one(state, x_u)
    far = torch.as_tensor(distances, dtype=centre.dtype, device=centre.device)
    if far.dim() != 1 or not len(far) or not torch.isfinite(far).all() or (far < 0).any():
        raise ValueError(f"distances must be finite numbers >= 0, one at least, got {distances}")
    ways = _directions(directions, centre, seed)
    places = (centre + far[:, None, None] * ways).reshape(-1, centre.shape[1])
    sizes = _total(state, torch.cat([centre, places]), centre).flatten(1).norm(dim=1)
    if sizes[0] == 0:
        raise ValueError("the kernel at x_u is zero: no update there moves anything")
    return Locality(far, (sizes[1:] / sizes[0]).reshape(len(far), len(ways)))


def influence_map(
    model: nn.Module,
    x_u: Any,
    y_u: Any,
    rate: float,
    *,
    features: tuple[int, int] = (0, 1),
    span: tuple[float, float] = (-2.0, 2.0),
    points: int = 41,
    output: int = 0,
    loss: str | Loss = "auto",
) -> InfluenceMap:
    r"""Return what one step at (x_u, y_u) changes over a plane through x_u.

    Args:
        model: the network; it is not changed.
        x_u: (1, features), the point of the update.
        y_u: its target.
        rate: of the step.
        features: the two inputs of the plane.
        span: (low, high) of both.
        points: along each axis.
        output: which output is shown.
        loss: as for `influence`.

    Example:
        >>> from rational_anova import RAN
        >>> found = influence_map(RAN(3), torch.zeros(1, 3), torch.ones(1), 0.1, points=5)
        >>> found.true.shape
        torch.Size([5, 5])
    """
    rate = positive(rate, "rate")
    state = State.of(model, torch.float64)
    centre = _one(state, x_u)
    first, second = _plane(features, centre.shape[1])
    low, high = check.interval(span, "span")
    line = torch.linspace(low, high, check.integer(points, "points", 2)).to(centre)
    grid = centre.repeat(points * points, 1)
    grid[:, first], grid[:, second] = torch.cartesian_prod(line, line).T
    outputs = state.values(centre).shape[1]
    if check.integer(output, "output") >= outputs:
        raise ValueError(f"output must be below {outputs}, got {output}")
    found = change(state, grid, descent(state, centre, y_u, loss), rate)
    expected, true = (
        each[:, output].reshape(points, points) for each in (found.expected, found.true)
    )
    at = centre[0, [first, second]]
    return InfluenceMap((first, second), line, line, expected, true, at)


def _one(state: State, x_u: Any) -> Tensor:
    centre = state.points(x_u, "x_u")
    if len(centre) != 1 or centre.dim() != 2:
        raise ValueError(f"x_u must be one point, (1, features), got shape {tuple(centre.shape)}")
    return centre


def _plane(features: tuple[int, int], count: int) -> tuple[int, int]:
    first, second = (check.integer(n, "each of features") for n in features)
    if first == second or max(first, second) >= count:
        raise ValueError(f"features must be two different inputs below {count}, got {features}")
    return first, second


def _directions(directions: int | Any, centre: Tensor, seed: int) -> Tensor:
    if isinstance(directions, int):
        count = check.integer(directions, "directions", 1)
        generator = torch.Generator().manual_seed(seed)
        ways = torch.randn(count, centre.shape[1], generator=generator, dtype=torch.float64)
    else:
        ways = torch.as_tensor(directions)
        if ways.dim() != 2 or not len(ways) or ways.shape[1] != centre.shape[1]:
            raise ValueError(
                f"directions must be (directions, {centre.shape[1]}), got {tuple(ways.shape)}"
            )
    ways = ways.to(centre)
    lengths = ways.norm(dim=1, keepdim=True)
    if not torch.isfinite(lengths).all() or (lengths == 0).any():
        raise ValueError("directions must be finite and none of them zero")
    return ways / lengths
