"""What laws are made of: terms, lifts of inputs in families, links of the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ..._core.types import Array
from ._surrogate import definite

RATE = sp.Symbol("_rate")
Powers = tuple[float, ...]  # whole or half

# name: value of (z, rate), the same in sympy, cost
LIFTED: dict[str, tuple[Callable, Callable, float]] = {
    "sin": (lambda z, c: np.sin(c * z), lambda z, c: sp.sin(c * z), 4.0),
    "cos": (lambda z, c: np.cos(c * z), lambda z, c: sp.cos(c * z), 4.0),
    "cos^2": (lambda z, c: np.cos(c * z) ** 2, lambda z, c: sp.cos(c * z) ** 2, 5.0),
    "exp": (lambda z, c: np.exp(c * z), lambda z, c: sp.exp(c * z), 3.5),
    "exp-": (lambda z, c: np.exp(-c * z), lambda z, c: sp.exp(-c * z), 3.5),
    "1/(exp-1)": (lambda z, c: 1 / np.expm1(c * z), lambda z, c: 1 / (sp.exp(c * z) - 1), 6.0),
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
        return LIFTED[self.function][2] + sum(map(abs, self.argument)) - 1 + self.shift

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
        return out * LIFTED[self.atom.function][1](self.atom.z_expression(u), rate)


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
                    atoms[term.atom] = LIFTED[term.atom.function][0](term.atom.z(U), rate)
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
    out = [
        Term(powers, None, sum(map(_size_of, powers))) for powers in _powers_within(allowed, budget)
    ]
    return sorted(out, key=lambda t: t.cost)


def polynomial(variables: int, degree: int) -> list[Term]:
    """All monomials of at most this total degree."""
    each = [float(k) for k in range(degree + 1)]
    rows = _powers_within([each] * variables, degree)
    return sorted((Term(r, None, sum(r)) for r in rows), key=lambda t: t.cost)


def _size_of(power: float) -> float:
    return abs(power) + (1.0 if power != int(power) else 0.0)


def _powers_within(
    allowed: Sequence[Sequence[float]], budget: float
) -> Iterator[tuple[float, ...]]:
    """Choices of a power for each variable whose sizes add to at most the budget.

    In the order of `itertools.product`, which would run through all others too: a billion of 30
    variables.
    """
    if not allowed:
        yield ()
        return
    for power in allowed[0]:
        left = budget - _size_of(power)
        if left >= 0:
            for rest in _powers_within(allowed[1:], left):
                yield (power, *rest)


@dataclass(frozen=True)
class Family:
    """Atoms that are tried together; `rates` are scanned in units of 1 / typical argument."""

    kind: str  # "trig", "exp", "log", "log(1+)", "log(1-)", "sqrt(1+)", "power", "tanh", ...
    atoms: tuple[Atom, ...]
    rates: tuple[float, float] | None = None  # the range of rate * largest |argument|


def _atoms(argument: Powers, *functions: str) -> tuple[Atom, ...]:
    return tuple(Atom(f, argument) for f in functions)


def families(U: Array, forbidden: frozenset[str] = frozenset()) -> list[Family]:
    """Small families of lifts that the values of the variables allow."""
    r = U.shape[1]
    out: list[Family] = []
    for argument in _arguments(U):
        z = monomial(argument, U)
        single = sum(p != 0 for p in argument) == 1
        plain = single and sum(argument) == 1
        if np.abs(z).max() < 200 and "sin" not in forbidden and "cos" not in forbidden:
            out.append(Family("trig", _atoms(argument, "sin", "cos", "cos^2"), (0.3, 40)))
        if "exp" not in forbidden:
            out.append(Family("exp", _atoms(argument, "exp", "exp-"), (0.05, 30)))
            if single and abs(sum(argument)) == 1 and definite(z):
                # as a quotient of exponentials its pole is beside the rows: Planck, Bose
                out.append(Family("1/(exp-1)", _atoms(argument, "1/(exp-1)"), (0.05, 30)))
        if plain and "log" not in forbidden and (z > 0).all():
            out.append(Family("log", _atoms(argument, "log")))
        if "log" not in forbidden and (z > 0).all() and (r == 1 or not single):
            out.append(Family("log(1+)", _atoms(argument, "log(1+)"), (0.1, 100)))
        if "log" not in forbidden and (z > 0).all() and z.max() < 1:
            atoms = _atoms(argument, "log(1-)") + (_atoms(argument, "log") if r == 1 else ())
            out.append(Family("log(1-)", atoms))
        if r == 1 and "sqrt" not in forbidden and (z > 0).all():
            out.append(Family("sqrt(1+)", _atoms(argument, "sqrt(1+)"), (0.1, 100)))
        if plain and (z > 0).all() and "power" not in forbidden:
            out.append(Family("power", _atoms(argument, "power"), None))
        if single and abs(sum(argument)) == 1 and "tanh" not in forbidden:
            odd = ("tanh", "coth") if definite(z) else ("tanh",)
            out.append(Family("tanh", _atoms(argument, *odd), (0.2, 10)))
    if r == 2 and "sin" not in forbidden and "cos" not in forbidden:
        both = (1.0, 1.0)
        for one in ((1.0, 0.0), (0.0, 1.0)):
            atoms = (*_atoms(both, "cos", "sin"), *_atoms(one, "cos", "sin"))
            out.append(Family("beats", atoms))
    if r == 2 and "power" not in forbidden:
        for j in (0, 1):
            for shift in (0, 1):
                if (U[:, j] + shift > 0).all():
                    atoms = tuple(Atom(f, (1.0, 1.0), j, shift) for f in ("exp", "exp-"))
                    out.append(Family("exponent", atoms))
    return out


def _arguments(U: Array) -> list[Powers]:
    r = U.shape[1]
    unit = [tuple(float(i == k) for k in range(r)) for i in range(r)]
    out: list[Powers] = list(unit)
    for i in range(r):
        if r <= 2 and definite(U[:, i]):
            out.append(tuple(-p if p else 0.0 for p in unit[i]))
        if r == 1:
            out.append(tuple(2 * p for p in unit[i]))
            if definite(U[:, i]):
                out.append(tuple(-2 * p if p else 0.0 for p in unit[i]))
    if r == 2:
        out.append((1.0, 1.0))
        if definite(U[:, 1]):
            out.append((1.0, -1.0))
        elif definite(U[:, 0]):
            out.append((-1.0, 1.0))
    return out


CLASSES = {
    "sin": (sp.sin, sp.asin, sp.atan),
    "cos": (sp.cos, sp.acos),
    "exp": (sp.exp,),
    "log": (sp.log,),
    "tanh": (sp.tanh,),
}


def permitted(expression: sp.Expr, forbidden: frozenset[str]) -> bool:
    """Return whether an expression has none of the forbidden functions."""
    if not forbidden:
        return True
    if any(expression.has(*CLASSES[name]) for name in forbidden if name in CLASSES):
        return False
    powers = [p.exp for p in expression.atoms(sp.Pow)]
    halves = any(p.is_Rational and p.q == 2 for p in powers)
    others = any(not (p.is_Rational and p.q <= 2) for p in powers)
    return not ((halves and "sqrt" in forbidden) or (others and "power" in forbidden))


Bools = NDArray[np.bool_]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Link:
    """g, its slope, its inverse with slope, the inverse in sympy, where it is allowed, its cost."""

    name: str
    forward: Function
    slope: Function
    inverse: Function
    inverse_slope: Function
    expression: Callable[[sp.Expr], sp.Expr]
    inside: Callable[[Array], Bools]  # where g is defined, on the branch of most of the data
    cost: int
    function: str = ""  # what its inverse brings into the law
    signed: bool = False  # the inverse knows the size only; the sign is that of the data

    def sign(self, negative: bool) -> float:
        """The branch that most of the data lie on."""
        return -1.0 if self.signed and negative else 1.0

    def allowed(self, f: Array, noise: Array | float = 0.0) -> bool:
        """Return whether f is inside, but for rows that noise of this size may have put outside."""
        inside = self.inside(f)
        if inside.all():
            return True
        if inside.mean() < 0.75:
            return False
        # the nearest value inside, for all these links, is 0 or the end of the rows inside
        gap = np.minimum(np.abs(f), np.abs(f - np.clip(f, f[inside].min(), f[inside].max())))
        return bool((gap <= 6 * np.broadcast_to(noise, f.shape))[~inside].all())


def _one_sign(f: Array) -> Bools:
    return f > 0 if np.median(f) > 0 else f < 0


def _everywhere(f: Array) -> Bools:
    return np.isfinite(f)


def _within(low: float, high: float) -> Callable[[Array], Bools]:
    return lambda f: (f > low) & (f < high)


def _moderate(f: Array) -> Bools:
    return np.abs(f) < 15


_STEEPEST = 100.0  # exponent of a link that keeps its digits

_ALL = (
    Link("y", lambda f: f, np.ones_like, lambda t: t, np.ones_like, lambda t: t,
         _everywhere, 0),
    Link("1/y", lambda f: 1 / f, lambda f: 1 / f**2, lambda t: 1 / t, lambda t: -1 / t**2,
         lambda t: 1 / t, _one_sign, 1),
    Link("y^2", lambda f: f**2, lambda f: 2 * np.abs(f), lambda t: np.sqrt(np.abs(t)),
         lambda t: 0.5 / np.sqrt(np.abs(t)), sp.sqrt, _one_sign, 2, "sqrt", True),
    Link("log y", lambda f: np.log(np.abs(f)), lambda f: 1 / np.abs(f), np.exp, np.exp,
         sp.exp, _one_sign, 1, "exp", True),
    Link("sqrt y", lambda f: np.sqrt(np.abs(f)), lambda f: 0.5 / np.sqrt(np.abs(f)),
         lambda t: t**2, lambda t: 2 * t, lambda t: t**2, _one_sign, 1, "", True),
    Link("1/y^2", lambda f: f**-2.0, lambda f: 2 * np.abs(f) ** -3.0,
         lambda t: np.abs(t) ** -0.5, lambda t: -0.5 * np.abs(t) ** -1.5,
         lambda t: 1 / sp.sqrt(t), _one_sign, 3, "sqrt", True),
    Link("exp y", np.exp, np.exp, lambda t: np.log(np.abs(t)), lambda t: 1 / np.abs(t),
         sp.log, _moderate, 2, "log"),
    Link("log(1 - y)", lambda f: np.log1p(-f), lambda f: 1 / (1 - f), lambda t: -np.expm1(t),
         lambda t: -np.exp(t), lambda t: 1 - sp.exp(t), _within(-30, 1), 2, "exp"),
    Link("sin y", np.sin, np.cos, lambda t: np.arcsin(np.clip(t, -1, 1)),
         lambda t: 1 / np.sqrt(np.maximum(1 - t**2, 1e-12)), sp.asin,
         _within(-np.pi / 2, np.pi / 2), 2, "sin"),
    Link("cos y", np.cos, lambda f: np.sin(f), lambda t: np.arccos(np.clip(t, -1, 1)),
         lambda t: -1 / np.sqrt(np.maximum(1 - t**2, 1e-12)), sp.acos, _within(0, np.pi), 2, "cos"),
    Link("tan y", np.tan, lambda f: 1 / np.cos(f) ** 2, np.arctan, lambda t: 1 / (1 + t**2),
         sp.atan, _within(-np.pi / 2, np.pi / 2), 2, "sin"),
)  # fmt: skip
LINKS = {link.name: link for link in _ALL}
# tried for sums of parts only, where nothing else has held
ARTANH = Link(
    "artanh y", np.arctanh, lambda f: 1 / (1 - f**2), np.tanh,
    lambda t: 1 / np.cosh(t) ** 2, sp.tanh, _within(-1, 1), 2, "tanh",
)  # fmt: skip


def exponential(rate: float) -> Link:
    """The link exp(c y) with any rate: of levels, whose powers add."""
    return Link(
        "exp(c y)", lambda f: np.exp(rate * f), lambda f: rate * np.exp(rate * f),
        lambda t: np.log(np.abs(t)) / rate, lambda t: 1 / (rate * np.abs(t)),
        lambda t: sp.log(t) / sp.Float(rate, 17), lambda f: np.abs(rate * f) < _STEEPEST, 3, "log",
    )  # fmt: skip


USUAL = ("y", "1/y", "y^2", "log y", "sqrt y", "1/y^2")

# first and second derivative of the links that may turn a table into a sum of parts
SLOPES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "y": (np.ones_like, np.zeros_like),
    "log y": (lambda f: 1 / f, lambda f: -1 / f**2),
    "1/y": (lambda f: -1 / f**2, lambda f: 2 / f**3),
    "y^2": (lambda f: 2 * f, lambda f: 2 + 0 * f),
    "sqrt y": (lambda f: 0.5 / np.sqrt(np.abs(f)), lambda f: -0.25 * np.abs(f) ** -1.5),
    "1/y^2": (lambda f: -2 * f**-3.0, lambda f: 6 * f**-4.0),
    "exp y": (np.exp, np.exp),
    "log(1 - y)": (lambda f: -1 / (1 - f), lambda f: -1 / (1 - f) ** 2),
    "sin y": (np.cos, lambda f: -np.sin(f)),
    "cos y": (lambda f: -np.sin(f), lambda f: -np.cos(f)),
    "tan y": (lambda f: np.cos(f) ** -2, lambda f: 2 * np.tan(f) * np.cos(f) ** -2),
}
