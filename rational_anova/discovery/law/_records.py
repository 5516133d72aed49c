"""What a law is made of: its parameters, the evidence for it, and its rivals."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import sympy as sp


@dataclass(frozen=True)
class Parameter:
    """A number of a law, with its error.

    Args:
        name: "c0", "c1", ...: how the template calls it; never the name of a column.
        value: the number.
        stderr: its standard error from the data, before it was made exact; nan if unknown.
        exact: the exact number it was taken for, such as 1/2 or pi; None if none.
        given: True for a constant that the user knows, which keeps its own name.
    """

    name: str
    value: float
    stderr: float = math.nan
    exact: sp.Expr | None = None
    given: bool = False

    def __post_init__(self) -> None:
        if not self.given and not re.fullmatch("c[0-9]+", self.name):
            raise ValueError(f"a parameter is called 'c0', 'c1', ..., got {self.name!r}")
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
        object.__setattr__(self, "stderr", float(self.stderr))

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
        noise: what the law leaves over, with the degrees of freedom of the fit.
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
