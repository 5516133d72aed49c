"""A table on its way to a law: y = wrap(F), with F a function of the variables that are left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ..._core.types import Array
from .._route import Linked, Step
from ._surrogate import Surrogate, fit_surrogate
from ._vocabulary import Link

F = sp.Dummy("F")  # stands for the part of the law that is still to be found
Rows = slice | np.ndarray
Unwrap = Callable[[Array, Rows], Array]  # f on some of the rows -> y on them
ALL = slice(None)


class OutOfTime(Exception):
    """The time of a search is over; what it has found before counts."""


@dataclass(frozen=True)
class ReducedTable:
    """Rows of a reduced table, and how the target is made of what is left."""

    y: Array
    U: Array  # (n, r), the variables that are left
    f: Array  # the target that is left
    weight: Array  # |dy/df|: errors of f count in units of y
    variables: tuple[sp.Expr, ...]  # in the symbols of the columns
    wrap: sp.Expr = F
    unwrap: Unwrap = field(default=lambda f, rows: f, repr=False)
    route: tuple[Step, ...] = ()
    forbidden: frozenset[str] = frozenset()  # functions that the law may not have
    importance: Array | None = None  # of the rows; all alike where None
    surrogate: Surrogate | None = field(default=None, repr=False)
    loo: float = np.inf  # leave-one-out error of the surrogate, relative to the spread of y
    until: float = np.inf  # of the clock: no fit is begun later

    @cached_property
    def negative(self) -> bool:
        """Whether most values of the target are below zero."""
        return bool(np.median(self.f) < 0)

    @cached_property
    def spread(self) -> float:
        """Standard deviation of y, or its size where y does not vary."""
        if self.importance is None:
            return float(np.std(self.y)) or float(np.abs(self.y).max()) or 1.0
        w2 = self.importance**2
        mean = np.sum(w2 * self.y) / np.sum(w2)
        return float(np.sqrt(np.mean(w2 * (self.y - mean) ** 2))) or 1.0

    def in_time(self) -> None:
        """Raise `OutOfTime` if it is too late to begin a fit."""
        if time.monotonic() > self.until:
            raise OutOfTime

    def fitted(self, columns: int = 500, hopeless: float = np.inf) -> ReducedTable:
        """The same with its surrogate, and little effort where it is `hopeless`."""
        self.in_time()
        surrogate = fit_surrogate(self.U, self.f, self.weight, columns, hopeless * self.spread)
        if surrogate is None:
            w2 = self.weight**2
            loo = float(np.sqrt(np.mean(w2 * (self.f - np.sum(w2 * self.f) / np.sum(w2)) ** 2)))
        else:
            loo = surrogate.loo
        return replace(self, surrogate=surrogate, loo=loo / self.spread)

    @cached_property
    def smooth(self) -> ReducedTable:
        """The same with its surrogate, which is fitted once."""
        return self.fitted()

    def reduced(self, U: Array, variables: tuple[sp.Expr, ...], step: Step) -> ReducedTable:
        """The same target on other variables."""
        return replace(
            self, U=U, variables=variables, route=(*self.route, step), surrogate=None, loo=np.inf
        )

    def divided(self, factor: Array, expression: sp.Expr) -> ReducedTable:
        """The target divided by a known factor."""
        unwrap = self.unwrap
        return replace(
            self,
            f=self.f / factor,
            weight=self.weight * np.abs(factor),
            wrap=self.wrap.subs(F, expression * F),
            unwrap=lambda f, rows: unwrap(f * factor[rows], rows),
        )

    def lowered(self, part: Array, expression: sp.Expr) -> ReducedTable:
        """The target without a known additive part."""
        unwrap = self.unwrap
        return replace(
            self,
            f=self.f - part,
            wrap=self.wrap.subs(F, expression + F),
            unwrap=lambda f, rows: unwrap(f + part[rows], rows),
        )

    def linked(self, link: Link) -> ReducedTable:
        """The target seen through a link."""
        unwrap, sign = self.unwrap, link.sign(self.negative)
        return replace(
            self,
            f=link.forward(self.f),
            weight=self.weight / np.maximum(np.abs(link.slope(self.f)), 1e-300),
            wrap=self.wrap.subs(F, int(sign) * link.expression(F)),
            unwrap=lambda t, rows: unwrap(sign * link.inverse(t), rows),
            route=(*self.route, Linked(link.name)),
            surrogate=None,
            loo=np.inf,
        )

    def misses(self, f: Array, rows: Rows = ALL) -> Array:
        """Errors in y of a guess of the target, (..., n), relative to the spread."""
        out = (self.unwrap(f, rows) - self.y[rows]) / self.spread
        return out if self.importance is None else out * self.importance[rows]

    def error(self, f: Array, rows: Rows = ALL) -> float:
        """Relative error in y of a guess of the target; infinite where it is not finite."""
        with np.errstate(all="ignore"):
            e = float(np.sqrt(np.mean(self.misses(f, rows) ** 2)))
        return e if np.isfinite(e) else np.inf

    def expression(self, f: sp.Expr, u: tuple[sp.Symbol, ...]) -> sp.Expr:
        """The law for y, when the target is `f` in the symbols u of the variables."""
        inner = f.xreplace(dict(zip(u, self.variables, strict=True)))
        return self.wrap.xreplace({F: inner})
