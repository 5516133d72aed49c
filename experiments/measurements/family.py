"""Whether a formula with numbers is of the family that a form describes.

The form is g(x; theta), the formula f(x) has numbers in it. They are of one family if

1. g becomes f for some theta: f has nothing that g has not, and
2. f becomes g, at its true numbers, when the fitted numbers of f are free: g has nothing that f has
   not. Michaelis-Menten is no Hill with exponent 2.6, and is one if the true exponent is 1.

"Becomes" means a relative RMS difference below 1e-6 on 200 points of the data's box and below 1e-4
on the box widened by a quarter on each side, where both have values: forms that are written
differently pass, approximations do not.

Fitted numbers of a formula are its floats. Integers, fractions and floats of up to three digits may
be numbers that were fitted and then made exact; they are freed at a second try, unless they are
exponents, which belong to the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import least_squares

from experiments.discovery.structure import widened
from rational_anova.symbols import Names, numeric

INSIDE, OUTSIDE = 1e-6, 1e-4
_POINTS = 200
_SHORT = 3  # digits of a float that was made exact
_JITTERS = 4  # further starts, around the first
_HOPELESS = 0.05  # a difference that further starts would not remove
_FAR = 10.0  # of the spread: a formula so far from the form's curve is not looked at
_BAD = 1e3  # in place of values that are not finite

Box = tuple[tuple[float, float], ...]
Values = dict[str, float]
Function = Callable[..., np.ndarray]  # of parameters (k,) and X (n, d)


@dataclass(frozen=True)
class Form:
    """A formula in columns and free names, with the numbers that are true or fitted.

    Args:
        text: the formula.
        columns: its inputs, by names that can stand in a formula.
        box: range of each column.
        truths: numbers at which the form is the truth: true ones, fitted ones, or both.

    Example:
        >>> values = {"a": 5.0, "k": 3.0, "n": 2.6}
        >>> hill = Form("a*x**n/(k**n + x**n)", ("x",), ((0.1, 9.0),), (values,))
        >>> hill.same(sp.sympify("5.0712345678*x**2.58123456/(17.7123456789 + x**2.58123456)"))
        True
        >>> hill.same(sp.sympify("7.0712345678*x/(4.7123456789 + x)"))
        False
    """

    text: str
    columns: tuple[str, ...]
    box: Box
    truths: tuple[Values, ...]
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Free names."""
        return tuple(self.truths[0])

    @property
    def formula(self) -> sp.Expr:
        """The form in plain symbols."""
        if "formula" not in self._cache:
            self._cache["formula"] = plain(
                Names(self.columns).parse(self.text, self.names), self.columns
            )
        return self._cache["formula"]

    @property
    def function(self) -> Function:
        """The form as a function of its parameters, in the order of `names`, and of X."""
        if "function" not in self._cache:
            symbols = list(map(sp.Symbol, self.names))
            self._cache["function"] = function_of(self.formula, symbols, self.columns)
        return self._cache["function"]

    def at(self, values: Values) -> Callable[[np.ndarray], np.ndarray]:
        """Return the form with numbers, as a function of X."""
        vector = np.array([values[name] for name in self.names])
        return lambda X: self.function(vector, X)

    def freed(self) -> Form:
        """Return the form with its given numbers free, too: 60 + 70*exp(-a*t) as p + q*exp(-a*t).

        Integer exponents, 0, 1 and -1 stay; equal numbers are one.
        """
        known: dict[float, str] = {}

        def free(part: sp.Expr, exponent: bool = False) -> sp.Expr:
            if part.is_Number and part not in (0, 1, -1) and not (exponent and part.is_Integer):
                return sp.Symbol(known.setdefault(float(part), f"given{len(known)}"))
            power = isinstance(part, sp.Pow)
            parts = [free(a, power and i == 1) for i, a in enumerate(part.args)]
            return part.func(*parts) if parts else part

        text = str(free(self.formula))
        given = {name: value for value, name in known.items()}
        truths = tuple({**truth, **given} for truth in self.truths)
        return Form(text, self.columns, self.box, truths)

    def same(self, formula: sp.Expr) -> bool:
        """Return whether a formula in the symbols of the columns is of this family."""
        formula = plain(formula, self.columns)
        if formula.has(sp.zoo, sp.nan, sp.oo, sp.I) or not formula.free_symbols:
            return False
        curve = _as_curve(formula, self.columns)
        starts = [np.array([truth[name] for name in self.names]) for truth in self.truths]
        inside = points(self.box)
        if min(distance(curve, self.at(t), inside) for t in self.truths) > _FAR:
            return False
        if not becomes(self.function, starts, curve, self.box):
            return False
        return any(self._reached(formula, more) for more in (False, True))

    def _reached(self, formula: sp.Expr, more: bool) -> bool:
        """Return whether the formula, its numbers freed, becomes the form at its true numbers."""
        template, start = opened(formula, more)
        function = function_of(template, list(start), self.columns)
        first = np.array(list(start.values()))
        return any(becomes(function, [first], self.at(truth), self.box) for truth in self.truths)


def plain(formula: sp.Expr, columns: Sequence[str]) -> sp.Expr:
    """Return a formula whose columns are plain symbols of their names, without assumptions."""
    own = {s: sp.Symbol(s.name) for s in formula.free_symbols}
    return formula.xreplace(own)


