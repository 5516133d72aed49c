"""Terms that numerators and denominators are made of: monomials, and monomials times a lift."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._basis import definite

RATE = sp.Symbol("_rate")
Powers = tuple[float, ...]  # whole or half

# name: value of (z, rate), the same in sympy, cost
FUNCTIONS: dict[str, tuple[Callable, Callable, float]] = {
    "sin": (lambda z, c: np.sin(c * z), lambda z, c: sp.sin(c * z), 4.0),
    "cos": (lambda z, c: np.cos(c * z), lambda z, c: sp.cos(c * z), 4.0),
    "cos^2": (lambda z, c: np.cos(c * z) ** 2, lambda z, c: sp.cos(c * z) ** 2, 5.0),
    "exp": (lambda z, c: np.exp(c * z), lambda z, c: sp.exp(c * z), 3.5),
    "exp-": (lambda z, c: np.exp(-c * z), lambda z, c: sp.exp(-c * z), 3.5),
    "log": (lambda z, c: np.log(z), lambda z, c: sp.log(z), 3.5),
    "log(1+)": (lambda z, c: np.log1p(c * z), lambda z, c: sp.log(1 + c * z), 5.0),
    "sqrt(1+)": (lambda z, c: np.sqrt(1 + c * z), lambda z, c: sp.sqrt(1 + c * z), 5.0),
    "log(1-)": (lambda z, c: np.log1p(-c * z), lambda z, c: sp.log(1 - c * z), 4.5),
    "sqrt(1-)": (lambda z, c: np.sqrt(1 - c * z), lambda z, c: sp.sqrt(1 - c * z), 4.5),
    "power": (lambda z, c: z**c, lambda z, c: z**c, 3.0),
    "coth": (lambda z, c: 1 / np.tanh(c * z), lambda z, c: 1 / sp.tanh(c * z), 4.5),
    "tanh": (lambda z, c: np.tanh(c * z), lambda z, c: sp.tanh(c * z), 4.0),
}


@dataclass(frozen=True)
class Atom:
    """A lift of a monomial, with the rate inside."""

    function: str
    argument: Powers
    logged: int | None = None  # a variable that enters the argument by its logarithm
    shift: int = 0  # or by that of 1 + itself

    @property
    def cost(self) -> float:
        """Of the function, and of an argument that is more than a variable."""
        return FUNCTIONS[self.function][2] + sum(map(abs, self.argument)) - 1 + self.shift

    def z(self, U: Array) -> Array:
        """The argument on the rows."""
        if self.logged is not None:
            U = U.copy()
            U[:, self.logged] = np.log(self.shift + U[:, self.logged])
        return monomial(self.argument, U)

    def z_expression(self, u: Sequence[sp.Symbol]) -> sp.Expr:
        """The argument in sympy."""
        inner = list(u)
        if self.logged is not None:
            inner[self.logged] = sp.log(self.shift + u[self.logged])
        return monomial_expression(self.argument, inner)


@dataclass(frozen=True)
class Term:
    """A product of powers of the variables, times an atom where there is one."""

    powers: Powers
    atom: Atom | None = None
    cost: float = 0.0

    @property
    def rated(self) -> bool:
        """Whether a rate is inside."""
        return self.atom is not None and self.atom.function != "log"

    def expression(self, u: Sequence[sp.Symbol], rate: sp.Expr) -> sp.Expr:
        """The term in sympy."""
        out = monomial_expression(self.powers, u)
        if self.atom is None:
            return out
        return out * FUNCTIONS[self.atom.function][1](self.atom.z_expression(u), rate)


def monomial_expression(powers: Powers, u: Sequence[sp.Symbol]) -> sp.Expr:
    """Product of powers in sympy."""
    exact = (sp.Rational(round(2 * p), 2) for p in powers)
    return sp.Mul(*[a**p for a, p in zip(u, exact, strict=True) if p != 0])


def monomial(powers: Powers, U: Array) -> Array:
    """Product of powers on the rows."""
    out = np.ones(len(U))
    for i, p in enumerate(powers):
        if p == 1:
            out = out * U[:, i]
        elif p != 0:
            out = out * U[:, i] ** (int(p) if p == int(p) else p)
    return out


def columns(terms: Sequence[Term], U: Array, rate: float) -> Array:
    """Values of the terms, (n, terms)."""
    if not terms:
        return np.zeros((len(U), 0))
    monomials: dict[Powers, Array] = {}
    atoms: dict[Atom, Array] = {}
    out = np.empty((len(U), len(terms)))
    with np.errstate(all="ignore"):
        for k, term in enumerate(terms):
            if term.powers not in monomials:
                monomials[term.powers] = monomial(term.powers, U)
            out[:, k] = monomials[term.powers]
            if term.atom is not None:
                if term.atom not in atoms:
                    atoms[term.atom] = FUNCTIONS[term.atom.function][0](term.atom.z(U), rate)
                out[:, k] *= atoms[term.atom]
    return out


def monomials(U: Array, budget: int, halves: bool = False) -> list[Term]:
    """Products of powers whose sizes add to at most the budget, the cheapest first.

    Negative powers only of variables of one sign, half powers only of positive ones.
    """
    allowed: list[list[float]] = []
    for u in U.T:
        low = -budget if definite(u) else 0
        each = [float(k) for k in range(low, budget + 1)]
        if halves and (u > 0).all():
            each += [-1.5, -0.5, 0.5, 1.5]
        allowed.append(each)
    out = []
    for powers in itertools.product(*allowed):
        cost = sum(abs(p) + (1.0 if p != int(p) else 0.0) for p in powers)
        if cost <= budget:
            out.append(Term(powers, None, cost))
    return sorted(out, key=lambda t: t.cost)


def polynomial(variables: int, degree: int) -> list[Term]:
    """All monomials of at most this total degree."""
    rows = itertools.product(range(degree + 1), repeat=variables)
    terms = [Term(tuple(map(float, r)), None, float(sum(r))) for r in rows if sum(r) <= degree]
    return sorted(terms, key=lambda t: t.cost)
