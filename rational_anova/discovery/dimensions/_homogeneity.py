"""Which dimensions the parts of a formula must have: one linear system for units and for scales.

A dimension is a vector of powers over keys. The dimension of a column is known; that of a parameter
is a key of its own, solved for. Sums must be of one dimension, arguments of functions and exponents
of none. So a formula gives linear equations, over exact fractions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import sympy as sp

Dimension = dict[Hashable, Fraction]  # powers; no zeros; {} has no dimension
_DENOMINATOR = 1000  # of an exponent that is not given exactly


@dataclass(frozen=True)
class Unknown:
    """A key that is to be solved for: a parameter, or a number that may have any dimension."""

    name: Hashable


@dataclass(frozen=True)
class Misfit:
    """A part of a formula that has two dimensions at once.

    Args:
        part: of the formula.
        left: what has the first dimension.
        right: what has the second; None where the part or the target demands it.
        of_target: the target does.
    """

    part: sp.Expr
    left: sp.Expr
    right: sp.Expr | None
    of_target: bool = False


class System:
    """Linear equations between dimensions, reduced as they come in.

    Example:
        >>> system, b = System(), Unknown("b")
        >>> system.require({b: Fraction(1), "x": Fraction(1)}, {"y": Fraction(1)})  # b*x = y
        True
        >>> system.solved(b)
        {'x': Fraction(-1, 1), 'y': Fraction(1, 1)}
    """

    def __init__(self) -> None:
        self._rows: dict[Unknown, Dimension] = {}  # what each solved unknown is equal to

    def require(self, left: Dimension, right: Dimension) -> bool:
        """Make two dimensions equal; False, and nothing is changed, where they cannot be."""
        gap = self.reduced(plus(left, right, -1))
        pivot = next((key for key in gap if isinstance(key, Unknown)), None)
        if pivot is None:
            return not gap
        value = {key: -power / gap[pivot] for key, power in gap.items() if key != pivot}
        self._rows = {
            key: plus(_without(row, pivot), value, row.get(pivot, Fraction(0)))
            for key, row in self._rows.items()
        }
        self._rows[pivot] = value
        return True

    def reduced(self, dimension: Dimension) -> Dimension:
        """Return a dimension with the solved unknowns replaced."""
        result: Dimension = {}
        for key, power in dimension.items():
            known = self._rows.get(key) if isinstance(key, Unknown) else None
            result = plus(result, {key: Fraction(1)} if known is None else known, power)
        return result

    def solved(self, unknown: Unknown) -> Dimension | None:
        """Return the dimension of an unknown; None if the equations leave it open."""
        value = self.reduced({unknown: Fraction(1)})
        return None if any(isinstance(key, Unknown) for key in value) else value


def plus(left: Dimension, right: Dimension, times: Fraction | int = 1) -> Dimension:
    """Return left + times*right, of powers."""
    result = dict(left)
    for key, power in right.items():
        result[key] = result.get(key, Fraction(0)) + times * power
    return {key: power for key, power in result.items() if power}


def _without(dimension: Dimension, key: Hashable) -> Dimension:
    return {other: power for other, power in dimension.items() if other != key}


@dataclass
class Walk:
    """One pass over a formula: every part gets a dimension, every rule an equation.

    Args:
        known: the dimension of each symbol; {Unknown(symbol): 1} for a parameter.
        exponents: values of the parameters that occur in exponents.
        misfit: called with what does not fit and its two dimensions, as far as they are solved;
            the equation is then left out.
        system: the equations.
    """

    known: Mapping[sp.Symbol, Dimension]
    exponents: Mapping[sp.Symbol, sp.Rational]
    misfit: Callable[[Misfit, Dimension, Dimension], None]
    system: System = field(default_factory=System)
    free_powers: list[Dimension] = field(default_factory=list)  # bases with a free exponent
    _numbers: int = 0

    def solve(self, formula: sp.Expr, target: Dimension) -> System:
        """Return the equations of a whole formula and its target.

        What has a free exponent is taken to have no dimension where nothing else says so: c is
        like x in (x/c)**b.
        """
        for term in _terms(formula):  # one by one, so that each is told in terms of the target
            self.same(Misfit(formula, term, None, of_target=True), self.of(term), target)
        for base in self.free_powers:
            self.system.require(base, {})
        return self.system

    def of(self, part: sp.Expr) -> Dimension:
        """Return the dimension of a part, after the equations inside of it."""
        if part.is_Symbol:
            return self.known[part]
        if part.is_number:
            return self._any() if part.is_zero or part.is_infinite else {}
        for kind, rule in _RULES:
            if isinstance(part, kind):
                return rule(self, part)
        return self._function(part)

    def equal(self, whole: sp.Expr, parts: Iterable[sp.Expr]) -> Dimension:
        """Require one dimension of all parts; numbers come last, so that they are what misfits."""
        first, *others = sorted(parts, key=lambda part: bool(part.is_number))
        dimension = self.of(first)
        for other in others:
            self.same(Misfit(whole, first, other), dimension, self.of(other))
        return dimension

    def same(self, misfit: Misfit, left: Dimension, right: Dimension) -> None:
        """Require two dimensions to be equal, or tell what does not fit."""
        if not self.system.require(left, right):
            self.misfit(misfit, self.system.reduced(left), self.system.reduced(right))

    def none(self, whole: sp.Expr, part: sp.Expr) -> Dimension:
        """Require a part to have no dimension."""
        self.same(Misfit(whole, part, None), self.of(part), {})
        return {}

    def _any(self) -> Dimension:
        self._numbers += 1
        return {Unknown(("number", self._numbers)): Fraction(1)}

    def _sum(self, part: sp.Expr) -> Dimension:
        logarithms, others = _logarithms(part)
        dimensions = [self._log_group(part, rest, group) for rest, group in logarithms.items()]
        if not others:
            whole, *more = dimensions
            for other in more:
                self.same(Misfit(part, part.args[0], part.args[-1]), whole, other)
            return whole
        whole = self.equal(part, others)
        for (rest, group), dimension in zip(logarithms.items(), dimensions, strict=True):
            term = rest * group[0][1]
            self.same(Misfit(part, others[0], term), whole, dimension)
        return whole

    def _log_group(
        self, part: sp.Expr, rest: sp.Expr, group: list[tuple[sp.Expr, sp.Expr]]
    ) -> Dimension:
        """log(x) - log(c) is log(x/c): only the argument of all together has no dimension."""
        inside: Dimension = {}
        for times, logarithm in group:
            inside = plus(inside, self.of(logarithm.args[0]), _fraction(times))
        whole = sp.Add(*(times * logarithm for times, logarithm in group))
        named = group[0][1].args[0] if len(group) == 1 else whole
        self.same(Misfit(whole, named, None), inside, {})
        return self.of(rest)

    def _product(self, part: sp.Expr) -> Dimension:
        result: Dimension = {}
        for factor in part.args:
            result = plus(result, self.of(factor))
        return result

    def _power(self, part: sp.Expr) -> Dimension:
        base = self.of(part.base)
        if part.exp.is_number:
            return plus({}, base, _fraction(part.exp))
        self.none(part, part.exp)
        value = part.exp.xreplace(self.exponents)
        if not value.is_number:  # the exponent varies from row to row
            self.same(Misfit(part, part.base, None), base, {})
            return {}
        self.free_powers.append(base)
        return plus({}, base, _fraction(value))

    def _first(self, part: sp.Expr) -> Dimension:
        return self.of(part.args[0])

    def _one_of(self, part: sp.Expr) -> Dimension:
        return self.equal(part, part.args)

    def _sign(self, part: sp.Expr) -> Dimension:
        self.of(part.args[0])
        return {}

    def _angle(self, part: sp.Expr) -> Dimension:
        self.equal(part, part.args)
        return {}

    def _piecewise(self, part: sp.Expr) -> Dimension:
        for _, condition in part.args:
            for relation in condition.atoms(sp.core.relational.Relational):
                self.equal(relation, relation.args)
        return self.equal(part, [value for value, _ in part.args])

    def _function(self, part: sp.Expr) -> Dimension:
        for argument in part.args:
            self.none(part, argument)
        return {}


_RULES: tuple[tuple[type | tuple[type, ...], Callable[[Walk, sp.Expr], Dimension]], ...] = (
    (sp.Add, Walk._sum),
    (sp.Mul, Walk._product),
    (sp.Pow, Walk._power),
    (sp.Abs, Walk._first),
    ((sp.Max, sp.Min), Walk._one_of),
    ((sp.sign, sp.Heaviside), Walk._sign),
    (sp.atan2, Walk._angle),
    (sp.Piecewise, Walk._piecewise),
)


def _terms(formula: sp.Expr) -> list[sp.Expr]:
    """Return the terms of a sum, numbers last; a sum with logarithms is one."""
    if not formula.is_Add or _logarithms(formula)[0]:
        return [formula]
    return sorted(formula.args, key=lambda term: bool(term.is_number))


def _logarithms(
    part: sp.Expr,
) -> tuple[dict[sp.Expr, list[tuple[sp.Expr, sp.Expr]]], list[sp.Expr]]:
    """Return the terms of a sum that are multiples of logarithms, by what multiplies them.

    A multiple is (number, logarithm); terms without a logarithm come apart.
    """
    groups: defaultdict[sp.Expr, list[tuple[sp.Expr, sp.Expr]]] = defaultdict(list)
    others: list[sp.Expr] = []
    for term in part.args:
        number, rest = term.as_coeff_Mul()
        factors = sp.Mul.make_args(rest)
        found = [factor for factor in factors if isinstance(factor, sp.log)]
        if len(found) == 1 and not found[0].is_number:
            remains = sp.Mul(*(factor for factor in factors if factor is not found[0]))
            groups[remains].append((number, found[0]))
        else:
            others.append(term)
    return dict(groups), others


def _fraction(number: sp.Expr) -> Fraction:
    """Return an exponent as a fraction, near one if it is not rational."""
    if number.is_Rational:
        return Fraction(int(number.p), int(number.q))
    return Fraction(float(number)).limit_denominator(_DENOMINATOR)
