"""Numbers of formulas that the user gave: one for each name, and called by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..search import Term

Listed = Sequence[tuple[Term, bool]]  # terms of all equations, and whether each was given
Numbered = tuple[int, sp.Expr]  # the place of a number, and what the user calls it


def called(terms: Listed) -> dict[sp.Symbol, sp.Symbol]:
    """New names of numbers: those of the user, and for others c0, c1, ... in order."""
    own, products = _places(terms)
    names = {place: name for name, place in own.items()}
    gone = {place for place, _ in products} - set(names)
    taken, count, out = {name.name for name in own}, 0, {}
    for place in range(sum(1 + len(term.inner) for term, _ in terms)):
        if place in gone:
            continue
        if place not in names:
            while f"c{count}" in taken:
                count += 1
            names[place] = sp.Symbol(f"c{count}")
            count += 1
        out[sp.Symbol(f"c{place}")] = names[place]
    return out


def as_given(
    terms: Listed, right: Sequence[sp.Expr], parameters: Sequence[sp.Symbol], theta: Array,
    groups: int,
) -> tuple[tuple[sp.Expr, ...], tuple[sp.Symbol, ...], Array]:  # fmt: skip
    """Formulas with one number for each name of the user, parameters, and their values.

    Args:
        terms: of the formulas.
        right: formulas in which every term has numbers of its own.
        parameters: of these.
        theta: their values.
        groups: whose numbers stand beside each other, one at least.
    """
    own, products = _places(terms)
    values = dict(zip(parameters, theta.tolist(), strict=True))
    changed: dict[sp.Symbol, sp.Expr] = {}
    for place, expression in products:
        for g in range(groups):
            symbol = sp.Symbol(f"c{place * groups + g}")
            names = {name: sp.Symbol(f"c{at * groups + g}") for name, at in own.items()}
            changed[symbol] = expression.xreplace(names)
            if changed[symbol].has(symbol):  # which from now on is the name that is new in it
                values[symbol] = _solution(changed[symbol], symbol, values)
    kept = tuple(p for p in parameters if p not in changed or changed[p].has(p))
    return tuple(e.xreplace(changed) for e in right), kept, np.array([values[p] for p in kept])


def _places(terms: Listed) -> tuple[dict[sp.Symbol, int], list[Numbered]]:
    """The place whose number has each name, and numbers that are made of these, in order."""
    given = list(_given(terms))
    own: dict[sp.Symbol, int] = {}
    for place, expression in given:
        if expression.is_Symbol:
            own.setdefault(expression, place)
    made = [(place, e) for place, e in given if e.is_Symbol and own[e] != place]
    rest = [(place, e) for place, e in given if not e.is_Symbol]
    while rest:
        rest.sort(key=lambda pair: len(pair[1].free_symbols - set(own)))
        place, expression = rest.pop(0)
        for name in expression.free_symbols - set(own):
            own[name] = place
        made.append((place, expression))
    return own, made


def _given(terms: Listed) -> Iterator[Numbered]:
    """Places in the order of `assembled`: the factor of a term, its inner numbers."""
    place = 0
    for term, is_given in terms:
        if is_given and term.factor is not None:
            yield place, term.factor
            yield from ((place + 1 + n, name) for n, name in enumerate(term.inner))
        place += 1 + len(term.inner)


def _solution(
    product: sp.Expr, symbol: sp.Symbol, values: Mapping[sp.Symbol, float]
) -> float:  # fmt: skip
    """The value of a symbol at which a product of powers is the number that stood for it."""
    power = float(product.as_powers_dict()[symbol])
    others = {s: sp.Float(v) for s, v in values.items() if s != symbol}
    rest = float(product.xreplace({symbol: sp.S.One}).xreplace(others))
    with np.errstate(all="ignore"):
        ratio = values[symbol] / np.float64(rest)
        found = float(np.sign(ratio) * np.abs(ratio) ** (1 / power))
    return found if np.isfinite(found) and found != 0 else 1.0
