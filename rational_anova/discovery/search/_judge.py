"""Which candidates are the best, and whether a search may stop."""

from __future__ import annotations

import numpy as np
import sympy as sp

from .._thresholds import EXACT, FEW_ROWS, FREE_NUMBERS, LOUD_NOISE, exact_below
from ._candidate import Candidate, pruned
from ._reduced_table import ReducedTable
from ._template import Data, Template
from ._vocabulary import LINKS, Term, permitted

_PAGES = 300.0  # operations of a formula that no one would read


def adequate(pool: list[Candidate], found: list[Template], noise: float) -> bool:
    """Return whether some law is as good as the noise allows."""
    errors = [c.error for c in pool[:1]] + [t.error for t in found[:1]]
    rows = len(pool[0].table.y) if pool else found[0].rows if found else 1
    return min(errors, default=np.inf) <= near(rows) * max(noise, 1e-9)


def near(rows: int) -> float:
    """By how much a law may exceed the noise: what chance gives and takes with so many rows."""
    return float(np.exp(6 / rows) + 0.003)


def settled(best: Template, noise: float) -> bool:
    """Return whether nothing better is to be expected than this law."""
    if best.error < exact_below(len(best.parameters)):
        return True
    few = np.log(best.rows) + 2.5 * len(best.parameters) + 2
    near_noise = best.error <= near(best.rows) * noise and noise < LOUD_NOISE
    return bool(near_noise and best.rows >= FEW_ROWS and best.numbers <= few)


def judged(pool: list[Candidate], noise: float) -> tuple[list[Candidate], bool]:
    """The pool, the best refined and first, and whether the search may stop."""
    if not pool:
        return pool, False
    exact = [c.refined() for c in pool if c.error < 1e-7]
    exact = [pruned(c).weighed() for c in exact if c.error < EXACT]
    if exact:
        exact.sort(key=lambda c: c.score)
        rest = [c for c in pool if c.error >= EXACT]
        return exact + rest, len(exact[0].theta) <= 5
    fresh = sorted((c for c in pool if c.numbers is None), key=lambda c: c.score)
    known = [c for c in pool if c.numbers is not None]
    top = [c.refined().weighed() for c in fresh[:40]]
    top.sort(key=lambda c: c.score)
    top = [pruned(c).weighed() for c in top[:5]] + top[5:]
    pool = unlike(sorted(known + top, key=lambda c: c.score))[:60]
    best = pool[0]
    # at the noise, and hardly a number in it that is not simple: nothing better is to come
    few = np.log(len(best.table.y)) + 2.5 * len(best.theta) + 2
    sharp = best.error <= near(len(best.table.y)) * noise and noise < LOUD_NOISE
    done = sharp and (best.numbers or 99) <= few and best.cost <= 14
    return pool, bool(done) and len(best.table.y) >= FEW_ROWS


def unlike(pool: list[Candidate]) -> list[Candidate]:
    """The candidates without those that are the same function as one before."""
    seen: dict[tuple[str, int], Candidate] = {}
    for c in pool:
        seen.setdefault((f"{c.error:.7e}", len(c.theta)), c)
    return list(seen.values())


def polished(pool: list[Candidate], found: list[Template], data: Data) -> list[Template]:
    """Promising candidates whose reduction has free numbers, refined together with these."""
    out: list[Template] = []
    seen = {t.expression for t in found}
    for c in pool[:2]:
        free = c.table.wrap.atoms(sp.Float).union(*(v.atoms(sp.Float) for v in c.table.variables))
        if free and c.error < 0.1:
            t = Template.of(c.expression(), stage=c.stage, route=c.table.route)
            if t.expression not in seen:
                seen.add(t.expression)
                out.append(t.refined(data).weighed(data))
    return [t for t in out if np.isfinite(t.error)]


def finished(
    pool: list[Candidate], found: list[Template], data: Data, forbidden: frozenset[str]
) -> list[Template]:
    """The best of both as refined templates, duplicates left out."""
    out = [t.pruned(data) if _padded(t) else t for t in found]
    seen = {t.expression for t in out}
    for c in pool[:8]:
        t = Template.of(c.expression(), stage=c.stage, route=c.table.route)
        if t.expression in seen or not permitted(t.law, forbidden):
            continue
        seen.add(t.expression)
        t = t.refined(data)
        if np.isfinite(t.error):
            out.append(t.weighed(data))
    return sorted(out, key=lambda t: t.score)[:12]


def _padded(law: Template) -> bool:
    """Whether an exact law may have numbers that it does not need.

    Of a formula that fills pages no number is taken out: sympy can take minutes to put in a zero.
    """
    exact = law.error < EXACT and len(law.parameters) > FREE_NUMBERS
    return exact and law.complexity < _PAGES


def constant(table: ReducedTable) -> Candidate:
    """The target is a number."""
    w2 = table.weight**2
    value = float(np.sum(w2 * table.f) / np.sum(w2))
    one = Term((), None, 0.0)
    return Candidate(table, LINKS["y"], (one,), (), np.array([value]), stage="power law").refined()
