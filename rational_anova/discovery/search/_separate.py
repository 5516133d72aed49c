"""Parts: tables whose target is a sum or a product of functions of fewer variables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ..._core.types import Array
from .._route import Waves
from .._thresholds import COMPARED_TERMS, EXACT_REDUCTION, SPLIT_SLACK
from ..waves import Phase, phases
from ._reduced_table import ReducedTable
from ._surrogate import Basis, definite, leave_one_out, top_degree
from ._vocabulary import ARTANH, LINKS, SLOPES, USUAL, Link, exponential

_RATES = (1.0, 2.0, 0.5, np.pi, 2 * np.pi, 4 * np.pi)  # that phases mostly have
_NEAR_RATE = 0.04  # how far a periodogram may be off, relatively
_SHARP_RATE = 1e-3  # what is left is refined with the law
_PROMISING = 0.9  # times the error of a surrogate of the columns, at the rate of the periodogram
_SMOOTHER = 0.1  # ... and at the best one
_FIRST_OF_TWO = 0.7  # ... and of a phase beside which there is another
_SCREENED_COLUMNS = 5  # whose cuts in two are all tried where a surrogate fails
_SCREENED_ROWS = 800
_PROMISING_SUM = 0.7  # times the error of a surrogate of all columns, on fewer rows
_NEARLY_A_SUM = 0.05  # relative size of what two variables have together in a sum
_STEEP = 60.0  # exponent over the range of the target of a link exp(c y)
_SHARPEST = 1e-9  # relative step of its rate
_AS_SMOOTH = 1.5  # times the least error, for fewer columns


@dataclass(frozen=True)
class Split:
    """Two groups of variables, and the smooth part of each on the rows."""

    link: Link | None  # None: a product
    left: tuple[int, ...]
    right: tuple[int, ...]
    part: Array  # of the right group: what is taken off the target to see the left one
    loo: float


def interactions(table: ReducedTable, link: Link | None, rate: float | None = None) -> Array:
    """How much each pair of variables has to say together about g(f), in units of y's spread.

    Without a link: how far f is from a product of functions of the two. With a rate, g is
    exp(rate f).
    """
    s = table.surrogate
    r = table.U.shape[1]
    if s is None or r < 2:
        return np.zeros((r, r))
    rows = s.interior
    f, G, H = s.values[rows], s.gradients[rows], s.hessian[rows]
    with np.errstate(all="ignore"):
        if link is None:
            first, second = f / np.sqrt(np.mean(f**2)), -1 / np.sqrt(np.mean(f**2)) + 0 * f
        elif rate is not None:
            first, second = (rate**k * np.exp(rate * f) for k in (1, 2))
        else:
            first, second = (d(f) for d in SLOPES[link.name])
        mixed = first[:, None, None] * H + second[:, None, None] * G[:, :, None] * G[:, None, :]
        weight = table.weight[rows]
        if link is not None:
            weight = weight / np.maximum(np.abs(first), 1e-300)
        size = np.sqrt(np.mean((mixed * weight[:, None, None]) ** 2, axis=0))
    spread = table.U.std(0)
    out: Array = size * spread[:, None] * spread[None, :] / table.spread
    np.fill_diagonal(out, 0.0)
    return np.where(np.isfinite(out), out, np.inf)


def groupings(strength: Array, tolerance: float) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Ways to cut the variables in two, the weakest links first."""
    r = len(strength)
    levels = sorted({float(v) for v in strength[np.triu_indices(r, 1)] if v < tolerance})
    seen: set[frozenset[int]] = set()
    for level in levels:
        left = _component(strength > level, 0)
        groups = [left]
        rest = set(range(r)) - left
        while rest:
            groups.append(_component(strength > level, min(rest)))
            rest -= groups[-1]
        if len(groups) < 2:
            continue
        for group in sorted(groups, key=len):
            other = frozenset(range(r)) - group
            if not other:
                continue
            if frozenset(group) in seen or other in seen:
                continue
            seen.add(frozenset(group))
            yield tuple(sorted(group)), tuple(sorted(other))


def _component(linked: np.ndarray, start: int) -> set[int]:
    found, todo = {start}, [start]
    while todo:
        i = todo.pop()
        new = {int(j) for j in np.flatnonzero(linked[i])} - found
        found |= new
        todo += new
    return found


