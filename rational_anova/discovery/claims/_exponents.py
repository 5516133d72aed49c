"""Exponents set free, and set to simple numbers: whether a power is what it was taken for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile

import numpy as np
import sympy as sp

from ..fitting import Fit, Form, Rows, fitted
from ..search import Template
from ._weigh import NUMBER, Candidate

_PLAIN = 2  # squares and inverse squares are as they are
_LARGEST, _FINEST = 6, 4  # whole numbers, halves, thirds and quarters up to this
_INTERVAL = 1.96  # standard errors on either side, 95%
_WIDEST = 0.15  # half of an interval that has a whole number by chance in three of ten cases
_TRIED = 5  # of the best candidates, those with a name


def freed(template: Template) -> Iterator[Template]:
    """The formula with its broken and high powers of columns as numbers to be fitted, if any."""
    powers = [
        p
        for p in template.expression.atoms(sp.Pow)
        if p.exp.is_Rational
        and p.base.free_symbols - set(template.parameters)
        and (not p.exp.is_Integer or abs(p.exp) > _PLAIN)
        and not (p.exp == sp.Rational(1, 2) and p.base.is_Add)
    ]
    if not 0 < len(powers) <= 3:
        return
    new = {p: sp.Dummy(f"n{k}") for k, p in enumerate(sorted(powers, key=sp.default_sort_key))}
    expression = template.expression.xreplace({p: p.base**s for p, s in new.items()})
    yield replace(
        template,
        expression=expression,
        parameters=(*template.parameters, *new.values()),
        values=np.r_[template.values, [float(p.exp) for p in new]],
    )


def with_simple_exponents(
    candidates: Sequence[Candidate], rows: Rows, over: Callable[[], bool] = lambda: False
) -> list[Candidate]:
    """The candidates, and the best named ones with exponents set to simple numbers.

    A number is tried where the interval of the exponent has it; it is one number less, weighed as
    any other candidate. Once the time is over, no more are tried.
    """
    named = [c for c in candidates if c.named is not None and c.template is None][:_TRIED]
    new = (new for c in named for new in _simpler(c, rows, exponents(c.fit.form)))
    return [*candidates, *takewhile(lambda _: not over(), new)]


def best_of_each_law(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without a law's further exponents: the same law is no rival of itself."""
    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(_other_exponents(candidate, other) for other in kept):
            kept.append(candidate)
    return kept


def exponents(form: Form) -> list[sp.Symbol]:
    """Parameters that are nothing but exponents, of a base with an input at least once."""
    powers = form.expression.atoms(sp.Pow)
    found = []
    for p in form.parameters:
        own = [e for e in powers if (e.exp / p).is_Rational or (e.exp * p).is_Rational]
        elsewhere = form.expression.xreplace({e: sp.Dummy() for e in own}).has(p)
        if any(e.base.has(*form.inputs) for e in own) and not elsewhere:
            found.append(p)
    return found


def _simpler(candidate: Candidate, rows: Rows, free: Sequence[sp.Symbol]) -> Iterator[Candidate]:
    """The candidate with some of the free exponents set to simple numbers, in every way."""
    for k, symbol in enumerate(free):
        for exact in _simple(candidate.fit, symbol):
            new = _with_exponent(candidate, symbol, exact, rows)
            if new is not None:
                yield new
                yield from _simpler(new, rows, free[k + 1 :])


def _simple(fit: Fit, symbol: sp.Symbol) -> list[Fraction]:
    """A whole number in the interval of an exponent, or a simple fraction.

    The interval must be so narrow that hardly any number would be in it by chance: whole numbers
    lie apart by one, fractions by a twelfth. With 0, 1 and -1 it would be another law.
    """
    place = fit.form.parameters.index(symbol)
    value, error = float(fit.values[place]), float(np.sqrt(abs(fit.covariance[place, place])))
    half = _INTERVAL * error
    for finest, widest in ((1, _WIDEST), (_FINEST, _WIDEST / 12)):
        near = [Fraction(round(value * d), d) for d in range(1, finest + 1)]
        inside = [f for f in near if abs(float(f) - value) <= half <= widest]
        if inside:
            usual = 0 < abs(inside[0]) <= _LARGEST and abs(inside[0]) != 1
            return inside[:1] if usual else []
    return []


def _with_exponent(
    candidate: Candidate, symbol: sp.Symbol, exact: Fraction, rows: Rows
) -> Candidate | None:
    form, noise = candidate.fit.form, candidate.fit.noise
    place = form.parameters.index(symbol)
    number = sp.Rational(exact.numerator, exact.denominator)
    fixed = Form(
        form.expression.xreplace({symbol: number}),
        form.inputs,
        tuple(p for p in form.parameters if p != symbol),
        {p: ends for p, ends in form.bounds.items() if p != symbol},
        form.name,
    )
    values = np.delete(candidate.fit.values, place)
    fit = fitted(fixed, rows, noise, values=values, polish=True)
    if fit is None or not np.isfinite(fit.deviance):
        return None
    prior = candidate.prior - NUMBER + _written(exact)
    return replace(
        candidate, fit=fit, prior=prior, general=candidate.general or candidate.fit,
        exact=(*candidate.exact, (symbol, number)),
    )  # fmt: skip


def _written(number: Fraction) -> float:
    """What it takes to write a number, in score: 2.4 for a fourth power, 4.9 for 3/4."""
    return 1 + float(np.log(abs(number.numerator)) + 2 * np.log(number.denominator))


def _other_exponents(a: Candidate, b: Candidate) -> bool:
    """Return whether two candidates are one form that differs by what its exponents are set to."""
    if a.general is None and b.general is None:
        return False
    both = [(c.general or c.fit).form.expression for c in (a, b)]
    return bool(both[0] == both[1])
