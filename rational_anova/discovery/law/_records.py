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
    """How much may be claimed of a formula, the strongest grade first.

    - `established`: no rival is comparably probable, the residuals are random, it is selected again
      when rows are dropped, and fitted to the inner part of the data it predicts the outer part.
    - `one of several`: it fits within the noise, but so do others, or it fails a test.
    - `interpolation`: it describes the data, but no better than a smooth nonparametric curve.
    - `nothing`: it does not predict better than the mean.
    """

    ESTABLISHED = "established"
    SEVERAL = "one of several"
    INTERPOLATION = "interpolation"
    NOTHING = "nothing"

    @property
    def claimed(self) -> bool:
        """Whether the formula is claimed as a law: established, or one of several."""
        return self in (Grade.ESTABLISHED, Grade.SEVERAL)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a law, with its standard error.

    Args:
        name: "c0", "c1", ..., or that of a form, such as "vmax"; never the name of a column.
        value: its estimate.
        stderr: its standard error, from before it was set to an exact number; nan if unknown.
        exact: the exact number it was set to, such as 1/2 or pi; None if none.
        given: True for a known constant, which keeps its own name.
        low: lower end of its 95% interval by profile likelihood; nan if unknown.
        high: upper end.
        meaning: its meaning in a named law.
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
    """The evidence for a law. Errors are root mean squares over the target's standard deviation.

    Args:
        rows: how many rows the law was fitted to.
        noise: residuals, with the degrees of freedom of the fit.
        error: error of the fit.
        held_out: error on held-out rows; None if none were held out.
        extrapolation: error on the outer part of the box, after a fit to its inner part.
        spread: standard deviation of the target.
        surrogate: leave-one-out error of a smooth nonparametric function.
        seconds: how long the search took.
        candidates: how many formulas were compared.
        stage: which stage found the law.
        route: how it was found, one sentence a step.
        made_exact: the steps of the route in which parameters were set to exact numbers.
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
    """A formula that was compared with the law; the law itself is one of them.

    Args:
        formula: with its numbers.
        name: that of the catalogue; empty for a formula of the search.
        weight: its posterior probability among all that were compared.
        error: root mean square over the standard deviation of the target.
        parameters: how many were fitted.
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
    """The noise model of a law.

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
    """One law for several experiments: the shared parameters, and the others by experiment.

    Args:
        column: the column of the experiments.
        shared: names of the shared parameters.
        own: names of the parameters that differ.
        values: one row for each experiment; columns are the parameters, and errors as "b stderr".
        spread: standard deviation of each own parameter between the experiments.
        shrunk: whether the values are shrunk towards their mean (mixed effects).
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
