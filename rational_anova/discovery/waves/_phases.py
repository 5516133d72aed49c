"""Phases by periodogram: which products of columns, at which rate, a target oscillates with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product, takewhile

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..sums import some_rows

Powers = tuple[int, ...]

_ROWS = 400  # that are looked at
_RATES = 90  # of a product: up to so many radians over its range ...
_FASTEST = 90.0  # ... which is some fourteen periods
_SLOWEST = 1.5  # slower ones are as smooth as a polynomial
_COLUMNS = 8  # with more, products are too many: no phases are looked for
_PRODUCTS = 400  # of columns that are tried ...
_SIMPLE = 80  # ... and those that are tried in sums of two
_BESIDE = (1.0, 2.0, np.pi, 2 * np.pi)  # rates of sums of two products
_RANKED = 200  # phases that are compared with each other
_PROMISING = 24  # phases whose rates are sharpened
_TELLING = 0.15  # of what a smooth curve leaves: a phase that explains less is none
_LENGTH = 0.03  # of what is explained, for every power of a phase
_BY_CHANCE = 1.5  # times what the best of all phases explains of noise: no less is believed


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


def phases(
    U: Array,
    y: Array,
    weight: Array,
    count: int = 4,
    over: Callable[[], bool] = lambda: False,
) -> list[Phase]:
    """Return the phases that explain most of what a polynomial of second degree leaves over.

    Args:
        U: columns (rows, columns).
        y: target.
        weight: of the rows.
        count: how many to return.
        over: whether the time is up.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> U = rng.uniform(1, 3, (400, 3))
        >>> found = phases(U, 2 + np.cos(5 * U[:, 0] * U[:, 1] / U[:, 2]), np.ones(400))
        >>> found[0].products, round(found[0].rate, 3)
        (((1, 1, -1),), 5.0)
    """
    if not 1 <= U.shape[1] <= _COLUMNS:
        return []
    some = some_rows(len(y), _ROWS)
    U, w = U[some], weight[some]
    products = _products(U)
    with np.errstate(all="ignore"):
        left = _Left.of(U, w * y[some], w)
        if left is None:
            return []
        tried = chain(_of_products(U, products, left), _of_sums(U, products, left))
        found = sorted(takewhile(lambda _: not over(), tried), key=_worth, reverse=True)
        telling = max(_TELLING, _BY_CHANCE * left.by_chance(len(products) * _RATES))
        sharp = [_sharpened(phase, U, left) for phase in _unlike(found[:_RANKED])[:_PROMISING]]
    sharp.sort(key=_worth, reverse=True)
    return [phase for phase in _unlike(sharp) if phase.explained > telling][:count]


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

    def by_chance(self, trials: int) -> float:
        """Share that the best of so many phases explains of noise, about; infinite for few rows."""
        free = len(self.residual) - self.basis.shape[1] - 2
        return 1 - float(trials) ** (-2 / free) if free > 2 else np.inf

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


def _product(U: Array, powers: Powers) -> Array:
    out = np.ones(len(U))
    for i, p in enumerate(powers):
        if p:
            out = out * U[:, i] ** float(p)
    return out


def _products(U: Array) -> list[Powers]:
    """Powers of columns, the simplest first: single ones up to squares, products of up to four."""
    width = U.shape[1]
    definite = [u.min() > 0 or u.max() < 0 for u in U.T]
    found = []
    for size in range(1, min(width, 4) + 1):
        whole = (1, 2) if size <= 2 else (1,)
        choices = [(*whole, *(-p for p in whole)) if d else whole for d in definite]
        for places in combinations(range(width), size):
            for powers in product(*(choices[i] for i in places)):
                if max(powers) < 0 and size > 1:
                    continue  # one over a product of two is rare
                known = dict(zip(places, powers, strict=True))
                every = tuple(known.get(i, 0) for i in range(width))
                found.append((sum(p if p > 0 else 0.5 - p for p in powers), every))
    return [powers for _, powers in sorted(found, key=lambda item: item[0])][:_PRODUCTS]


def _of_products(U: Array, products: Sequence[Powers], left: _Left) -> Iterator[Phase]:
    """The best rates of every product, two at most."""
    for powers in products:
        z = _product(U, powers)
        span = float(np.ptp(z))
        if not np.isfinite(span) or span == 0:
            continue
        rates = np.linspace(_SLOWEST, _FASTEST, _RATES) / span
        share = left.explained(rates[:, None] * z)
        for at in np.argsort(-share)[:2]:
            yield Phase((powers,), (1,), float(rates[at]), float(share[at]))


def _of_sums(U: Array, products: Sequence[Powers], left: _Left) -> Iterator[Phase]:
    """Sums and differences of two columns, or of two products of two, at a few rates."""
    simple = [p for p in products if sum(map(abs, p)) <= 3 and min(p) > -2][:_SIMPLE]
    values = [_product(U, p) for p in simple]
    rates = np.array(_BESIDE)
    for i, j in combinations(range(len(simple)), 2):
        for sign in (1, -1):
            share = left.explained(rates[:, None] * (values[i] + sign * values[j]))
            at = int(np.argmax(share))
            yield Phase((simple[i], simple[j]), (1, sign), float(rates[at]), float(share[at]))


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


def _worth(phase: Phase) -> float:
    """What a phase explains, less something for its length: a longer one fits by chance."""
    length = sum(abs(p) for powers in phase.products for p in powers)
    return phase.explained - _LENGTH * length


def _unlike(found: Sequence[Phase]) -> list[Phase]:
    """The first of those with the same products, unless their rates are far apart."""
    kept: list[Phase] = []
    for phase in found:
        same = (k for k in kept if (k.products, k.signs) == (phase.products, phase.signs))
        if not any(abs(k.rate - phase.rate) < 0.1 * abs(k.rate) for k in same):
            kept.append(phase)
    return kept
