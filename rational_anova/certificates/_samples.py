"""Jacobians at points of a box: lower bounds beside the proved upper ones."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from .._core.types import Array
from ..kernels import using
from ._interval import Interval

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
