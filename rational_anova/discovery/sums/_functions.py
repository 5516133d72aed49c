"""Functions that a user brings, texts or sympy expressions, as atoms of sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from ...symbols import FUNCTIONS, check_formula, names_in, parse, unknown_function
from ..dimensions import scales
from ._atoms import PLACE, Atom, B, C, Grid, X

_WAVES = (sp.sin, sp.cos, sp.besselj)


def read_functions(functions: Sequence[Any]) -> tuple[Atom, ...]:
    """Return functions of a column x as atoms, with grids that suit their inner numbers.

    Args:
        functions: formulas, as text or in sympy, in x and at most two other names, which are inner
            numbers. A sympy expression in one symbol is a function of that symbol.

    Example:
        >>> damped, bessel = read_functions(["exp(-x/tau)*sin(w*x)", sp.besselj(0, sp.Symbol("r"))])
        >>> damped.formula, [grid.kind for grid in damped.grids]
        (exp(-x/b)*sin(c*x), ['rate', 'wave'])
        >>> bessel.formula
        besselj(0, x)
    """
    if isinstance(functions, str | sp.Basic) or not isinstance(functions, Sequence):
        raise TypeError(f"functions must be a list of formulas in x, got {functions!r}")
    found: dict[sp.Expr, Any] = {}
    for given in functions:
        formula = _read(given)
        for same in (formula, formula.xreplace({B: C, C: B})):
            if same in found:
                raise ValueError(
                    f"functions has {str(given)!r} twice, first as {str(found[same])!r}; the names "
                    "of its numbers do not matter"
                )
        found[formula] = given
    return tuple(Atom(formula, _grids(formula)) for formula in found)


# -- formulas


def _read(given: Any) -> sp.Expr:
    """A formula in x, b and c; a factor without x goes, since every term has one of its own."""
    if not isinstance(given, str | sp.Expr):
        raise TypeError(f"functions takes formulas as text or in sympy, got {given!r}")
    try:
        formula = _of_text(given) if isinstance(given, str) else _of_sympy(given)
        if formula.has(sp.I, sp.oo, -sp.oo, sp.zoo, sp.nan):
            raise ValueError("the formula must be real and finite")
        written = {f: sp.Rational(repr(float(f))) for f in formula.atoms(sp.Float)}
        formula = formula.xreplace(written)  # the search takes floats for free numbers
        formula = formula.as_independent(X, as_Add=False)[1]
        if X not in formula.free_symbols:
            raise ValueError(
                "the formula has no x; write x for the column that it is a function of"
            )
        numbers = sorted(formula.free_symbols - {X}, key=str)
        if len(numbers) > len((B, C)):
            names = ", ".join(map(str, numbers))
            raise ValueError(f"the formula has {len(numbers)} inner numbers, {names}; two are the "
                             "most")  # fmt: skip
    except ValueError as error:
        raise ValueError(f"functions has {str(given)!r}: {error}") from error
    return formula.xreplace(dict(zip(numbers, (B, C), strict=False)))


def _of_text(text: str) -> sp.Expr:
    check_formula(text)
    return parse(text, {name: sp.Symbol(name, real=True) for name in names_in(text)})


def _of_sympy(given: sp.Expr) -> sp.Expr:
    symbols = sorted(given.free_symbols, key=str)
    names = ["x"] if len(symbols) == 1 else [s.name for s in symbols]
    if len(set(names)) < len(names):
        raise ValueError(f"two of the symbols {', '.join(names)} have one name")
    for function in sorted({f.func.__name__ for f in given.atoms(sp.Function)} - FUNCTIONS):
        raise unknown_function(function)
    formula = given.xreplace(
        {s: sp.Symbol(n, real=True) for s, n in zip(symbols, names, strict=True)}
    )
    plain = {s: sp.Symbol(f"c{k}") for k, s in enumerate(formula.free_symbols)}
    parse(str(formula.xreplace(plain)), {})  # what text cannot carry, no file can
    return formula


# -- inner numbers


def _grids(formula: sp.Expr) -> tuple[Grid, ...]:
    numbers = tuple(s for s in (B, C) if s in formula.free_symbols)
    powers = scales(formula, numbers, (X,))
    placed = any(_is_place(formula, number) for number in numbers)
    return tuple(_grid(formula, n, -float((powers[n] or (0,))[0]), placed) for n in numbers)


def _grid(formula: sp.Expr, number: sp.Symbol, degree: float, placed: bool) -> Grid:
    """The grid of a number that scales like x to minus the degree, beside a place or not."""
    waves = [f.args[-1] for f in formula.atoms(*_WAVES) if f.args[-1].has(number)]
    if any(sp.diff(argument, number).is_number for argument in waves):
        return Grid("phase")
    if _is_place(formula, number):
        return PLACE
    if waves and degree:
        return Grid("wave", degree)
    mirrored = formula.xreplace({number: -number})
    signed = mirrored not in (formula, -formula)
    if not degree:
        return Grid("size", signed=signed)
    return Grid("steep" if placed else "rate", degree, signed)


def _is_place(formula: sp.Expr, number: sp.Symbol) -> bool:
    """Whether x enters by its distance from the number alone."""
    return X not in formula.subs(number, X - number).free_symbols
