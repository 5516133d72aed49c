"""Monotonicity: signs of slopes, proved on the box or refuted at a point by interval arithmetic."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from .._core.types import Array
from ..kernels import using
from ..proofs import Interval, Pair

_WORK = 1 << 24  # numbers in all Jacobians


@dataclass(frozen=True)
class Samples:
    """Points (n, inputs) and Jacobians there, (n, outputs, inputs)."""

    points: Array
    jacobians: Array

    @property
    def lipschitz(self) -> float:
        """The largest spectral norm."""
        if not len(self.points):
            return 0.0
        return float(np.linalg.norm(self.jacobians, 2, (1, 2)).max())


def sample(model: nn.Module, box: Interval, outputs: int, count: int, seed: int) -> Samples:
    """Differentiate a float64 copy of a model at random points, at corners and at the centre."""
    inputs = len(box.low)
    count = max(1, min(count, _WORK // (outputs * inputs)))
    generator = np.random.default_rng(seed)
    share = generator.random((count, inputs))
    corners = count // 4
    share[:corners] = share[:corners].round()
    share[0] = 0.5
    points = np.clip(box.low + (box.high - box.low) * share, box.low, box.high)
    twin = copy.deepcopy(model).cpu().double().eval()
    x = torch.tensor(points, requires_grad=True)
    # Torch's own operations: a kernel for these few points would take longer to build.
    with torch.enable_grad(), using("torch"):
        y = twin(x)
        rows = [torch.autograd.grad(y[:, k].sum(), x, retain_graph=True)[0].numpy()
                for k in range(outputs)]  # fmt: skip
    jacobians = np.stack(rows, 1)
    good = np.isfinite(jacobians).all((1, 2))
    return Samples(points[good], jacobians[good])


_TRIES = 16  # points where signs are to be proved
_SURE = 1e-9  # of the largest slope: a smaller sampled slope is not worth a try


@dataclass(frozen=True)
class Monotone:
    """Whether an output rises or falls with an input, everywhere on the box.

    Args:
        input: its number.
        output: its number.
        slopes: proved bounds of the partial derivative.
        increasing: `proved`, `refuted` or `undecided`.
        decreasing: the same.
        falls_at: a point of the box where the slope is proved to be negative, if one was found.
        rises_at: one where it is positive.
    """

    input: int
    output: int
    slopes: Pair
    increasing: str
    decreasing: str
    falls_at: tuple[float, ...] | None = None
    rises_at: tuple[float, ...] | None = None


@dataclass
class Witnesses:
    """Points at which slopes are proved to be negative or positive."""

    outputs: int
    inputs: int
    points: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = (self.outputs, self.inputs)
        self.falls = np.full(shape, -1)  # the number of a point, or -1
        self.rises = np.full(shape, -1)

    def add(self, at: Array, slopes: Interval) -> None:
        """Take a point with proved bounds (outputs, inputs) of the slopes there."""
        falls = (slopes.high < 0) & (self.falls < 0)
        rises = (slopes.low > 0) & (self.rises < 0)
        if falls.any() or rises.any():
            self.falls[falls] = self.rises[rises] = len(self.points)
            self.points.append(at)

    def search(self, met: Samples, prove: Callable[[Array], Interval], slopes: Interval) -> None:
        """Prove signs that samples show, each time at the point that shows most of the missing.

        Args:
            met: slopes at points, in floating point.
            prove: bounds of the slopes at a point.
            slopes: bounds over the box: what they settle is not looked for.
        """
        sure = np.abs(met.jacobians).max(initial=0.0) * _SURE
        for _ in range(min(_TRIES, len(met.points))):
            falls = (met.jacobians < -sure) & ((self.falls < 0) & (slopes.low < 0))
            rises = (met.jacobians > sure) & ((self.rises < 0) & (slopes.high > 0))
            shown = (falls | rises).sum((1, 2))
            best = int(shown.argmax())
            if not shown[best]:
                return
            self.add(met.points[best], prove(met.points[best]))
            met.jacobians[best] = 0.0  # tried

    def verdicts(self, slopes: Interval) -> tuple[Monotone, ...]:
        """Return a verdict for each output and each input that it can depend on."""
        found = []
        for output, (low, high) in enumerate(zip(slopes.low, slopes.high, strict=True)):
            for n in np.flatnonzero((low != 0) | (high != 0)).tolist():
                falls, rises = (self._point(kind[output, n]) for kind in (self.falls, self.rises))
                found.append(
                    Monotone(
                        n,
                        output,
                        (float(low[n]), float(high[n])),
                        "proved" if low[n] >= 0 else "refuted" if falls else "undecided",
                        "proved" if high[n] <= 0 else "refuted" if rises else "undecided",
                        falls,
                        rises,
                    )
                )
        return tuple(found)

    def _point(self, n: int) -> tuple[float, ...] | None:
        return None if n < 0 else tuple(self.points[n].tolist())
