"""`Form`: a formula with free numbers, split into those that enter linearly and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from ..._core.types import Array
from ...symbols import Program, names_in, parse, program

Bounds = tuple[float, float]
FREE: Bounds = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Form:
    """A formula in inputs and parameters.

    Args:
        expression: in the symbols of both.
        inputs: symbols of the columns.
        parameters: symbols of the numbers to be found, in the order in which results have them.
        bounds: (low, high) of a parameter, for those that have any.
        name: that of the catalogue, if it has one.

    Example:
        >>> form = Form.of("v*s/(k + s)", ["s"])
        >>> form.parameters, form.linear, form.nonlinear
        ((v, k), (v,), (k,))
    """

    expression: sp.Expr
    inputs: tuple[sp.Symbol, ...]
    parameters: tuple[sp.Symbol, ...]
    bounds: Mapping[sp.Symbol, Bounds] = field(default_factory=dict)
    name: str = ""

    @classmethod
    def of(
        cls,
        text: str,
        inputs: Sequence[str],
        *,
        positive: Sequence[str] = (),
        bounds: Mapping[str, Bounds] | None = None,
        fixed: Mapping[str, float] | None = None,
        name: str = "",
    ) -> Form:
        """Read a formula: the names that are no inputs are its parameters.

        Args:
            text: such as "v*s/(k + s)".
            inputs: names of the columns.
            positive: parameters that are positive by nature.
            bounds: (low, high) of parameters.
            fixed: numbers that are known and not fitted.
            name: of the form.
        """
        free = [n for n in names_in(text) if n not in inputs]
        symbols = {n: sp.Symbol(n) for n in (*inputs, *free)}
        expression = parse(text, symbols)
        known = {symbols[n]: sp.Float(v, 17) for n, v in (fixed or {}).items() if n in symbols}
        limits = {symbols[n]: (0.0, np.inf) for n in positive if n in symbols}
        limits |= {symbols[n]: ends for n, ends in (bounds or {}).items() if n in symbols}
        return cls(
            expression.xreplace(known),
            tuple(symbols[n] for n in inputs),
            tuple(symbols[n] for n in free if symbols[n] not in known),
            {s: ends for s, ends in limits.items() if s not in known},
            name,
        )

    @cached_property
    def linear(self) -> tuple[sp.Symbol, ...]:
        """Parameters that the formula is jointly linear in: they are solved for, not searched."""
        found: list[sp.Symbol] = []
        for p in self.parameters:
            if p not in self.bounds and _degree(self.expression, frozenset((*found, p))) <= 1:
                found.append(p)
        return tuple(found)

    @cached_property
    def nonlinear(self) -> tuple[sp.Symbol, ...]:
        """The parameters that must be searched for."""
        return tuple(p for p in self.parameters if p not in self.linear)

    @cached_property
    def parts(self) -> tuple[sp.Expr, ...]:
        """What stands alone, then what each linear parameter multiplies."""
        alone = _without(self.expression, frozenset(self.linear))
        return (alone, *(_factor(self.expression, p) for p in self.linear))

    def limits(self, symbols: Sequence[sp.Symbol]) -> tuple[Array, Array]:
        """Lower and upper bounds of some parameters."""
        ends = np.array([self.bounds.get(s, FREE) for s in symbols], dtype=float).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def basis(self, X: Array, theta: Array) -> Array:
        """The parts for many nonlinear parameters at once.

        Args:
            X: (rows, inputs).
            theta: (starts, nonlinear).

        Returns:
            (1 + linear, starts, rows), what stands alone first.
        """
        return _stacked(self._parts, X, theta)

    def basis_slopes(self, X: Array, theta: Array) -> Array:
        """Derivatives of `basis` in the nonlinear parameters, those of one part together."""
        return _stacked(self._part_slopes, X, theta)

    def rough_slopes(self, X: Array, theta: Array, basis: Array) -> Array:
        """`basis_slopes` by differences, for forms that are not worth a derivative."""
        out = []
        for k in range(theta.shape[1]):
            step = 1e-6 * np.maximum(np.abs(theta[:, k]), 1e-9)
            moved = theta.copy()
            moved[:, k] += step
            out.append((self.basis(X, moved) - basis) / step[None, :, None])
        return np.concatenate(out)

    def value(self, X: Array, values: Array) -> Array:
        """The formula on rows, for one set of parameters, (rows,)."""
        theta, linear = self._split(values)
        parts = self.basis(X, theta[None])[:, 0]
        return np.asarray(parts[0] + linear @ parts[1:])

    def jacobian(self, X: Array, values: Array) -> Array:
        """Slopes in all parameters, (rows, parameters)."""
        theta, linear = self._split(values)
        out = np.empty((len(X), len(self.parameters)))
        if self.linear:
            out[:, self._places[1]] = self.basis(X, theta[None])[1:, 0].T
        if self.nonlinear:
            shape = (len(self.nonlinear), 1 + len(self.linear), len(X))
            slopes = self.basis_slopes(X, theta[None])[:, 0].reshape(shape)
            own = np.einsum("qln,l->nq", slopes, np.r_[1.0, linear])
            out[:, self._places[0]] = own
        return out

    @cached_property
    def _parts(self) -> tuple[Program, int]:
        return _compiled(self.parts, (*self.inputs, *self.nonlinear))

    @cached_property
    def _part_slopes(self) -> tuple[Program, int]:
        return _slopes(self.parts, self.nonlinear, (*self.inputs, *self.nonlinear))

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Where the nonlinear and the linear parameters stand among all."""
        at = {p: k for k, p in enumerate(self.parameters)}
        return [at[p] for p in self.nonlinear], [at[p] for p in self.linear]

    def _split(self, values: Array) -> tuple[Array, Array]:
        given = np.asarray(values, dtype=float)
        return given[self._places[0]], given[self._places[1]]

    def input_slopes(self, X: Array, values: Array) -> Array:
        """Slopes in the inputs, (rows, inputs)."""
        slopes = _slopes((self.expression,), self.inputs, (*self.inputs, *self.parameters))
        return _stacked(slopes, X, np.atleast_2d(values))[:, 0].T

    def with_numbers(self, values: Array) -> sp.Expr:
        """The formula with numbers of 17 digits."""
        pairs = zip(self.parameters, values, strict=True)
        return self.expression.xreplace({s: sp.Float(float(v), 17) for s, v in pairs})

    def renamed(self, inputs: Sequence[sp.Symbol], taken: Sequence[sp.Symbol] = ()) -> Form:
        """The same in other inputs; parameters that bear a taken name get another."""
        used = {s.name for s in (*inputs, *taken)}
        names: dict[sp.Symbol, sp.Symbol] = {}
        for p in self.parameters:
            new = p.name
            while new in used:
                new += "_"
            used.add(new)
            names[p] = sp.Symbol(new)
        both = {**dict(zip(self.inputs, inputs, strict=True)), **names}
        new = Form(
            self.expression.xreplace(both),
            tuple(inputs),
            tuple(names[p] for p in self.parameters),
            {names[s]: ends for s, ends in self.bounds.items()},
            self.name,
        )
        # what was worked out of the form is the same under other names
        for known in ("linear", "nonlinear"):
            new.__dict__[known] = tuple(names[p] for p in getattr(self, known))
        for known in ("_parts", "_part_slopes"):
            if known in self.__dict__:
                new.__dict__[known] = self.__dict__[known]
        return new


