"""The share of an effect: one definition for all models.

A model is f = intercept + the sum of its effects f_u. The share of f_u is

    share(f_u) = Cov(f_u, f) / Var(f),

so all shares add up to one. Where the inputs are independent and the effects purified, effects do
not covary, and the share is the Sobol index Var(f_u)/Var(f); where inputs depend on one another a
share may be a little negative.

The definition leaves open over which rows variances are taken. Estimators take the training rows,
with their weights. A `RAN` keeps no rows: it takes inputs that are independent, each distributed
as in the data, so its shares are Sobol indices.
"""

from __future__ import annotations

import numpy as np

from .._core.types import Array


def shares(
    covariance: Array,  # of each effect with f, (effects, outputs)
    total: Array,  # variance of f, (outputs,)
) -> Array:
    """Return the share of each effect in the variance of each output; zero where f is constant."""
    return np.divide(covariance, total, out=np.zeros_like(covariance), where=total > 0)


def together(share: Array, total: Array) -> Array:
    """Return the share of each effect in the variance of all outputs together, (effects,)."""
    whole = total.sum()
    return share @ total / whole if whole > 0 else np.zeros(len(share))


class Moments:
    """Weighted sums over rows that come in pieces: what shares are made of.

    Args:
        effects: how many.
        outputs: how many.
    """

    def __init__(self, effects: int, outputs: int) -> None:
        self._effects = np.zeros((3, effects, outputs))  # themselves, their squares, times f
        self._sums = np.zeros((2, outputs))  # f and its square

    def add(
        self,
        values: Array,  # (effects, rows, outputs)
        weight: Array,  # (rows,), all pieces together with sum one
    ) -> None:
        """Take in some rows."""
        f = values.sum(0)
        self._sums += weight @ f, weight @ f**2
        products = values, values**2, values * f
        self._effects += np.stack([np.einsum("n,enk->ek", weight, each) for each in products])

    @property
    def total(self) -> Array:
        """Variance of f, (outputs,)."""
        return np.maximum(self._sums[1] - self._sums[0] ** 2, 0)

    @property
    def std(self) -> Array:
        """Standard deviation of each effect, (effects, outputs)."""
        return np.sqrt(np.maximum(self._effects[1] - self._effects[0] ** 2, 0))

    @property
    def share(self) -> Array:
        """The share of each effect, (effects, outputs)."""
        return shares(self._effects[2] - self._effects[0] * self._sums[0], self.total)


def percent(share: float) -> str:
    """Write a share in percent, with as many digits as one needs.

    Example:
        >>> percent(0.25), percent(0.0712), percent(0.0001), percent(float("nan"))
        ('25 %', '7.1 %', '<0.1 %', 'unknown share')
    """
    if not np.isfinite(share):
        return "unknown share"
    if share < -0.0005:
        return "\N{MINUS SIGN}" + percent(-share)
    if share and share < 0.0005:
        return "<0.1 %"
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"
