"""Which columns matter at all: looked at before symmetries where some seem not to.

A surrogate of many columns can have but a low degree; one of the few that matter, a high one.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from ._state import State
from ._surrogate import fit_surrogate

WEAK = 0.25  # a column with less than this share of the strongest slope may not matter
MANY = 3  # so many weak columns are worth a look
GAIN = 0.97  # a column must bring the leave-one-out error down to this
COLUMNS = 150  # of the surrogates that are compared


def relevant(state: State, deadline: float) -> State:
    """The table without the columns that bring nothing, or as it is."""
    state = state if state.surrogate is not None else state.fitted()
    r = state.U.shape[1]
    if r <= MANY or state.surrogate is None:
        return state
    slopes = state.surrogate.gradients() * state.weight[:, None] * state.U.std(0)
    strength = np.sqrt(np.mean(slopes**2, axis=0))
    if (strength < WEAK * strength.max()).sum() < MANY:
        return state
    chosen, error = _forward(state, deadline)
    if not chosen or len(chosen) == r or error > 1.02 * state.loo * state.spread:
        return state
    gone = [str(state.variables[i]) for i in range(r) if i not in chosen]
    kept = sorted(chosen)
    note = f"{', '.join(gone)} {'does' if len(gone) == 1 else 'do'} not matter"
    return state.reduced(state.U[:, kept], tuple(state.variables[i] for i in kept), note).fitted()


def _forward(state: State, deadline: float) -> tuple[list[int], float]:
    """Columns added one at a time (or two, where no single one helps) while the error falls."""

    def error(columns: list[int]) -> float:
        fitted = fit_surrogate(state.U[:, columns], state.f, state.weight, COLUMNS)
        return fitted.loo if fitted is not None else np.inf

    w2 = state.weight**2
    centre = np.sum(w2 * state.f) / np.sum(w2)
    best = float(np.sqrt(np.mean(w2 * (state.f - centre) ** 2)))
    chosen: list[int] = []
    while len(chosen) < 8 and time.monotonic() < deadline:
        rest = [i for i in range(state.U.shape[1]) if i not in chosen]
        trials = [(error([*chosen, i]), [i]) for i in rest]
        if min(trials, default=(np.inf, []))[0] > GAIN * best and len(chosen) < 2:
            pairs = itertools.islice(itertools.combinations(rest, 2), 120)
            trials += [(error([*chosen, i, j]), [i, j]) for i, j in pairs]
        least, new = min(trials, default=(np.inf, []))
        if least > GAIN * best:
            break
        best, chosen = least, chosen + new
    return chosen, best
