"""Phases by periodogram: which products of columns, at which rate, a target oscillates with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import sympy as sp

from ..._core.types import Array

Powers = tuple[int, ...]

_ROWS = 400  # that are looked at
_RATES = 90  # of a product: up to so many radians over its range ...
_FASTEST = 90.0  # ... which is some fourteen periods
_SLOWEST = 1.5  # slower ones are as smooth as a polynomial
_PRODUCTS = 400  # of columns that are tried
_BESIDE = (1.0, 2.0, np.pi, 2 * np.pi)  # rates of sums of two products
_PROMISING = 24  # phases whose rates are sharpened
_TELLING = 0.15  # of what a smooth curve leaves: a phase that explains less is none


@dataclass(frozen=True)
class Phase:
    """An angle: a rate times a product of powers of columns, or times a sum of two of these.

    Attributes:
        products: powers of each column.
        signs: of the products.
        rate: before all of them.
        explained: share of what a polynomial leaves over that its sine and cosine explain.
    """

    products: tuple[Powers, ...]
    signs: tuple[int, ...]
    rate: float
    explained: float = 0.0

    @property
    def places(self) -> tuple[int, ...]:
        """The columns in it."""
        width = len(self.products[0])
        return tuple(i for i in range(width) if any(powers[i] for powers in self.products))

    def argument(self, U: Array) -> Array:
        """The phase on rows, without its rate."""
        parts = (s * _product(U, p) for s, p in zip(self.signs, self.products, strict=True))
        return np.asarray(sum(parts))

    def expression(self, variables: Sequence[sp.Expr]) -> sp.Expr:
        """The phase in sympy, its rate a float unless it is one."""
        parts = [
            s * sp.Mul(*(v**p for v, p in zip(variables, powers, strict=True)))
            for s, powers in zip(self.signs, self.products, strict=True)
        ]
        rate = sp.Integer(1) if abs(self.rate - 1) < 1e-9 else sp.Float(self.rate, 17)
        return rate * sp.Add(*parts)


def phases(U: Array, y: Array, weight: Array, count: int = 4) -> list[Phase]:
    """Return the phases that explain most of what a polynomial of second degree leaves over.

    Args:
        U: columns (rows, columns).
        y: target.
        weight: of the rows.
        count: how many to return.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> U = rng.uniform(1, 3, (400, 3))
        >>> found = phases(U, 2 + np.cos(5 * U[:, 0] * U[:, 1] / U[:, 2]), np.ones(400))
        >>> found[0].products, round(found[0].rate, 3)
        (((1, 1, -1),), 5.0)
    """
    some = _some(len(y))
    U, w = U[some], weight[some]
    with np.errstate(all="ignore"):
        left = _Left.of(U, w * y[some], w)
        if left is None:
            return []
        found = [*_of_products(U, left), *_of_sums(U, left)]
        found.sort(key=lambda phase: -phase.explained)
        sharp = [_sharpened(phase, U, left) for phase in _unlike(found)[:_PROMISING]]
    sharp.sort(key=lambda phase: -phase.explained)
    return [phase for phase in _unlike(sharp) if phase.explained > _TELLING][:count]


@dataclass(frozen=True)
class _Left:
    """What a polynomial leaves of the target, (rows,), its basis, and the weights."""

    residual: Array
    basis: Array  # (rows, columns), orthonormal
    weight: Array

    @classmethod
    def of(cls, U: Array, target: Array, w: Array) -> _Left | None:
        spread = U.std(0)
        scaled = (U - U.mean(0)) / np.where(spread > 0, spread, 1.0)
        places = range(U.shape[1])
        columns = [np.ones(len(U)), *scaled.T]
        columns += [scaled[:, i] * scaled[:, j] for i in places for j in places if i <= j]
        basis, _ = np.linalg.qr(np.stack(columns, 1) * w[:, None])
        residual = target - basis @ (basis.T @ target)
        size = float(np.linalg.norm(residual))
        usable = np.isfinite(size) and size > 1e-9 * float(np.linalg.norm(target))
        return cls(residual / size, basis, w) if usable else None

    def explained(self, angles: Array) -> Array:
        """Share of it that sine and cosine of each of the angles explain, (angles,)."""
        c, s = np.cos(angles) * self.weight, np.sin(angles) * self.weight
        c -= (c @ self.basis) @ self.basis.T
        s -= (s @ self.basis) @ self.basis.T
        cc, ss, cs = (np.einsum("kn,kn->k", a, b) for a, b in ((c, c), (s, s), (c, s)))
        a, b = c @ self.residual, s @ self.residual
        determinant = cc * ss - cs**2
        shared = (a**2 * ss - 2 * a * b * cs + b**2 * cc) / np.where(
            determinant > 1e-9 * cc * ss, determinant, np.inf
        )
        return np.nan_to_num(shared, nan=0.0, posinf=0.0, neginf=0.0)


def _some(rows: int) -> Array:
    if rows <= _ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))


def _product(U: Array, powers: Powers) -> Array:
    out = np.ones(len(U))
    for i, p in enumerate(powers):
        if p:
            out = out * U[:, i] ** float(p)
    return out


def _products(U: Array) -> list[Powers]:
    """Powers of columns, the simplest first: single ones up to squares, products up to four."""
    width = U.shape[1]
    choices = [(1, 2, -1, -2) if u.min() > 0 or u.max() < 0 else (1, 2) for u in U.T]
    found = []
    for size in range(1, min(width, 4) + 1):
        for places in combinations(range(width), size):
            for powers in product(*(choices[i] for i in places)):
                if size > 2 and max(map(abs, powers)) > 1:
                    continue
                if max(powers) < 0 and size > 1:
                    continue  # one over a product of two is rare
                whole = [0] * width
                for i, p in zip(places, powers, strict=True):
                    whole[i] = p
                found.append((sum(map(abs, powers)), tuple(whole)))
    return [powers for _, powers in sorted(found, key=lambda item: item[0])][:_PRODUCTS]


def _of_products(U: Array, left: _Left) -> Iterator[Phase]:
    """The best rates of every product, two at most."""
    for powers in _products(U):
        z = _product(U, powers)
        span = float(np.ptp(z))
        if not np.isfinite(span) or span == 0:
            continue
        rates = np.linspace(_SLOWEST, _FASTEST, _RATES) / span
        share = left.explained(rates[:, None] * z)
        for at in np.argsort(-share)[:2]:
            yield Phase((powers,), (1,), float(rates[at]), float(share[at]))


def _of_sums(U: Array, left: _Left) -> Iterator[Phase]:
    """Sums and differences of two columns, or of two products of two."""
    simple = [p for p in _products(U) if sum(map(abs, p)) <= 2 and max(map(abs, p)) == 1]
    for one, two in combinations(simple, 2):
        for sign in (1, -1):
            phase = Phase((one, two), (1, sign), 1.0)
            z = phase.argument(U)
            share = left.explained(np.array(_BESIDE)[:, None] * z)
            at = int(np.argmax(share))
            yield replace(phase, rate=_BESIDE[at], explained=float(share[at]))


def _sharpened(phase: Phase, U: Array, left: _Left) -> Phase:
    """The phase at the best rate near to its own."""
    z = phase.argument(U)
    width = 1.0 / max(float(np.ptp(z)), 1e-300)
    best = phase
    for _ in range(4):
        rates = best.rate + np.linspace(-width, width, 17)
        share = left.explained(rates[:, None] * z)
        at = int(np.argmax(share))
        if share[at] > best.explained:
            best = replace(best, rate=float(rates[at]), explained=float(share[at]))
        width /= 6
    return best


def _unlike(found: Sequence[Phase]) -> list[Phase]:
    """The first of those with the same products, unless their rates are far apart."""
    kept: list[Phase] = []
    for phase in found:
        same = (k for k in kept if (k.products, k.signs) == (phase.products, phase.signs))
        if not any(abs(k.rate - phase.rate) < 0.1 * abs(k.rate) for k in same):
            kept.append(phase)
    return kept
