"""One equation in integral form: x(t) = x(0) + the integral of its terms along smooth curves.

The data are never differentiated, and what an equation leaves over of x is the noise of the rows
itself, so that numbers of terms can be weighed by its likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ..._core.least_squares import levenberg_marquardt, lstsq
from ..._core.types import Array
from ...symbols import program
from ._terms import POLYNOMIAL, Term

_SAME = 1e-9  # share of a column's square that must be left to tell it from others
_REFINED = 6  # steps for inner numbers
_TRIED = 4  # times as many pairs and triples are refined as are kept
_BEYOND = 10.0  # times the values tried: an inner number so large or small is none


@dataclass(frozen=True, eq=False)
class Problem:
    """What an equation must explain.

    Attributes:
        y: the rows, less what starts of runs explain.
        transform: from values at the places of quadrature, (places, terms), to the rows, likewise.
        variables: states and inputs.
        values: of these at the places, (places, variables).
        floor: root mean square below which nothing is left to explain.
    """

    y: Array
    transform: Callable[[Array], Array]
    variables: Sequence[sp.Symbol]
    values: Array
    floor: float

    def columns(self, term: Term, inner: Sequence[float] | Array) -> Array:
        """The column of a term, (rows, 1); not finite where it has no value."""
        return self._transformed(term, inner, ())

    def slopes(self, term: Term, inner: Sequence[float] | Array) -> Array:
        """Slopes of the column in each inner number, (rows, numbers)."""
        return self._transformed(term, inner, term.inner)

    def less(self, fixed: sp.Expr) -> Problem:
        """The problem that is left beside a part of the right-hand side that is given."""
        if fixed == 0:
            return self
        value = program(self.variables, [fixed])(*self.values.T)[0]
        places = np.broadcast_to(value, len(self.values))[:, None]
        return replace(self, y=self.y - self.transform(places)[:, 0])

    def _transformed(
        self, term: Term, inner: Sequence[float] | Array, by: Sequence[sp.Symbol]
    ) -> Array:
        key = (term.expression, bool(by))
        if key not in self._compiled:
            names = (*self.variables, *term.inner)
            self._compiled[key] = program(names, [term.expression], by)
        found = self._compiled[key](*self.values.T, *inner)
        places = np.stack([np.broadcast_to(f, len(self.values)) for f in found], axis=1)
        if not np.isfinite(places).all():
            return np.full((len(self.y), places.shape[1]), np.nan)
        return self.transform(places)

    @cached_property
    def _compiled(self) -> dict[tuple[sp.Expr, bool], Callable[..., list[Array]]]:
        return {}


@dataclass(frozen=True, eq=False)
class Equation:
    """Some terms, their numbers, and how well they explain the rows.

    Attributes:
        terms: of the right-hand side.
        inner: values of the inner numbers of each term.
        columns: of the terms on the rows, (rows, terms).
        squares: sum of squares that is left.
        score: minus twice the logarithm of its posterior probability, but for a constant.
    """

    terms: tuple[Term, ...]
    inner: tuple[tuple[float, ...], ...]
    columns: Array
    squares: float
    score: float

    @property
    def key(self) -> frozenset[sp.Expr]:
        """What it is made of."""
        return frozenset(term.expression for term in self.terms)


def equations(
    problem: Problem,
    terms: Sequence[Term],
    longest: int,
    base: Equation,
    margin: float = np.inf,
    width: int = 10,
    kept: int = 3,
) -> list[Equation]:
    """The best equations of each number of terms, by a beam search, the most probable first.

    Args:
        problem: what is to be explained.
        terms: that there may be.
        longest: number of terms.
        base: what all of them shall have, such as `fitted_terms` returns.
        margin: score behind the best beyond which none is kept.
        width: of the beam.
        kept: equations of each length.
    """
    bank = _Bank(problem, terms)
    beam, found = [base], []
    for length in range(1, longest + 1):
        more = [e for member in beam for e in bank.extended(member, width)]
        more += [] if base.terms else bank.of_length(length, _TRIED * width)
        tried = _TRIED * width if length in (2, 3) else 2 * width
        beam = _distinct([bank.refined(e) for e in _distinct(more)[:tried]])[:width]
        if not beam:
            break
        found += beam[:kept]
    found.sort(key=lambda e: e.score)
    return [e for e in found if e.score < found[0].score + margin]


def fitted_terms(problem: Problem, terms: Sequence[Term]) -> Equation:
    """The equation of given terms, none or more, with inner numbers where they fit best."""
    empty = np.empty((len(problem.y), 0))
    now = Equation((), (), empty, float(problem.y @ problem.y), np.inf)
    for term in terms:
        bank = _Bank(problem, [term])
        ways = bank.started(now)
        if not ways:
            raise ValueError(
                f"{term.expression} has no value on the rows, or says what another term says"
            )
        # from all starts, as there may be several valleys, and wherever they lead, as it is given
        now = min((bank.refined(way, near=False) for way in ways), key=lambda e: e.score)
    return now


def _distinct(members: Sequence[Equation]) -> list[Equation]:
    """The best of each set of terms, the best first."""
    ordered = sorted((e for e in members if np.isfinite(e.score)), key=lambda e: e.score)
    return list({e.key: e for e in reversed(ordered)}.values())[::-1]


class _Bank:
    """Columns of all terms, for all starts of their inner numbers."""

    def __init__(self, problem: Problem, terms: Sequence[Term]) -> None:
        self.problem, self.entries = problem, list(_entries(problem, terms))
        self.columns = np.concatenate([column for *_, column in self.entries], axis=1)
        self.norms = np.einsum("ij,ij->j", self.columns, self.columns)
        places = {id(term): k for k, term in enumerate(terms)}
        self.terms = np.array([places[id(term)] for term, *_ in self.entries])
        numbers = np.array([1 + len(term.inner) for term, *_ in self.entries])
        prices = np.array([term.price for term, *_ in self.entries])
        self.costs = np.log(len(problem.y)) * numbers + 2 * prices

    def extended(self, member: Equation, width: int) -> list[Equation]:
        """The member with one term more, in the best ways."""
        Q = np.linalg.qr(member.columns)[0]
        left = self.problem.y - Q @ (Q.T @ self.problem.y)
        rest = self.columns - Q @ (Q.T @ self.columns)
        norms = np.einsum("ij,ij->j", rest, rest)
        with np.errstate(all="ignore"):
            gains = np.where(norms > _SAME * self.norms, (left @ rest) ** 2 / norms, -np.inf)
        squares = float(left @ left) - gains
        scores = self._likelihood(squares) + self.costs + self._cost(member.terms)
        out: dict[sp.Expr, Equation] = {}
        for at in np.argsort(scores):
            term, inner, column = self.entries[at]
            if not np.isfinite(scores[at]) or len(out) == width:
                break
            if term.expression not in member.key and term.expression not in out:
                out[term.expression] = Equation(
                    (*member.terms, term), (*member.inner, inner),
                    np.c_[member.columns, column], float(squares[at]), float(scores[at]),
                )  # fmt: skip
        return list(out.values())

    def started(self, member: Equation) -> list[Equation]:
        """The member with the one term that there is, from all starts, the best first."""
        out = []
        for term, inner, column in self.entries:
            C = np.c_[member.columns, column]
            Q, R = np.linalg.qr(C)
            if not R[-1, -1] ** 2 > _SAME * float(np.sum(column**2)):
                continue  # what other terms say
            left = self.problem.y - Q @ (Q.T @ self.problem.y)
            terms, squares = (*member.terms, term), float(left @ left)
            score = float(self._likelihood(squares)) + self._cost(terms)
            out.append(Equation(terms, (*member.inner, inner), C, squares, score))
        return sorted(out, key=lambda e: e.score)

    def of_length(self, length: int, count: int) -> list[Equation]:
        """The best of all pairs, and of all triples with two polynomial terms."""
        if length == 2:
            groups = np.stack(np.triu_indices(len(self.entries), 1), axis=1)
        elif length == 3:
            groups = self._triples()
        else:
            return []
        scores = self._scores(groups)
        found: dict[frozenset[int], Equation] = {}
        for at in np.argsort(scores):
            if len(found) == count or not np.isfinite(scores[at]):
                break
            terms = frozenset(self.terms[groups[at]].tolist())
            if len(terms) == length and terms not in found:
                found[terms] = self._equation(groups[at])
        return list(found.values())

    def _triples(self) -> Array:
        plain = np.array([term.kind == POLYNOMIAL for term, *_ in self.entries])
        rows, columns = np.triu_indices(int(plain.sum()), 1)
        pairs = np.flatnonzero(plain)[np.stack([rows, columns], axis=1)]
        others = np.flatnonzero(~plain)
        if not len(others) or not len(pairs):
            return np.empty((0, 3), dtype=int)
        return np.c_[np.repeat(pairs, len(others), axis=0), np.tile(others, len(pairs))]

    def _scores(self, groups: Array) -> Array:
        """Scores of groups of columns, by their Gram matrices; inf if two are alike."""
        roots = np.sqrt(self.norms)
        gram = self.columns.T @ self.columns / np.outer(roots, roots)
        along = self.columns.T @ self.problem.y / roots
        G = gram[groups[:, :, None], groups[:, None, :]]
        b = along[groups]
        alone = np.linalg.det(G) > _SAME
        G[~alone] = np.eye(groups.shape[1])
        explained = np.einsum("gi,gi->g", b, np.linalg.solve(G, b[..., None])[..., 0])
        squares = float(self.problem.y @ self.problem.y) - explained
        return np.where(alone, self._likelihood(squares) + self.costs[groups].sum(axis=1), np.inf)

    def _equation(self, places: Array) -> Equation:
        """Columns by their places, as an equation."""
        terms, inner, columns = zip(*(self.entries[at] for at in places), strict=True)
        C = np.concatenate(columns, axis=1)
        Q = np.linalg.qr(C)[0]
        left = self.problem.y - Q @ (Q.T @ self.problem.y)
        squares = float(left @ left)
        score = float(self._likelihood(squares)) + self._cost(terms)
        return Equation(terms, inner, C, squares, score)

    def refined(self, member: Equation, near: bool = True) -> Equation:
        """The member with its inner numbers where they explain the rows best.

        Args:
            member: an equation.
            near: whether numbers far from those tried make it another equation, which is none.
        """
        sizes = [len(inner) for inner in member.inner]
        if not sum(sizes):
            return member
        cuts = np.cumsum(sizes)[:-1]
        y = self.problem.y

        def columns(flat: Array) -> Array:
            inner = np.split(flat, cuts)
            parts = zip(member.terms, inner, strict=True)
            return np.concatenate([self.problem.columns(t, i) for t, i in parts], axis=1)

        def residual(flat: Array) -> Array:
            Q = np.linalg.qr(_finite(columns(flat)))[0]
            return np.asarray(y - Q @ (Q.T @ y))

        def jacobian(flat: Array) -> Array:
            C = _finite(columns(flat))
            Q, R = np.linalg.qr(C)
            numbers = lstsq(R, Q.T @ y)
            parts = zip(member.terms, np.split(flat, cuts), numbers, strict=True)
            own = [-c * self.problem.slopes(t, i) for t, i, c in parts if t.inner]
            slopes = np.concatenate(own, axis=1)
            return np.asarray(slopes - Q @ (Q.T @ slopes))

        start = np.concatenate([np.array(inner, dtype=float) for inner in member.inner])
        flat, error = levenberg_marquardt(residual, jacobian, start, steps=_REFINED)
        squares = error**2 * len(y)
        if not squares < member.squares:
            return member
        inner = tuple(tuple(part.tolist()) for part in np.split(flat, cuts))
        if near and not all(map(_within, member.terms, inner)):
            return replace(member, score=np.inf)
        score = float(self._likelihood(squares)) + self._cost(member.terms)
        return Equation(member.terms, inner, columns(flat), squares, score)

    def _likelihood(self, squares: Array | float) -> Array:
        n = len(self.problem.y)
        return np.asarray(n * np.log(np.maximum(squares, 0.0) / n + self.problem.floor**2))

    def _cost(self, terms: Sequence[Term]) -> float:
        numbers = sum(1 + len(term.inner) for term in terms)
        return float(np.log(len(self.problem.y)) * numbers + 2 * sum(t.price for t in terms))


def _entries(
    problem: Problem, terms: Sequence[Term]
) -> Iterator[tuple[Term, tuple[float, ...], Array]]:
    """Terms with inner numbers and columns, those that have values and change something."""
    for term in terms:
        for inner in term.starts:
            column = problem.columns(term, inner)
            if np.isfinite(column).all() and float(np.sum(column**2)) > 0:
                yield term, inner, column


def _within(term: Term, inner: Sequence[float]) -> bool:
    """Whether inner numbers are near to those that were tried; others make it another term."""
    tried = np.abs(np.array(term.starts))
    low, high = tried.min(axis=0) / _BEYOND, tried.max(axis=0) * _BEYOND
    return bool(np.all((np.abs(inner) > low) & (np.abs(inner) < high)))


def _finite(columns: Array) -> Array:
    """Columns, or zeros where they have no value, so that they explain nothing."""
    return np.where(np.isfinite(columns).all(axis=0), columns, 0.0)
