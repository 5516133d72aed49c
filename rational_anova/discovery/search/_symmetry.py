"""Symmetries of a table: dimensional analysis found from the data.

Guessed from the gradients of a surrogate at a loose tolerance; kept only if the surrogate of the
reduced table is no worse, so that a wrong guess costs time and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import sympy as sp

from ._factors import drop_factors, drop_offset, offset_factors, power_factors
from ._groups import Guess, scalings, translations
from ._permitted import permitted
from ._relevance import relevant
from ._state import State

SLACK = 1.08  # a reduced table may have so many times the leave-one-out error of the one before
POOR = 0.02  # leave-one-out error of a surrogate whose slopes are rough guides
FLOOR = 1e-8  # below this error any reduction is taken as exact


def reduce_table(state: State, deadline: float) -> list[State]:
    """The chain of ever smaller tables, the given one (fitted) first."""
    state = relevant(state, deadline)
    chain = [state]
    while state.U.shape[1] and time.monotonic() < deadline:
        found = _best_reduction(state, deadline)
        if found is None:
            break
        state = found
        chain.append(state)
    return chain


def _best_reduction(state: State, deadline: float) -> State | None:
    """The first symmetry that holds; of a poor surrogate, the one that holds best."""
    allowed = max(SLACK * state.loo, FLOOR)
    poor, kept = state.loo > POOR, []
    for guess in guesses(state):
        if time.monotonic() > deadline:
            break
        trial = guess.make()
        if trial is None or not np.isfinite(trial.U).all() or not np.isfinite(trial.f).all():
            continue
        seen = sp.Add(trial.wrap, *trial.variables, evaluate=False)
        if not permitted(seen, state.forbidden):
            continue
        trial = trial.fitted(hopeless=30 * allowed)
        if trial.loo <= allowed:
            kept.append(trial)
            if not poor or len(kept) == 10 or trial.loo < 0.2 * state.loo:
                break
    return min(kept, key=lambda t: t.loo, default=None)


def guesses(state: State) -> Iterator[Guess]:
    """Symmetries to try, the most telling first."""
    if state.surrogate is None:
        return
    rows = state.surrogate.interior()
    weight = state.weight[rows, None]
    f = state.surrogate.values()[rows, None] * weight
    G = state.surrogate.gradients()[rows] * weight
    U = state.U[rows]
    # a poor surrogate: more is tried, and the refit decides
    tolerance = min(0.8, max(0.3, 8 * state.loo))
    factors = power_factors(state, f[:, 0], U * G, tolerance)
    # of a poor surrogate one factor at a time: its slopes are not good enough for all at once
    for whole in (False, True) if state.loo < POOR else ():
        some = [t for t in factors if not whole or t[2].is_Integer]
        if len({t[1] for t in some}) > 1 and (not whole or some != factors):
            yield Guess(0, lambda some=some: drop_factors(state, some))  # type: ignore[misc]
    for one in factors:
        yield Guess(one[0], lambda one=one: drop_factors(state, [one]))  # type: ignore[misc]
    others = sorted(translations(state, U, G, tolerance), key=lambda g: g.violation)[:5]
    for size in (2, 3, 4):
        found = scalings(state, f[:, 0], U * G, size, tolerance)
        others += sorted(found, key=lambda g: g.violation)[:4]
    for shifted in offset_factors(state, f[:, 0], U * G, weight[:, 0], tolerance)[:2]:
        # with a free number more it fits more easily, so that it comes after its equals
        others.append(Guess(shifted[0] + 0.1, lambda s=shifted: drop_offset(state, *s[1:])))  # type: ignore[misc]
    yield from sorted(others, key=lambda g: g.violation)
