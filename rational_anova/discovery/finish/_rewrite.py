"""Other ways to write a formula: roots of squares taken, sums put together or apart."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import sympy as sp

from ..law._expressions import operations
from ..sameness._limit import within
from ..search._template import Data, Template

LONG = 120  # operations beyond which no other way is looked for
SECONDS = 0.5  # for each way
SMALL = 40  # operations up to which no way takes long


def rewritten(template: Template, data: Data) -> Template:
    """The shortest way to write the law that has the same values on the rows."""
    if sp.count_ops(template.expression) > LONG:
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
    """Equal expressions; each with a time limit, since some may take for ever."""
    positive = {
        s: sp.Dummy(s.name, positive=True)
        for s, column in zip(data.symbols, data.X.T, strict=True)
        if (column > 0).all()
    }
    back = {v: k for k, v in positive.items()}
    free = expression.xreplace(positive)
    tricks: list[Callable[[sp.Expr], sp.Expr]] = [
        lambda e: e,
        lambda e: without_squares(e, positive, template, data),
        sp.together,
        sp.factor,
        lambda e: sp.powsimp(sp.expand_power_base(e)),
        lambda e: sp.factor_terms(sp.expand(e)),
        lambda e: sp.expand_log(e),
        lambda e: sp.logcombine(e),
        lambda e: sp.powsimp(sp.factor(sp.powsimp(e))),
    ]
    if len(template.parameters) + len(template.pinned) <= 2:  # else they take long
        tricks += [sp.cancel, apart_everywhere, sp.radsimp]
    starts = [free]
    rooted = _tried(tricks[1], free)
    if rooted is not None and rooted != free:
        starts.append(rooted)
    for start in starts:
        for trick in tricks:
            out = _tried(trick, start)
            if out is not None and not out.has(sp.Abs):  # the sign is known from the rows
                yield out.xreplace(back)


def _tried(trick: Callable[[sp.Expr], sp.Expr], start: sp.Expr) -> sp.Expr | None:
    return within(SECONDS, lambda: trick(start), None, sp.count_ops(start) < SMALL)


def apart_everywhere(expression: sp.Expr) -> sp.Expr:
    """Partial fractions in the variable that gives the shortest sum."""
    best = expression
    for s in sorted(expression.free_symbols, key=str):
        if expression.is_rational_function(s):
            out = sp.apart(sp.together(expression), s)
            best = min(best, out, key=weight_of)
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
