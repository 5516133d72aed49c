"""Bounds of units on small boxes: values, slopes, curvatures and denominators, all at once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ..functional import Form
from ..proofs import Columns, Expansion, Index, Interval, down, hull, point, total, up
from ._curves import BASE, PSI, line, own


@dataclass(frozen=True)
class Bank:
    """Units with exact float64 coefficients."""

    form: Form
    numerator: Array  # (units, heads, terms)
    denominator: Array  # (units, heads, terms)
    gate: Array | None  # (units,)
    floor: Array  # (units,): a proved lower bound of the denominators

    @property
    def heads(self) -> int:
        """Number of quotients."""
        return int(self.numerator.shape[1])


@dataclass(frozen=True)
class CellBounds:
    """What is known on each cell, and at its centre: intervals of shape (2, cells)."""

    value: Interval
    slopes: list[Interval]
    denominator: Interval
    steepest: Array  # (cells,): bound of the norm of the gradient
    curvatures: dict[tuple[int, int], Interval]  # second derivatives; nothing is known at kinks


Jet = dict[Index, Interval]
Sides = tuple[int, ...]  # +1 or -1 for each kink


def indices(variables: int) -> tuple[Index, list[Index], dict[tuple[int, int], Index]]:
    """Return the indices of the value, of the first and of the second derivatives."""
    unit = [tuple(int(v == w) for w in range(variables)) for v in range(variables)]
    second = {
        (v, w): tuple(a + b for a, b in zip(unit[v], unit[w], strict=True))
        for v in range(variables)
        for w in range(v, variables)
    }
    return (0,) * variables, list(unit), second


def around(low: Array, high: Array) -> tuple[Array, Array]:
    """Return the centres of boxes, and radii that reach all of them."""
    centre = 0.5 * low + 0.5 * high
    return centre, up(np.maximum(high - centre, centre - low))


def bound(
    bank: Bank, unit: np.ndarray, low: Array, high: Array, sides: Sides | None = None
) -> CellBounds:
    """Bound the units `unit` (cells,) on the boxes from low to high, each (cells, variables).

    What is said of centres is said of some point of each box.

    Args:
        bank: the units.
        unit: which of them.
        low: lower corners.
        high: upper corners.
        sides: if given, bound the smooth functions that the units are on these sides of their kinks
            (the signs of each head's q for `abs`, then that of the base's argument for `relu`).
    """
    reach = bank.form.reach
    if reach is None:
        return _smooth(bank, unit, low, high, sides)
    inner = _smooth(bank, unit, low.clip(-reach, reach), high.clip(-reach, reach), sides)
    sizes = high[:, 0] > low[:, 0]
    left, right = low[:, 0] < -reach, high[:, 0] > reach
    none = (sizes & (high[:, 0] <= -reach)) | (high[:, 0] < -reach)
    none |= (sizes & (low[:, 0] >= reach)) | (low[:, 0] > reach)
    for end, there in ((-reach, left), (reach, right)):
        if there.any():
            inner = _joined(inner, _beyond(bank, unit, low, high, end), there, there & none)
    return inner


def _beyond(bank: Bank, unit: np.ndarray, low: Array, high: Array, end: float) -> CellBounds:
    """Bound units on the parts of boxes beyond an end of their reach."""
    keep = np.maximum if end > 0 else np.minimum
    low, high = keep(low, end), keep(high, end)
    centre, _ = around(low, high)
    x = Interval(np.stack([low[:, 0], centre[:, 0]]), np.stack([high[:, 0], centre[:, 0]]))
    here = np.full_like(low, end)
    at_end = _smooth(bank, unit, here, here, None)
    value, slope, curvature = BASE[bank.form.base.name]
    rise = value(x) - value(point(np.full_like(x.low, end)))
    along = slope(x)
    bends = {(0, 0): curvature(x)}
    known = (at_end.value + rise).known()
    return CellBounds(known, [along], at_end.denominator, along.most[0], bends)


def _joined(one: CellBounds, other: CellBounds, there: np.ndarray, alone: np.ndarray) -> CellBounds:
    """Join bounds: of both where `there`, of the other where `alone`, else of the one."""

    def join(a: Interval, b: Interval) -> Interval:
        both = hull([a[0], b[0]])
        ends = []
        for mine, theirs, union in ((a.low, b.low, both.low), (a.high, b.high, both.high)):
            over = np.where(alone, theirs[0], np.where(there, union, mine[0]))
            ends.append(np.stack([over, np.where(alone, theirs[1], mine[1])]))
        return Interval(*ends)

    slopes = [join(a, b) for a, b in zip(one.slopes, other.slopes, strict=True)]
    union = np.maximum(one.steepest, other.steepest)
    steepest = np.where(alone, other.steepest, np.where(there, union, one.steepest))
    value = join(one.value, other.value)
    split = there & ~alone  # the slope may jump at the end of the reach
    bends = {}
    for at, mine in one.curvatures.items():
        theirs = other.curvatures[at]
        low, high = (
            np.where(alone, b, a) for a, b in ((mine.low, theirs.low), (mine.high, theirs.high))
        )
        bends[at] = Interval(np.where(split, -np.inf, low), np.where(split, np.inf, high))
    return CellBounds(value, slopes, one.denominator, steepest, bends)


def _smooth(
    bank: Bank, unit: np.ndarray, low: Array, high: Array, sides: Sides | None
) -> CellBounds:
    """Bound units on boxes within their reach."""
    centre, radius = around(low, high)
    zero, first, second = indices(low.shape[1])
    ratios, denominators = [], []
    for head in range(bank.heads):
        p = polynomial(bank.form.numerator, bank.numerator[unit, head], centre, radius)
        d = _denominator(bank, unit, head, centre, radius, sides)
        denominators.append(_sharpened(d, zero, first, radius))
        ratios.append(_quotient(p, d, zero, first, second))
    jet = {key: total([ratio[key] for ratio in ratios]) for key in ratios[0]}
    if bank.gate is not None:
        jet = _gated(bank, unit, jet, centre, radius, sides)
    sharp = {v: _sharpened_slope(jet, v, first, second, radius) for v in range(len(first))}
    jet = {**jet, **{first[v]: sharp[v] for v in sharp}}
    value = _sharpened(jet, zero, first, radius)
    least = denominators[0]
    for other in denominators[1:]:
        least = Interval(np.minimum(least.low, other.low), np.minimum(least.high, other.high))
    slopes = [sharp[v].known() for v in sharp]
    steepest = slopes[0].most[0]
    for slope in slopes[1:]:
        steepest = up(np.hypot(steepest, slope.most[0])) * (1 + 2.0**-50)
    curvatures = {at: jet[key].known() for at, key in second.items()}
    return CellBounds(value.known(), slopes, least.known(), steepest, curvatures)


def polynomial(powers: tuple[Index, ...], rows: Array, centre: Array, radius: Array) -> Jet:
    """Bound a polynomial and its derivatives."""
    zero, first, second = indices(centre.shape[1])
    expansion = Expansion.around(powers, rows, centre, radius)
    return {key: expansion.derivative(key) for key in (zero, *first, *second.values())}


def _denominator(
    bank: Bank, unit: np.ndarray, head: int, centre: Array, radius: Array, sides: Sides | None
) -> Jet:
    form, done = bank.form, 0
    zero = indices(centre.shape[1])[0]
    value, slope, curvature = PSI[form.kind.name]
    smooth = sides is not None and form.kind.name == "abs"
    if sides is not None and smooth:
        value, slope, curvature = line(sides[head])
    parts: list[Jet] = []
    for powers in form.denominator:
        rows = bank.denominator[unit, head, done : done + len(powers)]
        done += len(powers)
        q = polynomial(powers, rows, centre, radius)
        parts.append(_chain(q, value(q[zero]), slope(q[zero]), curvature(q[zero])))
    jet = {key: total([part[key] for part in parts]) for key in parts[0]}
    one = Interval(down(1 + np.full_like(centre[:, 0], form.eps)), up(1 + form.eps))
    floor = Interval(bank.floor[unit], np.full(len(unit), np.inf))
    jet[zero] = jet[zero] + one
    if smooth:  # 1 - q is a denominator on one side of the kink only: elsewhere it may be anything
        positive = jet[zero].low > 0
        jet[zero] = Interval(np.where(positive, jet[zero].low, np.nan), jet[zero].high)
    else:
        jet[zero] = jet[zero].meet(floor)
    if own(form.kind.name):  # what a user says of its least value is not taken for a proof
        jet[zero] = Interval(np.where(jet[zero].low > 0, jet[zero].low, np.nan), jet[zero].high)
    return jet


def _chain(inner: Jet, value: Interval, slope: Interval, curvature: Interval) -> Jet:
    """Return f(inner) from f, f' and f'' at inner."""
    zero, first, second = indices(len(next(iter(inner))))
    jet = {zero: value, **{key: slope * inner[key] for key in first}}
    for (v, w), key in second.items():
        product = inner[first[v]] * inner[first[w]]
        if v == w:
            product = Interval(np.maximum(product.low, 0), product.high)
        jet[key] = curvature * product + slope * inner[key]
    return jet


