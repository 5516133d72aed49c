"""A sum of terms: its coefficients solved for, the numbers inside of its functions refined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._atoms import Scale
from ._dictionary import Family, Term, family, product_of

_STEPS = 8  # of a refinement
_LITTLE = 1e-3  # relative gain of a step below which it is the last
_CHOICE = 6.8  # twice the log of thirty: a factor is one of so many functions
_ALIKE = 1e-9  # what a term must have of its own beside the others


Key = frozenset[Family]


def key_of(terms: Sequence[Term]) -> Key:
    """Return what a sum of these terms is, whatever its numbers."""
    return frozenset(map(family, terms))


def inner_of(terms: Sequence[Term]) -> int:
    """Return how many numbers stand inside of functions."""
    return sum(len(f.numbers) for term in terms for f in term)


@dataclass(frozen=True, eq=False)
class Sum:
    """Terms with their coefficients, and what they leave over.

    Attributes:
        terms: products of atoms.
        coefficients: one a term.
        basis: orthonormal columns that span the terms, weighted, (terms, rows).
        residual: weighted, (rows,).
    """

    terms: tuple[Term, ...]
    coefficients: Array
    basis: Array
    residual: Array

    @property
    def squares(self) -> float:
        """What it leaves over."""
        return float(self.residual @ self.residual)

    @property
    def score(self) -> float:
        """The smaller, the better: the rows' fit, and what numbers cost."""
        n = len(self.residual)
        return n * np.log(max(self.squares, 1e-300)) + (len(self.terms) + self.inner) * np.log(n)

    @property
    def inner(self) -> int:
        """How many numbers stand inside of functions."""
        return inner_of(self.terms)

    def formula(self, symbols: Sequence[sp.Symbol]) -> sp.Expr:
        """Return it in the symbols of the columns, its numbers as floats."""
        return sp.Add(
            *(
                sp.Mul(sp.Float(c, 17), *(f.formula(symbols) for f in term))
                for c, term in zip(self.coefficients, self.terms, strict=True)
            )
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """What sums are fitted to: inputs, weights, the target times these, scales of the inputs."""

    U: Array
    weight: Array
    target: Array
    scales: tuple[Scale, ...]


def empty(rows: Rows) -> Sum:
    """Return the sum without terms."""
    return Sum((), np.zeros(0), np.zeros((0, len(rows.target))), rows.target)


def refined(terms: tuple[Term, ...], rows: Rows) -> Sum | None:
    """Return the sum with the best inner numbers near to those given (variable projection)."""
    theta = np.array([n for t in terms for f in t for n in f.numbers])
    found = _solved(terms, rows)
    damping = 1e-3
    for _ in range(_STEPS if len(theta) else 0):
        if found is None:
            return None
        J = _slopes(found, rows)
        norms = np.linalg.norm(J, axis=0)
        if not np.isfinite(norms).all():
            break
        norms[norms == 0] = 1.0
        J = J / norms
        gram, right = J.T @ J, J.T @ found.residual
        better = None
        for _ in range(3):
            try:
                step = np.linalg.solve(gram + damping * np.eye(len(theta)), right) / norms
            except np.linalg.LinAlgError:
                break
            trial = _solved(_with(terms, theta + step), rows)
            if trial is not None and trial.squares < found.squares:
                better = trial
                break
            damping *= 10
        if better is None:
            break
        gain = 1 - better.squares / found.squares
        theta, terms, found = theta + step, better.terms, better
        damping = max(damping / 10, 1e-12)
        if gain < _LITTLE:
            break
    return found


def _with(terms: tuple[Term, ...], theta: Array) -> tuple[Term, ...]:
    numbers = iter(theta.tolist())
    return tuple(
        tuple(replace(f, numbers=tuple(next(numbers) for _ in f.numbers)) for f in term)
        for term in terms
    )


def _solved(terms: tuple[Term, ...], rows: Rows) -> Sum | None:
    if not terms:
        return empty(rows)
    if len(terms) >= len(rows.target):
        return None
    if not all(f.atom.sensible(rows.scales[f.place], f.numbers) for t in terms for f in t):
        return None
    target = rows.target
    columns = np.stack([product_of(t, rows.U) * rows.weight for t in terms], 1)
    norms = np.linalg.norm(columns, axis=0)
    if not np.isfinite(norms).all() or not (norms > 0).all():
        return None
    Q, R = np.linalg.qr(columns / norms)
    if np.abs(np.diag(R)).min() < _ALIKE:
        return None
    image = Q.T @ target
    residual = target - Q @ image
    residual = residual - Q @ (Q.T @ residual)
    return Sum(terms, np.linalg.solve(R, image) / norms, Q.T, residual)


def _slopes(found: Sum, rows: Rows) -> Array:
    """Slopes of what the sum says in the inner numbers, projected (Kaufman)."""
    out, U, w = [], rows.U, rows.weight
    for coefficient, term in zip(found.coefficients, found.terms, strict=True):
        values = [f.value(U) for f in term]
        for k, factor in enumerate(term):
            if factor.numbers:
                others = (
                    coefficient * w * np.prod([v for i, v in enumerate(values) if i != k], axis=0)
                )
                out += [others * slope for slope in factor.slopes(U)]
    J = np.stack(out, 1)
    return np.asarray(J - found.basis.T @ (found.basis @ J))


def pruned(found: Sum, rows: Rows, limit: float) -> Sum:
    """Return a sum without the terms that it does not need to stay below a limit."""
    while len(found.terms) > 1:
        for k in range(len(found.terms)):
            terms = found.terms[:k] + found.terms[k + 1 :]
            less = refined(terms, rows)
            if less is not None and less.squares < limit:
                found = less
                break
        else:
            return found
    return found


def without_factors(found: Sum, rows: Rows) -> Sum:
    """Return a sum without the factors that the rows do not ask for: tanh(8 x) where x > 1."""
    for terms in _with_fewer_factors(found.terms):
        if len(key_of(terms)) == len(terms):
            less = refined(terms, rows)
            dropped = sum(map(len, found.terms)) - sum(map(len, terms))
            if less is not None and less.score <= found.score + _CHOICE * dropped:
                return without_factors(less, rows)
    return found


def _with_fewer_factors(terms: tuple[Term, ...]) -> Iterator[tuple[Term, ...]]:
    """The terms without one factor, or without one function of a column wherever it stands."""
    for k, term in enumerate(terms):
        for j in range(len(term)):
            yield (*terms[:k], term[:j] + term[j + 1 :], *terms[k + 1 :])
    functions = [(factor.atom, factor.place) for term in terms for factor in term]
    for one in dict.fromkeys(f for f in functions if functions.count(f) > 1):
        yield tuple(tuple(f for f in term if (f.atom, f.place) != one) for term in terms)
