"""Numbers that equations share, and exact ones, where trajectories cannot tell the difference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import sympy as sp

from .._core.types import Array
from ..symbols import snap
from ._choice import Choice, Fitted, key_of, listed
from ._shooting import Trajectories, shot
from ._system import System
from .known import as_given

_NEAR = 2.5  # standard errors within which two numbers may be one
_PAIRS, _RIVALS = 3, 12  # numbers that may be shared in a system that is behind; how many of these
_SHARES = 2.0  # twice the price of a shared number, besides that of the choice among all pairs
_WORSE = 6.8  # twice the log likelihood that an exact number may cost, as in discovery


@dataclass(frozen=True, eq=False)
class Finished:
    """A system whose numbers are settled.

    Attributes:
        right: right-hand sides in all parameters, exact ones among them.
        exact: exact parameters and their values.
        stderr: their standard errors, before they were made exact.
        system: the same with these put in.
        trajectories: its fit, with errors in units of the noise.
        sigma: noise of each measured state.
    """

    right: tuple[sp.Expr, ...]
    exact: Mapping[sp.Symbol, sp.Expr]
    stderr: Mapping[sp.Symbol, float]
    system: System
    trajectories: Trajectories
    sigma: Array

    @property
    def errors(self) -> Array:
        """Standard errors of the free parameters."""
        numbers = len(self.trajectories.theta)
        variances = np.diag(self.trajectories.covariance)
        return np.sqrt(np.maximum(variances[len(variances) - numbers :], 0.0))


def finished(choice: Choice, fitted: Fitted) -> Finished:
    """The system with shared and exact numbers, and errors from the noise that it leaves."""
    now = _begun(choice, fitted)
    assert now is not None
    now = _in_given_names(choice, fitted, now)
    if choice.groups:
        return _in_common(choice, now)
    now = _with_ties(choice, now)
    for symbol in now.system.parameters:
        now = _accepted(choice, now, _made_exact(now, symbol), _WORSE)
    return now


def _begun(choice: Choice, fitted: Fitted) -> Finished | None:
    """The system fitted with the noise that it leaves."""
    found = fitted.trajectories
    sigma = np.maximum(found.noise, choice.data.floor)
    return _refit(choice, Finished(fitted.system.right, {}, {}, fitted.system, found, sigma))


def _in_given_names(choice: Choice, fitted: Fitted, now: Finished) -> Finished:
    """The system with one number for each name in the formulas that the user gave."""
    right, parameters, theta = as_given(
        listed(fitted.sides), now.right, now.system.parameters, now.trajectories.theta,
        max(len(choice.groups), 1),
    )  # fmt: skip
    if right == now.right:
        return now
    system = replace(now.system, parameters=parameters, right=right)
    begun = replace(now.trajectories, theta=theta)
    found = _refit(choice, replace(now, right=right, system=system, trajectories=begun))
    if found is None:
        raise ValueError(
            "known= has a name in several places, but no one number for all of them fits the rows; "
            "give each place a name of its own"
        )
    return found


def _with_ties(choice: Choice, now: Finished) -> Finished:
    """The system with one number where two equations share it."""
    for other in _shared(now):
        now = _accepted(choice, now, _tied(now, *other), float(np.log(choice.rows.X.size)))
    return now


def with_shared(choice: Choice, best: Fitted) -> Fitted:
    """The most probable system when a number that two equations share counts as one.

    Scores of the best system and of those near it are set to what they are with shared numbers.
    """
    if choice.groups or len(best.sides) == 1:
        return best
    cells = float(np.log(np.isfinite(choice.rows.X).sum()))
    near = sorted((f for f in choice.seen.values() if f.score < best.score + _PAIRS * cells),
                  key=lambda f: f.score)[:_RIVALS]  # fmt: skip
    for fitted in near:
        if time.monotonic() > choice.limit:
            break
        begun = _begun(choice, fitted)
        pairs = 0 if begun is None else len(list(_shared(begun, np.inf)))
        if begun is None or not pairs:
            continue
        tied = _with_ties(choice, begun)
        fewer = len(begun.trajectories.theta) - len(tied.trajectories.theta)
        lost = _deviance(choice, tied) - _deviance(choice, begun)
        gain = fewer * (cells - _SHARES - 2 * float(np.log(pairs))) - lost
        key = key_of(fitted.sides)
        choice.seen[key] = replace(fitted, score=fitted.score - max(gain, 0.0))
    return min(choice.seen.values(), key=lambda f: f.score)


def _in_common(choice: Choice, now: Finished) -> Finished:
    """The system with numbers that all groups share, where the trajectories cannot tell."""
    count, symbols = len(choice.groups), now.system.parameters
    families = [symbols[k : k + count] for k in range(0, len(symbols), count)]
    values = dict(zip(symbols, now.trajectories.theta.tolist(), strict=True))
    errors = dict(zip(symbols, now.errors.tolist(), strict=True))

    def differs(family: tuple[sp.Symbol, ...]) -> float:
        own = np.array([values[s] for s in family])
        return float(np.sum(((own - own.mean()) / [max(errors[s], 1e-300) for s in family]) ** 2))

    allowed = (count - 1) * float(np.log(np.isfinite(choice.rows.X).sum()))
    for first, *others in sorted(families, key=differs):
        other = now
        for symbol in others:
            other = _replaced(other, {symbol: first}, symbol, {})
        now = _accepted(choice, now, other, allowed)
    return now


def _refit(choice: Choice, now: Finished) -> Finished | None:
    found = shot(now.system, choice.rows, now.trajectories.theta, now.trajectories.nodes, now.sigma)
    return replace(now, trajectories=found) if np.isfinite(found.squares).all() else None


def _accepted(choice: Choice, now: Finished, other: Finished | None, worse: float) -> Finished:
    """The simpler system, if it explains the rows nearly as well."""
    new = None if other is None else _refit(choice, other)
    if new is None:
        return now
    lost = _deviance(choice, new) - _deviance(choice, now)
    return new if lost < worse else now


def _deviance(choice: Choice, now: Finished) -> float:
    found = now.trajectories
    left = np.maximum(found.squares / found.counts, choice.data.floor**2)
    return float(found.counts @ np.log(left))


def _shared(now: Finished, near: float = _NEAR) -> Iterator[tuple[sp.Symbol, sp.Symbol, int]]:
    """Pairs of factors of the same term in two equations that may be equal, or opposite.

    Args:
        now: the system.
        near: standard errors that they may differ by.
    """
    parameters = now.system.parameters
    values = dict(zip(parameters, now.trajectories.theta.tolist(), strict=True))
    errors = dict(zip(parameters, now.errors.tolist(), strict=True))
    factors = [dict(_factors(right, parameters)) for right in now.right]
    for one, other in combinations(factors, 2):
        for a, term in one.items():
            for b, same in other.items():
                if term != same:
                    continue
                allowed = near * np.hypot(errors[a], errors[b])
                for sign in (1, -1):
                    if (
                        abs(values[a] - sign * values[b]) <= allowed
                        and errors[a] + errors[b] < np.inf
                    ):
                        yield a, b, sign


def _factors(
    right: sp.Expr, parameters: tuple[sp.Symbol, ...]
) -> Iterator[tuple[sp.Symbol, sp.Expr]]:
    """Factors of the terms of a right-hand side, with the terms; not those with inner numbers."""
    for term in sp.Add.make_args(right):
        own = [p for p in parameters if term.has(p)]
        if len(own) == 1 and term.diff(own[0]).free_symbols.isdisjoint(own):
            yield own[0], term.diff(own[0])


def _tied(now: Finished, kept: sp.Symbol, gone: sp.Symbol, sign: int) -> Finished | None:
    """The system with one number in place of two."""
    if not {kept, gone} <= set(now.system.parameters):
        return None  # one of them went before
    return _replaced(now, {gone: sign * kept}, gone, {})


def _made_exact(now: Finished, symbol: sp.Symbol) -> Finished | None:
    """The system with a number made exact, if there is a simple one near it."""
    at = now.system.parameters.index(symbol)
    if not np.isfinite(now.errors[at]):
        return None  # the rows say nothing of it
    exact = snap(float(now.trajectories.theta[at]), _NEAR * float(now.errors[at]))
    return None if exact is None or exact == 0 else _replaced(now, {}, symbol, {symbol: exact})


def _replaced(
    now: Finished, tied: Mapping[sp.Symbol, sp.Expr], gone: sp.Symbol,
    exact: Mapping[sp.Symbol, sp.Expr],
) -> Finished:  # fmt: skip
    at = now.system.parameters.index(gone)
    right = tuple(e.xreplace(dict(tied)) for e in now.right)
    known = {**now.exact, **exact}
    parameters = tuple(p for p in now.system.parameters if p != gone)
    system = replace(
        now.system, parameters=parameters, right=tuple(e.xreplace(known) for e in right)
    )
    stderr = {**now.stderr, gone: float(now.errors[at])} if exact else now.stderr
    left = replace(now.trajectories, theta=np.delete(now.trajectories.theta, at))
    return Finished(right, known, stderr, system, left, now.sigma)