def sums(table: ReducedTable, names: Sequence[str]) -> Iterator[Split]:
    """Cuts of g(y) into a sum, or of y into a product, of two parts, the surest first."""
    noise = table.loo * table.spread / np.maximum(table.weight, 1e-300)
    # per variable a table of two or more; a poor surrogate tries more
    tolerance = min(0.5, max(0.1, 10 * table.loo))
    tried = []
    for link in (None, *(LINKS[name] for name in names if name != "log y")):
        if link is not None and link.function and link.function in table.forbidden:
            continue
        if link is not None and not link.allowed(table.f, noise):
            continue
        if link is not None and not link.inside(table.f).all():
            continue
        strength = interactions(table, link)
        for left, right in itertools.islice(groupings(strength, tolerance), 3):
            tried.append((float(strength[np.ix_(left, right)].max()), link, left, right))
    tried.sort(key=lambda t: t[0])
    allowed = max(SPLIT_SLACK * table.loo, EXACT_REDUCTION)
    for _, link, left, right in tried[:8]:
        if link is None:
            part, loo = _fit_product(table, left, right)
        else:
            part, loo = _fit_sum(table.linked(link), left, right)
        if loo <= allowed:
            yield Split(link, left, right, part, loo)


def exponential_sums(table: ReducedTable) -> Iterator[Split]:
    """Cuts of exp(c y) into a sum of two parts, with the rate c that the slopes ask for."""
    if table.surrogate is None or {"log", "exp"} & table.forbidden:
        return
    tolerance = max(_NEARLY_A_SUM, 10 * table.loo)
    allowed = max(SPLIT_SLACK * table.loo, EXACT_REDUCTION)
    for rate in _rates_of_sums(table)[:2]:
        strength = interactions(table, exponential(rate), rate)
        for left, right in itertools.islice(groupings(strength, tolerance), 2):
            link, part, loo = _sharpened(table, rate, left, right)
            if loo <= allowed:
                yield Split(link, left, right, part, loo)


def _rates_of_sums(table: ReducedTable) -> list[float]:
    """Rates c for which pairs of variables do not interact in exp(c y), the surest first.

    The mixed slope of exp(c f) is c exp(c f) (f_ij + c f_i f_j).
    """
    assert table.surrogate is not None
    rows = table.surrogate.interior
    f, G, H = (
        a[rows]
        for a in (table.surrogate.values, table.surrogate.gradients, table.surrogate.hessian)
    )
    found = []
    for i, j in itertools.combinations(range(table.U.shape[1]), 2):
        product, mixed = G[:, i] * G[:, j], H[:, i, j]
        size, across = float(product @ product), float(np.linalg.norm(mixed))
        if not (np.isfinite(size) and size > 0 and across > 0):
            continue
        rate = -float(mixed @ product) / size
        violation = float(np.linalg.norm(mixed + rate * product)) / across
        if violation < _NEARLY_A_SUM and 0.1 < abs(rate) * float(np.ptp(f)) < _STEEP:
            found.append((violation, rate))
    return [rate for _, rate in sorted(found)]


def _sharpened(
    table: ReducedTable, rate: float, left: tuple[int, ...], right: tuple[int, ...]
) -> tuple[Link, Array, float]:
    """The link with the rate of the least error, the right part and its error."""

    def tried(log_rate: float) -> tuple[float, Array, Link]:
        link = exponential(float(np.sign(rate) * np.exp(log_rate)))
        if not link.inside(table.f).all():
            return np.inf, np.zeros(len(table.y)), link
        part, loo = _fit_sum(table.linked(link), left, right)
        return loo, part, link

    at, step = float(np.log(abs(rate))), _NEAR_RATE / 2
    best = tried(at)
    while best[0] > EXACT_REDUCTION and step > _SHARPEST:
        sides = [(tried(at + k * step), at + k * step) for k in (-1, 1)]
        trial, place = min(sides, key=lambda t: t[0][0])
        if trial[0] < best[0]:
            best, at = trial, place
        else:
            step /= 3
    loo, part, link = best
    return link, part, loo


