"""Columns of atoms on the rows: of one input, and of two as products that are not written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._atoms import Atom, B, C, Scale, X, of_one, of_two

_LARGEST = 1e100
_COLLINEAR = 1e-10  # of its square: what is left of a column beside the others
_PAIRED = 80  # terms of each kind that are looked at two by two
_COUNT_ONE, _COUNT_TWO = 32, 24  # inner numbers of a rate that are tried


@dataclass(frozen=True)
class Factor:
    """An atom of one input, with its inner numbers."""

    place: int
    atom: Atom
    numbers: tuple[float, ...] = ()

    def value(self, U: Array) -> Array:
        return np.broadcast_to(
            np.asarray(self.atom.value(U[:, self.place], *self._both())[0], dtype=float), len(U)
        )

    def slopes(self, U: Array) -> list[Array]:
        found = self.atom.slopes(U[:, self.place], *self._both())
        return [np.broadcast_to(np.asarray(f, dtype=float), len(U)) for f in found]

    def _both(self) -> tuple[float, float]:
        known = dict(zip(self.atom.numbers, self.numbers, strict=True))
        return known.get(B, 0.0), known.get(C, 0.0)

    def formula(self, symbols: Sequence[sp.Symbol]) -> sp.Expr:
        known = dict(zip(self.atom.numbers, self.numbers, strict=True))
        inside = {s: sp.Float(v, 17) for s, v in known.items()}
        return self.atom.formula.xreplace({**inside, X: symbols[self.place]})


Term = tuple[Factor, ...]  # a product; none is the constant


Family = tuple[tuple[int, sp.Expr], ...]


def family(term: Term) -> Family:
    """Return what a term is, whatever its numbers."""
    return tuple((f.place, f.atom.formula) for f in term)


@dataclass(frozen=True)
class _Block:
    """Atoms of one input on the rows, (atoms, rows), each scaled to a largest value of one."""

    factors: list[Factor]
    families: Array  # a number for the family of each
    values: Array

    @property
    def rated(self) -> bool:
        return any(f.numbers for f in self.factors[:1])


class Dictionary:
    """All terms of one input, or of two, on rows with weights."""

    def __init__(
        self, U: Array, weight: Array, atoms: Sequence[Atom] = (),
        allowed: Callable[[sp.Expr], bool] = lambda formula: True,
    ) -> None:  # fmt: skip
        self.U, self.weight = U, weight
        places = range(U.shape[1])
        ones = [a for a in of_one(atoms) if allowed(a.formula)]
        twos = [a for a in of_two(atoms) if allowed(a.formula)]
        w2 = weight**2
        self.single = [
            (b, (b.values**2) @ w2) for k in places for b in _blocks(U, k, ones, _COUNT_ONE)
        ]
        double = [_blocks(U, k, twos, _COUNT_TWO) for k in places]
        # of two factors one at most has a number inside
        wanted = [
            (double[i][left], double[j][right])
            for i, j in combinations(places, 2)
            for left, right in ((0, 0), (0, 1), (1, 0))
        ]
        self.double = [
            (left, right, (left.values**2 * w2) @ (right.values**2).T) for left, right in wanted
        ]

    def best(self, residual: Array, basis: Array, count: int) -> list[tuple[float, Term]]:
        """Return the terms that lower the squares of a residual most, one a family.

        Terms of one input and of two, without a number inside and with one, are counted apart.

        Args:
            residual: weighted, (rows,), orthogonal to the basis.
            basis: orthonormal columns that are there already, (columns, rows), weighted.
            count: how many of each to return.
        """
        kinds = self._kinds(residual, basis, count)
        return [one for some in kinds for one in sorted(some, key=lambda item: -item[0])[:count]]

    def _kinds(self, residual: Array, basis: Array, count: int) -> list[list[tuple[float, Term]]]:
        W = np.vstack([residual, basis]) * self.weight
        kinds: list[list[tuple[float, Term]]] = [[] for _ in range(4)]
        for block, norms in self.single:
            gains = _gains(block.values @ W.T, norms)
            chosen = _best_of_families(gains, block.families, count)
            kinds[block.rated] += [(g, (block.factors[i],)) for g, i in chosen]
        for left, right, norms in self.double:
            if not norms.size:
                continue
            images = np.stack([(left.values * w) @ right.values.T for w in W], -1)
            width = int(right.families.max(initial=0)) + 1
            both = left.families[:, None] * width + right.families
            out = kinds[2 + (left.rated or right.rated)]
            for g, at in _best_of_families(_gains(images, norms).ravel(), both.ravel(), count):
                a, b = divmod(at, len(right.factors))
                out.append((g, (left.factors[a], right.factors[b])))
        return kinds

    def best_two(self, residual: Array, basis: Array, count: int) -> list[tuple[float, Term, Term]]:
        """Return the two terms that lower the squares most together, `count` times.

        A good term may be found only beside another: alone, a third one does what both do.
        """
        plain = [block for block, _ in self.single if not block.rated]
        terms: list[Term] = [(f,) for block in plain for f in block.factors]
        for some in self._kinds(residual, basis, _PAIRED)[1:]:
            terms += [t for _, t in sorted(some, key=lambda item: -item[0])[:_PAIRED]]
        columns = (
            np.array([product_of(t, self.U) for t in terms]).reshape(-1, len(self.U)) * self.weight
        )
        norms = np.linalg.norm(columns, axis=1)
        columns /= norms[:, None]
        columns -= (columns @ basis.T) @ basis
        left = np.einsum("tn,tn->t", columns, columns)
        good = np.isfinite(left) & (left > _COLLINEAR)
        terms = [t for t, g in zip(terms, good, strict=True) if g]
        if len(terms) < 2:
            return []
        columns = columns[good] / np.sqrt(left[good])[:, None]
        image, gram = columns @ residual, columns @ columns.T
        rest = 1 - gram**2
        usable = np.triu(rest > 1e-9, 1)
        gains = image[:, None] ** 2 + image**2 - 2 * gram * np.outer(image, image)
        gains = np.where(usable, gains / np.where(usable, rest, 1.0), -1.0).ravel()
        out: list[tuple[float, Term, Term]] = []
        seen: set[frozenset[Family]] = set()
        most = np.argpartition(-gains, min(20 * count, len(gains) - 1))[: 20 * count]
        for at in most[np.argsort(-gains[most])]:
            i, j = divmod(int(at), len(terms))
            key = frozenset((family(terms[i]), family(terms[j])))
            if gains[at] > 0 and len(key) == 2 and key not in seen and len(out) < count:
                seen.add(key)
                out.append((float(gains[at]), terms[i], terms[j]))
        return out


def product_of(term: Term, U: Array) -> Array:
    """Return a term on rows."""
    out = np.ones(len(U))
    for factor in term:
        out = out * factor.value(U)
    return out


def _blocks(U: Array, place: int, atoms: Sequence[Atom], count: int) -> tuple[_Block, _Block]:
    """Atoms without a number inside, and those with one."""
    plain = [a for a in atoms if not a.numbers]
    rated = [a for a in atoms if a.numbers]
    return _block(U, place, plain, count), _block(U, place, rated, count)


def _block(U: Array, place: int, atoms: Sequence[Atom], count: int) -> _Block:
    factors, families, values = [], [], []
    x = U[:, place]
    scale = Scale.of(x)
    for number, atom in enumerate(atoms):
        if not atom.suits(scale):
            continue
        starts = atom.starts(scale, count)
        both = np.zeros((len(starts), 2))
        for k, symbol in enumerate(atom.numbers):
            both[:, 0 if symbol == B else 1] = starts[:, k]
        with np.errstate(all="ignore"):
            found = atom.value(x[None, :], both[:, :1], both[:, 1:])[0]
        found = np.broadcast_to(np.asarray(found, dtype=float), (len(starts), len(x)))
        size = np.abs(found).max(1)
        good = np.isfinite(size) & (size < _LARGEST) & (size > 1 / _LARGEST)
        for start, column, largest in zip(starts[good], found[good], size[good], strict=True):
            factors.append(Factor(place, atom, tuple(start.tolist())))
            families.append(number)
            values.append(column / largest)
    stacked = np.array(values).reshape(len(values), len(x))
    return _Block(factors, np.array(families, dtype=int), stacked)


def _gains(images: Array, norms: Array) -> Array:
    """By how much each column lowers the squares; images end in the residual and the basis."""
    left = norms - np.einsum("...k,...k->...", images[..., 1:], images[..., 1:])
    usable = left > _COLLINEAR * norms
    return np.where(usable, images[..., 0] ** 2 / np.where(usable, left, 1.0), -1.0)


def _best_of_families(gains: Array, families: Array, count: int) -> Iterator[tuple[float, int]]:
    """The best of each family, the best families first."""
    if not len(gains):
        return
    some = np.argpartition(-gains, min(40 * count, len(gains) - 1))[: 40 * count]
    seen: set[int] = set()
    for at in some[np.argsort(-gains[some])]:
        if gains[at] <= 0 or len(seen) >= count:
            return
        if families[at] not in seen:
            seen.add(int(families[at]))
            yield float(gains[at]), int(at)
