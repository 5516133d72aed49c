"""The baselines that networks here are compared with, written plainly: MLP, KAN and KAF."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._core import checks as check
from .._core.saveable import saveable

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}


def _widths(in_features: int, hidden: Sequence[int], out_features: int) -> list[tuple[int, int]]:
    """Return (inputs, outputs) of each layer."""
    if isinstance(hidden, int):
        raise TypeError(f"hidden must list the widths of the hidden layers, got {hidden!r}")
    sizes = [in_features, *hidden, out_features]
    for size in sizes:
        check.integer(size, "each width", 1)
    return list(itertools.pairwise(sizes))


class _Layers(nn.Module):
    """Layers one after the other."""

    def __init__(self, in_features: int, *layers: nn.Module) -> None:
        super().__init__()
        self.in_features = in_features
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_features)
        return self.layers(x)


@saveable
class MLP(_Layers):
    """Linear layers with an activation between them: d_out (d_in + 1) parameters a layer.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        hidden: widths of the hidden layers.
        activation: `gelu`, `relu`, `silu` or `tanh`.

    Example:
        >>> MLP(784, 10, hidden=(64,))(torch.randn(2, 784)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden: Sequence[int] = (64,),
        activation: str = "gelu",
    ) -> None:
        make = check.lookup(activation, ACTIVATIONS, "activation")
        layers: list[nn.Module] = []
        for inputs, outputs in _widths(in_features, hidden, out_features):
            layers += [nn.Linear(inputs, outputs), make()]
        super().__init__(in_features, *layers[:-1])


class KANLayer(nn.Module):
    """On each edge w_b silu(x) + w_s spline(x): a B-spline of given order on a uniform grid.

    It has d_in d_out (grid + order + 3) + d_out parameters, as KANbeFair counts them: the mask,
    one number an edge, is counted and not trained.
    """

    knots: Tensor

    def __init__(
        self,
        inputs: int,
        outputs: int,
        grid: int = 5,
        order: int = 3,
        grid_range: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        super().__init__()
        self.order = check.integer(order, "order", 1)
        count = check.integer(grid, "grid", 1)
        low, high = check.interval(grid_range, "grid_range")
        steps = torch.arange(-order, count + order + 1, dtype=torch.get_default_dtype())
        self.register_buffer("knots", low + (high - low) / count * steps)
        self.coefficients = nn.Parameter(0.1 * torch.randn(outputs, inputs, count + order))
        self.base = nn.Parameter(torch.empty(outputs, inputs))
        nn.init.kaiming_uniform_(self.base, a=math.sqrt(5))
        self.scale = nn.Parameter(torch.full((outputs, inputs), inputs**-0.5))
        self.mask = nn.Parameter(torch.ones(outputs, inputs), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Apply all edges and add them up at the outputs."""
        basis = self.splines(x).flatten(-2)
        weight = ((self.scale * self.mask)[..., None] * self.coefficients).flatten(1)
        smooth = functional.linear(functional.silu(x), self.base * self.mask, self.bias)
        return smooth + functional.linear(basis, weight)

    def splines(self, x: Tensor) -> Tensor:
        """Return the B-splines at x, (..., inputs, grid + order), by the Cox-de Boor recursion."""
        knots, x = self.knots, x.unsqueeze(-1)
        basis = ((x >= knots[:-1]) & (x < knots[1:])).to(x.dtype)
        for k in range(1, self.order + 1):
            left = (x - knots[: -k - 1]) / (knots[k:-1] - knots[: -k - 1])
            right = (knots[k + 1 :] - x) / (knots[k + 1 :] - knots[1:-k])
            basis = left * basis[..., :-1] + right * basis[..., 1:]
        return basis


@saveable
class KAN(_Layers):
    """Layers of B-splines on edges.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        hidden: widths of the hidden layers.
        grid: number of intervals of the splines.
        order: their order.
        grid_range: where the splines live; inputs outside see only the base function.

    Example:
        >>> KAN(2, 1, hidden=(5,))(torch.randn(3, 2)).shape
        torch.Size([3, 1])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden: Sequence[int] = (8,),
        grid: int = 5,
        order: int = 3,
        grid_range: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        layers = _widths(in_features, hidden, out_features)
        super().__init__(in_features, *(KANLayer(i, o, grid, order, grid_range) for i, o in layers))


class KAFLayer(nn.Module):
    """W(a gelu(x) + c V[cos(norm(x) Omega + b), sin(norm(x) Omega + b)]), all of it learned."""

    def __init__(self, inputs: int, outputs: int, frequencies: int = 8) -> None:
        super().__init__()
        count = check.integer(frequencies, "frequencies", 1)
        self.norm = nn.LayerNorm(inputs)
        self.omega = nn.Parameter(torch.randn(inputs, count) / math.sqrt(1.64 * inputs))
        self.phase = nn.Parameter(2 * math.pi * torch.rand(count))
        self.combine = nn.Linear(2 * count, inputs)
        self.linear = nn.Linear(inputs, outputs)
        self.smooth = nn.Parameter(torch.tensor([1.0]))
        self.waves = nn.Parameter(torch.tensor([0.01]))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        angle = self.norm(x) @ self.omega + self.phase
        waves = self.combine(torch.cat([angle.cos(), angle.sin()], -1))
        return self.linear(self.smooth * functional.gelu(x) + self.waves * waves)


@saveable
class KAF(_Layers):
    """Kolmogorov-Arnold-Fourier layers.

    Args:
        in_features: number of inputs.
        out_features: number of outputs.
        hidden: widths of the hidden layers.
        frequencies: number G of frequencies in each layer.

    Example:
        >>> KAF(20, 3, hidden=(16,))(torch.randn(2, 20)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden: Sequence[int] = (64,),
        frequencies: int = 8,
    ) -> None:
        layers = _widths(in_features, hidden, out_features)
        super().__init__(in_features, *(KAFLayer(i, o, frequencies) for i, o in layers))
