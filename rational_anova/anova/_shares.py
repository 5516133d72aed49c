"""The share of an effect: one definition for all models.

A model is f = intercept + the sum of its effects f_u. The share of f_u is the
part of Var(f) that its own uncorrelated variable carries: with C the covariances of the effects,

    share(f_u) = (C^(1/2) 1)_u^2 / Var(f),      Var(f) = 1' C 1.

The variables C^(-1/2) f are uncorrelated, of variance one, and of all such variables nearest to the
effects, each to its own; f is their sum with weights C^(1/2) 1. (Zuber and Strimmer 2011 split the
variance of a regression so, and Johnson 2000 and Genizi 1993 much the same.) Shares are between 0
and 1 and add up to one; an effect of no size has none, whatever it goes together with; effects that
are alike have shares that grow with their sizes, and one that cancels another does not make the
other's share larger than the whole. Where the inputs are independent and the effects purified,
effects do not covary, and the share is the Sobol index Var(f_u)/Var(f).

Beside it stands the covariance share,

    covariance(f_u) = Cov(f_u, f) / Var(f),

which adds up to one as well, and is negative for an effect that takes from f what others add.

The definition leaves open over which rows variances are taken. Estimators take the training rows,
with their weights. A `RAN` keeps no rows: it takes inputs that are independent, each distributed
as in the data, so its shares are Sobol indices.
"""

from __future__ import annotations

import numpy as np

from .._core.types import Array

LEAST = 1e-24  # of the variances of all effects, below which their sum is constant


def split(
    covariance: Array,  # of the effects with one another, (effects, effects)
) -> Array:
    """Return the share of each effect in the variance of their sum; zero where it is constant.

    Example:
        >>> split(np.array([[4.0, -2.0], [-2.0, 1.0]])).round(2)
        array([0.8, 0.2])
    """
    total = float(covariance.sum())
    if not len(covariance) or total <= LEAST * float(np.trace(covariance)):
        return np.zeros(len(covariance))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    along = vectors @ (np.sqrt(np.maximum(values, 0)) * vectors.sum(0))
    return np.asarray(along**2 / (along @ along))


def shares(
    covariance: Array,  # of each effect with f, (effects, outputs)
    total: Array,  # variance of f, (outputs,)
) -> Array:
    """Return the covariance share of each effect in each output; zero where f is constant."""
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
        self._products = np.zeros((outputs, effects, effects))
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
        for k in range(len(f[0])):
            self._products[k] += (values[:, :, k] * weight) @ values[:, :, k].T
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
        means = self._effects[0].T
        away = means[:, :, None] * means[:, None, :]
        return np.stack([split(each) for each in self._products - away], 1)

    @property
    def left(self) -> Array:
        """Share of the variance of f that is left without all effects of smaller share.

        By the number of effects that are kept, the largest first, from none to all.
        """
        order = np.argsort(-together(self.share, self.total), kind="stable")
        means = self._effects[0].T
        products = (self._products - means[:, :, None] * means[:, None, :]).sum(0)
        ordered = products[np.ix_(order, order)]
        rest = [float(ordered[k:, k:].sum()) for k in range(len(order) + 1)]
        whole = float(self.total.sum())
        return np.maximum(rest, 0) / whole if whole > 0 else np.zeros(len(rest))

    @property
    def covariance(self) -> Array:
        """The covariance share of each effect, (effects, outputs)."""
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
