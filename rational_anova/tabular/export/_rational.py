"""`auto_rational` of the estimators: the model's numbers become exact, predictions stay.

Every function of the model is bounded: a head by 1, its slopes in centre and width by constants
over the width. So it is known beforehand how far each number may move if all of them together may
move f by no more than `precision` of its spread, wherever the inputs are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from ..._core.types import Array
from ...networks import Snaps
from ...symbols import snap
from ..model import Additive, Basis, Heads, Part, Rows, Term, basis_key

# Largest value of 1/(1 + u^2) and u/(1 + u^2), and of their derivatives in centre and in log width.
VALUE = (1.0, 0.5)
CENTRE = (3 * 3**0.5 / 8, 1.0)
WIDTH = (0.5, 0.25)
SHRUNK = 0.9  # of its width that a head keeps at least, so that the bounds of slopes hold
FACTOR, STEPS = 4.0, 6  # with rows to look at: how much further numbers may try to move
DECIMALS = 16  # digits of a float
FRACTIONS = np.arange(1, 101)  # denominators at which a look for a simple fraction is worth it


@dataclass
class Exact:
    """Snaps numbers, and keeps the book.

    Args:
        constants: names for `snap`.
        snapped: (name, value before, value, the exact number as text).
    """

    constants: Sequence[str]
    snapped: list[tuple[str, float, float, str]]

    def of(self, values: Array, reach: Array, name: str) -> Array:
        """Return the floats next to simple numbers, or to the shortest decimals that will do."""
        result = np.array(values)
        for n, (value, near) in enumerate(zip(values.tolist(), reach.tolist(), strict=True)):
            text = "0" if abs(value) <= near else self._text(value, near)
            result[n] = float(read_number(text))
            self.snapped.append((name, value, float(result[n]), text))
        return result

    def _text(self, value: float, near: float) -> str:
        # `snap` is slow, and most numbers of a fit are no fractions.
        parts = value * FRACTIONS
        if self.constants or (np.abs(np.rint(parts) - parts) <= near * FRACTIONS).any():
            exact = snap(value, near, self.constants)
            if exact is not None:
                return str(exact)
        return shortest(value, near)

    def records(self) -> tuple[list[tuple[str, float, sympy.Expr]], dict[float, str]]:
        """Return (name, before, exact number) of each, and the exact numbers by their floats."""
        snaps = [(name, old, read_number(text)) for name, old, _, text in self.snapped]
        return snaps, {new: text for _, _, new, text in self.snapped}


def read_number(text: str) -> sympy.Expr:
    """Return the exact number that a text stands for.

    Example:
        >>> read_number("1.25e-01"), read_number("1/3"), read_number("pi/4")
        (1/8, 1/3, pi/4)
    """
    plain = not set(text) - set("0123456789.e+-/")  # sympy would read a decimal as a float
    return sympy.Rational(text) if plain else sympy.sympify(text)


def shortest(value: float, tolerance: float) -> str:
    """Return the decimal of fewest digits within a tolerance.

    Example:
        >>> shortest(0.123456, 1e-3), shortest(-81.2, 5.0)
        ('1.23e-01', '-8e+01')
    """
    digits = 0
    if tolerance > 0:
        digits = max(int(math.log10(abs(value) / tolerance)) - 1, 0) if value else 0
    for count in range(min(digits, DECIMALS), DECIMALS + 1):
        text = f"{value:.{count}e}"
        if abs(float(text) - value) <= tolerance:
            break
    return text


def auto_rational(
    model: Additive,
    spread: Array,  # of each output
    precision: float,
    constants: Sequence[str],
    kept: Set[int],  # inputs whose effects stay as they are
    rows: Rows | None,
) -> tuple[Additive, Snaps, dict[float, str]]:
    """Return the model with exact numbers, what was done, and the numbers by their floats."""
    attempts = [_attempt(model, spread, precision, constants, kept)]
    moved = None
    if rows is not None:
        before = model.decision(rows)

        def far(found: Additive) -> float:
            return float((np.abs(found.decision(rows) - before) / spread).max())

        moved = far(attempts[0][0])
        # The bounds are those of the worst case: rounding errors mostly cancel.
        for step in range(1, STEPS + 1):
            found = _attempt(model, spread, precision * FACTOR**step, constants, kept)
            distance = far(found[0])
            if distance > precision:
                break
            attempts.append(found)
            moved = distance
    new, exact = attempts[-1]
    snapped, known = exact.records()
    reason = "its input is monotone, which is proved for these numbers"
    refused = [(model.features[i].name, float("nan"), reason) for i in sorted(kept)]
    return new, Snaps(snapped, refused, moved), known


def _attempt(
    model: Additive, spread: Array, precision: float, constants: Sequence[str], kept: Set[int]
) -> tuple[Additive, Exact]:
    """Snap all numbers, each within its part of what f may move."""
    open_parts = [part for part in model.parts if not kept & set(part.term.axes)]
    numbers = 1 + sum(part.term.size for part in open_parts)
    numbers += 2 * sum(len(b.centre) for b in _heads(model, open_parts).values())
    room = precision * spread / numbers  # in f, for each number of each output
    exact = Exact(constants, [])
    heads = _snapped_heads(model, open_parts, room, exact)
    parts = [
        part if kept & set(part.term.axes) else _snapped_part(model, part, room, exact, heads)
        for part in model.parts
    ]
    intercept = exact.of(model.intercept, room, "intercept")
    return replace(model, intercept=intercept, parts=parts), exact


def _bound(basis: Basis, limits: tuple[float, float] = VALUE) -> Array:
    """Return a bound of each function of a basis."""
    if not isinstance(basis, Heads):
        return np.ones(basis.size)
    count = len(basis.centre)
    return np.repeat(limits, [count, basis.size - count])


def _numbered(model: Additive, part: Part, side: int) -> Heads | None:
    """Return the heads on one side of a part whose centres are numbers of the formula."""
    basis = part.term.bases[side]
    category = model.features[part.term.axes[side]].category
    if category or not isinstance(basis, Heads):
        return None
    return basis


def _heads(model: Additive, parts: list[Part]) -> dict[Any, Heads]:
    """Return the heads that these parts use, by what they have in common."""
    found = {}
    for part in parts:
        for side, axis in enumerate(part.term.axes):
            heads = _numbered(model, part, side)
            if heads is not None:
                found[axis, basis_key(heads)] = heads
    return found


def _slopes(model: Additive, parts: list[Part]) -> dict[Any, tuple[Array, Array]]:
    """Return bounds of how far f moves with each centre and width, (heads, outputs)."""
    found: dict[Any, Any] = {}
    for part in parts:
        for side, axis in enumerate(part.term.axes):
            heads = _numbered(model, part, side)
            if heads is None:
                continue
            sizes = [basis.size for basis in part.term.bases]
            size = np.abs(part.numerators).reshape(*sizes, model.outputs)
            if len(sizes) == 2:  # the other input's functions, each at its largest
                other = _bound(part.term.bases[1 - side])
                size = np.tensordot(other, size, (0, 1 - side))
            width = SHRUNK * heads.width[:, None]
            both = tuple(
                _by_head(size * _bound(heads, limits)[:, None], len(width)) / width
                for limits in (CENTRE, WIDTH)
            )
            key = axis, basis_key(heads)
            last = found.get(key, (0.0, 0.0))
            found[key] = tuple(a + b for a, b in zip(last, both, strict=True))
    return found


def _by_head(values: Array, count: int) -> Array:
    """Add up what the columns of each head have: 1/d, and u/d where there is one."""
    total = values[:count].copy()
    total[: len(values) - count] += values[count:]
    return total


def _snapped_heads(
    model: Additive, parts: list[Part], room: Array, exact: Exact
) -> dict[Any, Heads]:
    slopes = _slopes(model, parts)
    found = {}
    for key, heads in _heads(model, parts).items():
        name = model.features[key[0]].name
        new: dict[str, Any] = {}
        for what, slope in zip(("centre", "width"), slopes[key], strict=True):
            values = getattr(heads, what)
            steep = np.where(slope > 0, slope, 1e-300)
            reach = np.minimum((room / steep).min(1), (1 - SHRUNK) * heads.width)
            new[what] = exact.of(values, reach, f"{name} {what}")
        found[key] = replace(heads, **new)
    return found


def _snapped_part(
    model: Additive, part: Part, room: Array, exact: Exact, heads: dict[Any, Heads]
) -> Part:
    axes, bases = part.term.axes, part.term.bases
    bound = _bound(bases[0])
    if len(bases) == 2:
        bound = np.outer(bound, _bound(bases[1])).ravel()
    name = " x ".join(model.features[i].name for i in axes)
    reach = (room / bound[:, None]).ravel()
    numerators = exact.of(part.numerators.ravel(), reach, f"{name} numerator")
    new = [
        heads[axis, basis_key(basis)] if _numbered(model, part, side) is not None else basis
        for side, (axis, basis) in enumerate(zip(axes, bases, strict=True))
    ]
    return replace(
        part, term=Term(axes, tuple(new)), numerators=numerators.reshape(-1, model.outputs)
    )
