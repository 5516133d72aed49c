"""Where new observations lie: by the noise that a loss means, or by rows kept for calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logit
from scipy.stats import beta, gamma, nbinom, norm, poisson

from .._core.types import Array
from .fit import Binomial, Family, Link, Loss, NegativeBinomial, Offset, Tweedie
from .fit import check as check_link

MOST_LOG = 700.0  # beyond which exp has no value


@dataclass(frozen=True)
class Noise:
    """How targets of a family lie about their mean: with the variance dispersion * V(mean).

    Args:
        loss: name of the family.
        dispersion: by Pearson's sum over the training rows.
        power: of the mean in V; 1 for counts, 2 for amounts, as the loss has it.
        extra: of the negative binomial, whose V is mean + extra mean^2.
    """

    loss: str
    dispersion: float
    power: float = 1.0
    extra: float = 0.0

    @classmethod
    def of(
        cls, name: str, loss: Loss, y: Array, mean: Array, weight: Array, model: Any
    ) -> Noise:  # fmt: skip
        """Return the noise about fitted means."""
        own = loss.loss if isinstance(loss, Offset) else loss
        found = cls(name, 1.0, getattr(own, "power", 1.0), getattr(own, "extra", 0.0))
        squares = float(weight @ ((y - mean) ** 2 / found.variance(mean)))
        freedom = max(float(weight.sum()) - model.edf - 1, 0.1 * float(weight.sum()))
        return cls(name, squares / freedom, found.power, found.extra)

    def variance(self, mean: Array) -> Array:
        """Return V(mean)."""
        if self.loss == "binomial":
            return np.maximum(mean * (1 - mean), 1e-12)
        return np.asarray(mean**self.power + self.extra * mean**2)

    def family(self) -> Family:
        """Return the loss of the family, whose deviance is wanted."""
        if self.loss == "binomial":
            return Binomial()
        return NegativeBinomial(self.extra) if self.extra else Tweedie(self.power)

    def explained(self, y: Array, mean: Array, weight: Array, link: Link, known: Array) -> float:
        """Return the share of the deviance of the best constant that means explain."""
        family = self.family()

        def deviance(means: Array) -> float:
            return float(weight @ family.deviance(y, means))

        free = Link(link.name, smear=1.0)
        offset = np.broadcast_to(known, y.shape) if known.size else np.zeros(len(y))
        middle = float(np.average(y, weights=weight))
        begin = middle
        if link.name != "identity":
            begin = float(np.log(middle) if link.name == "log" else logit(middle))
        begin -= float(np.average(offset, weights=weight))

        def constant(c: float) -> float:
            return deviance(np.maximum(free.mean(np.full(len(y), c), offset), 1e-300))

        span = abs(begin) if link.name == "identity" else 20.0
        best = minimize_scalar(constant, bounds=(begin - span, begin + span), method="bounded")
        return 1 - deviance(mean) / min(float(best.fun), constant(begin))

    def ends(self, mean: Array, spread: Array, level: float) -> tuple[Array, Array]:
        """Return the ends of intervals for targets whose means are uncertain by a spread.

        The distribution is that of the family with the mean and the variance of both together.
        """
        shares = (1 - level) / 2, (1 + level) / 2
        both = self.dispersion * self.variance(mean) + spread**2
        if self.loss in ("poisson", "negative_binomial"):
            over = np.maximum(both - mean, 1e-9 * mean)
            size, p = mean**2 / over, mean / (mean + over)
            wide = both > mean * (1 + 1e-6)
            ends = [np.where(wide, nbinom.ppf(q, size, p), poisson.ppf(q, mean)) for q in shares]
        elif self.loss == "gamma":
            ends = [gamma.ppf(q, mean**2 / both, scale=both / mean) for q in shares]
        elif self.loss == "binomial":
            count = np.maximum(mean * (1 - mean) / both - 1, 1e-3)
            ends = [beta.ppf(q, mean * count, (1 - mean) * count) for q in shares]
        else:
            raise ValueError(
                "loss='tweedie' has intervals for new observations with calibration=(X, y) alone: "
                "pass rows that the model was not fitted to"
            )
        return np.asarray(ends[0]), np.asarray(ends[1])


def predictive(f: Array, scale: Array, level: float, link: Link) -> tuple[Array, Array]:
    """Return the ends of intervals of normal noise on the scale of a link."""
    away = float(norm.ppf((1 + level) / 2))
    return _back(f - away * scale, f + away * scale, link)


def conformal(
    model: Any, new: tuple[Any, Any], kept: tuple[Any, Any], y: Array, level: float
) -> tuple[Array, Array]:
    """Return the ends of intervals as wide as rows that were kept for it ask for.

    Args:
        model: a fitted regressor.
        new: rows to predict, and what is added to their decisions.
        kept: as `new`, of the rows that were kept.
        y: targets of the latter.
        level: share of new targets that are to lie inside.
    """
    rank = int(np.ceil((len(y) + 1) * level))
    if rank > len(y):
        least = int(np.ceil(level / (1 - level)))
        raise ValueError(f"calibration has {len(y)} rows; level={level} takes {least} rows or more")
    link, noise = model.link_, model.noise_model_

    def scales(rows: Any, known: Any) -> tuple[Array, Array]:
        f, spread = model._decision(rows), model.model_.spread(rows)
        if noise is None:
            return (f + known)[:, 0], np.sqrt(spread**2 + max(model.noise_, 1e-300))[:, 0]
        mean, slope = link.mean(f, known), link.slope(f, known)
        wide = np.sqrt(noise.dispersion * noise.variance(mean) + (slope * spread) ** 2)
        return mean[:, 0], wide[:, 0]

    if noise is None:
        check_link(link.name, y)
        y = link.forward(y)
    middle, wide = scales(*kept)
    away = float(np.sort(np.abs(y - middle) / wide)[rank - 1])
    middle, wide = scales(*new)
    low, high = middle - away * wide, middle + away * wide
    if noise is None:
        return _back(low, high, link)
    return np.maximum(low, 0.0), np.minimum(high, 1.0) if noise.loss == "binomial" else high


def _back(low: Array, high: Array, link: Link) -> tuple[Array, Array]:
    if link.name == "log":
        return np.exp(np.minimum(low, MOST_LOG)), np.exp(np.minimum(high, MOST_LOG))
    if link.name == "sqrt":
        return np.maximum(low, 0) ** 2, np.maximum(high, 0) ** 2
    return low, high