def plain_sums(table: ReducedTable) -> Iterator[Split]:
    """Cuts of g(y) into a sum of two parts where a surrogate of all columns cannot follow y.

    Two parts of fewer columns can have a much higher degree than one of all.
    """
    r, most = table.U.shape[1], _SCREENED_ROWS
    if not 2 <= r <= _SCREENED_COLUMNS:
        return
    some = np.linspace(0, len(table.y) - 1, min(most, len(table.y))).astype(int)
    tried = []
    for link in (*(LINKS[name] for name in USUAL), ARTANH):
        if link.function in table.forbidden and link.function:
            continue
        if not link.inside(table.f).all():
            continue
        seen = table.linked(link)
        few = replace(
            seen, y=seen.y[some], f=seen.f[some], U=seen.U[some], weight=seen.weight[some],
            importance=None if seen.importance is None else seen.importance[some],
        )  # fmt: skip
        for left, right in _bipartitions(r):
            _, loo = _fit_sum(few, left, right, (len(some) // 8,))
            if loo < _PROMISING_SUM * table.loo:
                tried.append((loo, link.cost, link, left, right))
    for _, _, link, left, right in sorted(tried, key=lambda t: t[:2])[:3]:
        part, loo = _fit_sum(table.linked(link), left, right)
        if loo < _SMOOTHER * table.loo:
            yield Split(link, left, right, part, loo)


def _bipartitions(r: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All ways to cut so many variables in two, the smaller group first."""
    for size in range(1, r // 2 + 1):
        for left in itertools.combinations(range(r), size):
            right = tuple(k for k in range(r) if k not in left)
            if size < len(right) or 0 in left:
                yield left, right


_SIZES = (8, 20, 45, 110, 300)  # columns of a part


def _fit_sum(
    table: ReducedTable, left: Sequence[int], right: Sequence[int], sizes: Sequence[int] = _SIZES
) -> tuple[Array, float]:
    """The right part of a sum of smooth functions of both groups, and its leave-one-out error."""
    best: tuple[float, Array] = (np.inf, np.zeros(len(table.y)))
    budget = max(6, min(300, len(table.y) // 4))
    for columns in sorted({min(c, budget) for c in sizes}):
        for logs in _logs(table, left, right):
            table.in_time()
            A, B = (_columns(table.U[:, g], columns, logs) for g in (left, right))
            M = np.column_stack([A, B[:, 1:]])
            if M.shape[1] > len(table.y) // 2:
                continue
            loo, theta = leave_one_out(M * table.weight[:, None], table.f * table.weight)
            if loo < best[0]:
                best = (loo, B[:, 1:] @ theta[A.shape[1] :])
    return best[1], best[0] / table.spread


def _fit_product(
    table: ReducedTable, left: Sequence[int], right: Sequence[int]
) -> tuple[Array, float]:
    """The right factor of a product of smooth functions of both groups, by turns."""
    best: tuple[float, Array] = (np.inf, np.ones(len(table.y)))
    budget = max(6, min(300, len(table.y) // 4))
    b = table.f * table.weight
    for columns in sorted({min(c, budget) for c in (8, 20, 45, 110, 300)}):
        for logs in _logs(table, left, right):
            table.in_time()
            A, B = (_columns(table.U[:, g], columns, logs) for g in (left, right))
            if max(A.shape[1], B.shape[1]) > len(b) // 2:
                continue
            h, loo = best[1], np.inf  # from the coarser fit: from nothing it takes many turns
            for _ in range(12):
                _, theta = leave_one_out(A * (h * table.weight)[:, None], b)
                g = A @ theta
                before = loo
                loo, theta = leave_one_out(B * (g * table.weight)[:, None], b)
                h = B @ theta
                if not loo < 0.9 * before:
                    break
            if loo < best[0]:
                best = (loo, h)
        if columns >= 45 and best[0] > 0.5 * table.spread:
            break
    return best[1], best[0] / table.spread


def _logs(table: ReducedTable, left: Sequence[int], right: Sequence[int]) -> list[bool]:
    positive = all(definite(table.U[:, i]) for i in (*left, *right))
    return [False, True] if positive else [False]


def _columns(U: Array, budget: int, logs: bool) -> Array:
    degree = top_degree(U.shape[1], budget)
    return Basis(U, degree, logs).columns()


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
    "cos^2 u": (lambda u: np.cos(u) ** 2, lambda u: sp.cos(u) ** 2, "cos"),
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


def varying(table: ReducedTable, forbidden: frozenset[str] = frozenset()) -> Iterator[Varying]:
    """Splits of this kind that fit no worse than a free surrogate, the best first."""
    r = table.U.shape[1]
    if r < 2:
        return
    allowed = max(SPLIT_SLACK * table.loo, EXACT_REDUCTION)
    found = []
    for i in range(r):
        rest = [k for k in range(r) if k != i]
        u = table.U[:, i]
        for cost, names in enumerate(SETS):
            if not all(_usable(name, u, forbidden) for name in names):
                continue
            phis = [PHI[name][0](u) for name in names]
            loo, others = _fit(table, rest, phis)
            if loo <= allowed:
                e = PHI[names[-1]][1](table.variables[i])
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
    return not (PHI[name][2] == "exp" and np.abs(u).max() > 30)


def _fit(table: ReducedTable, rest: Sequence[int], phis: Sequence[Array]) -> tuple[float, Array]:
    """Leave-one-out error, and the smooth parts without that of the last function."""
    n = len(table.y)
    best: tuple[float, Array] = (np.inf, np.zeros(n))
    for columns in (8, 20, 45, 110):
        if (1 + len(phis)) * columns > n // 3:
            break
        for logs in (False, True) if all(definite(table.U[:, k]) for k in rest) else (False,):
            table.in_time()
            A = _columns(table.U[:, rest], columns, logs)
            M = np.column_stack([A, *(A * phi[:, None] for phi in phis)])
            loo, theta = leave_one_out(M * table.weight[:, None], table.f * table.weight)
            if loo < best[0]:
                k = A.shape[1] * len(phis)
                best = (loo, M[:, :k] @ theta[:k])
        if columns >= 20 and best[0] > 0.3 * table.spread:
            break
    return best[0] / table.spread, best[1]


# -- oscillations


def waving(
    table: ReducedTable, over: Callable[[], bool] = lambda: False, phases_left: int = 2
) -> Iterator[ReducedTable]:
    """The table with sine or cosine of a phase for its columns, where the target is smooth so.

    Where one phase is not enough, a second is looked for.
    """
    yield from _waving(table, over, phases_left, _SMOOTHER * table.loo)


def _waving(
    table: ReducedTable, over: Callable[[], bool], left: int, smooth: float
) -> Iterator[ReducedTable]:
    if {"sin", "cos"} & table.forbidden:
        return
    for phase in phases(table.U, table.f, table.weight, over=over):
        if over():
            return
        near = [rate for rate in _RATES if abs(phase.rate / rate - 1) < _NEAR_RATE]
        trials = [_smoothest(table, replace(phase, rate=r)) for r in (phase.rate, *near)]
        best = min(trials, key=lambda w: w.table.loo)
        if best.table.loo > _PROMISING * table.loo:
            continue
        step = _NEAR_RATE / 2
        while best.table.loo > EXACT_REDUCTION and step > _SHARP_RATE and not over():
            others = (best.at(best.phase.rate * (1 + k * step)) for k in (-1, 1))
            best, step = min([best, *others], key=lambda w: w.table.loo), step / 2
        new = _smoothest(table, best.phase).table.fitted()
        if new.loo < smooth:
            yield new
        elif left > 1 and new.loo < _FIRST_OF_TWO * table.loo:
            yield from _waving(new, over, left - 1, smooth)


@dataclass(frozen=True)
class _Waving:
    """A table with waves for columns: which phase, which columns are kept, cosine, sine or both."""

    whole: ReducedTable
    phase: Phase
    places: tuple[int, ...]
    waves: tuple[int, ...]

    @cached_property
    def table(self) -> ReducedTable:
        """The table itself, roughly fitted."""
        old, phase = self.whole, self.phase
        angle, expression = phase.rate * phase.argument(old.U), phase.expression(old.variables)
        both = ((np.cos(angle), sp.cos(expression)), (np.sin(angle), sp.sin(expression)))
        U = np.column_stack([old.U[:, list(self.places)], *(both[k][0] for k in self.waves)])
        kept = (old.variables[i] for i in self.places)
        gone = tuple(old.variables[i] for i in phase.places)
        variables = (*kept, *(both[k][1] for k in self.waves))
        return old.reduced(U, variables, Waves(gone, expression)).fitted(columns=COMPARED_TERMS)

    def at(self, rate: float) -> _Waving:
        """The same at another rate."""
        return replace(self, phase=replace(self.phase, rate=rate))


def _smoothest(table: ReducedTable, phase: Phase) -> _Waving:
    """The table with the fewest columns among those that a surrogate follows well."""
    every = tuple(range(table.U.shape[1]))
    rest = tuple(i for i in every if i not in phase.places)
    trials = [
        _Waving(table, phase, places, waves)
        for places in (rest, every)
        for waves in ((0,), (1,), (0, 1))
    ]
    best = min(t.table.loo for t in trials)
    good = (t for t in trials if t.table.loo <= max(_AS_SMOOTH * best, EXACT_REDUCTION))
    return min(good, key=lambda t: t.table.U.shape[1])
