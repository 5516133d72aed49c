"""Whether a formula is the law up to its numbers: refitted to clean values, is it exact?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp
from scipy.optimize import least_squares

from experiments.discovery.laws import Box, Problem
from rational_anova.symbols import numeric

# Relative errors below which a law is exact: inside the box, and on the widened one, where
# powers and exponentials enlarge the rounding errors of the coefficients.
INSIDE, OUTSIDE = 1e-9, 1e-7
_ROWS = 1000
_WIDER = 0.25
_SEED = 12345
_GROWN = 1e5  # a number that becomes so many times as large is on its way to infinity

Function = Callable[[np.ndarray], np.ndarray]


def widened(box: Box, by: float = _WIDER) -> Box:
    """Return a box larger by a quarter on each side; positive variables stay well above zero."""
    result = []
    for low, high in box:
        step = by * (high - low)
        below = max(low - step, low / 4) if low > 0 else low - step
        result.append((below, high + step))
    return tuple(result)


def relative_error(problem: Problem, law: Function, box: Box | None = None) -> float:
    """Return the RMSE of a law on fresh points of a box, over the spread of y there.

    Inside the problem's own box a law must be finite wherever the truth is; elsewhere points where
    it is not are left out, unless they are most of them.
    """
    X, y = problem.sample(_ROWS, np.random.default_rng(_SEED), box)
    with np.errstate(all="ignore"):
        value = np.asarray(law(X))
    if np.iscomplexobj(value):
        value = np.where(value.imag == 0, value.real, np.nan)
    good = np.isfinite(value.astype(np.float64))
    if not good.all() if box is None else good.mean() < 0.5:
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean((value[good] - y[good]) ** 2)) / y[good].std())


def is_exact(problem: Problem, law: Function) -> bool:
    """Say whether a law is the truth to rounding, in the box and around it."""
    if not relative_error(problem, law) < INSIDE:
        return False
    return relative_error(problem, law, widened(problem.box)) < OUTSIDE


def opened(formula: sp.Expr) -> tuple[sp.Expr, dict[sp.Symbol, float]]:
    """Return a formula with a parameter in place of each float, and the floats."""
    floats = sorted(formula.atoms(sp.Float), key=str)
    names = {number: sp.Symbol(f"_c{i}") for i, number in enumerate(floats)}
    return formula.xreplace(names), {symbol: float(number) for number, symbol in names.items()}


def has_structure(
    problem: Problem, template: sp.Expr, start: dict[sp.Symbol, float], strict: bool = True
) -> bool:
    """Say whether a template is the law once its parameters are fitted to clean values."""
    return true_values(problem, template, start, strict) is not None


def true_values(
    problem: Problem, template: sp.Expr, start: dict[sp.Symbol, float], strict: bool = True
) -> dict[sp.Symbol, float] | None:
    """Return the parameters with which a template is the law; None if there are none.

    Args:
        problem: the truth.
        template: in the symbols of the problem's inputs and of the parameters.
        start: of each parameter.
        strict: a term that could be left out makes it another structure, and so does a number that
            has to grow without bound, as c in x/(1 + x/c) for the truth x.
    """
    inputs = [sp.Symbol(name) for name in problem.names]
    parameters = [symbol for symbol in start if symbol in template.free_symbols]
    function = numeric([*parameters, *inputs], template)

    def law(values: np.ndarray) -> Function:
        return lambda X: np.broadcast_to(function(*values, *X.T), len(X))

    values = np.array([start[symbol] for symbol in parameters])
    if len(values):
        values = _refitted(problem, law, values)
    if not is_exact(problem, law(values)):
        return None
    first = np.array([start[symbol] for symbol in parameters])
    if strict and (np.abs(values) > _GROWN * np.abs(first)).any():
        return None
    for i in range(len(values) if strict else 0):
        without = values.copy()
        without[i] = 0.0
        if is_exact(problem, law(without)):
            return None
    return dict(zip(parameters, map(float, values), strict=True))


def _refitted(
    problem: Problem, law: Callable[[np.ndarray], Function], start: np.ndarray
) -> np.ndarray:
    X, y = problem.sample(_ROWS, np.random.default_rng(_SEED + 1))

    def residuals(values: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            value = np.asarray(law(values)(X))
        if np.iscomplexobj(value):
            value = np.where(value.imag == 0, value.real, np.nan)
        return np.nan_to_num((value - y) / y.std(), nan=1e3, posinf=1e3, neginf=-1e3)

    cost = np.inf
    for _ in range(3):  # each start anew with the trust region of its own scale
        fit = least_squares(
            residuals, start, jac="3-point", x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15,
            max_nfev=100,
        )  # fmt: skip
        start = fit.x
        if fit.cost < 1e-24 or fit.cost > 0.9 * cost:
            break
        cost = fit.cost
    return start
