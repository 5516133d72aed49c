"""Reduction of a table: columns that do not matter, symmetries, power factors, groups.

Dimensional analysis found from the data.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
import sympy as sp

from ..._core.least_squares import lstsq
from ..._core.types import Array
from .._route import Factors, Idle, Joined, Scaled
from .._thresholds import (
    COLUMN_GAIN,
    COMPARED_TERMS,
    EXACT_REDUCTION,
    POOR_SURROGATE,
    REDUCED_SLACK,
    WEAK_COLUMNS,
    WEAK_SLOPE,
)
from ._reduced_table import ReducedTable
from ._surrogate import definite, fit_surrogate
from ._vocabulary import SLOPES, Link, permitted


def hidden_factors(table: ReducedTable, link: Link) -> float:
    """How well some variable is a power factor of g(y): the least violation, infinite if none."""
    surrogate = table.surrogate
    if surrogate is None:
        return np.inf
    rows = surrogate.interior
    f, G = surrogate.values[rows], surrogate.gradients[rows]
    with np.errstate(all="ignore"):
        t, slope = link.forward(f), SLOPES[link.name][0](f)
        weight = table.weight[rows] / np.maximum(np.abs(slope), 1e-300)
        L = table.U[rows] * G * (slope * weight)[:, None]
        t = t * weight
    if not (np.isfinite(t).all() and np.isfinite(L).all()):
        return np.inf
    best = np.inf
    for i in range(L.shape[1]):
        a = float(L[:, i] @ t / (t @ t))
        if abs(nearest(a)) >= sp.Rational(1, 3) and definite(table.U[:, i]):
            best = min(best, float(np.linalg.norm(L[:, i] - a * t) / np.linalg.norm(L[:, i])))
    return best


def power_factors(
    table: ReducedTable, f: Array, L: Array, tolerance: float
) -> list[tuple[float, int, sp.Expr]]:
    """Variables with u f_u = a f, so that y = u^a g(rest); a = 0 means that u does not matter."""
    found = []
    alone = L.shape[1] == 1
    roots, powers = "sqrt" not in table.forbidden, "power" not in table.forbidden
    for i in range(L.shape[1]):
        raw = float(L[:, i] @ f / (f @ f))
        a = nearest(raw, (1, 2, 3) if roots and powers else (1, 2) if roots else (1,))
        if abs(a) > (4 if alone else 8) or (a.q == 3 and abs(a) > 3):
            continue  # an odd power of the only variable is more likely no power at all
        violation = float(np.linalg.norm(L[:, i] - float(a) * f) / np.linalg.norm(f))
        if a != 0 and not definite(table.U[:, i]):
            continue
        free = float(np.linalg.norm(L[:, i] - raw * f) / np.linalg.norm(f))
        if violation < tolerance:
            found.append((violation, i, a))
        whole = sp.Integer(round(raw))
        if whole not in (a, 0) and abs(raw - float(whole)) < 0.35:  # the slopes may be off
            far = float(np.linalg.norm(L[:, i] - float(whole) * f) / np.linalg.norm(f))
            if far < tolerance:
                found.append((float(far), i, whole))
        if powers and not alone and abs(raw) > 0.05 and free < min(tolerance, 0.3 * violation):
            found.append((free + 0.02, i, sp.Float(raw, 15)))
    found.sort(key=lambda t: t[0])
    return found


def drop_factors(table: ReducedTable, found: list[tuple[float, int, sp.Expr]]) -> ReducedTable:
    """The table without these power factors."""
    powers: dict[int, sp.Expr] = {}
    for _, i, a in found:
        powers.setdefault(i, a)
    factor, expression, steps = np.ones(len(table.y)), sp.Integer(1), []
    for i, a in powers.items():
        u = table.U[:, i]
        if a == 0:
            steps.append((table.variables[i], sp.Integer(1)))
            continue
        base, e = (u, table.variables[i]) if u[0] > 0 else (-u, -table.variables[i])
        if a.is_Integer:
            base, e = u, table.variables[i]
        factor = factor * base ** float(a)
        expression = expression * e**a
        steps.append((table.variables[i], e**a))
    rest = [i for i in range(table.U.shape[1]) if i not in powers]
    divided = table.divided(factor, expression)
    return divided.reduced(
        table.U[:, rest], tuple(table.variables[i] for i in rest), Factors(tuple(steps))
    )


def offset_factors(
    table: ReducedTable, f: Array, L: Array, weight: Array, tolerance: float
) -> list[tuple[float, int, sp.Rational, float]]:
    """Variables with u f_u = a (f - k): y = k + u^a g(rest), with a number k."""
    found: list[tuple[float, int, sp.Rational, float]] = []
    if L.shape[1] < 2:  # k + u^a is among the sums of few terms
        return found
    for i in range(L.shape[1]):
        if not definite(table.U[:, i]):
            continue
        M = np.column_stack([f, weight])
        a, _b = lstsq(M, L[:, i])
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


def drop_offset(table: ReducedTable, i: int, power: sp.Rational, k: float) -> ReducedTable:
    """The table without the number k and without the factor u^a."""
    lowered = table.lowered(np.full(len(table.y), k), sp.Float(k, 17))
    return drop_factors(lowered, [(0.0, i, power)])


def nearest(a: float, denominators: tuple[int, ...] = (1, 2, 3)) -> sp.Rational:
    """The small fraction near a, simpler ones preferred."""
    best = min(
        (Fraction(round(a * d), d) for d in denominators),
        key=lambda q: abs(float(q) - a) + 0.02 * q.denominator,
    )
    return sp.Rational(best.numerator, best.denominator)


@dataclass(frozen=True)
class Guess:
    """A symmetry that the gradients suggest: how far it is from holding, and how to use it."""

    violation: float
    make: Callable[[], ReducedTable | None]
    doubt: float = 1.0  # times its error, where the best of several is chosen


_OFFSET_DOUBT = 1.3  # with a number more, an offset fits a poor surrogate a little better by chance

# phi, its slope, where it is allowed, its cost, the function in it
# f depends on phi_i(u_i) + s phi_j(u_j) only, if f_i / phi_i' = f_j / (s phi_j')
SHAPES: dict[str, tuple[Callable, Callable, Callable[[Array], bool], float, str]] = {
    "u": (lambda u: u, lambda u: 1 + 0 * u, lambda u: True, 0.0, ""),
    "u^2": (lambda u: u**2, lambda u: 2 * u, lambda u: True, 0.03, ""),
    "1/u": (lambda u: 1 / u, lambda u: -1 / u**2, definite, 0.03, ""),
    "sqrt u": (lambda u: u ** sp.Rational(1, 2) if isinstance(u, sp.Basic) else np.sqrt(u),
               lambda u: 0.5 / np.sqrt(u), lambda u: bool((u > 0).all()), 0.05, "sqrt"),
    "1/u^2": (lambda u: 1 / u**2, lambda u: -2 / u**3, definite, 0.05, ""),
}  # fmt: skip


def translations(table: ReducedTable, U: Array, G: Array, tolerance: float) -> Iterator[Guess]:
    """Pairs that enter as a sum or difference of simple functions of each."""
    r = U.shape[1]
    shapes = {k: s for k, s in SHAPES.items() if s[4] not in table.forbidden}
    usable = [[k for k, s in shapes.items() if s[2](table.U[:, i])] for i in range(r)]
    slopes = [{k: SHAPES[k][1](U[:, i]) for k in usable[i]} for i in range(r)]
    for i, j in itertools.combinations(range(r), 2):
        for a, b in itertools.product(usable[i], usable[j]):
            left, right = G[:, j] * slopes[i][a], G[:, i] * slopes[j][b]  # left = s right
            size = float(right @ right)
            if not np.isfinite(size) or size == 0:
                continue
            s = float(left @ right) / size
            norm = np.linalg.norm(left) + abs(s) * np.linalg.norm(right)
            violation = 2 * float(np.linalg.norm(left - s * right)) / (float(norm) or 1.0)
            if violation < tolerance and s != 0 and np.isfinite(violation):
                cost = SHAPES[a][3] + SHAPES[b][3]
                for value, extra in _ratios(s, tolerance):
                    yield Guess(
                        violation + cost + extra,
                        lambda i=i, j=j, a=a, b=b, s=value: _joined(table, i, j, a, b, s),  # type: ignore[misc]
                    )


def _ratios(s: float, tolerance: float) -> Iterator[tuple[sp.Expr, float]]:
    """Simple values near s, and s itself."""
    free = 0.05
    for value in (1, 2, sp.Rational(1, 2)):
        if abs(abs(s) / float(value) - 1) < tolerance:
            yield sp.sympify(value) * int(np.sign(s)), 0.0 if value == 1 else 0.01
            if abs(abs(s) / float(value) - 1) < 1e-3:
                return
            free = 0.2
    yield sp.Float(s, 15), free


def _joined(table: ReducedTable, i: int, j: int, a: str, b: str, s: sp.Expr) -> ReducedTable:
    new = SHAPES[a][0](table.U[:, i]) + float(s) * SHAPES[b][0](table.U[:, j])
    expression = SHAPES[a][0](table.variables[i]) + s * SHAPES[b][0](table.variables[j])
    rest = [k for k in range(table.U.shape[1]) if k not in (i, j)]
    return table.reduced(
        np.column_stack([new, table.U[:, rest]]),
        (expression, *(table.variables[k] for k in rest)),
        Joined((table.variables[i], table.variables[j]), expression),
    )


@lru_cache(None)
def _simple(weight: float) -> sp.Rational:
    return sp.nsimplify(weight)


WEIGHTS = {2: (1.0, -1.0, 2.0, -2.0, 0.5, -0.5), 3: (1.0, -1.0, 2.0, -2.0), 4: (1.0, -1.0)}


def scalings(
    table: ReducedTable, f: Array, L: Array, size: int, tolerance: float
) -> Iterator[Guess]:
    """Groups with sum w_i u_i f_i = k f for small w: one variable can be divided out.

    The weights are enumerated, not solved for and rounded: under noise 4/3 fits as well as 1.
    """
    r = L.shape[1]
    norms = np.linalg.norm(L, axis=0)
    gram, cross, square = L.T @ L, L.T @ f, float(f @ f)
    for group in itertools.combinations(range(r), size):
        index = list(group)
        if norms[index].min() == 0:
            continue
        for rest in itertools.product(WEIGHTS[size], repeat=size - 1):
            w = np.array([1.0, *rest])
            along = float(w @ cross[index])
            k = nearest(along / square, (1, 2))
            left = float(w @ gram[np.ix_(index, index)] @ w) - 2 * float(k) * along
            left += float(k) ** 2 * square
            violation = np.sqrt(max(left, 0.0)) / norms[index].max()
            if violation < tolerance:
                exact = dict(zip(group, map(_simple, w), strict=True))
                cost = 0.01 * float(sum(abs(v) + v.q for v in exact.values()))
                yield Guess(
                    violation + cost,
                    lambda exact=exact, k=k: divide_out(table, exact, k),  # type: ignore[misc]
                )


def divide_out(
    table: ReducedTable, weights: dict[int, sp.Rational], k: sp.Rational
) -> ReducedTable | None:
    """The table with one variable of the group used as the unit of the others."""
    pivots = [p for p in weights if definite(table.U[:, p])]
    if not pivots:
        return None

    def cost(p: int) -> float:
        powers = [w / weights[p] for w in weights.values()]
        return float(sum(v.q for v in powers) + (k / weights[p]).q + abs(k / weights[p]) / 100)

    p = min(pivots, key=cost)
    unit, base = table.U[:, p], table.variables[p]
    if unit[0] < 0:
        unit, base = -unit, -base
    columns, expressions = [], []
    for i, e in enumerate(table.variables):
        if i == p:
            continue
        power = -weights.get(i, sp.Integer(0)) / weights[p]
        columns.append(table.U[:, i] * unit ** float(power))
        expressions.append(sp.powsimp(e * base**power, force=True))
    power = k / weights[p]
    divided = table.divided(unit ** float(power), base**power) if power != 0 else table
    U = np.column_stack(columns) if columns else np.zeros((len(table.y), 0))
    others = tuple(table.variables[i] for i in weights if i != p)
    return divided.reduced(U, tuple(expressions), Scaled(base, others, base**power))


def relevant(table: ReducedTable, deadline: float) -> ReducedTable:
    """The table without the columns that bring nothing, or as it is."""
    table = table if table.surrogate is not None else table.fitted()
    r = table.U.shape[1]
    if r <= WEAK_COLUMNS or table.surrogate is None:
        return table
    slopes = table.surrogate.gradients * table.weight[:, None] * table.U.std(0)
    strength = np.sqrt(np.mean(slopes**2, axis=0))
    if (strength < WEAK_SLOPE * strength.max()).sum() < WEAK_COLUMNS:
        return table
    chosen, error = _forward(table, deadline)
    if not chosen or len(chosen) == r or error > 1.02 * table.loo * table.spread:
        return table
    gone = tuple(table.variables[i] for i in range(r) if i not in chosen)
    kept = sorted(chosen)
    variables = tuple(table.variables[i] for i in kept)
    return table.reduced(table.U[:, kept], variables, Idle(gone)).fitted()


def _forward(table: ReducedTable, deadline: float) -> tuple[list[int], float]:
    """Columns added one at a time (or two, where no single one helps) while the error falls."""

    def error(columns: list[int]) -> float:
        table.in_time()
        fitted = fit_surrogate(table.U[:, columns], table.f, table.weight, COMPARED_TERMS)
        return fitted.loo if fitted is not None else np.inf

    w2 = table.weight**2
    centre = np.sum(w2 * table.f) / np.sum(w2)
    best = float(np.sqrt(np.mean(w2 * (table.f - centre) ** 2)))
    chosen: list[int] = []
    while len(chosen) < 8 and time.monotonic() < deadline:
        rest = [i for i in range(table.U.shape[1]) if i not in chosen]
        trials = [(error([*chosen, i]), [i]) for i in rest]
        if min(trials, default=(np.inf, []))[0] > COLUMN_GAIN * best and len(chosen) < 2:
            pairs = itertools.islice(itertools.combinations(rest, 2), 120)
            trials += [(error([*chosen, i, j]), [i, j]) for i, j in pairs]
        least, new = min(trials, default=(np.inf, []))
        if least > COLUMN_GAIN * best:
            break
        best, chosen = least, chosen + new
    return chosen, best


def reduce_table(table: ReducedTable, deadline: float) -> list[ReducedTable]:
    """The chain of ever smaller tables, the given one (fitted) first."""
    table = relevant(table, deadline)
    chain = [table]
    while table.U.shape[1] and time.monotonic() < deadline:
        found = _best_reduction(table, deadline)
        if found is None:
            break
        table = found
        chain.append(table)
    return chain


def _best_reduction(table: ReducedTable, deadline: float) -> ReducedTable | None:
    """The first symmetry that holds; of a poor surrogate, the one that holds best."""
    allowed = max(REDUCED_SLACK * table.loo, EXACT_REDUCTION)
    poor, kept = table.loo > POOR_SURROGATE, list[tuple[float, ReducedTable]]()
    for guess in guesses(table):
        if time.monotonic() > deadline:
            break
        trial = guess.make()
        if trial is None or not np.isfinite(trial.U).all() or not np.isfinite(trial.f).all():
            continue
        seen = sp.Add(trial.wrap, *trial.variables, evaluate=False)
        if not permitted(seen, table.forbidden):
            continue
        trial = trial.fitted(hopeless=30 * allowed)
        if trial.loo <= allowed:
            kept.append((guess.doubt * trial.loo, trial))
            if not poor or len(kept) == 10 or trial.loo < 0.2 * table.loo:
                break
    return min(kept, key=lambda t: t[0], default=(np.inf, None))[1]


def guesses(table: ReducedTable) -> Iterator[Guess]:
    """Symmetries to try, the most telling first."""
    if table.surrogate is None:
        return
    rows = table.surrogate.interior
    weight = table.weight[rows, None]
    f = table.surrogate.values[rows, None] * weight
    G = table.surrogate.gradients[rows] * weight
    U = table.U[rows]
    # a poor surrogate: more is tried, and the refit decides
    tolerance = min(0.8, max(0.3, 8 * table.loo))
    factors = power_factors(table, f[:, 0], U * G, tolerance)
    # of a poor surrogate one factor at a time: its slopes are not good enough for all at once
    for whole in (False, True) if table.loo < POOR_SURROGATE else ():
        some = [t for t in factors if not whole or t[2].is_Integer]
        if len({t[1] for t in some}) > 1 and (not whole or some != factors):
            yield Guess(0, lambda some=some: drop_factors(table, some))  # type: ignore[misc]
    for one in factors:
        yield Guess(one[0], lambda one=one: drop_factors(table, [one]))  # type: ignore[misc]
    others = sorted(translations(table, U, G, tolerance), key=lambda g: g.violation)[:5]
    for size in (2, 3, 4):
        found = scalings(table, f[:, 0], U * G, size, tolerance)
        others += sorted(found, key=lambda g: g.violation)[:4]
    for shifted in offset_factors(table, f[:, 0], U * G, weight[:, 0], tolerance)[:2]:
        # with a free number more it fits more easily, so that it comes after its equals
        made = partial(drop_offset, table, *shifted[1:])
        others.append(Guess(shifted[0] + 0.1, made, _OFFSET_DOUBT))
    yield from sorted(others, key=lambda g: g.violation)
