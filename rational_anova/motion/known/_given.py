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
    _check_names(found)
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
    columns = part.free_symbols - set(free)
    outside, function = part.as_independent(*columns, as_Add=False) if columns else (part, sp.S.One)
    number, factor = outside.as_independent(*free, as_Add=False)
    inner = tuple(s for s in free if function.has(s))
    product = all(base.is_Symbol and power.is_number
                  for base, power in factor.as_powers_dict().items())  # fmt: skip
    if factor == 1 or not product or len(inner) > 1:
        raise ValueError(
            f"known[{name!r}] has {part}, whose numbers cannot be fitted: a term may have a "
            "factor, or a product of factors, and one number inside, as vmax*S/(km + S)"
        )
    starts = _STARTS if inner else ((),)
    return Term(number * function, 0.0, POLYNOMIAL, inner, starts, factor)


def _check_names(found: Mapping[int, Given]) -> None:
    """Refuse names that stand in products only, of which the numbers cannot be told."""
    factors = [t.factor for given in found.values() for t in given.terms if t.factor is not None]
    told = {s for given in found.values() for term in given.terms for s in term.inner}
    while True:
        new = [f for f in factors if len(f.free_symbols - told) == 1]
        if not new:
            break
        told |= set().union(*(f.free_symbols for f in new))
    for factor in factors:
        if unknown := sorted(s.name for s in factor.free_symbols - told):
            raise ValueError(
                f"known= has {factor}, of which only the value can be fitted, not each of "
                f"{', '.join(unknown)}; give one name to the product"
            )
