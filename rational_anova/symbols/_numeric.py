"""Functions of numbers from formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp


def numeric(
    arguments: Sequence[Any], formula: Any, modules: Any = ("scipy", "numpy")
) -> Callable[..., Any]:
    """Return a function of the arguments that computes what parts of a formula share but once.

    SymPy would name such parts x0, x1, ... and, without a word, take an argument of that name that
    the formula lacks for one of them. Ours have names that no argument has.

    Args:
        arguments: symbols, or one list of them.
        formula: an expression, or a list of them.
        modules: of its functions, as for `sympy.lambdify`.

    Example:
        >>> x0, y = sp.symbols("x0 y")
        >>> numeric((x0, y), [1 / (y + 1), y / (y + 1)])(9.0, 1.0)
        [0.5, 0.5]
    """
    named = list(modules) if isinstance(modules, tuple) else modules  # numpy alone has no erf
    return sp.lambdify(arguments, formula, named, dummify=True, cse=_shared)


def _shared(formulas: Any) -> Any:
    return sp.cse(formulas, symbols=sp.numbered_symbols(cls=sp.Dummy), list=False)


def with_softplus(formula: Any) -> Any:
    """Return a formula with log(1 + exp(q)) as a function softplus(q), which does not overflow.

    SymPy takes numbers out of exponentials, exp(q + 2.0) = 7.39 exp(q), and they go back in.

    Example:
        >>> x = sp.Symbol("x")
        >>> with_softplus(1 / sp.log(1 + sp.exp(3 * x)))
        1/softplus(3*x)
    """
    return formula.replace(_is_softplus, _as_softplus)


def _is_softplus(part: Any) -> bool:
    if part.func is not sp.log:
        return False
    number, power = (part.args[0] - 1).as_coeff_Mul()
    return bool(number > 0) and power.func is sp.exp


def _as_softplus(part: Any) -> Any:
    number, power = (part.args[0] - 1).as_coeff_Mul()
    return sp.Function("softplus")(power.args[0] + sp.log(number))
