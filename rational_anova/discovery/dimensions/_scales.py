"""How the parameters of a form scale with the inputs and the target, for starting values.

Without any units: every input and the target is taken to have a dimension of its own. Stretch x by
ten, and the rate in exp(-b*x) is a tenth.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy as sp

from ._homogeneity import Dimension, Misfit, Unknown, Walk, plus

_TARGET = "target"
# Two sets of exponents that are in no formula: what comes out the same by both is so for all.
_GENERIC = ((101, 103, 107, 109, 113, 127, 131, 137), (211, 223, 227, 229, 233, 239, 241, 251))
_BELOW = (89, 197)


def scales(
    formula: sp.Expr, parameters: tuple[sp.Symbol, ...], inputs: tuple[sp.Symbol, ...]
) -> dict[sp.Symbol, tuple[Fraction, ...] | None]:
    """Return how each parameter scales: powers of the inputs, in order, then of the target.

    A number that is added to an input, or an input in a function, is taken to carry the dimension
    that is needed. A formula that only a target without dimension fits, such as one that ends in
    `atan(...)`, has powers 0 of the target.

    Args:
        formula: in the inputs and the parameters.
        parameters: the free numbers.
        inputs: the symbols of the columns.

    Returns:
        The powers; None for a parameter that the formula leaves open, or whose scale depends on
        an exponent: `a` in a*x**b.

    Example:
        >>> a, b, x = sp.symbols("a b x")
        >>> scales(a * (1 - sp.exp(-b * x)), (a, b), (x,))
        {a: (Fraction(0, 1), Fraction(1, 1)), b: (Fraction(-1, 1), Fraction(0, 1))}
    """
    try:
        first, second = (
            _solved(formula, parameters, inputs, generic(parameters, number)) for number in (0, 1)
        )
    except Exception:  # a starting value can do without; sympy has many kinds of errors
        return dict.fromkeys(parameters)
    keys = (*inputs, _TARGET)
    return {
        parameter: _powers(first[parameter], keys) if agrees else None
        for parameter in parameters
        for agrees in [first[parameter] == second[parameter]]
    }


def generic(parameters: Sequence[sp.Symbol], number: int) -> dict[sp.Symbol, sp.Rational]:
    """Return values of exponents that no formula has by accident; `number` is 0 or 1."""
    primes, below = _GENERIC[number], _BELOW[number]
    return {
        parameter: sp.Rational(primes[place % len(primes)] + place // len(primes), below)
        for place, parameter in enumerate(parameters)
    }


def _powers(dimension: Dimension | None, keys: Sequence[object]) -> tuple[Fraction, ...] | None:
    if dimension is None:
        return None
    return tuple(dimension.get(key, Fraction(0)) for key in keys)


def _solved(
    formula: sp.Expr,
    parameters: Sequence[sp.Symbol],
    inputs: Sequence[sp.Symbol],
    exponents: dict[sp.Symbol, sp.Rational],
) -> dict[sp.Symbol, Dimension | None]:
    known: dict[sp.Symbol, Dimension] = {symbol: {symbol: Fraction(1)} for symbol in inputs}
    known |= {symbol: {Unknown(symbol): Fraction(1)} for symbol in parameters}
    bare = False  # the target has no dimension

    def misfit(_: Misfit, left: Dimension, right: Dimension) -> None:
        nonlocal bare
        bare = bare or set(plus(left, right, -1)) == {_TARGET}

    system = Walk(known, exponents, misfit).solve(formula, {_TARGET: Fraction(1)})
    solved = {symbol: system.solved(Unknown(symbol)) for symbol in parameters}
    return {symbol: _less_target(value) for symbol, value in solved.items()} if bare else solved


def _less_target(dimension: Dimension | None) -> Dimension | None:
    if dimension is None:
        return None
    return {key: power for key, power in dimension.items() if key != _TARGET}
