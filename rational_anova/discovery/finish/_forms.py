"""Other forms of a law: which number is 1, partial fractions, roots taken, sums put together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
import sympy as sp

from .._algebra import attempted
from .._thresholds import (
    CANCELLED_TERMS,
    FACTORED_TERMS,
    LONGEST,
    PARTIAL_DEGREE,
    PARTIAL_SYMBOLS,
    PARTIAL_TERMS,
)
from ..law import operations
from ..search import Data, Template

_PLACES = 12  # after the point, of the longest decimal


def forms(template: Template) -> Iterator[Template]:
    """Forms of the law, the textbooks' first: leading terms of denominators without numbers."""
    seen = set()
    law = template.law
    apart = attempted(lambda e: list(partial_fractions(e)), law, PARTIAL_TERMS) or []
    whole = attempted(sp.together, law, FACTORED_TERMS) or law
    other = (monic(whole, last=False), monic(law, last=False))
    for form in (monic(whole), monic(law), law, *other, *(f for a in apart for f in (monic(a), a))):
        if form not in seen:
            seen.add(form)
            yield _of(form, template)


def _of(law: sp.Expr, template: Template) -> Template:
    fresh = Template.of(law)
    return replace(
        template, expression=fresh.expression, parameters=fresh.parameters, values=fresh.values
    )


def digits(law: sp.Expr) -> int:
    """Return how many digits its numbers have: 0.043 has two, 1000/43 six.

    Example:
        >>> x = sp.Symbol("x")
        >>> digits(sp.Rational(43, 1000) * x), digits(x / sp.Rational(43, 1000))
        (2, 6)
    """
    return sum(_digits(number) for number in law.atoms(sp.Rational))


def _digits(number: sp.Rational) -> int:
    fraction = len(str(abs(number.p))) + len(str(number.q)) * (number.q != 1)
    decimal = next((k for k in range(_PLACES) if (number * 10**k).is_Integer), None)
    return fraction if decimal is None else min(fraction, len(str(abs(number * 10**decimal))))


def monic(law: sp.Expr, last: bool = True) -> sp.Expr:
    """The law with the number 1 at the term of highest degree of every denominator.

    Of several such terms it is the last by name, or the first: V - b n has a plain number where
    n - V/b has none.
    """
    for power in sorted(law.atoms(sp.Pow), key=sp.default_sort_key):
        if not (power.base.is_Add and power.exp.is_Number and power.exp < 0):
            continue
        terms = [t for t in power.base.args if t.free_symbols]
        if not terms:
            continue
        highest = max(_degree(t) for t in terms)
        ranked = sorted((t for t in terms if _degree(t) == highest), key=_name)
        lead = ranked[-1 if last else 0]
        number, rest = lead.as_coeff_Mul()
        odd = not power.exp.is_Integer or power.exp.p % 2
        if not number.is_Float or number == 0 or (number < 0 and not power.exp.is_Integer):
            continue
        scaled = sp.Add(*[_times(t, 1 / number) for t in power.base.args if t != lead]) + rest
        factor = float(abs(number)) ** float(power.exp) * (-1 if number < 0 and odd else 1)
        law = law.xreplace({power: sp.Float(factor, 17) * scaled**power.exp})
    return _gathered(law)


def _degree(term: sp.Expr) -> float:
    rest = term.as_coeff_Mul()[1]
    powers = [p.as_base_exp()[1] for p in sp.Mul.make_args(rest)]
    return float(sum(p for p in powers if p.is_Number))


def _name(term: sp.Expr) -> str:
    return str(term.as_coeff_Mul()[1])


def _times(term: sp.Expr, factor: sp.Expr) -> sp.Expr:
    number, rest = term.as_coeff_Mul()
    return sp.Float(float(number) * float(factor), 17) * rest


def _gathered(law: sp.Expr) -> sp.Expr:
    """Floats before a sum multiplied into it, where its terms have floats of their own."""

    def spread(product: sp.Mul) -> sp.Expr:
        number, rest = product.as_coeff_Mul()
        if not number.is_Float:
            return product
        for factor in rest.args if rest.is_Mul else (rest,):
            if factor.is_Add and any(t.as_coeff_Mul()[0].is_Float for t in factor.args):
                inner = sp.Add(*[_times(t, number) for t in factor.args])
                others = [f for f in rest.args if f != factor] if rest.is_Mul else []
                return sp.Mul(*others, inner)
        return product

    return law.replace(lambda e: e.is_Mul, spread)


def partial_fractions(law: sp.Expr) -> Iterator[sp.Expr]:
    """Sums of simple fractions in one variable, each with a number of its own."""
    floats = sorted(law.atoms(sp.Float), key=float)
    names = {f: sp.Dummy(f"n{i}") for i, f in enumerate(floats)}
    values = {d: f for f, d in names.items()}
    general = law.xreplace(names)
    columns = sorted(law.free_symbols, key=str)
    for symbol in columns:
        if not general.is_rational_function(symbol) or not general.has(symbol):
            continue
        apart = _apart(general, symbol)
        if not apart.is_Add or len(apart.args) > 8:
            continue
        terms: dict[sp.Expr, float] = {}
        for term in sp.expand(apart, deep=False, multinomial=False).args:
            for part in _split_numerator(term, set(columns)):
                number, rest = part
                value = complex(sp.sympify(number).xreplace(values).evalf())
                if abs(value.imag) > 1e-9 * abs(value):
                    return
                rest = rest.xreplace(values)
                terms[rest] = terms.get(rest, 0.0) + value.real
        size = max(map(abs, terms.values()))
        kept = {r: v for r, v in terms.items() if abs(v) > 1e-12 * size}
        yield sp.Add(*[sp.Float(v, 17) * r for r, v in kept.items()])


