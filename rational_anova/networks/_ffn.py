"""`RANFFN` and `RANFFNPlus`: feed-forward layers of a transformer with rational units."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from .._core import checks as check
from .._core.saveable import saveable
from ..topology import Topology
from ..units import Rational1d, Rational2d
from ._ran import as_topology

_FEW = 8  # units of a layer; experiments.vit.panel


def _precise(dtype: torch.dtype | None) -> torch.dtype | None:
    """The dtype of units: coefficients in half precision would not move in training."""
    return None if dtype is None else torch.promote_types(dtype, torch.float32)


class _FeedForward(nn.Module):
    """What both layers share; `unit` and `pair` hold keyword arguments of the units."""

    pair: Rational2d | None

    def __init__(
        self,
        features: int,
        hidden: int | None,
        out_features: int | None,
        pairs: Topology | str | int | None,
        bias: bool,
        dropout: float,
        unit: dict[str, Any],
        pair: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> None:
        super().__init__()
        size = check.integer(features, "features", 1)
        inner = 4 * size if hidden is None else check.integer(hidden, "hidden", 1)
        out = size if out_features is None else check.integer(out_features, "out_features", 1)
        self.features = size
        self.fc1 = nn.Linear(size, inner, bias=bias, **options)
        if isinstance(unit["groups"], str):
            check.choice(unit["groups"], ("auto",), "groups (a number, None, or a name)")
            unit = {**unit, "groups": math.gcd(inner, _FEW)}
        wide = {**options, "dtype": _precise(options["dtype"])}
        self.unit = Rational1d(inner, **unit, **wide)
        self.pair = None
        if pair is not None:
            self.topology = as_topology(pairs, inner)
            self.pair = Rational2d(self.topology, **pair, **wide)
        self.dropout = nn.Dropout(dropout)
        read = inner + (self.pair.units if self.pair is not None else 0)
        self.fc2 = nn.Linear(read, out, bias=bias, **options)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the layer."""
        check.features(check.floating(h, "h"), self.features, name="h")
        hidden = self.fc1(h)
        active = self.unit(hidden)
        if self.pair is not None:
            active = torch.cat([active, self.pair(hidden)], -1)
        return self.fc2(self.dropout(active))


@saveable
class RANFFN(_FeedForward):
    r"""W2 r(W1 h + b1) + b2, with rational units in the hidden layer (paper Eq. 8).

    With the default base it starts as exactly the usual feed-forward layer with GELU.

    Args:
        features: size of the input.
        hidden: size of the hidden layer; None means 4 * features.
        out_features: size of the output; None means features.
        degrees: degrees of the units.
        denominator: as in `Rational1d`.
        base: as in `Rational1d`.
        groups: number of units, shared by runs of channels; None means one for each channel,
            `auto` eight, or as many of them as divide the channels.
        gate: as in `Rational1d`.
        reach: as in `Rational1d`.
        bias: whether both linear maps have one.
        dropout: rate of dropout behind the units.
        init: as in `Rational1d`.
        constant: as in `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        device: of the parameters.
        dtype: of the parameters; those of the units have at least float32.

    Shape: (..., features) to (..., out_features).

    Example:
        >>> layer = RANFFN(16, 32)
        >>> h = torch.randn(2, 5, 16)
        >>> torch.allclose(layer(h), layer.fc2(torch.nn.functional.gelu(layer.fc1(h))), atol=1e-6)
        True
    """

    # NOTE[DIFF] The paper's base is the identity, which makes the layer linear at the start, its
    # denominator is softplus, and every channel has a unit; see docs/results/deviations.md.
    def __init__(
        self,
        features: int,
        hidden: int | None = None,
        out_features: int | None = None,
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "square",
        base: str = "gelu",
        *,
        groups: int | str | None = "auto",
        gate: float | str | None = "auto",
        reach: float | None = 2.0,
        bias: bool = True,
        dropout: float = 0.0,
        init: Any = "base",
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        unit = {
            "degrees": degrees,
            "denominator": denominator,
            "base": base,
            "groups": groups,
            "gate": gate,
            "reach": reach,
            "init": init,
            "constant": constant,
            "noise": noise,
        }
        options = {"device": device, "dtype": dtype}
        super().__init__(features, hidden, out_features, None, bias, dropout, unit, None, options)


@saveable
class RANFFNPlus(_FeedForward):
    r"""W2 [r(W1 h + b1), r_ij of pairs of hidden channels] + b2 (paper Eq. 9).

    Pairs start at zero, so it too starts as exactly the usual layer with GELU.

    Args:
        features: size of the input.
        hidden: size of the hidden layer; None means 4 * features.
        out_features: size of the output; None means features.
        topology: pairs among the hidden channels, as in `RAN`.
        degrees: degrees of the units.
        denominator: as in `Rational1d`.
        base: base of the units; the pairs have base `zero`.
        pair_degree: total degree of the pairs.
        groups: number of units, shared by runs of channels; None means one for each channel,
            `auto` eight, or as many of them as divide the channels.
        gate: as in `Rational1d`.
        reach: as in `Rational1d`.
        bias: whether both linear maps have one.
        dropout: rate of dropout behind the units.
        init: as in `Rational1d`.
        constant: as in `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        device: of the parameters.
        dtype: of the parameters; those of the units have at least float32.

    Shape: (..., features) to (..., out_features).

    Example:
        >>> layer = RANFFNPlus(16, 32, topology="0.5d")
        >>> layer.fc2.in_features  # 32 channels and 16 pairs
        48
    """

    def __init__(
        self,
        features: int,
        hidden: int | None = None,
        out_features: int | None = None,
        topology: Topology | str | int | None = None,
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "square",
        base: str = "gelu",
        *,
        pair_degree: int | tuple[int, int] = 2,
        groups: int | str | None = "auto",
        gate: float | str | None = "auto",
        reach: float | None = 2.0,
        bias: bool = True,
        dropout: float = 0.0,
        init: Any = "base",
        constant: bool = False,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        shared = {"denominator": denominator, "constant": constant, "noise": noise}
        unit = {"degrees": degrees, "base": base, "groups": groups, "init": init, **shared}
        unit |= {"gate": gate, "reach": reach}
        pair = {"degree": pair_degree, **shared}
        options = {"device": device, "dtype": dtype}
        super().__init__(
            features, hidden, out_features, topology, bias, dropout, unit, pair, options
        )
