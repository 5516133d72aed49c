"""Systems of textbooks: tried on noisy rows besides the search, and cheaper for their name."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import permutations

import numpy as np
import sympy as sp

from ..search import Term
from ._given import read_formula

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

Key = tuple[frozenset[sp.Expr], ...]  # what the right-hand sides of a system are made of
_STATES = sp.symbols("x y z w")
_OUTSIDE = 8.0  # price of a term that the search does not have, outside of the named system
_PROBES = sp.symbols("_inner0:3")  # what inner numbers are called when terms are compared


@dataclass(frozen=True)
class Named:
    """A system of textbooks in the states of the data.

    Attributes:
        name: what it is called.
        sides: the terms of each right-hand side.
        price: minus the logarithm of its prior probability, by how often it is met.
    """

    name: str
    sides: tuple[tuple[Term, ...], ...]
    price: float

    @property
    def key(self) -> Key:
        """What it is made of."""
        return tuple(frozenset(term.key for term in side) for side in self.sides)


def named_systems(states: Sequence[sp.Symbol], terms: Sequence[Term], order: int) -> list[Named]:
    """Systems of so many states, in all orders; each once.

    Args:
        states: symbols of the data, velocities after positions.
        terms: of the search, which are used where they are the same.
        order: 2 if the rate of a position is its velocity, and has no terms.
    """
    known = {_plain(term): term for term in terms}
    wanted = [system for system in _systems() if len(system.sides) == len(states)]
    if not wanted:
        return []
    if order == 2:
        moving = frozenset([_STATES[1]])
        wanted = [system for system in wanted if system.key[0] == moving]
        orders: list[tuple[sp.Symbol, ...]] = [tuple(states)] if len(states) == 2 else []
    else:
        orders = list(permutations(states))
    all_uses = sum(np.exp(-system.price) for system in wanted) * len(orders)
    found: dict[Key, Named] = {}
    for system in wanted:
        for own in orders:
            sides = tuple(_placed(system.sides, own, states, known, order))
            placed = Named(system.name, sides, system.price + float(np.log(all_uses)))
            found.setdefault(placed.key, placed)
    return list(found.values())


def _placed(
    sides: Sequence[Sequence[Term]], own: Sequence[sp.Symbol], states: Sequence[sp.Symbol],
    known: dict[sp.Expr, Term], order: int,
) -> Iterator[tuple[Term, ...]]:  # fmt: skip
    """The terms of a system with its states renamed, in the order of the data's states."""
    renamed = dict(zip(_STATES, own, strict=False))
    for state in states:
        if order == 2 and state == states[0]:
            yield ()
            continue
        side = sides[list(own).index(state)]
        moved = [replace(t, expression=t.expression.xreplace(renamed)) for t in side]
        yield tuple(known.get(_plain(term), term) for term in moved)


def _plain(term: Term) -> sp.Expr:
    """A term whose inner numbers have names of no term."""
    return term.expression.xreplace(dict(zip(term.inner, _PROBES, strict=False)))


@cache
def _systems() -> list[Named]:
    """All of them, in states x, y, z, w; prices are by uses alone."""
    text = files(__package__).joinpath("systems.toml").read_text(encoding="utf-8")
    return [
        Named(e["name"], tuple(_side(e["name"], f) for f in e["equations"]), -np.log(e["uses"]))
        for e in tomllib.loads(text)["system"]
    ]


def _side(name: str, formula: str) -> tuple[Term, ...]:
    terms = read_formula(name, formula, _STATES).terms
    return tuple(replace(t, expression=t.key, price=_OUTSIDE) for t in terms)
