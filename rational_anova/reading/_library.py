"""The functions that units are read as: forms in the nodes before and in numbers, with slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from .._core.types import Array
from ..symbols import FUNCTIONS, Program, names_in, parse, program

H, G = sp.symbols("h g", real=True)  # the nodes that a unit reads
A, B, C, D = sp.symbols("a b c d", real=True)
QUOTIENT = "quotient"
Rescaled = Callable[[Array, Sequence[float], Sequence[float]], list[float]]
_FAR = np.geomspace(0.01, 30, 12)  # of a pole or a branch point from the range, in half ranges


@dataclass(frozen=True)
class Form:
    """A function of one node or of two, with free numbers.

    Args:
        name: as users see it.
        expression: in H, G and the numbers.
        numbers: its free numbers; the first is a factor before all.
        starts: of the other numbers, (starts, numbers), for a node that runs from -1 to 1.
        cost: how much there is to write.
        rescaled: numbers for nodes as they are, of those for nodes that run from -1 to 1, given
            their middles and half their ranges.
    """

    name: str
    expression: sp.Expr
    numbers: tuple[sp.Symbol, ...]
    starts: tuple[tuple[float, ...], ...]
    cost: float
    rescaled: Rescaled

    @property
    def nodes(self) -> tuple[sp.Symbol, ...]:
        """The nodes that it reads."""
        return (H, G) if G in self.expression.free_symbols else (H,)

    @cached_property
    def value(self) -> Program:
        """Its values, of nodes and numbers."""
        return program((*self.nodes, *self.numbers), [self.expression])

    @cached_property
    def slopes(self) -> Program:
        """Its slopes along nodes and numbers."""
        every = (*self.nodes, *self.numbers)
        return program(every, [self.expression], every)

    def at(self, nodes: Sequence[Array], numbers: Sequence[float] | Array) -> Array:
        """Return its values on rows."""
        value = self.value(*nodes, *numbers)[0]
        return np.asarray(np.broadcast_to(value, nodes[0].shape), dtype=np.float64)

    def slopes_at(self, nodes: Sequence[Array], numbers: Sequence[float] | Array) -> list[Array]:
        """Return its slopes along the nodes, then along the numbers."""
        found = self.slopes(*nodes, *numbers)
        return [np.broadcast_to(each, nodes[0].shape) for each in found]

    def written(self, nodes: Sequence[sp.Expr], numbers: Sequence[float] | Array) -> sp.Expr:
        """Return it as a formula."""
        given = dict(zip(self.nodes, nodes, strict=True))
        given |= {s: sp.Float(v, 17) for s, v in zip(self.numbers, numbers, strict=True)}
        return self.expression.subs(given, simultaneous=True)


def _column(values: Iterable[float]) -> tuple[tuple[float, ...], ...]:
    return tuple((float(v),) for v in values)


_MIDDLES = _column(np.linspace(-1.5, 1.5, 7))
_OUTSIDE = _column(1 + _FAR)
_RATES = np.geomspace(0.1, 12, 15)
_WAVES = tuple(
    (float(b), float(c)) for b in np.geomspace(0.3, 25, 24) for c in np.pi * np.arange(6) / 6
)
_STEPS = tuple((float(b), float(b * m)) for b in _RATES for m in np.linspace(-1, 1, 5))
_BOTH_STEPS = (*_STEPS, *((-b, c) for b, c in _STEPS))


def _moved(
    name: str, shape: Callable[[sp.Expr], sp.Expr], degree: float, starts: Any, cost: float,
    sign: int = 1,
) -> Form:  # fmt: skip
    """A f(c + h) or A f(c - h), with f of a degree; that of a logarithm is 0."""

    def rescaled(v: Array, middle: Sequence[float], half: Sequence[float]) -> list[float]:
        return [v[0] * half[0] ** -degree, v[1] * half[0] - sign * middle[0]]

    return Form(name, A * shape(sign * H + C), (A, C), starts, cost, rescaled)


def _affine(name: str, shape: Callable[[sp.Expr], sp.Expr], starts: Any, cost: float) -> Form:
    """A f(b h + c)."""

    def rescaled(v: Array, middle: Sequence[float], half: Sequence[float]) -> list[float]:
        return [v[0], v[1] / half[0], v[2] - v[1] * middle[0] / half[0]]

    return Form(name, A * shape(B * H + C), (A, B, C), starts, cost, rescaled)


def _of_two(name: str, expression: sp.Expr, first: int, second: int, starts: Any) -> Form:
    """A (h + b)**first (g + c)**second."""

    def rescaled(v: Array, middle: Sequence[float], half: Sequence[float]) -> list[float]:
        factor = half[0] ** -first * half[1] ** -second
        moved = [c * h - m for c, h, m in zip(v[1:], half, middle, strict=True)]
        return [v[0] * factor, *moved]

    return Form(name, expression, (A, B, C), starts, 1.0 if second > 0 else 1.5, rescaled)


_LINE = Form("x", A * H, (A,), ((),), 0.0, lambda v, _, half: [v[0] / half[0]])
_EXPONENTIAL = Form(
    "exp(x)", A * sp.exp(B * H), (A, B), _column([*_RATES, *-_RATES]), 1.2,
    lambda v, middle, half: [v[0] * np.exp(-v[1] * middle[0] / half[0]), v[1] / half[0]],
)  # fmt: skip
_HALF = sp.Rational(1, 2)
_INVERSE = (*_OUTSIDE, *((-c,) for (c,) in _OUTSIDE))
_ONES = (
    _LINE,
    _moved("x**2", lambda x: x**2, 2, _MIDDLES, 1.0),
    _moved("x**3", lambda x: x**3, 3, _MIDDLES, 1.5),
    _moved("x**4", lambda x: x**4, 4, _MIDDLES, 1.7),
    _moved("1/x", lambda x: 1 / x, -1, _INVERSE, 1.0),
    _moved("1/x**2", lambda x: x**-2, -2, _INVERSE, 1.5),
    _moved("sqrt(x)", sp.sqrt, 0.5, _OUTSIDE, 1.5),
    _moved("sqrt(-x)", sp.sqrt, 0.5, _OUTSIDE, 1.5, -1),
    _moved("1/sqrt(x)", lambda x: x**-_HALF, -0.5, _OUTSIDE, 2.0),
    _moved("1/sqrt(-x)", lambda x: x**-_HALF, -0.5, _OUTSIDE, 2.0, -1),
    _EXPONENTIAL,
    _moved("log(x)", sp.log, 0, _OUTSIDE, 1.2),
    _moved("log(-x)", sp.log, 0, _OUTSIDE, 1.2, -1),
    _affine("sin(x)", sp.sin, _WAVES, 1.5),
    _affine("tanh(x)", sp.tanh, _STEPS, 2.0),
    _affine("atan(x)", sp.atan, _STEPS, 2.0),
    _affine("exp(-x**2)", lambda x: sp.exp(-(x**2)), _STEPS, 2.0),
    _moved("abs(x)", sp.Abs, 1, _column(np.linspace(-0.9, 0.9, 9)), 2.0),
)
_PLACES = tuple((b, s * (1 + far)) for b in (0.0, 1.5) for far in _FAR for s in (1, -1))
# Of two nodes: what products and quotients become where both nodes are moved.
OF_TWO = (
    _of_two("x*y", A * (H + B) * (G + C), 1, 1, ((0.0, 0.0), (1.0, 1.0), (-1.0, 1.0))),
    _of_two("x/y", A * (H + B) / (G + C), 1, -1, _PLACES),
    _of_two("y/x", A * (G + C) / (H + B), -1, 1, tuple((c, b) for b, c in _PLACES)),
)
OF_ONE = {form.name: form for form in _ONES}


def forms(functions: Sequence[str] | None) -> list[Form]:
    """Return the forms of one node: all that are known, or those named, or formulas in x.

    Args:
        functions: names out of `OF_ONE`, or formulas in x such as `"cosh(x)"`.
    """
    if functions is None:
        return list(OF_ONE.values())
    if isinstance(functions, str):
        raise TypeError(f"functions must be a list, got {functions!r}: use [{functions!r}]")
    found = [_LINE]
    for text in functions:
        own = [f for f in _ONES if f.name.replace("(-x)", "(x)") == str(text).replace(" ", "")]
        found += [form for form in own or [_own(text)] if form not in found]
    return found


def _own(text: str) -> Form:
    """A user's formula in x, with a line inside."""
    if set(names_in(text)) != {"x"}:
        raise ValueError(
            f"functions takes formulas in x, got {text!r}; known by name are {', '.join(OF_ONE)}, "
            f"and formulas may have {', '.join(FUNCTIONS)}"
        )
    x = sp.Symbol("x")
    formula = sp.sympify(parse(text, {"x": x}))
    return _affine(text, lambda inner: formula.subs(x, inner), _BOTH_STEPS, 2.0)


def quotient(
    nodes: int, numerator: Sequence[tuple[int, ...]], denominator: Sequence[tuple[int, ...]]
) -> Form:
    """Return the form of a unit as it is, a quotient of polynomials, for units without a name."""
    nodes_of = (H, G)[:nodes]

    def total(powers: Sequence[tuple[int, ...]], name: str) -> tuple[sp.Expr, list[sp.Symbol]]:
        numbers = [sp.Symbol(f"{name}{k}", real=True) for k in range(len(powers))]
        monomials = [sp.Mul(*(n**k for n, k in zip(nodes_of, row, strict=True))) for row in powers]
        return sp.Add(*(c * m for c, m in zip(numbers, monomials, strict=True))), numbers

    top, above = total(numerator, "p")
    bottom, below = total(denominator, "q")
    return Form(QUOTIENT, top / (1 + bottom), (*above, *below), ((),), 6.0, lambda v, *_: list(v))
