"""Links: the scale of the target on which effects add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from ..._core.types import Array

ROOM = 0.25  # of the range of the fitted targets that predictions may go beyond it


def standard(t: Array, weight: Array) -> tuple[Array, float, float]:
    """Return targets as a column of mean zero and variance one, their scale, and their mean."""
    unit = 2.0 ** np.frexp(np.abs(t).max(initial=0.0))[1]  # no square overflows, no bit is lost
    t = t / unit
    mean = float(np.average(t, weights=weight))
    scale = float(np.sqrt(np.average((t - mean) ** 2, weights=weight))) or 1.0
    return ((t - mean) / scale)[:, None], scale * unit, mean * unit


@dataclass(frozen=True)
class Link:
    """A scale for the target, and the way back to its mean.

    Args:
        name: `identity`, `log`, `sqrt` or `logit`.
        low: of the decisions that are taken back, since exp and squares run away.
        high: as `low`.
        smear: mean of the target where the decision is 0 (log: a factor; sqrt: an addend).
    """

    name: str = "identity"
    low: float = -np.inf
    high: float = np.inf
    smear: float = 0.0

    def forward(self, y: Array) -> Array:
        """Return targets on the link's scale."""
        return np.asarray(FORWARD[self.name](y))

    def mean(self, f: Array, offset: Array | float = 0.0) -> Array:
        """Return the mean of the target for a decision f, and what is known to be added to it."""
        f = np.clip(f, self.low, self.high) + offset
        if self.name == "log":
            return np.asarray(self.smear * np.exp(f))
        if self.name == "sqrt":
            return np.asarray(f**2 + self.smear)
        return np.asarray(expit(f)) if self.name == "logit" else np.maximum(f, self.low)

    def slope(self, f: Array, offset: Array | float = 0.0) -> Array:
        """Return the derivative of `mean`."""
        f = np.clip(f, self.low, self.high) + offset
        if self.name == "log":
            return np.asarray(self.smear * np.exp(f))
        if self.name == "logit":
            return np.asarray(expit(f) * expit(-f))
        return 2 * f if self.name == "sqrt" else np.ones_like(f)

    def within(self, f: Array) -> Link:
        """Return the link, of decisions that go little beyond fitted ones."""
        if self.name == "identity":
            return self
        room = ROOM * float(np.ptp(f))
        return replace(self, low=float(f.min()) - room, high=float(f.max()) + room)

    def quantile(self, f: Array) -> Array:
        """Return the target at a quantile f of the link's scale; no mean is taken."""
        f = np.clip(f, self.low, self.high)
        if self.name == "log":
            return np.exp(f)
        return f**2 if self.name == "sqrt" else f

    def smeared(self, f: Array, y: Array, weight: Array, ends: Array | None = None) -> Link:
        """Return the link with the way back that fitted decisions f and targets y ask for.

        `ends` are the least and the greatest target, where rows are a part of those of the fit.
        """
        if self.name == "identity":
            return self
        t = self.forward(y)
        least, most = (t.min(), t.max()) if ends is None else self.forward(ends[[0, -1]])
        room = ROOM * (most - least)
        low, high = least - room, most + room
        if self.name == "sqrt":
            return Link(
                "sqrt", max(low, 0.0), high, float(np.average((t - f) ** 2, weights=weight))
            )
        return Link("log", low, high, float(np.average(np.exp(t - f), weights=weight)))


FORWARD: dict[str, Callable[[Array], Array]] = {
    "identity": lambda y: y,
    "sqrt": np.sqrt,
    "log": np.log,
}


def possible(y: Array) -> list[str]:
    """Return the links that targets allow and that could matter to them."""
    names = ["identity"]
    low, high = float(y.min()), float(y.max())
    if low < 0 or high <= 0 or high < 3 * low:  # over so short a range all links look alike
        return names
    return [*names, "sqrt", *(["log"] if low > 0 else [])]


def check(name: str, y: Array) -> None:
    """Raise an error where targets do not allow a link."""
    least = float(y.min())
    if (name == "log" and least <= 0) or (name == "sqrt" and least < 0):
        need = "positive" if name == "log" else "not negative"
        raise ValueError(
            f"link={name!r} needs targets that are {need}, got {least:g}; use link='identity' or "
            "'auto'"
        )