def _quotient(
    p: Jet, d: Jet, zero: Index, first: list[Index], second: dict[tuple[int, int], Index]
) -> Jet:
    """Return p/d: f' = (p' - f d')/d and f'' = (p'' - f' d' - d' f' - f d'')/d."""
    f: Jet = {zero: p[zero].over(d[zero])}
    for key in first:
        f[key] = (p[key] - f[zero] * d[key]).over(d[zero])
    for (v, w), key in second.items():
        cross = f[first[v]] * d[first[w]] + f[first[w]] * d[first[v]]
        f[key] = (p[key] - cross - f[zero] * d[key]).over(d[zero])
    return f


def _gated(
    bank: Bank, unit: np.ndarray, jet: Jet, centre: Array, radius: Array, sides: Sides | None
) -> Jet:
    """Return (1 - gate) b + gate * ratio, with b of the mean of the inputs."""
    assert bank.gate is not None
    gate = bank.gate[unit]
    if bank.form.base.is_zero:
        return {key: part.times(gate) for key, part in jet.items()}
    count = centre.shape[1]
    zero, first, second = indices(count)
    z = mean_of(centre, radius)
    same, none = point(np.full((2, len(unit)), 1 / count)), point(np.zeros((2, len(unit))))
    inner = {zero: z, **dict.fromkeys(first, same), **dict.fromkeys(second.values(), none)}
    curves = BASE[bank.form.base.name]
    if sides is not None and bank.form.base.name == "relu":
        curves = line(max(sides[-1], 0))
    base = _chain(inner, *(part(z) for part in curves))
    rest = Interval(down(1 - gate), up(1 - gate))
    return {key: base[key] * rest + jet[key].times(gate) for key in jet}


