"""A law with free numbers: any formula, refined on the rows of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from ..._core.least_squares import levenberg_marquardt, standard_errors
from ..._core.types import Array
from ...symbols import Program, program
from .._route import MadeExact, Step
from .._thresholds import ALL_DIGITS, ROUNDING

_PARAMETERS: list[sp.Dummy] = []  # that no column can be confused with


@dataclass(frozen=True)
class Data:
    """The rows that laws are judged on."""

    X: Array
    y: Array
    symbols: tuple[sp.Symbol, ...]
    spread: float
    weight: Array  # rows in units of what is to be explained in the end
    known: tuple[tuple[sp.Symbol, float], ...] = ()  # constants that have a name

    def numeric(self, expression: sp.Expr) -> sp.Expr:
        """The expression with the known constants as numbers."""
        return expression.xreplace({s: sp.Float(v, 17) for s, v in self.known})

    def rows(self, chosen: np.ndarray) -> Data:
        """Some of the rows."""
        return replace(self, X=self.X[chosen], y=self.y[chosen], weight=self.weight[chosen])


@dataclass(frozen=True)
class Pin:
    """A parameter that was made exact: its symbol, the number, the standard error it had."""

    symbol: sp.Symbol
    exact: sp.Expr
    stderr: float


@dataclass(frozen=True)
class Template:
    """An expression in the columns and in parameters, with the values of these."""

    expression: sp.Expr
    parameters: tuple[sp.Symbol, ...]
    values: Array
    error: float = np.inf
    numbers: float = 0.0  # what its free numbers cost
    written: float = 0.0  # what its exact numbers cost
    rows: int = 1
    exact: tuple[MadeExact, ...] = ()  # numbers that were made exact
    pinned: tuple[Pin, ...] = ()  # exact numbers that keep a symbol
    stage: str = ""
    route: tuple[Step, ...] = ()

    @classmethod
    def of(cls, law: sp.Expr, **rest: object) -> Template:
        """The formula with each of its floats made a parameter; equal floats are one."""
        floats = sorted(law.atoms(sp.Float), key=lambda f: float(f))
        while len(_PARAMETERS) < len(floats):
            _PARAMETERS.append(sp.Dummy(f"c{len(_PARAMETERS)}"))
        symbols = tuple(_PARAMETERS[: len(floats)])
        expression = law.xreplace(dict(zip(floats, symbols, strict=True)))
        return cls(expression, symbols, np.array([float(f) for f in floats]), **rest)  # type: ignore[arg-type]

    @property
    def law(self) -> sp.Expr:
        """The formula with numbers in place of the parameters."""
        numbers = {s: sp.Float(v, 17) for s, v in zip(self.parameters, self.values, strict=True)}
        numbers |= {pin.symbol: pin.exact for pin in self.pinned}
        return self.expression.xreplace(numbers)

    @property
    def numeric(self) -> sp.Expr:
        """The formula in its free parameters only."""
        return self.expression.xreplace({p.symbol: sp.Float(p.exact, 17) for p in self.pinned})

    @cached_property
    def complexity(self) -> float:
        """What it takes to write the formula down, numbers not counted."""
        return written(self.expression)

    @property
    def score(self) -> float:
        """Description length: the smaller, the better."""
        fit = self.rows * np.log(max(self.error, ROUNDING) ** 2)
        few = small_sample(self.rows, len(self.parameters))
        return float(fit + self.numbers + self.written + few + 2 * self.complexity)

    def weighed(self, data: Data) -> Template:
        """With the cost of its numbers: simple ones are short, others as long as they are sharp."""
        n, k = len(data.y), len(self.parameters)
        numbers = k * np.log(n)
        if k:
            with np.errstate(all="ignore"):
                J = self.jacobian(data, self.values) * (data.weight / data.spread)[:, None]
            if np.isfinite(J).all():
                errors = standard_errors(J, self.values, max(self.error, 1e-16))
                numbers = number_cost(self.values, errors, 0, 0, n)
        return replace(self, numbers=numbers, rows=n)

    def predict(self, data: Data, values: Array | None = None) -> Array:
        """The law on the rows."""
        f = compiled(data.numeric(self.numeric), (*data.symbols, *self.parameters))
        out = f(*data.X.T, *(self.values if values is None else values))[0]
        return np.broadcast_to(out, data.y.shape).astype(float)

    def jacobian(self, data: Data, values: Array) -> Array:
        """Slopes in the parameters, (n, k)."""
        f = slopes(data.numeric(self.numeric), data.symbols, self.parameters)
        out = f(*data.X.T, *values)
        return np.stack([np.broadcast_to(o, data.y.shape).astype(float) for o in out], 1)

    def refined(self, data: Data, steps: int = 40) -> Template:
        """Levenberg-Marquardt on the rows."""
        if not self.parameters:
            with np.errstate(all="ignore"):
                miss = (self.predict(data) - data.y) * data.weight / data.spread
            error = float(np.sqrt(np.mean(miss**2)))
            return replace(self, error=error if np.isfinite(error) else np.inf)
        scale = data.weight / data.spread
        values, error = levenberg_marquardt(
            lambda v: (self.predict(data, v) - data.y) * scale,
            lambda v: self.jacobian(data, v) * scale[:, None],
            self.values,
            steps,
            ROUNDING / 100,
        )
        return replace(self, values=values, error=error)

    def pruned(self, data: Data) -> Template:
        """The law without the numbers that are there for rounding alone, if it is exact."""
        law = self
        for symbol in [self.parameters[k] for k in np.argsort(np.abs(self.values))]:
            if symbol in law.parameters and len(law.parameters) > 1:
                less = law._without(law.parameters.index(symbol))
                less = None if less is None else less.refined(data, 3)
                if less is not None and less.error <= max(10 * self.error, ROUNDING):
                    law = less
        return law if law is self else law.refined(data).weighed(data)

    def _without(self, index: int) -> Template | None:
        """The law with zero in place of a number, and of those that this makes idle."""
        less = self.fixed(index, sp.Integer(0))
        if less.expression.has(sp.nan, sp.zoo, sp.oo, -sp.oo) or not less.expression.free_symbols:
            return None
        keep = [i for i, s in enumerate(less.parameters) if s in less.expression.free_symbols]
        return replace(
            less, parameters=tuple(less.parameters[i] for i in keep), values=less.values[keep]
        )

    def covariance(self, data: Data) -> Array:
        """Covariance of the parameters from the slopes and the residual."""
        n, k = len(data.y), len(self.parameters)
        if not k:
            return np.zeros((0, 0))
        with np.errstate(all="ignore"):
            J = self.jacobian(data, self.values) * data.weight[:, None]
            miss = (self.predict(data) - data.y) * data.weight
        if n <= k or not np.isfinite(J).all():
            return np.full((k, k), np.nan)
        norms = np.linalg.norm(J, axis=0)
        norms[norms == 0] = 1.0
        inverse = np.linalg.pinv(J / norms)
        out: Array = (inverse @ inverse.T) * (miss @ miss) / (n - k) / np.outer(norms, norms)
        return out

    def pinned_at(self, index: int, exact: sp.Expr, stderr: float) -> Template:
        """One parameter made exact, its symbol kept."""
        symbol = self.parameters[index]
        fixed = self.fixed(index, symbol)
        return replace(fixed, pinned=(*self.pinned, Pin(symbol, exact, stderr)))

    def fixed(self, index: int, exact: sp.Expr) -> Template:
        """One parameter set to an exact number."""
        keep = [i for i in range(len(self.parameters)) if i != index]
        return replace(
            self,
            expression=self.expression.xreplace({self.parameters[index]: exact}),
            parameters=tuple(self.parameters[i] for i in keep),
            values=self.values[keep],
        )


def written(expression: sp.Expr) -> float:
    """Cost of a formula: one for each operation, more for a function or a broken power."""
    if not expression.args:
        return 0.0
    inner = sum(written(a) for a in expression.args)
    if expression.is_Add or expression.is_Mul:
        signs = sum(1 for a in expression.args if a == -1)
        return inner + len(expression.args) - 1 - signs
    if expression.is_Pow:
        power = expression.exp
        if power.is_Integer:
            return inner + (1.0 if abs(power) == 1 else min(abs(int(power)), 3) * 0.5)
        if power.is_Rational:  # the odder, the dearer: 1/2, 3/2, 4/3, 13/3
            return inner + 2.5 + 0.5 * (power.q - 2) + 0.5 * float(sp.log(abs(power.p)))
        return inner + 4.0
    return inner + 3.5


def small_sample(rows: int, numbers: float) -> float:
    """What many numbers on few rows add to the description length (the correction of AICc)."""
    return 2.0 * numbers * (numbers + 1) / max(rows - numbers - 1, 0.5)


def number_cost(theta: Array, errors: Array, block: int, lead: int, rows: int) -> float:
    """What the numbers add to the description length.

    A number costs log(rows), and all its digits where the data are exact; where a simple fraction
    lies within two standard errors, only what it takes to write that. The numbers of the numerator
    (the first `block`) may also be simple as multiples of its largest, `lead`.
    """
    total = 0.0
    exact = bool((errors <= 1e-9 * np.abs(theta)).any())
    free = ALL_DIGITS if exact else float(np.log(rows))
    for i, (value, error) in enumerate(zip(theta, errors, strict=True)):
        simple = simple_cost(value, 2.0 * error)
        if i < block and i != lead:
            ratio = value / theta[lead]
            spread = abs(ratio) * np.hypot(error / abs(value), errors[lead] / abs(theta[lead]))
            simple = min(simple, simple_cost(ratio, 2.0 * spread))
        total += min(free, 2 * simple)
    return float(total)


def simple_cost(value: float, tolerance: float) -> float:
    """Nats of the simplest small fraction within the tolerance."""
    best = np.inf
    for d in (1, 2, 3, 4, 6, 8):
        n = round(value * d)
        if 0 < abs(n) < 1e6 and abs(n / d - value) <= tolerance:
            best = min(best, np.log(abs(n)) + 2 * np.log(d) + 1)
    return best


@lru_cache(512)
def compiled(expression: sp.Expr, arguments: Sequence[sp.Symbol]) -> Program:
    """A function of arrays that returns the expression in a list."""
    return program(arguments, [expression])


@lru_cache(512)
def slopes(
    expression: sp.Expr, columns: tuple[sp.Symbol, ...], parameters: tuple[sp.Symbol, ...]
) -> Program:
    """A function of arrays that returns the derivatives in the parameters."""
    return program((*columns, *parameters), [expression], parameters)
