"""What the user knows of right-hand sides: parts that are given, with numbers to be fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.checks import choice
from ...symbols import names_in, parse
from ..search import POLYNOMIAL, Term

_HOLE = "f"  # what stands for the part that is to be found
_STARTS = tuple((float(sign * size),) for size in np.geomspace(1e-2, 1e2, 9) for sign in (1, -1))


@dataclass(frozen=True)
class Given:
    """A right-hand side as the user gave it.

    Attributes:
        fixed: the part without numbers to be fitted.
        terms: the others, each to be multiplied with a fitted number.
        open: whether there is a part that is to be found.
    """

    fixed: sp.Expr
    terms: tuple[Term, ...]
    open: bool


def read_known(
    known: Mapping[str, str], states: Sequence[str], symbols: Sequence[sp.Symbol], order: int
) -> dict[int, Given]:
    """Right-hand sides by the place of their state; positions of order 2 have their velocities.

    Args:
        known: formulas by the name of a measured state; of its acceleration, with order 2.
        states: names of all states, velocities last.
        symbols: of states, inputs and time.
        order: 1 or 2.
    """
    measured = len(states) // order
    found = {}
    for name, formula in known.items():
        place = list(states).index(choice(name, states[:measured], "known"))
        found[place + measured * (order - 1)] = read_formula(name, formula, symbols)
    if order == 2:
        found |= {k: Given(symbols[measured + k], (), False) for k in range(measured)}
    return found


def read_formula(name: str, formula: str, symbols: Sequence[sp.Symbol]) -> Given:
    if not isinstance(formula, str):
        raise TypeError(f"known[{name!r}] must be a formula as text, got {formula!r}")
    columns = {symbol.name: symbol for symbol in symbols}
    free = {n: sp.Symbol(n) for n in names_in(formula) if n not in columns}
    expression = sp.expand(parse(formula, {**columns, **free}))
    hole = free.pop(_HOLE, None)
    fixed, terms, is_open = sp.S.Zero, [], False
    for part in sp.Add.make_args(expression):
        if hole is not None and part.has(hole):
            if part != hole:
                raise ValueError(
                    f"known[{name!r}] has {part}: the part to be found, f, may only be added"
                )
            is_open = True
        elif part.free_symbols.isdisjoint(free.values()):
            fixed += part
        else:
            terms.append(_term(name, part, [s for s in free.values() if part.has(s)]))
    return Given(fixed, tuple(terms), is_open)


def _term(name: str, part: sp.Expr, free: Sequence[sp.Symbol]) -> Term:
    """A term with a fitted factor, and at most one number inside."""
    factors = [s for s in free if part.diff(s).free_symbols.isdisjoint([s])]
    if not factors or len(free) > 2:
        raise ValueError(
            f"known[{name!r}] has {part}, whose numbers cannot be fitted: a term may have one "
            "factor and one number inside, as vmax*S/(km + S)"
        )
    inner = tuple(s for s in free if s != factors[0])
    return Term(part.diff(factors[0]), 0.0, POLYNOMIAL, inner, _STARTS if inner else ((),))
