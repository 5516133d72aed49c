"""Proofs that a sum of rational heads rises or falls: bounds of its slope on a whole interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._core.types import Array
from ...proofs import Budget, Cells, bernstein_matrix, branch
from ..model import Additive, Heads

ORDER = 6  # of the remainder of Taylor's formula
MOST_PIECES = 30_000  # that bounds are tried on
_ROUNDS = 1100  # more halvings than an interval of length one can have
_UNIT = 2.0**-52  # rounding of one operation, twice over
_AT_ONCE = 1 << 19  # numbers in a piece of work


@dataclass(frozen=True)
class Proof:
    """What is known about the sign of an effect's slope.

    It holds for the effect as a function of real numbers; the rounding of the bounds themselves is
    accounted for. Beyond `low` and `high` the effect is constant, so what is proved between them
    holds everywhere.

    Args:
        input: its name.
        sign: +1 if the effect is to rise, -1 if it is to fall.
        low: least number of the training rows.
        high: greatest one.
        least_slope: bound from below of `sign` times the slope; at the witness if there is one.
        pieces: that the interval was cut into.
        verdict: `proved`, `refuted` or `not decided`.
        witness: a number where the slope has the other sign, if `refuted`.
        reason: why it is `not decided`.
    """

    input: str
    sign: int
    low: float
    high: float
    least_slope: float
    pieces: int
    verdict: str = "proved"
    witness: float | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return self.verdict == "proved"


@dataclass(frozen=True)
class HeadSum:
    """The sum of (constant + linear u)/(1 + u^2), u = (x - centre)/width."""

    centre: Array
    width: Array
    constant: Array
    linear: Array

    @classmethod
    def of(cls, heads: Sequence[tuple[Heads, Array]], sign: int) -> HeadSum:
        """Join heads with numerators (size,), all times a sign; heads without any are left out."""
        parts = [np.empty((4, 0))]
        for one, numerators in heads:
            m = len(one.centre)
            linear = numerators[m:] if one.odd else np.zeros(m)
            parts.append(np.stack([one.centre, one.width, sign * numerators[:m], sign * linear]))
        joined = np.concatenate(parts, 1)
        return cls(*joined[:, (joined[2:] != 0).any(0)])

    def scaled(self, factor: float) -> HeadSum:
        """Return the curve over factor * x; a power of two rounds nothing."""
        return HeadSum(self.centre * factor, self.width * factor, self.constant, self.linear)


@dataclass(frozen=True)
class SlopeCheck:
    """Bound of the slope from below, pieces, and midpoints of those that did not pass."""

    least: float
    pieces: int
    wrong: Array  # where the slope is surely negative
    slopes: Array  # at most so large there
    open: Array  # where nothing could be shown

    @property
    def proved(self) -> bool:
        """Whether the slope is nowhere negative."""
        return not len(self.wrong) and not len(self.open)


def examine(curve: HeadSum, low: float, high: float) -> SlopeCheck:
    """Cut an interval into pieces until the slope is bounded by 0 from below on each of them.

    On a piece the slope is a polynomial by Taylor's formula, bounded by its Bernstein
    coefficients; the remainder is bounded by each head's distance to its pole, in the complex
    plane, and what the computer rounds by the sizes of what is summed.
    """
    none = np.empty(0)
    if not len(curve.centre) or not high > low:
        return SlopeCheck(0.0, 1, none, none, none)
    # Numbers of order one neither overflow nor vanish in high powers.
    unit = float(2.0 ** -np.ceil(np.log2(high - low)))
    curve = curve.scaled(unit)
    ends = np.unique(np.clip([low * unit, high * unit, *curve.centre], low * unit, high * unit))
    first = Cells.of(ends[:-1, None], ends[1:, None])
    pieces = replace(first, problem=np.zeros(len(first), dtype=np.int64))  # parts of one problem
    search, budget = _Search(curve), Budget(MOST_PIECES)
    left = branch(pieces, search, budget, _ROUNDS)
    return SlopeCheck(
        float(search.least * unit), int(budget.looked[0]), np.concatenate(search.wrong) / unit,
        np.concatenate(search.slopes) * unit, left.middle[:, 0] / unit,
    )  # fmt: skip


class _Search:
    """The least bound of the slope on pieces that passed, and where it is surely negative."""

    def __init__(self, curve: HeadSum) -> None:
        self.curve, self.least = curve, np.inf
        self.wrong, self.slopes = [np.empty(0)], [np.empty(0)]

    def __call__(self, pieces: Cells) -> tuple[Array, None, None]:
        """Return which pieces are open."""
        middle = pieces.middle[:, 0]
        below, above = _bounds(self.curve, pieces.low[:, 0], middle, pieces.high[:, 0])
        good, bad = below >= 0, above < 0
        self.least = min(self.least, float(below[good].min(initial=np.inf)))
        self.wrong.append(middle[bad])
        self.slopes.append(above[bad])
        return ~good & ~bad, None, None


def _bounds(curve: HeadSum, start: Array, middle: Array, stop: Array) -> tuple[Array, Array]:
    """Return bounds of the slope on pieces from below, and at their middles from above."""
    step = max(_AT_ONCE // len(curve.centre), 1)
    parts = [
        _some_bounds(curve, start[at : at + step], middle[at : at + step], stop[at : at + step])
        for at in range(0, len(start), step)
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _some_bounds(curve: HeadSum, start: Array, middle: Array, stop: Array) -> tuple[Array, Array]:
    # A head is Re r/(x - z) with the pole z = centre + i width, r = width (linear - i constant):
    # its slope is -Re r/(x - z)^2, and the Taylor coefficients of that are powers of 1/(x - z).
    radius = np.maximum(middle - start, stop - middle) * (1 + 4 * _UNIT)
    away = middle[:, None] - curve.centre
    inverse = 1 / (away - 1j * curve.width)
    residue = curve.width * (curve.linear - 1j * curve.constant)
    size = np.abs(residue)
    power, modulus = inverse, np.abs(inverse)
    sizes = modulus
    terms, total = [], np.zeros(len(middle))
    for j in range(ORDER):
        power, sizes = power * inverse, sizes * modulus
        scale = (-1) ** (j + 1) * (j + 1) * radius**j
        terms.append(scale * (power @ residue).real)
        total += np.abs(scale) * (sizes @ size)
        if j == 0:
            first = total.copy()
    gap = np.abs(away) * (1 - 4 * _UNIT) - radius[:, None] * (1 + 4 * _UNIT)
    distance = np.hypot(np.maximum(gap, 0), curve.width) * (1 - 4 * _UNIT)
    rest = (ORDER + 1) * radius**ORDER * (distance ** -(ORDER + 2.0) @ size) * (1 + 1e-9)
    # Of each summand at most 64 operations round; a sum of n rounds n more times.
    slack = (64 + len(size)) * _UNIT
    below = (_BERNSTEIN @ np.stack(terms)).min(0) - rest - slack * total - _TINY
    return below, terms[0] + slack * first + _TINY


_BERNSTEIN = bernstein_matrix(ORDER - 1, symmetric=True)
_TINY = float(np.finfo(float).tiny)


def proved(
    heads: Sequence[tuple[Heads, Array]], low: float, high: float, sign: int, name: str = ""
) -> Proof:
    """Return a proof, or a witness against it, that a sum of heads rises (or falls) on [low, high].

    Args:
        heads: with their numerators, (size,).
        low: end of the interval.
        high: the other end.
        sign: +1 for rising, -1 for falling.
        name: of the input.
    """
    found = examine(HeadSum.of(heads, sign), low, high)
    if found.proved:
        return Proof(name, sign, low, high, found.least, found.pieces)
    if len(found.wrong):
        worst = int(found.slopes.argmin())
        slope, witness = float(found.slopes[worst]), float(found.wrong[worst])
        return Proof(name, sign, low, high, slope, found.pieces, "refuted", witness)
    reason = f"the slope is too close to 0 near {found.open[0]:g} for its sign to be told"
    return Proof(name, sign, low, high, -np.inf, found.pieces, "not decided", reason=reason)


def proof_of(model: Additive, axis: int, sign: int) -> Proof:
    """Return what can be shown about the sign of an input's slope in a fitted model.

    Args:
        model: of one output.
        axis: position of the input.
        sign: +1 for rising, -1 for falling.
    """
    feature = model.features[axis]
    if sign not in (1, -1):
        raise ValueError(f"sign must be +1 (rising) or -1 (falling), got {sign!r}")
    if feature.category:
        raise ValueError(f"{feature.name!r} is a category: its levels have no order to rise along")
    if model.outputs != 1:
        raise ValueError(
            f"the model has {model.outputs} classes, each with a curve of its own; only models of "
            "numbers or of two classes rise or fall"
        )
    low, high = feature.clip or (0.0, 0.0)
    pairs = [a for a in model.axes if len(a) > 1 and axis in a]
    if pairs:
        shown = ", ".join(" x ".join(model.features[i].name for i in a) for a in pairs)
        reason = f"it takes part in {shown}; only main effects are examined"
        return Proof(feature.name, sign, low, high, -np.inf, 0, "not decided", reason=reason)
    heads = [
        (part.term.bases[0], part.numerators[:, 0])
        for part in model.effect((axis,))
        if isinstance(part.term.bases[0], Heads)
    ]
    return proved(heads, low, high, sign, feature.name)
