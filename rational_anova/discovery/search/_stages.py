"""Stages of the search on one reduced table, each a function that yields candidates."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..._core.types import Array
from .._thresholds import CLEAR, EXACT, NULL_SPACE_TERMS
from ._beam import System, best_of
from ._candidate import Candidate, pruned
from ._reduced_table import ALL, ReducedTable, Rows
from ._surrogate import definite
from ._vocabulary import LINKS, Family, Link, Term, columns, families, monomials, polynomial

_CLEAR_ROWS = 250  # without noise, so many rows tell as much as all
_REACHED = 100.0  # times it, the error of a family that may have the law


def allowed_links(table: ReducedTable, names: Sequence[str]) -> list[Link]:
    """The links that the values of the target allow."""
    noise = table.loo * table.spread / np.maximum(table.weight, 1e-300)
    return [
        LINKS[n]
        for n in names
        if not ({LINKS[n].function} & table.forbidden) and LINKS[n].allowed(table.f, noise)
    ]


def thin(table: ReducedTable, most: int) -> Rows:
    """Every so many-th row, at most `most` of them, and fewer where there is no noise."""
    n, most = len(table.y), most if table.loo > CLEAR else min(most, _CLEAR_ROWS)
    return ALL if n <= most else np.linspace(0, n - 1, most).astype(int)


def null_space(table: ReducedTable, links: Sequence[str] = tuple(LINKS)) -> Iterator[Candidate]:
    """The quotient of polynomials of least degree that holds to rounding: p - g(y) q = 0."""
    r = table.U.shape[1]
    rows = thin(table, 500)
    for link in allowed_links(table, links):
        found = _null_space(table, link, r, rows)
        if found is not None:
            yield replace(found, stage="null space")


def _null_space(table: ReducedTable, link: Link, r: int, rows: Rows) -> Candidate | None:
    for total in range(1, 9):
        for low in range(total // 2 + 1):
            size_of_both = math.comb(r + total - low, r) + math.comb(r + low, r)
            if size_of_both > min(NULL_SPACE_TERMS, len(table.y) // 3):
                continue
            P, Q = polynomial(r, total - low), polynomial(r, low)
            system = System(table, link, P, Q, 1.0, rows)
            if not system.usable or len(system.norms) < len(P) + len(Q):
                return None
            R = np.linalg.qr(system.M, mode="r")
            _, size, V = np.linalg.svd(R)
            if size[-1] > 1e-10 * size[0]:
                continue
            candidate = _quotient(table, link, P, Q, V[-1] / system.norms)
            if candidate is None:
                continue
            candidate = candidate.measured()
            if candidate.error < 1e-6:
                candidate = candidate.refined()
            if candidate.error < EXACT:
                return pruned(candidate)
    return None


def _quotient(
    table: ReducedTable, link: Link, P: Sequence[Term], Q: Sequence[Term], v: Array
) -> Candidate | None:
    """The null vector as p / (1 + q): all divided by the strongest term of the denominator."""
    p, q = v[: len(P)], v[len(P) :]
    values = np.abs(columns(Q, table.U, 1.0)).mean(0) * np.abs(q)
    usable = [
        j for j, t in enumerate(Q)
        if all(e == 0 or definite(u) for e, u in zip(t.powers, table.U.T, strict=True))
    ]  # fmt: skip
    lead = max(usable, key=lambda j: values[j] * (10 if Q[j].cost == 0 else 1))
    if not values[lead] > 1e-9 * values.max():
        return None
    one = Q[lead].powers

    def over(t: Term) -> Term:
        powers = tuple(a - b for a, b in zip(t.powers, one, strict=True))
        return Term(powers, None, float(sum(map(abs, powers))))

    rest = [j for j in range(len(Q)) if j != lead]
    theta = np.r_[p, q[rest]] / q[lead]
    return Candidate(table, link, tuple(map(over, P)), tuple(over(Q[j]) for j in rest), theta)


def monomial_terms(table: ReducedTable) -> tuple[list[Term], list[Term]]:
    """Dictionaries of numerator and denominator without lifts."""
    r = table.U.shape[1]
    P = monomials(table.U, {1: 6, 2: 3}.get(r, 2), r <= 3 and "sqrt" not in table.forbidden)
    Q = [t for t in monomials(table.U, {1: 4}.get(r, 2)) if t.cost]
    return P, Q


def rational_terms(
    table: ReducedTable, links: Sequence[str] = tuple(LINKS), deadline: float = np.inf
) -> Iterator[Candidate]:
    """Few monomials over few monomials: the stage that works under noise."""
    r = table.U.shape[1]
    P, Q = monomial_terms(table)
    for link in allowed_links(table, links):
        if time.monotonic() > deadline:
            return
        system = System(table, link, P, Q, 1.0, thin(table, 1000))
        if system.usable:
            yield from _searched(system, 5, 20, pairs=r == 1, stage="monomials")


def _searched(
    system: System, most: int, width: int, pairs: bool = False, stage: str = "", keep: int = 3
) -> Iterator[Candidate]:
    sets: list[tuple[int, ...]] = [(), *((j,) for j in range(len(system.Q)))]
    if pairs:
        sets += itertools.combinations(range(len(system.Q)), 2)
    for error, support in best_of(system, sets, most, width, keep):
        yield replace(system.candidate(support, exact=error < 1e-6), error=error, stage=stage)


def lifted_terms(table: ReducedTable, family: Family) -> tuple[list[Term], list[Term]]:
    """Monomials, the family's atoms, and their products."""
    r, halves = table.U.shape[1], "sqrt" not in table.forbidden
    plain = monomials(table.U, {1: 4, 2: 2}.get(r, 2 if r < 5 else 1), r == 1 and halves)

    def lift(m: Term, k: int) -> Term:
        atom = family.atoms[k]
        return Term(m.powers, atom, m.cost + atom.cost)

    atoms = range(len(family.atoms))
    P = plain + [lift(m, k) for m in plain for k in atoms]
    one = next(m for m in plain if m.cost == 0)
    small = [m for m in monomials(table.U, 1 if r > 1 else 2) if m.cost]
    Q = [lift(one, k) for k in atoms] + small
    if r == 2:
        Q += [lift(m, k) for m in small for k in atoms]
    return P, Q


def lifts(
    table: ReducedTable,
    links: Sequence[str] = tuple(LINKS),
    deadline: float = np.inf,
    forbidden: frozenset[str] = frozenset(),
) -> Iterator[Candidate]:
    """One family of lifts at a time, with the rate 1."""
    r = table.U.shape[1]
    for family in families(table.U, forbidden):
        if family.atoms[0].function == "power":
            continue
        P, Q = lifted_terms(table, family)
        for link in allowed_links(table, links):
            if time.monotonic() > deadline:
                return
            system = System(table, link, P, Q, 1.0, thin(table, 600))
            # without noise the family has the law, or it is of no use
            sharp = r > 1 and table.loo < CLEAR
            reached = _REACHED * max(table.loo, EXACT)
            if system.usable and (not sharp or system.least_error() <= reached):
                for c in _searched(system, 4, 10 if r == 1 else 8, stage="lifts"):
                    # with the rate fixed at 1, it is no parameter
                    yield replace(c, theta=c.theta[: len(c.p) + len(c.q)])
