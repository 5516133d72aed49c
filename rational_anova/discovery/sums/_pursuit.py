"""Sums of a few terms: the best are extended term by term, with all inner numbers refined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._atoms import Atom, Scale
from ._dictionary import Dictionary, Term
from ._sum import Key, Rows, Sum, empty, inner_of, key_of, pruned, refined, without_factors

_ROWS = 240  # that are looked at
_PAIRS = 20  # of terms that take the place of one
_FRUITLESS = 2  # lengths without a better score, after which longer sums are not looked for
_ROUNDING = 1e-15  # the same relative to the size: what arithmetic leaves
_DONE = 1e-13  # error relative to the spread below which a sum is exact


@dataclass(frozen=True)
class Effort:
    """How wide and how far sums are looked for.

    Args:
        first: terms of each kind that sums begin with.
        kept: sums of each length, and of each count of inner numbers, that are extended.
        tried: terms that each is extended by.
        terms: of the longest sum.
        inner: the most numbers inside of functions.
        exchanged: sums of each count of inner numbers in which a term is exchanged for two.
    """

    first: int = 40
    kept: int = 12
    tried: int = 12
    terms: int = 7
    inner: int = 4
    exchanged: int = 1

    def width(self, length: int, inner: int) -> int:
        """How many sums are kept."""
        return 2 * self.first if length == 1 else 3 * self.kept if inner == 0 else self.kept

    def extensions(self, length: int) -> int:
        """By how many terms of each kind a sum is extended to this length."""
        return self.first if length == 1 else self.tried

    def looked_at(self, length: int, inner: int) -> int:
        """How many sums are refined."""
        return 4 * self.first if length <= 2 else 3 * self.width(length, inner)


EFFORT = Effort()


def pursued(
    U: Array,
    y: Array,
    weight: Array | None = None,
    *,
    atoms: Sequence[Atom] = (),
    allowed: Callable[[sp.Expr], bool] = lambda formula: True,
    over: Callable[[], bool] = lambda: False,
    effort: Effort = EFFORT,
) -> Iterator[Sum]:
    """Yield the best sums of one term, of two, and so on; an exact one is the last.

    Where further functions are given, the best that has one of them follows each. It ends where two
    more terms bring nothing, by the score of the sums.

    Args:
        U: inputs (rows, columns).
        y: target.
        weight: that errors of a row are multiplied with.
        atoms: further functions.
        allowed: which formulas of atoms may be used.
        over: whether the time is up.
        effort: how wide and how far.

    Example:
        >>> x = np.linspace(0.5, 9, 60)
        >>> *_, last = pursued(x[:, None], np.sqrt(x) - 2 * np.sin(0.7 * x))
        >>> last.squares < 1e-20, len(last.terms)
        (True, 2)
    """
    some = some_rows(len(y), _ROWS)
    w = np.ones(len(some)) if weight is None else weight[some]
    U, target = U[some], w * y[some]
    rows = Rows(U, w, target, tuple(map(Scale.of, U.T)))
    around = target - w * (w @ target) / max(float(w @ w), 1e-300)
    limit = max(_DONE**2 * float(around @ around), _ROUNDING**2 * float(target @ target))
    beam, best, since = [empty(rows)], np.inf, 0
    with np.errstate(all="ignore"):
        dictionary = Dictionary(U, w, atoms, allowed)
        for length in range(1, effort.terms + 1):
            new: dict[int, list[Sum]] = {}
            for terms in _longer(beam, dictionary, rows, effort, over):
                found = None if over() else refined(terms, rows)
                if found is not None and found.squares <= limit:
                    yield pruned(found, rows, limit)
                    return
                if found is not None:
                    new.setdefault(found.inner, []).append(found)
            beam = [
                one
                for inner, sums in new.items()
                for one in sorted(sums, key=lambda s: s.squares)[: effort.width(length, inner)]
            ]
            if not beam:
                return
            first = without_factors(min(beam, key=lambda s: s.score), rows)
            yield first
            own = [one for one in beam if _uses(one, atoms)]
            if own and not _uses(
                first, atoms
            ):  # what was asked for is weighed even where another sum is a little nearer
                yield min(own, key=lambda s: s.score)
            best, since = (first.score, 0) if first.score < best else (best, since + 1)
            if since == _FRUITLESS or over():
                return


def _uses(one: Sum, atoms: Sequence[Atom]) -> bool:
    return any(factor.atom in atoms for term in one.terms for factor in term)


def some_rows(rows: int, most: int) -> Array:
    """Return indices of so many rows at most, the same at every call."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


# -- sums with a term more


class _Trials:
    """Sums to be refined, by how many numbers they have inside, and what they leave over."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.known: dict[int, dict[Key, tuple[float, tuple[Term, ...]]]] = {}

    def add(self, left: float, terms: tuple[Term, ...]) -> None:
        """Keep a sum, unless there is a better one of the same terms."""
        inner, key = inner_of(terms), key_of(terms)
        if inner > self.most or len(key) < len(terms):
            return
        known = self.known.setdefault(inner, {})
        if key not in known or left < known[key][0]:
            known[key] = left, terms

    def best(self, counts: Callable[[int], int]) -> Iterator[tuple[Term, ...]]:
        """Yield so many of each count of inner numbers, the fewest numbers and the best first."""
        for inner, known in sorted(self.known.items()):
            ranked = sorted(known.values(), key=lambda item: item[0])
            yield from (terms for _, terms in ranked[: counts(inner)])


def _longer(
    beam: Sequence[Sum], dictionary: Dictionary, rows: Rows, effort: Effort,
    over: Callable[[], bool],
) -> Iterator[tuple[Term, ...]]:  # fmt: skip
    """Sums of one term more than those of the beam, the most promising of each kind."""
    length = len(beam[0].terms) + 1
    trials = _Trials(effort.inner)
    for less in _shorter(beam, rows, effort):
        if over():
            return
        for gain, one, two in dictionary.best_two(less.residual, less.basis, _PAIRS):
            trials.add(less.squares - gain, (*less.terms, one, two))
    for known in beam:
        if over():
            return
        options = dictionary.best(known.residual, known.basis, effort.extensions(length))
        options.append((_gain_of_constant(known, rows.weight), ()))
        for gain, term in options:
            trials.add(known.squares - gain, (*known.terms, term))
    yield from trials.best(lambda inner: effort.looked_at(length, inner))


def _shorter(beam: Sequence[Sum], rows: Rows, effort: Effort) -> Iterator[Sum]:
    """The best sums of each kind with one of their terms taken away, in every way."""
    seen: set[Key] = set()
    for inner in sorted({one.inner for one in beam}):
        alike = sorted((s for s in beam if s.inner == inner), key=lambda s: s.squares)
        for one in alike[: effort.exchanged]:
            for k in range(len(one.terms)):
                terms = one.terms[:k] + one.terms[k + 1 :]
                if key_of(terms) not in seen:
                    seen.add(key_of(terms))
                    less = refined(terms, rows)
                    if less is not None:
                        yield less


def _gain_of_constant(one: Sum, w: Array) -> float:
    left = w - one.basis.T @ (one.basis @ w)
    norm = float(left @ left)
    return float((left @ one.residual) ** 2 / norm) if norm > 1e-10 * float(w @ w) else 0.0