def in_columns(formula: sp.Expr, symbols: Iterable[sp.Symbol], columns: Sequence[str]) -> sp.Expr:
    """Return a law's formula in plain symbols of other names for its columns."""
    return formula.xreplace(dict(zip(symbols, map(sp.Symbol, columns), strict=True)))


def opened(formula: sp.Expr, more: bool = False) -> tuple[sp.Expr, dict[sp.Symbol, float]]:
    """Return a formula with a parameter in place of each fitted number, and these numbers.

    Numbers that differ in sign alone are one parameter.

    Args:
        formula: with numbers.
        more: free those that may have been made exact, too.

    Example:
        >>> opened(sp.sympify("2.25123456*exp(-3*x) - 2.25123456*x**2"))
        (_c0*exp(-3*x) - _c0*x**2, {_c0: 2.25123456})
    """
    known: dict[float, sp.Symbol] = {}

    def symbol(number: sp.Expr) -> sp.Expr:
        value = float(number)
        size = known.setdefault(abs(value), sp.Symbol(f"_c{len(known)}"))
        return -size if value < 0 else size

    def freed(part: sp.Expr, exponent: bool = False) -> sp.Expr:
        if part.is_Number:
            return (
                symbol(part) if _is_fitted(part) or (more and _is_exact(part, exponent)) else part
            )
        if not part.args:
            return part
        power = isinstance(part, sp.Pow)
        return part.func(*(freed(a, power and i == 1) for i, a in enumerate(part.args)))

    template = freed(formula)
    return template, {s: size for size, s in known.items()}


def _is_fitted(number: sp.Expr) -> bool:
    return bool(number.is_Float) and _digits(number) > _SHORT


def _is_exact(number: sp.Expr, exponent: bool) -> bool:
    return not exponent and number not in (0, 1, -1) and (number.is_Rational or number.is_Float)


def _digits(number: sp.Expr) -> int:
    mantissa = f"{float(number):.16e}".split("e")[0]
    shortest = repr(float(number)).split("e")[0]
    text = min(mantissa, shortest, key=len)
    return len(text.lstrip("-").replace(".", "").strip("0"))


def function_of(formula: sp.Expr, parameters: Sequence[sp.Symbol], columns: Sequence[str]) -> Any:
    """Return a formula as a function of the vector of its parameters and of X (n, d)."""
    inputs = list(map(sp.Symbol, columns))
    function = numeric([*parameters, *inputs], formula, ["scipy", "numpy"])

    def value(vector: np.ndarray, X: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            result = np.broadcast_to(np.asarray(function(*vector, *X.T)), len(X))
        if np.iscomplexobj(result):
            result = np.where(result.imag == 0, result.real, np.nan)
        return result.astype(np.float64)

    return value


def _as_curve(formula: sp.Expr, columns: Sequence[str]) -> Callable[[np.ndarray], np.ndarray]:
    function = function_of(formula, [], columns)
    return lambda X: function(np.zeros(0), X)


def points(box: Box) -> np.ndarray:
    """Return points in a box: even in one column, random in several."""
    if len(box) == 1:
        return np.linspace(*box[0], _POINTS)[:, None]
    low, high = np.array(box).T
    return np.random.default_rng(0).uniform(low, high, (_POINTS * len(box), len(box)))


def distance(
    one: Callable[[np.ndarray], np.ndarray],
    other: Callable[[np.ndarray], np.ndarray],
    X: np.ndarray,
) -> float:
    """Return the RMS difference over the spread of the other, where both have values."""
    a, b = one(X), other(X)
    good = np.isfinite(a) & np.isfinite(b)
    if good.mean() < 0.5:
        return float("inf")
    spread = float(np.std(b[good])) or float(np.abs(b[good]).max()) or 1.0
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean((a[good] - b[good]) ** 2)) / spread)


def becomes(
    function: Function,
    starts: Sequence[np.ndarray],
    curve: Callable[[np.ndarray], np.ndarray],
    box: Box,
) -> bool:
    """Return whether a function of parameters is a curve for some value of these."""
    X, wide = points(box), points(widened(box))
    target, nearest = curve(X), np.inf
    for number, start in enumerate(_around(starts)):
        if number >= len(starts) and nearest > _HOPELESS:
            return False
        law = partial(function, fitted(function, start, X, target))
        nearest = min(nearest, distance(law, curve, X))
        if nearest < INSIDE:
            return distance(law, curve, wide) < OUTSIDE
    return False


def _around(starts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the starts, then some around the first."""
    random = np.random.default_rng(0)
    size = len(starts[0])
    jitters = random.normal(0.0, 0.3, (_JITTERS if size else 0, size))
    return [*starts, *(starts[0] * np.exp(jitter) for jitter in jitters)]


def fitted(function: Function, start: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return parameters by least squares, from one start; rows without y are left out."""
    good = np.isfinite(y)
    X, y = X[good], y[good]
    spread = float(np.std(y)) or 1.0

    def residuals(values: np.ndarray) -> np.ndarray:
        left = (function(values, X) - y) / spread
        return np.clip(np.nan_to_num(left, nan=_BAD, posinf=_BAD, neginf=-_BAD), -_BAD, _BAD)

    if not len(start):
        return start
    cost = np.inf
    for _ in range(4):  # each start anew with the trust region of its own scale
        fit = least_squares(
            residuals, start, jac="3-point", x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15,
            max_nfev=60,
        )  # fmt: skip
        start = fit.x
        if fit.cost < 1e-22 * len(y) or fit.cost > 0.5 * cost:
            break
        cost = fit.cost
    return start
