"""Lifts with an unknown rate: all rates and all small supports at once, then refined."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..._core.types import Array
from .._thresholds import EXACT, SCAN_KEPT, SCAN_PROMISING, SCAN_ROWS
from ._beam import Index, System
from ._candidate import Candidate
from ._reduced_table import ReducedTable
from ._stages import allowed_links, thin
from ._vocabulary import LIFTED, Family, Link, Term, families, monomial, monomials

_SIMPLE = 2  # terms of a law that is looked for beside a longer one
_FAR = 3.0  # times the best error: a candidate whose rate alone was sharpened may come nearer


def sharpened(system: System, supports: Index, low: Array, high: Array) -> tuple[Array, Array]:
    """The rate of each support by golden section, all at once, and the squared residual there."""
    terms = [*system.P, *system.Q]
    table, rows = system.table, system.rows
    U, n_p = table.U[rows], len(system.P)
    with np.errstate(all="ignore"):
        plain = np.stack([monomial(t.powers, U) for t in terms], 0)
    plain[n_p:] *= -system.target
    plain *= system.weight
    b = system.b
    arguments = {t.atom: t.atom.z(U) for t in terms if t.atom is not None}

    def residual(rate: Array) -> Array:
        lifted = {}
        for atom in arguments:
            lifted[atom] = LIFTED[atom.function][0](arguments[atom][None, :], rate[:, None])
        C = np.empty((len(supports), supports.shape[1], len(b)))
        for column in range(supports.shape[1]):
            for j in np.unique(supports[:, column]):
                who = supports[:, column] == j
                C[who, column] = plain[j]
                if terms[j].atom is not None:
                    C[who, column] *= lifted[terms[j].atom][who]
        norms = np.linalg.norm(C, axis=2, keepdims=True)
        C /= np.where(norms > 0, norms, 1.0)
        G = C @ C.transpose(0, 2, 1) + 1e-14 * np.eye(C.shape[1])
        bad = ~np.isfinite(G).all((1, 2))
        G[bad], C[bad] = np.eye(C.shape[1]), 0.0
        theta = np.linalg.solve(G, (C @ b)[..., None])
        out: Array = ((b - (theta * C).sum(1)) ** 2).sum(1)
        return out

    golden = (np.sqrt(5) - 1) / 2
    with np.errstate(all="ignore"):
        a, d = high - golden * (high - low), low + golden * (high - low)
        ra, rd = residual(a), residual(d)
        for _ in range(18):
            left = ra < rd
            low, high = np.where(left, low, a), np.where(left, d, high)
            new = np.where(left, high - golden * (high - low), low + golden * (high - low))
            r = residual(new)
            a, d, ra, rd = (
                np.where(left, new, d),
                np.where(left, a, new),
                np.where(left, r, rd),
                np.where(left, ra, r),
            )
    return np.where(ra < rd, a, d), np.minimum(ra, rd)


def scanned_rates(
    table: ReducedTable,
    links: Sequence[str],
    deadline: float = np.inf,
    forbidden: frozenset[str] = frozenset(),
    known: float = np.inf,
) -> Iterator[Iterator[Candidate]]:
    """One family at a time: the best supports of each size at the best of many rates, refined.

    Where an error is known to be possible, only candidates of few terms that come near to it are
    looked at.
    """
    order = ("exp", "power", "trig", "tanh", "1/(exp-1)", "log(1+)", "sqrt(1+)")
    usable = [
        f
        for f in families(table.U, forbidden)
        if f.kind in order and (f.rates is not None or f.kind == "power")
    ]
    usable.sort(key=lambda f: order.index(f.kind))
    for family in usable:
        if time.monotonic() > deadline:
            return
        yield _family(table, links, deadline, family, known)


def _family(
    table: ReducedTable, links: Sequence[str], deadline: float, family: Family, best: float
) -> Iterator[Candidate]:
    most = max(SCAN_KEPT) if np.isinf(best) else _SIMPLE
    for link in allowed_links(table, links):
        if time.monotonic() > deadline:
            return
        for candidate in _refined(table, link, family, best, most):
            best = min(best, candidate.error)
            yield candidate
        if best < EXACT:
            return


def scan_terms(table: ReducedTable, family: Family) -> tuple[list[Term], list[Term]]:
    """A small dictionary: low monomials, alone and times each atom; single denominators."""
    r = table.U.shape[1]
    plain = monomials(table.U, 2 if r <= 2 else 1)
    P = list(plain)
    for m in plain:
        for atom in family.atoms:
            P.append(Term(m.powers, atom, m.cost + atom.cost))
    one = plain[0]
    Q = [Term(one.powers, a, a.cost) for a in family.atoms]
    return P, Q + [m for m in plain if m.cost == 1]


def rates_of(table: ReducedTable, family: Family) -> Array:
    """The rates to look at."""
    if family.rates is None:
        return np.r_[np.linspace(-4, -0.2, 20), np.linspace(0.2, 4, 20)]
    z = np.abs(family.atoms[0].z(table.U))
    low, high = family.rates
    if family.kind == "trig":
        return np.linspace(low, high, 64) / max(float(z.max()), 1e-300)
    return np.geomspace(low, high, 28) / max(float(np.median(z)), 1e-300)


def _supports(P: Sequence[Term], Q: Sequence[Term]) -> dict[int, Index]:
    """Up to three p terms, or up to two over one q term, with a rate somewhere in it."""
    n, terms = len(P), [*P, *Q]
    singles: list[tuple[int, ...]] = [(i,) for i in range(n)]
    pairs: list[tuple[int, ...]] = list(itertools.combinations(range(n), 2))
    sets: dict[int, list[tuple[int, ...]]] = {1: singles, 2: list(pairs), 3: []}
    if n <= 16:
        sets[3] += itertools.combinations(range(n), 3)
    for j in range(n, n + len(Q)):
        sets[2] += [(*single, j) for single in singles]
        sets[3] += [(*pair, j) for pair in pairs]
    rated = np.array([t.rated for t in terms])
    out = {}
    for size, rows in sets.items():
        index = np.array(rows, dtype=int).reshape(-1, size)
        out[size] = index[rated[index].any(1)]
    return out


def _refined(
    table: ReducedTable, link: Link, family: Family, best: float, most: int
) -> Iterator[Candidate]:
    P, Q = scan_terms(table, family)
    rows = thin(table, SCAN_ROWS)
    systems = []
    for rate in rates_of(table, family):
        system = System(table, link, P, Q, float(rate), rows)
        if system.usable and len(system.norms) == len(P) + len(Q):
            systems.append(system)
    if not systems:
        return
    gram = np.stack([s.gram for s in systems])
    cross = np.stack([s.cross for s in systems])
    for size, supports in _supports(P, Q).items():
        if not len(supports) or size > most:
            continue
        thinned = [
            replace(candidate, stage="rates").refined(10, rows)
            for candidate in _best(systems, gram, cross, supports, SCAN_KEPT[size])
            if candidate.error < _FAR * best
        ]
        thinned.sort(key=_worth)
        for c in thinned[:3]:
            if c.error < 1.5 * min(best, 0.2):
                c = c.refined(15)
                best = min(best, c.error)
                yield c.weighed()
        if best < EXACT:
            return


def _best(
    systems: Sequence[System], gram: Array, cross: Array, supports: Index, keep: int
) -> list[Candidate]:
    """Candidates of the supports with the least errors, each at its best rate.

    Near the right rate a law does not look good yet, so the rate of every promising support is
    sharpened between the neighbours of the best one before they are compared.
    """
    size, rates = supports.shape[1], np.array([s.rate for s in systems])
    left = np.empty((len(systems), len(supports)))
    for k, system in enumerate(systems):
        G = gram[k][supports[:, :, None], supports[:, None, :]] + 1e-11 * np.eye(size)
        g = cross[k][supports]
        explained = np.einsum("ij,ij->i", g, np.linalg.solve(G, g[..., None])[..., 0])
        left[k] = float(system.b @ system.b) - explained
    at = left.argmin(0)
    order = np.argsort(left.min(0))[:SCAN_PROMISING]
    supports, at = supports[order], at[order]
    low, high = rates[np.maximum(at - 1, 0)], rates[np.minimum(at + 1, len(rates) - 1)]
    where, error = sharpened(systems[0], supports, low, high)
    found = []
    for k in np.argsort(error)[: 3 * keep]:
        s = systems[0]
        system = System(s.table, s.link, s.P, s.Q, float(where[k]), s.rows)
        if system.usable and len(system.norms) == len(s.norms):
            support = supports[k][None]
            found.append((float(system.errors(support, system.solve(support))[0]), system, k))
    made = [replace(s.candidate(supports[k]), error=e) for e, s, k in found if np.isfinite(e)]
    return sorted(made, key=_worth)[:keep]


def _worth(candidate: Candidate) -> float:
    """Description length on the rows of the scan: at the noise, the simpler one comes first."""
    return 2 * SCAN_ROWS * float(np.log(max(candidate.error, 1e-13))) + 2 * candidate.cost
