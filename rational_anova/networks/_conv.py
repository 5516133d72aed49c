"""`RANConvNet`: a small convolutional network with rational units and a RAN on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import _validation as check
from ..serialization import saveable
from ..topology import Topology
from ..units import Rational1d
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
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_channels = check.integer(in_channels, "in_channels", 1)
        if isinstance(widths, int) or not len(widths):
            raise ValueError(f"widths must list the channels of each stage, got {widths!r}")
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        layers: list[nn.Module] = []
        before = self.in_channels
        for stage, width in enumerate(widths):
            check.integer(width, "widths", 1)
            for step, source in enumerate((before, width)):
                stride = 2 if stage and not step else 1
                layers += [
                    nn.Conv2d(source, width, 3, stride, padding=1, bias=False, **options),
                    nn.BatchNorm2d(width, **options),
                    Rational1d(width, degrees, denominator, base, noise=noise, dim=-3, **options),
                ]
            before = width
        self.stages = nn.Sequential(*layers)
        self.head = RAN(
            before,
            out_features,
            topology,
            degrees,
            denominator=denominator,
            readout="linear",
            noise=noise,
            **options,
        )
        self.topology = self.head.topology

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs."""
        check.features(check.floating(x), self.in_channels, dim=-3)
        return self.head(self.stages(x).mean((-2, -1)))