def mean_of(centre: Array, radius: Array) -> Interval:
    """Return the mean of the inputs over the cells and at their centres, (2, cells)."""
    mean, wide = centre.mean(1), radius.mean(1)
    spare = 4 * 2.0**-52 * (np.abs(centre).sum(1) + wide) + 1e-300
    return Interval(
        np.stack([mean - wide - spare, mean - spare]), np.stack([mean + wide + spare, mean + spare])
    )


def _sharpened(jet: Jet, zero: Index, first: list[Index], radius: Array) -> Interval:
    """Meet a value with f(c) + f'(X)(X - c)."""
    parts = [jet[zero][1]]
    parts += [_spread(jet[key][0], radius[:, v]) for v, key in enumerate(first)]
    return _first(jet[zero], total(parts))


def _sharpened_slope(
    jet: Jet,
    v: int,
    first: list[Index],
    second: dict[tuple[int, int], Index],
    radius: Array,
) -> Interval:
    """Meet a slope with f'(c) + f''(X)(X - c)."""
    parts = [jet[first[v]][1]]
    for w in range(len(first)):
        parts.append(_spread(jet[second[min(v, w), max(v, w)]][0], radius[:, w]))
    return _first(jet[first[v]], total(parts))


def _spread(slope: Interval, radius: Array) -> Interval:
    reach = up(slope.most * radius)
    return Interval(-reach, reach)


