"""Laws in `certify`: proved bounds of values, slopes and denominators on a box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..._core.types import Array
from ...certificates import Certificate, PoleError, Witnesses
from ...proofs import Bounds, Interval, Unknown, conditions, extremes
from . import _domain
from ._domain import Box, checked_box, poles

if TYPE_CHECKING:
    from ._law import Law

_BUDGET = 20_000  # boxes


def certify_law(
    law: Law, box: Any = None, *, tolerance: float = 0.01, budget: int | None = None, **_: Any
) -> Certificate:
    """Prove bounds of a law on a box, that of its data by default.

    Raises:
        PoleError: the law is not proven to have a value on all of the box.
    """
    limits = checked_box(law.box if box is None else box, len(law.names))
    for n, ends in enumerate(limits):
        if not all(map(math.isfinite, ends)):
            raise ValueError(f"box[{n}] must be finite, got {ends}; give numbers for each column")
    formula, symbols = law.formula, law.names.symbols
    _check(law, limits)
    low, high = (np.array([[ends[k] for ends in limits]]) for k in (0, 1))
    look = _Look(formula, symbols)
    with np.errstate(all="ignore"):
        found = extremes(look, low, high, tolerance, _BUDGET if budget is None else budget)
    b, last = found.bound[0], 2 + 2 * len(symbols)
    slopes = Interval(-b[None, 3:last:2], b[None, 2:last:2])
    seen = Witnesses(1, len(symbols))
    for place in found.place[0, 2:last]:
        if np.isfinite(place).all():
            seen.add(place, look.slopes_at(place))
    steepest = float(b[last])
    return Certificate(
        limits,
        steepest,
        float(max(found.attained[0, last], 0.0)),
        steepest,
        math.inf,
        float(-b[last + 1]),
        ((float(-b[1]), float(b[0])),),
        seen.verdicts(slopes),
        pieces=int(found.cells[0]),
        names=law.names.columns,
    )


def _check(law: Law, limits: Box) -> None:
    """Raise unless the law is proven to have a value everywhere."""
    domain = _domain.certify(law.formula, law.names.symbols, limits)
    if domain.certified:
        return
    places: tuple[Any, ...] = ()
    if len(law.formula.free_symbols) == 1:
        places = poles(law.formula, law.names.symbols, limits)
    where = f" (at {', '.join(f'{place:.6g}' for place in places)})" if places else ""
    raise PoleError(
        f"{'; '.join(domain.reasons)}{where}, so nothing is certified; choose a box on which "
        f"{law.target} has a value everywhere",
        law.target,
        tuple(float(place) for place in places),
    )


class _Look:
    """Bounds on boxes of f, -f, each slope and its negative, the gradient's norm, and -|d|."""

    def __init__(self, formula: sp.Expr, symbols: Sequence[sp.Symbol]) -> None:
        real = {s: sp.Symbol(s.name, real=True) for s in symbols}
        names, formula = list(real.values()), formula.xreplace(real)
        self.value = Bounds(formula, names)
        self.slopes = [Bounds(formula.diff(name), names) for name in names]
        self.denominators = [
            Bounds(c.argument, names) for c in conditions(formula) if c.nonzero
        ]  # fmt: skip

    def __call__(self, unit: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return bounds over boxes, what is met at their centres, and the weights of the sides."""
        middle = 0.5 * low + 0.5 * high
        above, below, weight = [], [], np.zeros_like(low)
        norm, met = np.zeros(len(low)), np.zeros(len(low))
        for n, bounds in enumerate([self.value, *self.slopes]):
            (over, share), at = _tight(bounds, low, high), _natural(bounds, middle)
            above += [over.high, -over.low]
            below += [at.low, -at.high]
            scale = share.max(initial=0.0)
            weight += share / scale if scale > 0 else 0.0
            if n:
                norm = np.hypot(norm, over.most) * (1 + 2.0**-50)
                met = np.hypot(met, at.least) * (1 - 2.0**-50)
        least, there = np.full(len(low), np.inf), np.full(len(low), np.inf)
        for bounds in self.denominators:
            least = np.minimum(least, _tight(bounds, low, high)[0].least)
            there = np.minimum(there, _natural(bounds, middle).most)
        above += [norm, -least]
        below += [met, -there]
        weight = np.where(high > low, weight, -1.0)
        return (
            np.stack(above, 1),
            np.nan_to_num(np.stack(below, 1), nan=-np.inf, neginf=-np.inf),
            weight,
        )

    def slopes_at(self, place: Array) -> Interval:
        """Return bounds of all slopes at a point, (1, inputs)."""
        ends = [_natural(bounds, place[None]) for bounds in self.slopes]
        return Interval(
            *(np.array([[getattr(x, end)[0] for x in ends]]) for end in ("low", "high"))
        )


def _tight(bounds: Bounds, low: Array, high: Array) -> tuple[Interval, Array]:
    try:
        return bounds.tight(low, high)
    except Unknown:  # a slope of Max for instance
        return _nothing(len(low)), high - low


def _natural(bounds: Bounds, points: Array) -> Interval:
    try:
        return bounds.natural(points, points)
    except Unknown:
        return _nothing(len(points))


def _nothing(count: int) -> Interval:
    """Know nothing."""
    return Interval(np.full(count, -np.inf), np.full(count, np.inf))
