"""What a law is made of: its parameters, the evidence for it, its grade, noise and rivals."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from ..._core.types import Array

if TYPE_CHECKING:
    import pandas as pd


class Grade(str, Enum):
    """What may be said of a formula, the strongest first.

    - `established`: no rival of comparable weight, nothing left over but noise, the same choice
      when rows are dropped, and the outer part of the data is predicted from the inner part.
    - `one of several`: it fits to the noise, and so do others, or a test speaks against it.
    - `interpolation`: it follows the data, and says no more than a smooth curve would.
    - `nothing`: it does not predict better than the mean.
    """

    ESTABLISHED = "established"
    SEVERAL = "one of several"
    INTERPOLATION = "interpolation"
    NOTHING = "nothing"

    @property
    def claimed(self) -> bool:
        """Whether the formula is called a law at all."""
        return self in (Grade.ESTABLISHED, Grade.SEVERAL)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Parameter:
    """A number of a law, with its error.

    Args:
        name: "c0", "c1", ..., or that of a form, such as "vmax"; never the name of a column.
        value: the number.
        stderr: its standard error from the data, before it was made exact; nan if unknown.
        exact: the exact number it was taken for, such as 1/2 or pi; None if none.
        given: True for a constant that the user knows, which keeps its own name.
        low: lower end of its 95% interval by profile likelihood; nan if unknown.
        high: upper end.
        meaning: what it is called in the field of a named law.
        unit: its unit, if the columns have units.
    """

    name: str
    value: float
    stderr: float = math.nan
    exact: sp.Expr | None = None
    given: bool = False
    low: float = math.nan
    high: float = math.nan
    meaning: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or keyword.iskeyword(self.name):
            raise ValueError(f"a parameter needs a name such as 'c0' or 'vmax', got {self.name!r}")
        value = float(self.value)
        if self.exact is not None:
            exact = sp.sympify(self.exact)
            if exact.free_symbols or not exact.is_real:
                raise ValueError(f"{self.name}.exact must be a real number, got {self.exact}")
            object.__setattr__(self, "exact", exact)
            value = float(exact)
        if not math.isfinite(value):
            raise ValueError(f"the value of {self.name} must be finite, got {value}")
        object.__setattr__(self, "value", value)
        for name in ("stderr", "low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def symbol(self) -> sp.Symbol:
        """The symbol that stands for it in the template."""
        return sp.Symbol(self.name)

    @property
    def number(self) -> sp.Expr:
        """The exact number, or the value as a float of 17 digits."""
        return sp.Float(self.value, 17) if self.exact is None else self.exact


@dataclass(frozen=True)
class Evidence:
    """What speaks for a law. Errors are root mean squares relative to the spread of the target.

    Args:
        rows: how many rows the law was fitted to.
        noise: residuals, with the degrees of freedom of the fit.
        error: error on the rows of the fit.
        held_out: error on rows that the search has not seen; None if none were held out.
        extrapolation: error on the outer part of the box, after a fit to its inner part.
        spread: standard deviation of the target.
        surrogate: leave-one-out error of a smooth function of no given form.
        seconds: how long the search took.
        candidates: how many formulas it weighed.
        stage: which stage found the law.
        route: how it was found, one sentence a step.
        made_exact: those of the route on fitted numbers that were taken for exact ones.
        stopped: True if the search ran out of time.
    """

    rows: int
    noise: float
    error: float
    held_out: float | None = None
    extrapolation: float | None = None
    spread: float = 1.0
    surrogate: float = math.nan
    seconds: float = 0.0
    candidates: int = 0
    stage: str = ""
    route: tuple[str, ...] = ()
    made_exact: tuple[str, ...] = ()
    stopped: bool = False

    def __post_init__(self) -> None:
        for name in ("route", "made_exact"):  # JSON has lists
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class Entry:
    """A formula on the front of complexity against error: none is both simpler and better."""

    formula: sp.Expr
    complexity: int
    error: float
    parameters: int


@dataclass(frozen=True)
class Rival:
    """A formula that was weighed against the law; the law itself is one of them.

    Args:
        formula: with its numbers.
        name: that of the catalogue; empty for a formula of the search.
        weight: its share of the posterior probability of all that were weighed.
        error: root mean square relative to the spread of the target.
        parameters: how many numbers were fitted.
        complexity: operations, as of a law.
        own: True for the law itself.
    """

    formula: sp.Expr
    name: str
    weight: float
    error: float
    parameters: int
    complexity: int
    own: bool = False


@dataclass(frozen=True)
class Noise:
    """How measurements scatter about a law.

    Args:
        model: "constant", "proportional", "log-normal", "Poisson" or "given".
        scale: standard deviation of a measurement; relative to the law for "proportional", of the
            logarithm for "log-normal"; what the standard deviations of the user, or the roots of
            counts, are to be multiplied with for "given" and "Poisson".
        floor: constant part beside a proportional one.
        compared: weight of every model that was compared.
    """

    model: str = "constant"
    scale: float = math.nan
    floor: float = 0.0
    compared: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether deviations were stated, not estimated."""
        return self.model == "given"

    def deviation(self, fitted: Array, sigma: Array | None = None) -> Array:
        """Return the standard deviation of a new measurement where the law has these values."""
        size = np.abs(np.asarray(fitted, dtype=float))
        if self.model == "proportional":
            return np.hypot(self.scale * size, self.floor)
        if self.model == "log-normal":
            spread = np.sqrt(np.expm1(self.scale**2)) * np.exp(self.scale**2 / 2)
            return np.asarray(spread * size)
        if self.model == "Poisson":
            return np.asarray(self.scale * np.sqrt(np.maximum(size, 1.0)))
        if self.model == "given" and sigma is not None:
            return np.asarray(self.scale * np.broadcast_to(sigma, size.shape))
        return np.full(size.shape, self.scale)


@dataclass(frozen=True, eq=False)
class Groups:
    """One law for several experiments: which numbers they share, and the others by experiment.

    Args:
        column: that tells the experiments apart.
        shared: names of the parameters that all have in common.
        own: names of those that each has of its own.
        values: a row an experiment; columns are the parameters, and their errors as "b stderr".
        spread: standard deviation of each own parameter between the experiments.
        shrunk: whether the own values are drawn towards their mean (mixed effects).
    """

    column: str
    shared: tuple[str, ...]
    own: tuple[str, ...]
    values: pd.DataFrame
    spread: Mapping[str, float] = field(default_factory=dict)
    shrunk: bool = False


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that a law was fitted to, for its plots and profiles; files do not hold them."""

    X: Array
    y: Array
    sigma: Array | None = None
    groups: Array | None = None
    x_sigma: Array | None = None
