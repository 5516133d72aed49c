"""`Rational2d`: a learnable rational function for each pair of features."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .. import functional as F
from .._core import checks as check
from .._core.saveable import saveable
from ..topology import Topology
from ._symbolic import symbols
from ._unit import Init, RationalUnit

if TYPE_CHECKING:
    import sympy

Pairs = Topology | Sequence[tuple[int, int]]


@saveable
class Rational2d(RationalUnit):
    r"""Gated rational functions of two variables, one for each pair (paper Eq. 5).

    r(u, v) = b + gate * (p(u, v)/d(u, v) - b), with all monomials up to a total degree k in p and
    the same in q, the constant only with `constant`: 12 parameters a pair at degree 2, with the
    gate, or 13. The base is a function of (u + v)/2.

    Args:
        pairs: a `Topology`, or pairs of feature indices; the smaller of the two is u, the other v.
        degree: total degree of both polynomials, or (numerator, denominator).
        denominator: as in `Rational1d`.
        base: as in `Rational1d`; with the default `zero` an unused pair is exactly zero.
        heads: number of quotients p/d that are added up in each unit.
        gate: as in `Rational1d`.
        eps: as in `Rational1d`.
        constant: as in `Rational1d`.
        init: `base`, `identity` (r = (u + v)/2), `paper` (p = (u + v)/2, q = 0, gate 0), the name
            of a base, or a function of two tensors.
        init_range: (low, high) of both inputs in a fit.
        noise: standard deviation of noise added to all coefficients of p and q.
        device: of the parameters.
        dtype: of the parameters; by default torch's, at least float32. `model.bfloat16()` and the
            like leave them as they are, since steps of training would be lost in rounding.

    Shape: (..., d) to (..., number of pairs).

    Example:
        >>> unit = Rational2d([(0, 1), (0, 2)], degree=2)
        >>> unit(torch.randn(5, 3)).shape
        torch.Size([5, 2])
    """

    pairs: Tensor

    def __init__(
        self,
        pairs: Pairs,
        degree: int | tuple[int, int] = 2,
        denominator: str = "softplus",
        base: str = "zero",
        *,
        heads: int = 1,
        gate: float | str | None = "auto",
        eps: float | None = None,
        constant: bool = False,
        init: Init = "base",
        init_range: tuple[float, float] = (-8.0, 8.0),
        noise: float = 0.0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        given = pairs if isinstance(pairs, Topology) else Topology.of(pairs)
        if not given.num_pairs:
            raise ValueError("Rational2d needs at least one pair, got none")
        both = (degree, degree) if isinstance(degree, numbers.Integral) else degree
        super().__init__(
            given.num_pairs,
            2,
            check.degrees(both, "degree"),
            denominator,
            base,
            heads=heads,
            gate=gate,
            eps=eps,
            constant=constant,
            reach=None,
            init=init,
            init_range=init_range,
            noise=noise,
            device=device,
            dtype=dtype,
        )
        self.in_features = given.features if isinstance(pairs, Topology) else None
        self._least = int(given.index.max()) + 1
        self._index = given.index
        # The pairs are part of the architecture, not weights: files carry them as arguments.
        index = torch.tensor(given.index.T.copy(), device=device)
        self.register_buffer("pairs", index, persistent=False)

    def reset_parameters(self) -> None:
        """Go back to the start; further heads and `noise` are drawn anew."""
        super().reset_parameters()
        if hasattr(self, "pairs"):  # else still in the constructor
            self.pairs.copy_(torch.tensor(self._index.T.copy()))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each pair's unit."""
        self._check(x)
        return F.apply(x, self.numerator, self.denominator, self.gate, self.pairs, self.form, -1)

    def send(
        self,
        x: Tensor,
        weight: Tensor | None = None,
        readout: Tensor | None = None,
        keep: bool = True,
    ) -> F.Sent:
        """Add r of each pair to both of its features, in one pass over the batch.

        It is what `forward`, two `index_add` and a linear layer give. Hooks do not see it.

        Args:
            x: input (..., features).
            weight: (K,), times which each r is sent; None for one.
            readout: (outputs, K), with which the messages are added up to outputs, or None.
            keep: whether the messages themselves are wanted.

        Returns:
            features (x and what it was sent), messages (..., K) or None, read (..., outputs) or
            None.

        Example:
            >>> pair = Rational2d([(0, 1)], gate=None)
            >>> pair.send(torch.tensor([[2.0, 3.0, 5.0]])).features.shape
            torch.Size([1, 3])
        """
        self._check(x)
        if weight is not None and weight.shape != (self.units,):
            raise ValueError(f"weight must be ({self.units},), got {tuple(weight.shape)}")
        if readout is not None and (readout.dim() != 2 or readout.shape[1] != self.units):
            raise ValueError(f"readout must be (outputs, {self.units}), got {tuple(readout.shape)}")
        arguments = (self.numerator, self.denominator, self.gate, self.pairs)
        if weight is None:
            return F.send(x, *arguments, self.form, readout, keep)
        if self.gate is None or self.form.base.is_zero:
            # Without a base a weight is a gate: one product a pair, not one a pair and row.
            factor = weight if self.gate is None else self.gate * weight
            form = self.form.with_base("zero")
            return F.send(x, *arguments[:2], factor, self.pairs, form, readout, keep)
        messages = F.apply(x, *arguments, self.form, -1)
        return F.spread(x, (messages * weight).to(x.dtype), self.pairs, readout, keep)

    def to_sympy(self, names: Sequence[Any] | None = None) -> list[sympy.Expr]:
        """Return the formula of each pair.

        Args:
            names: names or symbols of all features of x; x0, x1, ... by default.
        """
        count = self.in_features or (len(names) if names is not None else self._least)
        inputs = symbols(names, max(count, self._least))
        pairs = self.pairs.T.tolist()
        return [self._expression(n, [inputs[i], inputs[j]]) for n, (i, j) in enumerate(pairs)]

    def _check(self, x: Tensor) -> None:
        check.floating(x)
        if self.in_features is not None:
            check.features(x, self.in_features)
        elif x.dim() == 0 or x.shape[-1] < self._least:
            raise ValueError(
                f"the pairs need at least {self._least} features on the last axis, "
                f"got shape {tuple(x.shape)}"
            )

    def _variables(self, x: Tensor) -> list[Tensor]:
        self._check(x)
        return F.unit_inputs(x, self.pairs, self.units, -1, x.dtype)

    def extra_repr(self) -> str:
        """Describe the unit as it was built."""
        return self._describe(f"{self.units} pairs", f"degrees={self.degrees}")
