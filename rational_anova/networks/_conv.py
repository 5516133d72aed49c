"""`RANConvNet`: convolutions with rational units and a RAN on top; `CNN`: its baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from .._core.saveable import saveable
from ..topology import Topology
from ..units import Rational1d
from ._baselines import ACTIVATIONS
from ._ran import RAN


@saveable
class RANConvNet(nn.Module):
    r"""Stages of 3 x 3 convolutions with a rational unit for each channel, then a RAN.

    Each stage has two convolutions, each with batch normalisation and units; stages after the
    first halve the image. The mean over the image goes to a `RAN` with linear read-out, whose
    pairs are the channels' interactions.

    Args:
        in_channels: channels of the image.
        out_features: number of outputs.
        widths: channels of each stage.
        topology: pairs among the last channels, as in `RAN`; the paper has `"d log d"` for CIFAR.
        degrees: degrees of the units.
        denominator: as in `Rational1d`.
        base: base of the units between convolutions.
        stride: of the first convolution; 2 makes every stage four times as quick.
        constant: as in `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (N, in_channels, H, W) to (N, out_features).

    Example:
        >>> RANConvNet(3, 10, widths=(8, 16))(torch.randn(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        in_channels: int,
        out_features: int,
        widths: Sequence[int] = (32, 64, 128),
        topology: Topology | str | int | None = "d log d",
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "softplus",
        base: str = "gelu",
        *,
        stride: int = 1,
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_channels = check.integer(in_channels, "in_channels", 1)
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        shared: dict[str, Any] = {"constant": constant, "noise": noise, **options}

        def unit(width: int) -> nn.Module:
            return Rational1d(width, degrees, denominator, base, dim=-3, **shared)

        self.stages = _stages(self.in_channels, widths, unit, stride, **options)
        self.head = RAN(
            widths[-1],
            out_features,
            topology,
            degrees,
            denominator=denominator,
            readout="linear",
            **shared,
        )
        self.topology = self.head.topology

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_channels, dim=-3)
        return self.head(self.stages(x).mean((-2, -1)))


@saveable
class CNN(nn.Module):
    """The baseline of `RANConvNet`: the same stages with a fixed activation, a linear head.

    Args:
        in_channels: channels of the image.
        out_features: number of outputs.
        widths: channels of each stage.
        activation: `gelu`, `relu`, `silu` or `tanh`.
        stride: of the first convolution.

    Shape: (N, in_channels, H, W) to (N, out_features).

    Example:
        >>> CNN(1, 10, widths=(8, 16))(torch.randn(2, 1, 28, 28)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        in_channels: int,
        out_features: int,
        widths: Sequence[int] = (32, 64, 128),
        activation: str = "gelu",
        *,
        stride: int = 1,
    ) -> None:
        super().__init__()
        self.in_channels = check.integer(in_channels, "in_channels", 1)
        make = check.lookup(activation, ACTIVATIONS, "activation")
        self.stages = _stages(self.in_channels, widths, lambda width: make(), stride)
        self.head = nn.Linear(widths[-1], check.integer(out_features, "out_features", 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_channels, dim=-3)
        return self.head(self.stages(x).mean((-2, -1)))


def _stages(
    channels: int,
    widths: Sequence[int],
    unit: Callable[[int], nn.Module],
    stride: int,
    **options: Any,
) -> nn.Sequential:
    """Return two convolutions a stage, each with batch normalisation and units."""
    if isinstance(widths, int) or not len(widths):
        raise ValueError(f"widths must list the channels of each stage, got {widths!r}")
    step = check.integer(stride, "stride", 1)
    layers: list[nn.Module] = []
    for width in widths:
        check.integer(width, "widths", 1)
        for source, by in ((channels, step), (width, 1)):
            layers += [
                nn.Conv2d(source, width, 3, by, padding=1, bias=False, **options),
                nn.BatchNorm2d(width, **options),
                unit(width),
            ]
        channels, step = width, 2
    return nn.Sequential(*layers)