def evaluated(expressions: tuple[sp.Expr, ...], inputs: tuple[sp.Symbol, ...], X: Array) -> Array:
    """Expressions in the inputs alone on rows, (expressions, rows)."""
    return _stacked(_compiled(expressions, inputs), X, np.zeros((1, 0)))[:, 0]


def _stacked(function: tuple[Program, int], X: Array, theta: Array) -> Array:
    f, count = function
    shape = (len(theta), len(X))
    out = np.empty((count, *shape))
    values = f(*(column[None, :] for column in X.T), *(column[:, None] for column in theta.T))
    for k, value in enumerate(values):
        out[k] = value
    return out


@lru_cache(4096)
def _compiled(
    expressions: tuple[sp.Expr, ...], arguments: tuple[sp.Symbol, ...]
) -> tuple[Program, int]:
    return program(arguments, expressions), len(expressions)


# Forms of the catalogue are compiled once: the key is the formula, not the object.
@lru_cache(4096)
def _slopes(
    expressions: tuple[sp.Expr, ...],
    wanted: tuple[sp.Symbol, ...],
    arguments: tuple[sp.Symbol, ...],
) -> tuple[Program, int]:
    return program(arguments, expressions, wanted), len(wanted) * len(expressions)


# What follows rebuilds formulas that are linear in some parameters as they are written; sympy is
# asked for no algebra, which would take longer than a fit.


def _without(expression: sp.Expr, linear: frozenset[sp.Symbol]) -> sp.Expr:
    """The formula with zero in place of its linear parameters."""
    if expression in linear:
        return sp.Integer(0)
    if not linear & expression.free_symbols:
        return expression
    return _joined(expression, [_without(a, linear) for a in expression.args])


def _factor(expression: sp.Expr, parameter: sp.Symbol) -> sp.Expr:
    """What a linear parameter multiplies."""
    if expression == parameter:
        return sp.Integer(1)
    if parameter not in expression.free_symbols:
        return sp.Integer(0)
    if expression.is_Add:
        return _joined(expression, [_factor(a, parameter) for a in expression.args])
    own = [_factor(a, parameter) if parameter in a.free_symbols else a for a in expression.args]
    return _joined(expression, own)


def _joined(like: sp.Expr, args: Sequence[sp.Expr]) -> sp.Expr:
    """A sum or a product, as `like` is."""
    if like.is_Mul and any(a == 0 for a in args):
        return sp.Integer(0)
    kept = [a for a in args if a != (1 if like.is_Mul else 0)]
    if len(kept) < 2:
        return kept[0] if kept else like.identity
    return like.func(*kept, evaluate=False)


def _degree(expression: sp.Expr, symbols: frozenset[sp.Symbol]) -> int:
    """Degree of a polynomial in some symbols as it is written, 0 or 1; 2 for all else."""
    if not expression.args or not symbols & expression.free_symbols:
        return int(expression in symbols)
    if expression.is_Add:
        return max(_degree(a, symbols) for a in expression.args)
    if expression.is_Mul:
        return min(sum(_degree(a, symbols) for a in expression.args), 2)
    return 2
