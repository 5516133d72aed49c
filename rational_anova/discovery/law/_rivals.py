"""Formulas beside the law: which entry of the front is the law itself, and which fit as well."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy as sp

from ._records import Entry

if TYPE_CHECKING:
    from ._law import Law

_CHANCE = 4.0  # twice the log likelihood, two standard errors: less cannot be told from luck


def own_entry(law: Law) -> Entry | None:
    """Return the entry of the front that is the law itself, None if the front has passed it by."""
    same = (entry for entry in law.pareto if entry.complexity == law.complexity)
    return next((entry for entry in same if _alike(entry.formula, law.formula)), None)


def rivals(law: Law) -> list[Entry]:
    """Return the entries that are not the law, the simplest first."""
    own = own_entry(law)
    others = [entry for entry in law.pareto if entry is not own]
    return sorted(others, key=lambda entry: (entry.complexity, entry.error))


def as_good(law: Law) -> list[Entry]:
    """Return the rivals no longer than the law that the rows cannot tell from it."""
    own, rows = own_entry(law), law.evidence.rows
    least = law.evidence.error if own is None else own.error
    if not 0 < least < math.inf:
        return []
    return [
        entry
        for entry in rivals(law)
        if entry.complexity <= law.complexity
        and 2 * rows * math.log(max(entry.error, 1e-300) / least) < _CHANCE
    ]


def _alike(a: sp.Expr, b: sp.Expr) -> bool:
    """Tell whether two formulas are one with numbers that differ by a few per cent at most."""
    if a.func is b.func and len(a.args) == len(b.args) and a.args:
        return all(_alike(x, y) for x, y in zip(a.args, b.args, strict=True))
    if a.is_Number and b.is_Number and (a.is_Float or b.is_Float):
        return bool(abs(a - b) <= 0.1 * max(abs(a), abs(b)))
    return bool(a == b)
