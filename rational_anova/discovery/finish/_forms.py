"""Other forms of a law with free numbers: which of them is 1, and partial fractions.

The same function can be written with other numbers: a x / (1 + b x) is (a/b) x / (1/b + x). The
form in which the numbers come out simple, or in which some can be left out, is the one to keep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from ..sameness._limit import within
from ..search._template import Template


def forms(template: Template) -> Iterator[Template]:
    """Forms of the law, the textbooks' first: leading terms of denominators without numbers."""
    seen = set()
    law = template.law
    short = sp.count_ops(law) < 40
    apart: list[sp.Expr] = within(2.0, lambda: list(partial_fractions(law)), [], short)
    whole = within(1.0, lambda: sp.together(law), law, short)
    for form in (monic(whole), monic(law), law, *(f for a in apart for f in (monic(a), a))):
        if form not in seen:
            seen.add(form)
            yield _of(form, template)


def _of(law: sp.Expr, template: Template) -> Template:
    fresh = Template.of(law)
    return replace(
        template, expression=fresh.expression, parameters=fresh.parameters, values=fresh.values
    )


def monic(law: sp.Expr) -> sp.Expr:
    """The law with the number 1 at the term of highest degree of every denominator."""
    for power in sorted(law.atoms(sp.Pow), key=sp.default_sort_key):
        if not (power.base.is_Add and power.exp.is_Number and power.exp < 0):
            continue
        terms = [t for t in power.base.args if t.free_symbols]
        lead = max(terms, key=_degree, default=None)
        if lead is None:
            continue
        number, rest = lead.as_coeff_Mul()
        odd = not power.exp.is_Integer or power.exp.p % 2
        if not number.is_Float or number == 0 or (number < 0 and not power.exp.is_Integer):
            continue
        scaled = sp.Add(*[_times(t, 1 / number) for t in power.base.args if t != lead]) + rest
        factor = float(abs(number)) ** float(power.exp) * (-1 if number < 0 and odd else 1)
        law = law.xreplace({power: sp.Float(factor, 17) * scaled**power.exp})
    return _gathered(law)


def _degree(term: sp.Expr) -> tuple[float, str]:
    rest = term.as_coeff_Mul()[1]
    powers = [p.as_base_exp()[1] for p in sp.Mul.make_args(rest)]
    return (float(sum(p for p in powers if p.is_Number)), str(rest))


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
        apart = sp.apart(sp.together(general), symbol)
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