def _split_numerator(term: sp.Expr, columns: set[sp.Symbol]) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Parts (number, expression in the columns) of one fraction, by monomials of its numerator."""
    top, bottom = sp.fraction(term)
    lead, bottom = bottom.as_independent(*columns, as_Add=False)
    for piece in sp.Add.make_args(sp.expand(top)):
        number, rest = piece.as_independent(*columns, as_Add=False)
        yield number / lead, rest / bottom


def _apart(expression: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """Partial fractions in one variable; as it is where a system of many unknowns would follow."""
    # functions of other symbols are but names here; as they are, sympy's gcd may never end
    others = {
        part: sp.Dummy()
        for part in expression.atoms(sp.Function, sp.Pow)
        if not part.has(symbol) and not (part.is_Pow and part.exp.is_Integer)
    }
    whole = sp.together(expression.xreplace(others))
    back = {name: part for part, name in others.items()}
    large = len(whole.free_symbols) > PARTIAL_SYMBOLS
    if large or sp.degree(sp.denom(whole), symbol) > PARTIAL_DEGREE:
        return whole.xreplace(back)
    return sp.apart(whole, symbol).xreplace(back)


def rewritten(template: Template, data: Data) -> Template:
    """The shortest way to write the law that has the same values on the rows."""
    if sp.count_ops(template.expression) > LONGEST:
        return template
    values = template.predict(data)
    best, size = template, weight_of(template.expression)
    for expression in ways(template.expression, template, data):
        trial = replace(template, expression=expression)
        if expression == template.expression or weight_of(expression) >= size:
            continue
        with np.errstate(all="ignore"), contextlib.suppress(Exception):
            same = np.abs(trial.predict(data) - values).max() <= 1e-9 * np.abs(values).max()
            if same:
                best, size = trial, weight_of(expression)
    return best


def weight_of(expression: sp.Expr) -> float:
    """Operations, and a little for every symbol and number written."""
    leaves = sum(1 for e in sp.preorder_traversal(expression) if not e.args)
    return operations(expression) + 0.1 * leaves


def ways(expression: sp.Expr, template: Template, data: Data) -> Iterator[sp.Expr]:
    """Equal expressions, of ways that are not too long to go."""
    positive = {
        s: _positive(s)
        for s, column in zip(data.symbols, data.X.T, strict=True)
        if (column > 0).all()
    }
    back = {v: k for k, v in positive.items()}
    free = expression.xreplace(positive)
    tricks: list[tuple[Callable[[sp.Expr], sp.Expr], int]] = [
        (lambda e: e, FACTORED_TERMS),
        (lambda e: without_squares(e, positive, template, data), FACTORED_TERMS),
        (sp.together, FACTORED_TERMS),
        (sp.factor, FACTORED_TERMS),
        (lambda e: sp.powsimp(sp.expand_power_base(e)), FACTORED_TERMS),
        (lambda e: sp.factor_terms(sp.expand(e)), CANCELLED_TERMS),
        (sp.expand_log, FACTORED_TERMS),
        (sp.logcombine, FACTORED_TERMS),
        (lambda e: sp.powsimp(sp.factor(sp.powsimp(e))), FACTORED_TERMS),
    ]
    if len(template.parameters) + len(template.pinned) <= 2:  # else they take long
        tricks += [
            (sp.cancel, CANCELLED_TERMS),
            (apart_everywhere, PARTIAL_TERMS),
            (sp.radsimp, FACTORED_TERMS),
        ]
    starts = [free]
    rooted = attempted(tricks[1][0], free, FACTORED_TERMS)
    if rooted is not None and rooted != free:
        starts.append(rooted)
    for start in starts:
        for trick, terms in tricks:
            out = attempted(trick, start, terms)
            if out is not None and not out.has(sp.Abs):  # the sign is known from the rows
                yield out.xreplace(back)


@lru_cache(256)
def _positive(symbol: sp.Symbol) -> sp.Dummy:
    """A positive symbol in its place, always the same: sympy remembers what it knows of it."""
    return sp.Dummy(symbol.name, positive=True)


def apart_everywhere(expression: sp.Expr) -> sp.Expr:
    """Partial fractions in the variable that gives the shortest sum."""
    best = expression
    for s in sorted(expression.free_symbols, key=str):
        if expression.is_rational_function(s):
            best = min(best, _apart(expression, s), key=weight_of)
    return best


def without_squares(
    expression: sp.Expr, positive: dict[sp.Symbol, sp.Dummy], template: Template, data: Data
) -> sp.Expr:
    """Squares taken out of roots with the sign that they have on the rows."""
    back = {v: k for k, v in positive.items()}

    def sign(factor: sp.Expr) -> int:
        probe = replace(template, expression=factor.xreplace(back))
        with np.errstate(all="ignore"):
            values = probe.predict(data)
        return 1 if (values > 0).all() else -1 if (values < 0).all() else 0

    def root(base: sp.Expr, power: sp.Expr) -> sp.Expr:
        top, bottom = sp.fraction(sp.together(base))
        inside, outside = sp.Integer(1), sp.Integer(1)
        for part, s in ((top, 1), (bottom, -1)):
            number, factors = sp.factor_list(part)
            inside *= number**s
            for factor, e in factors:
                s_f = sign(factor) if e >= 2 and factor.is_Add else 0
                if s_f:
                    outside *= (s_f * factor) ** (s * (e // 2))
                    e = e % 2
                inside *= factor ** (s * e)
        return outside ** (2 * power) * inside**power

    return expression.replace(
        lambda e: e.is_Pow and e.exp.is_Rational and e.exp.q == 2,
        lambda e: root(e.base, e.exp),
    )