def _first(plain: Interval, other: Interval) -> Interval:
    sharp = plain[0].meet(other)
    return Interval(np.stack([sharp.low, plain.low[1]]), np.stack([sharp.high, plain.high[1]]))


_MOST = 3  # kinks of a unit, beyond which the sides are too many


def branched(bank: Bank, unit: np.ndarray, low: Array, high: Array) -> CellBounds:
    """Bound units as `bound` does, and sides of kinks apart where a cell holds some."""
    plain = bound(bank, unit, low, high)
    kinks = _kinks(bank)
    if not 0 < sum(kinks) <= _MOST:
        return plain
    through = np.flatnonzero(_through(bank, unit, low, high))
    if not len(through):
        return plain
    choices = [(-1, 1) if kink else (1,) for kink in kinks]
    parts = [
        bound(bank, unit[through], low[through], high[through], sides)
        for sides in itertools.product(*choices)
    ]
    value = _improved(plain.value, [part.value for part in parts], through)
    slopes = [
        _improved(slope, [part.slopes[v] for part in parts], through)
        for v, slope in enumerate(plain.slopes)
    ]
    steepest = plain.steepest.copy()
    most = np.max([part.steepest for part in parts], 0)
    steepest[through] = np.fmin(steepest[through], most)
    return CellBounds(value, slopes, plain.denominator, steepest, plain.curvatures)


def _kinks(bank: Bank) -> list[bool]:
    """Say of each head, and of the base, whether it has a kink."""
    base = bank.gate is not None and bank.form.base.name == "relu"
    return [bank.form.kind.name == "abs"] * bank.heads + [base]


def _through(bank: Bank, unit: np.ndarray, low: Array, high: Array) -> np.ndarray:
    """Return which cells may hold a kink."""
    centre, radius = around(low, high)
    zero = indices(low.shape[1])[0]
    spans = []
    if bank.form.kind.name == "abs":
        (powers,) = bank.form.denominator
        for head in range(bank.heads):
            spans.append(polynomial(powers, bank.denominator[unit, head], centre, radius)[zero])
    if _kinks(bank)[-1]:
        spans.append(mean_of(centre, radius))
    away = [(span.low[0] > 0) | (span.high[0] < 0) for span in spans]
    result: np.ndarray = ~np.all(away, 0)
    return result


def _improved(plain: Interval, parts: list[Interval], through: np.ndarray) -> Interval:
    """Meet bounds over cells with the hull of those of the sides; centres stay as they are."""
    low, high = plain.low.copy(), plain.high.copy()
    both = plain[0, through].meet(hull([part[0] for part in parts]))
    low[0, through], high[0, through] = both.low, both.high
    return Interval(low, high)


_AT_ONCE = 1 << 21  # numbers in the tables of a piece of work


def looking(bank: Bank) -> Columns:
    """Look at units of a bank, in pieces of work."""
    terms = max(bank.numerator.shape[2], bank.denominator.shape[2])
    step = max(1, _AT_ONCE // (terms * terms))

    def look(unit: np.ndarray, low: Array, high: Array) -> tuple[Array, Array, None]:
        parts = [
            _columns(branched(bank, unit[n : n + step], low[n : n + step], high[n : n + step]))
            for n in range(0, len(unit), step)
        ]
        ceilings, values = zip(*parts, strict=True)
        return np.concatenate(ceilings), np.concatenate(values), None

    return look


def _columns(bounds: CellBounds) -> tuple[Array, Array]:
    """Return upper bounds over the cells and lower bounds at the centres, (cells, columns)."""
    met = np.zeros_like(bounds.steepest)
    signed = [bounds.value, -bounds.value]
    for slope in bounds.slopes:
        signed += [slope, -slope]
        met = np.hypot(met, slope.least[1]) * (1 - 2.0**-50)
    both = [(part.high[0], part.low[1]) for part in signed]
    both += [(bounds.steepest, met), (-bounds.denominator.low[0], -bounds.denominator.high[1])]
    above, below = zip(*both, strict=True)
    return np.stack(above, 1), np.nan_to_num(np.stack(below, 1), nan=-np.inf)
