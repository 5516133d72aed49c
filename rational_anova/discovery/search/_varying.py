"""Tables that are linear in a simple function of one variable: f = g0(rest) + phi(u) g1(rest)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._basis import definite, leave_one_out
from ._separate import _columns
from ._state import State

PHI: dict[str, tuple[Callable[[Array], Array], Callable[[sp.Expr], sp.Expr], str]] = {
    "u": (lambda u: u, lambda u: u, ""),
    "u^2": (lambda u: u**2, lambda u: u**2, ""),
    "1/u": (lambda u: 1 / u, lambda u: 1 / u, ""),
    "sqrt u": (np.sqrt, sp.sqrt, "sqrt"),
    "cos u": (np.cos, sp.cos, "cos"),
    "sin u": (np.sin, sp.sin, "sin"),
    "exp -u": (lambda u: np.exp(-u), lambda u: sp.exp(-u), "exp"),
    "exp u": (np.exp, sp.exp, "exp"),
    "log u": (np.log, sp.log, "log"),
    "1/u^2": (lambda u: u**-2.0, lambda u: u**-2, ""),
    "u^3": (lambda u: u**3, lambda u: u**3, ""),
}
DEFINITE = {"1/u", "1/u^2"}
POSITIVE = {"sqrt u", "log u"}
# functions that come together: a sine of a sum, a quadratic
SETS = (*((name,) for name in PHI), ("cos u", "sin u"), ("u", "u^2"))


@dataclass(frozen=True)
class Varying:
    """f = g0(rest) + phi(u) g1(rest), where phi may be the last of two such functions."""

    variable: int
    phi: Array
    expression: sp.Expr
    others: Array  # all but the part of phi, on the rows
    alone: bool  # whether phi is the only function of u
    loo: float


def varying(
    state: State, forbidden: frozenset[str] = frozenset(), slack: float = 1.1
) -> Iterator[Varying]:
    """Splits of this kind that fit no worse than a free surrogate, the best first."""
    r = state.U.shape[1]
    if r < 2:
        return
    allowed = max(slack * state.loo, 1e-8)
    found = []
    for i in range(r):
        rest = [k for k in range(r) if k != i]
        u = state.U[:, i]
        for cost, names in enumerate(SETS):
            if not all(_usable(name, u, forbidden) for name in names):
                continue
            phis = [PHI[name][0](u) for name in names]
            loo, others = _fit(state, rest, phis)
            if loo <= allowed:
                e = PHI[names[-1]][1](state.variables[i])
                split = Varying(i, phis[-1], e, others, len(names) == 1, loo)
                found.append((loo, cost, split))
    # of those that fit to rounding or to the noise, the simplest
    found.sort(key=lambda t: (round(np.log10(max(t[0], 1e-10)), 1), t[1]))
    for _, _, split in found[:3]:
        yield split


def _usable(name: str, u: Array, forbidden: frozenset[str]) -> bool:
    if PHI[name][2] and PHI[name][2] in forbidden:
        return False
    if (name in DEFINITE and not definite(u)) or (name in POSITIVE and not (u > 0).all()):
        return False
    return not (name.startswith("exp") and np.abs(u).max() > 30)


def _fit(state: State, rest: Sequence[int], phis: Sequence[Array]) -> tuple[float, Array]:
    """Leave-one-out error, and the smooth parts without that of the last function."""
    n = len(state.y)
    best: tuple[float, Array] = (np.inf, np.zeros(n))
    for columns in (8, 20, 45, 110):
        if (1 + len(phis)) * columns > n // 3:
            break
        for logs in (False, True) if all(definite(state.U[:, k]) for k in rest) else (False,):
            A = _columns(state.U[:, rest], columns, logs)
            M = np.column_stack([A, *(A * phi[:, None] for phi in phis)])
            loo, theta = leave_one_out(M * state.weight[:, None], state.f * state.weight)
            if loo < best[0]:
                k = A.shape[1] * len(phis)
                best = (loo, M[:, :k] @ theta[:k])
        if columns >= 20 and best[0] > 0.3 * state.spread:
            break
    return best[0] / state.spread, best[1]
