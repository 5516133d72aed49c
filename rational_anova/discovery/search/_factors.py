"""Power factors: y = u^a g(rest), seen in the slopes of the surrogate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._basis import definite
from ._links import SLOPES, Link
from ._state import State


def hidden_factors(state: State, link: Link) -> float:
    """How well some variable is a power factor of g(y): the least violation, infinite if none."""
    surrogate = state.surrogate
    if surrogate is None:
        return np.inf
    rows = surrogate.interior()
    f, G = surrogate.values()[rows], surrogate.gradients()[rows]
    with np.errstate(all="ignore"):
        t, slope = link.forward(f), SLOPES[link.name][0](f)
        weight = state.weight[rows] / np.maximum(np.abs(slope), 1e-300)
        L = state.U[rows] * G * (slope * weight)[:, None]
        t = t * weight
    if not (np.isfinite(t).all() and np.isfinite(L).all()):
        return np.inf
    best = np.inf
    for i in range(L.shape[1]):
        a = float(L[:, i] @ t / (t @ t))
        if abs(nearest(a)) >= sp.Rational(1, 3) and definite(state.U[:, i]):
            best = min(best, float(np.linalg.norm(L[:, i] - a * t) / np.linalg.norm(L[:, i])))
    return best


def power_factors(
    state: State, f: Array, L: Array, tolerance: float
) -> list[tuple[float, int, sp.Expr]]:
    """Variables with u f_u = a f, so that y = u^a g(rest); a = 0 means that u does not matter."""
    found = []
    alone = L.shape[1] == 1
    roots, powers = "sqrt" not in state.forbidden, "power" not in state.forbidden
    for i in range(L.shape[1]):
        raw = float(L[:, i] @ f / (f @ f))
        a = nearest(raw, (1, 2, 3) if roots and powers else (1, 2) if roots else (1,))
        if abs(a) > (4 if alone else 8) or (a.q == 3 and abs(a) > 3):
            continue  # an odd power of the only variable is more likely no power at all
        violation = np.linalg.norm(L[:, i] - float(a) * f) / np.linalg.norm(f)
        if a != 0 and not definite(state.U[:, i]):
            continue
        free = np.linalg.norm(L[:, i] - raw * f) / np.linalg.norm(f)
        if violation < tolerance:
            found.append((float(violation), i, a))
        whole = sp.Integer(round(raw))
        if whole not in (a, 0) and abs(raw - float(whole)) < 0.35:  # the slopes may be off
            far = np.linalg.norm(L[:, i] - float(whole) * f) / np.linalg.norm(f)
            if far < tolerance:
                found.append((float(far), i, whole))
        if powers and not alone and abs(raw) > 0.05 and free < min(tolerance, 0.3 * violation):
            found.append((float(free) + 0.02, i, sp.Float(raw, 15)))
    found.sort(key=lambda t: t[0])
    return found


def drop_factors(state: State, found: list[tuple[float, int, sp.Expr]]) -> State:
    """The table without these power factors."""
    powers: dict[int, sp.Expr] = {}
    for _, i, a in found:
        powers.setdefault(i, a)
    factor, expression, notes = np.ones(len(state.y)), sp.Integer(1), []
    for i, a in powers.items():
        u = state.U[:, i]
        if a == 0:
            notes.append(f"{state.variables[i]} does not matter")
            continue
        base, e = (u, state.variables[i]) if u[0] > 0 else (-u, -state.variables[i])
        if a.is_Integer:
            base, e = u, state.variables[i]
        factor = factor * base ** float(a)
        expression = expression * e**a
        notes.append(f"{state.variables[i]} enters as the factor {e**a}")
    rest = [i for i in range(state.U.shape[1]) if i not in powers]
    divided = state.divided(factor, expression)
    return divided.reduced(
        state.U[:, rest], tuple(state.variables[i] for i in rest), "; ".join(notes)
    )


def offset_factors(
    state: State, f: Array, L: Array, weight: Array, tolerance: float
) -> list[tuple[float, int, sp.Rational, float]]:
    """Variables with u f_u = a (f - k): y = k + u^a g(rest), with a number k."""
    found: list[tuple[float, int, sp.Rational, float]] = []
    if L.shape[1] < 2:  # k + u^a is among the sums of few terms
        return found
    for i in range(L.shape[1]):
        if not definite(state.U[:, i]):
            continue
        M = np.column_stack([f, weight])
        (a, _b), *_ = np.linalg.lstsq(M, L[:, i], rcond=None)
        exact = nearest(float(a))
        if exact == 0 or abs(exact) > 6:
            continue
        k = float(np.median(f / weight - L[:, i] / weight / float(exact)))
        size = np.linalg.norm(L[:, i])
        violation = float(np.linalg.norm(L[:, i] - float(exact) * (f - k * weight)) / size)
        shift = abs(k) * np.linalg.norm(weight) / np.linalg.norm(f)
        if violation < min(tolerance, 0.2) and shift > 1e-6:
            found.append((violation, i, exact, k))
    return sorted(found, key=lambda t: t[0])


def drop_offset(state: State, i: int, power: sp.Rational, k: float) -> State:
    """The table without the number k and without the factor u^a."""
    lowered = state.lowered(np.full(len(state.y), k), sp.Float(k, 17))
    return drop_factors(lowered, [(0.0, i, power)])


def nearest(a: float, denominators: tuple[int, ...] = (1, 2, 3)) -> sp.Rational:
    """The small fraction near a, simpler ones preferred."""
    best = min(
        (Fraction(round(a * d), d) for d in denominators),
        key=lambda q: abs(float(q) - a) + 0.02 * q.denominator,
    )
    return sp.Rational(best.numerator, best.denominator)
