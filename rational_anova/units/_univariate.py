"""`Rational1d`: a learnable rational function for each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import functional as F
from .._core import checks as check
from .._core.saveable import saveable
from . import _symbolic
from ._symbolic import symbols
from ._unit import Init, RationalUnit

if TYPE_CHECKING:
    import sympy


@saveable
class Rational1d(RationalUnit):
    r"""Gated rational functions of one variable, one for each feature (paper Eq. 4 and 6).

    r(x) = b(x) + gate * (p(x)/d(x) - b(x)), with p of degree m, q of degree n, and d made from q
    by `denominator`. A unit has (m + 1) + n + 1 parameters, one more with `constant`. It starts as
    its base, by default the identity: as the activation of a layer give it another, such as `gelu`.

    Args:
        features: size of the feature axis.
        degrees: (m, n), the degrees of p and q.
        denominator: `softplus` (1 + softplus(q) + eps, the paper's), `squareplus`, `square`
            (1 + q^2), `abs` (1 + |q|), `sos` (1 + a sum of squares: positive and a polynomial) or
            `polynomial` (1 + q: exact for real poles, but positive only where the data keep it so).
        base: the function of a unit with gate 0: `identity`, `zero`, `gelu`, `gelu_tanh`,
            `quick_gelu`, `silu`, `relu`, `tanh` (`mean` is the identity here).
        heads: number of quotients p/d that are added up in each unit.
        groups: number of units, each shared by features / groups neighbouring channels; None
            means one for each feature.
        gate: start of the gate, None for no gate (r = p/d), or `auto`: 0.1 where p/d equals the
            base, 0 where it does not, 1 for the base `zero` and for fitted units. All are exact.
        eps: added to d; None means 1e-6 for softplus and 0 else. Above -1: `abs` with 1e-6 - 1 is
            |q| + 1e-6.
        constant: whether q has a constant term: not in the paper's Eq. 4, but in its appendix. With
            it 1 + softplus(q) can be a multiple of a positive polynomial to rounding. Not for
            `sos` and `polynomial`, which have one where it matters.
        reach: outside of [-reach, reach] p/d goes on as the base does, from its value at the end:
            tails are no steeper than the base's whatever the coefficients are, and a high rate
            cannot blow them up. None for no end.
        init: `base` (r = b exactly), `identity` (r = x to rounding), `paper` (p = x, q = 0, gate 0:
            r = b exactly, and the gate learns first), the name of a base, or a function of a
            float64 tensor: then p/d is fitted to it over `init_range`.
        init_range: (low, high) of that fit; None is (-reach, reach), or (-8, 8). Its error is
            `unit.init_error`: RMSE and maximum on the range, and the largest error relative to
            1 + |x| out to ten times the range.
        noise: standard deviation of noise added to all coefficients of p and q.
        dim: the feature axis, for instance 1 for images (N, C, H, W).
        device: of the parameters.
        dtype: of the parameters; by default torch's, at least float32. `model.bfloat16()` and the
            like leave them as they are, since steps of training would be lost in rounding.

    Shape: (..., features, ...) to the same.

    RMSE of units of degrees (5, 4) that are fitted on [-8, 8], tails included:

        | denominator | gelu    | silu    |
        | softplus    | 6.0e-03 | 4.5e-03 |
        | squareplus  | 3.7e-03 | 2.8e-03 |
        | square      | 2.1e-03 | 3.9e-04 |
        | abs         | 2.0e-03 | 3.4e-04 |
        | sos         | 2.0e-03 | 3.4e-04 |
        | polynomial  | 2.0e-03 | 3.4e-04 |

    Example:
        >>> unit = Rational1d(2, degrees=(3, 2))
        >>> x = torch.randn(5, 2)
        >>> torch.equal(unit(x), x)  # it starts as the identity, and learns from there
        True
        >>> silu = Rational1d(1, (5, 4), "square", init="silu")
        >>> silu.init_error.rmse < 4e-4
        True
    """

    def __init__(
        self,
        features: int,
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "softplus",
        base: str = "identity",
        *,
        heads: int = 1,
        groups: int | None = None,
        gate: float | str | None = "auto",
        eps: float | None = None,
        constant: bool = False,
        reach: float | None = None,
        init: Init = "base",
        init_range: tuple[float, float] | None = None,
        noise: float = 0.0,
        dim: int = -1,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        self_features = check.integer(features, "features", 1)
        units = self_features if groups is None else check.integer(groups, "groups", 1)
        if self_features % units:
            raise ValueError(
                f"groups must divide features, got groups={groups} for features={features}"
            )
        end = F.Form.checked_reach(reach)
        super().__init__(
            units,
            1,
            check.degrees(degrees),
            denominator,
            base,
            heads=heads,
            gate=gate,
            eps=eps,
            constant=constant,
            reach=end,
            init=init,
            init_range=_range(init_range, end),
            noise=noise,
            device=device,
            dtype=dtype,
        )
        self.features = self_features
        self.dim = check.integer(dim, "dim", -(2**31))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each feature's unit."""
        check.features(check.floating(x), self.features, self.dim)
        return F.apply(x, self.numerator, self.denominator, self.gate, None, self.form, self.dim)

    def poles(self) -> list[Tensor]:
        """Return the complex roots of the denominator, one tensor for each unit.

        Only where the denominator is a polynomial (`square`, `sos`, `polynomial`).

        Example:
            >>> unit = Rational1d(1, (0, 2), "sos", base="zero")
            >>> with torch.no_grad():
            ...     _ = unit.denominator.copy_(torch.tensor([[0.0], [2.0]]))  # 1 + (2 x)^2
            >>> unit.poles()
            [tensor([0.-0.5000j, 0.+0.5000j], dtype=torch.complex128)]
        """
        return _symbolic.roots(self.form, self._heads(self.denominator))

    def pole_distance(self, x: Tensor) -> Tensor:
        """Return how far each unit's nearest pole lies from the range of its data in x.

        Returns:
            (units,): 0 for a real pole inside the range of the data, inf without poles.
        """
        columns = self._variables(x.detach())[0].transpose(0, 1).reshape(self.units, -1)
        if not columns.numel():
            raise ValueError(f"x has no rows to measure a distance from: shape {tuple(x.shape)}")
        return _symbolic.distance(self.poles(), columns.cpu())

    def to_sympy(self, names: Sequence[Any] | None = None) -> list[sympy.Expr]:
        """Return the formula of each feature.

        Args:
            names: names or symbols of the features; x0, x1, ... by default.
        """
        inputs = symbols(names, self.features)
        shared = self.features // self.units
        return [self._expression(n // shared, [x]) for n, x in enumerate(inputs)]

    def _variables(self, x: Tensor) -> list[Tensor]:
        check.features(check.floating(x), self.features, self.dim)
        return F.unit_inputs(x, None, self.units, self.dim, x.dtype)

    def extra_repr(self) -> str:
        """Describe the unit as it was built."""
        words = [str(self.features), f"degrees={self.degrees}"]
        if self.units != self.features:
            words.append(f"groups={self.units}")
        if self.dim != -1:
            words.append(f"dim={self.dim}")
        return self._describe(*words)


def _range(given: tuple[float, float] | None, reach: float | None) -> tuple[float, float]:
    """Return the range of a fit: as given, where p/d is used, or (-8, 8)."""
    if given is not None:
        return given
    return (-8.0, 8.0) if reach is None else (-reach, reach)
