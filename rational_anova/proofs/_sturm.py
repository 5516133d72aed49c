"""The first real root of a polynomial in an interval, by Sturm's theorem in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

_HALVINGS = 60

Exact = list[Fraction]  # lowest power first


def first_root(coefficients: Mapping[int, float], low: float, high: float) -> float | None:
    """Return the first root in [low, high]; None without any, and `low` if all is negative.

    Args:
        coefficients: for each power its coefficient.
        low: the lower end.
        high: the upper end.
    """
    p: Exact = [Fraction(0)] * (max(coefficients) + 1)
    for power, value in coefficients.items():
        p[power] += Fraction(value)
    left, right = Fraction(low), Fraction(high)
    if _at(p, left) == 0:
        return low
    chain = _chain(_trimmed(p))
    start = _changes(chain, left)
    if start == _changes(chain, right):
        return None if _at(p, left) > 0 else low
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        if start != _changes(chain, middle):
            right = middle
        else:
            left = middle
    return float(right)


def _at(p: Exact, x: Fraction) -> Fraction:
    result = Fraction(0)
    for value in reversed(p):
        result = result * x + value
    return result


def _trimmed(p: Exact) -> Exact:
    rows = list(p)
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _chain(p: Exact) -> list[Exact]:
    """Return p, p' and the negated remainders; repeated roots are counted once."""
    chain = [p, _trimmed([k * value for k, value in enumerate(p)][1:])]
    while chain[-1]:
        rest = list(chain[-2])
        while len(rest) >= len(chain[-1]):
            factor, gap = rest[-1] / chain[-1][-1], len(rest) - len(chain[-1])
            for k, value in enumerate(chain[-1]):
                rest[k + gap] -= factor * value
            rest = _trimmed(rest[:-1])
        chain.append([-value for value in rest])
    return chain[:-1]


def _changes(chain: list[Exact], x: Fraction) -> int:
    """Return the changes of sign along the chain; their difference counts roots in (low, high]."""
    signs = [value > 0 for value in (_at(p, x) for p in chain) if value]
    return sum(a != b for a, b in pairwise(signs))
