"""`GatedRationalBlock`: the block of the paper's stability theorem."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .._core import checks as check
from .._core.saveable import saveable
from ..units import Rational1d

# NOTE[DIFF] The theorem asks for a "sufficiently small" gate. The gradient norm shrinks by about
# sqrt((1 - gate)^2 + gate^2) a block, to 0.37 after 100 blocks at 0.01 and to 5e-5 at 0.1.
_GATE = 0.01


class _Orthogonal(nn.Linear):
    """A square linear map that starts orthogonal."""

    @torch.no_grad()
    def reset_parameters(self) -> None:
        if not self.weight.is_meta:
            # In float32 on the CPU: half precision has no such factorisation.
            start = torch.empty(self.weight.shape, dtype=torch.float32, device="cpu")
            self.weight.copy_(nn.init.orthogonal_(start))


@saveable
class GatedRationalBlock(nn.Module):
    r"""h + gate * (phi(W h) - h), with phi a rational function p/d for each feature.

    The block of the paper's section on deep training stability.
    W starts orthogonal, so its norm is 1 as the theorem assumes, and phi starts as the identity.
    The ratio of gradient norms across L blocks then lies between (1 - 2 gate)^L and 1.

    Args:
        features: size of the state h.
        degrees: degrees of phi.
        denominator: as in `Rational1d`.
        gate: start of the block's gate; None for no gate, h -> phi(W h).
        heads: number of quotients in phi.
        eps: added to the denominators; None means the default of the denominator.
        noise: standard deviation of noise on the coefficients of phi at the start.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., features) to (..., features).

    Example:
        >>> block = GatedRationalBlock(8)
        >>> block(torch.randn(2, 8)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        features: int,
        degrees: tuple[int, int] = (3, 2),
        denominator: str = "softplus",
        *,
        gate: float | None = _GATE,
        heads: int = 1,
        eps: float | None = None,
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.features = check.integer(features, "features", 1)
        size = self.features
        self.linear = _Orthogonal(size, size, bias=False, device=device, dtype=dtype)
        self.unit = Rational1d(
            self.features,
            degrees,
            denominator,
            heads=heads,
            gate=None,
            eps=eps,
            noise=noise,
            device=device,
            dtype=dtype,
        )
        self._start = None if gate is None else check.real(gate, "gate")
        alpha = None if gate is None else torch.empty((), device=device, dtype=dtype)
        self.gate = None if alpha is None else nn.Parameter(alpha)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set the gate to its start; the other parameters belong to other modules."""
        if self.gate is not None and self._start is not None:
            self.gate.fill_(self._start)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block."""
        check.features(check.floating(h, "h"), self.features, name="h")
        new = self.unit(self.linear(h))
        return new if self.gate is None else h + self.gate * (new - h)
