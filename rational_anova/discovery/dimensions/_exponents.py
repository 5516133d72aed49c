"""Products of powers with a wanted dimension, by exact linear algebra over fractions.

A vector of exponents has one entry for each quantity. Few quantities and small whole exponents come
first, as one would write the product by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

Exponents = tuple[Fraction, ...]
Cost = tuple[float, ...]
_MULTIPLES = 2  # of a group, tried when a product has roots


class Span:
    """Vectors, kept as the rows of an echelon form, to ask what they span."""

    def __init__(self, vectors: Sequence[Sequence[Fraction]] = ()) -> None:
        self._rows: dict[int, list[Fraction]] = {}  # by the place of the first entry, which is 1
        for vector in vectors:
            self.add(vector)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, vector: Sequence[Fraction]) -> bool:
        """Add a vector; False if it was spanned already."""
        rest = list(vector)
        for place in range(len(rest)):
            if not rest[place]:
                continue
            row = self._rows.get(place)
            if row is None:
                self._rows[place] = [entry / rest[place] for entry in rest]
                return True
            rest = [a - rest[place] * b for a, b in zip(rest, row, strict=True)]
        return False


def combination(
    columns: Sequence[Sequence[Fraction]], wanted: Sequence[Fraction]
) -> Exponents | None:
    """Return the exponents by which independent columns give what is wanted; None if they cannot.

    Also None if the columns are not independent: fewer of them then give it.

    Example:
        >>> one, two = Fraction(1), Fraction(2)
        >>> combination([(one, one), (one, -one)], (two, two - two))
        (Fraction(1, 1), Fraction(1, 1))
    """
    rows = [[*entries, last] for *entries, last in zip(*columns, wanted, strict=True)]
    for place in range(len(columns)):
        pivot = next((n for n in range(place, len(rows)) if rows[n][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        own = [entry / rows[place][place] for entry in rows[place]]
        rows = [
            own if n == place else [a - row[place] * b for a, b in zip(row, own, strict=True)]
            for n, row in enumerate(rows)
        ]
    if any(row[-1] for row in rows[len(columns) :]):
        return None
    return tuple(row[-1] for row in rows[: len(columns)])


def spread_out(exponents: Sequence[Fraction], places: Sequence[int], size: int) -> Exponents:
    """Return exponents of some quantities as exponents of all."""
    result = [Fraction(0)] * size
    for place, exponent in zip(places, exponents, strict=True):
        result[place] = exponent
    return tuple(result)


def circuits(dimensions: Sequence[Sequence[Fraction]], count: int) -> Iterator[Exponents]:
    """Yield the products of `count` quantities without a dimension that need all of these.

    Exponents are whole numbers without a common factor.
    """
    for places in combinations(range(len(dimensions)), count):
        *others, last = (dimensions[place] for place in places)
        found = combination(others, [-entry for entry in last])
        if found is not None and all(found):
            yield spread_out(_whole((*found, Fraction(1))), places, len(dimensions))


def _whole(exponents: Exponents) -> Exponents:
    by = Fraction(math.lcm(*(e.denominator for e in exponents)))
    common = math.gcd(*(int(e * by) for e in exponents))
    return tuple(e * by / common for e in exponents)


def null_basis(
    dimensions: Sequence[Sequence[Fraction]],
    spanned: Sequence[Exponents],
    cost: Callable[[Exponents], Cost],
) -> list[Exponents]:
    """Return the products without a dimension that all others are made of, cheap ones first.

    Args:
        dimensions: of the quantities.
        spanned: products that are known, and are not returned.
        cost: what is to be small, among products of as many quantities.
    """
    span, found = Span(spanned), []
    needed = len(dimensions) - len(Span(dimensions))
    for count in range(1, len(dimensions) + 1):
        if len(span) == needed:
            break
        found += [
            vector for vector in sorted(circuits(dimensions, count), key=cost) if span.add(vector)
        ]
    return found


def particular(
    dimensions: Sequence[Sequence[Fraction]],
    wanted: Sequence[Fraction],
    basis: Sequence[Exponents],
    cost: Callable[[Exponents], Cost],
    good: Callable[[Exponents], bool],
) -> Exponents | None:
    """Return the cheapest product of the wanted dimension; None if there is none.

    Args:
        dimensions: of the quantities.
        wanted: dimension of the product.
        basis: products without a dimension, by which roots may be avoided.
        cost: what is to be small.
        good: whether none of more quantities can cost less.
    """
    size = len(dimensions)
    found: list[Exponents] = []
    for count in range(len(Span(dimensions)) + 1):
        if any(map(good, found)):
            break  # one of more quantities is not better
        for places in combinations(range(size), count):
            exponents = combination([dimensions[place] for place in places], wanted)
            if exponents is not None and all(exponents):
                found.append(spread_out(exponents, places, size))
    if found and not any(_is_whole(vector) for vector in found):
        found += [moved for vector in found for moved in _moved(vector, basis)]
    return min(found, key=cost, default=None)


def _is_whole(exponents: Exponents) -> bool:
    return all(e.denominator == 1 for e in exponents)


def _moved(vector: Exponents, basis: Sequence[Exponents]) -> Iterator[Exponents]:
    """Yield a product times roots of one or two groups, where that leaves whole exponents."""
    parts = math.lcm(*(e.denominator for e in vector))
    steps = [Fraction(n, parts) for n in range(-_MULTIPLES * parts, _MULTIPLES * parts + 1)]
    pairs = [*combinations(basis, 2)] or [(group, group) for group in basis]
    for (one, two), first, second in product(pairs, steps, steps):
        moved = tuple(v + first * a + second * b for v, a, b in zip(vector, one, two, strict=True))
        if _is_whole(moved):
            yield moved
