"""From templates to a `Law`: numbers named, evidence gathered, the front drawn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from ...tables import Table
from .._thresholds import COMPACT, EXACT, FREE_NUMBERS, ROUGH_LAW, WEAK_LAW
from ..law import Entry, Evidence, Law, Parameter, operations
from ..search import Data, Template
from ._evidence import beats_chance, error_on, extrapolated, leaves_a_shape, weak_but_real


def assemble(
    table: Table,
    laws: Sequence[Template],
    rows: Sequence[Data | None],
    *,
    surrogate: float,
    candidates: int,
    noise: float | None,
    start: float,
    limit: float,
) -> Law:
    """The law of the best template, with what speaks for it.

    Args:
        table: the whole table.
        laws: the best first.
        rows: those that the search saw, those held out, and those that numbers are fitted to.
        surrogate: leave-one-out error of a smooth function.
        candidates: how many formulas were weighed.
        noise: relative to the spread of the target, if it is known.
        start: of the search, by the clock.
        limit: by the clock.
    """
    known = {sp.Symbol(name): value for name, value in table.known.items()}
    searched, held, every = rows
    assert searched is not None
    assert every is not None
    best = laws[0]
    held_out = None if held is None else error_on(best, held, float(np.std(table.y)))
    final = best.refined(every)
    error = error_on(final, every) if np.isfinite(final.error) else final.error
    # weighed rows have errors of their own scale: what is shown is that of rows alike
    scale = error / final.error if final.error > 0 else 1.0
    evidence = Evidence(
        rows=len(table.y),
        noise=_noise(final, every) * scale,
        error=error,
        held_out=held_out,
        extrapolation=extrapolated(final, every),
        spread=float(np.std(table.y)) or float(np.abs(table.y).max()) or 1.0,
        surrogate=surrogate * scale,
        seconds=time.monotonic() - start,
        candidates=candidates,
        stage=best.stage,
        route=tuple(step.text for step in (*best.route, *best.exact)),
        made_exact=tuple(step.text for step in best.exact),
        stopped=time.monotonic() > limit,
    )
    found = _holds(best, searched, evidence, noise)
    template, parameters, covariance = _named(final, every, known)
    box = tuple(zip(table.X.min(0).tolist(), table.X.max(0).tolist(), strict=True))
    front = pareto([replace(final, error=best.error), *laws], known)
    law = Law(
        template, parameters, table.names, table.target, box, covariance, evidence, front, found
    )
    if found and evidence.error > WEAK_LAW and not law.domain.certified:
        law = replace(law, found=False)  # a pole among the rows can hit any outlier
    return law


def _noise(template: Template, data: Data) -> float:
    n, k = len(data.y), len(template.parameters)
    return template.error * float(np.sqrt(n / max(n - k, 1)))


def _holds(best: Template, data: Data, evidence: Evidence, noise: float | None) -> bool:
    """Return whether the formula may be called a law."""
    n, k = len(data.y), len(best.parameters)
    if not np.isfinite(best.error):
        return False
    if float(np.std(data.y)) <= 1e-14 * float(np.abs(data.y).max()):
        return True
    compact = operations(best.law) <= COMPACT and k <= FREE_NUMBERS and k < n / 3
    if best.error < EXACT:
        return compact
    if (evidence.stopped and k > 3) or (best.error > ROUGH_LAW and k > 3):
        return False  # of many numbers that do not fit well, or of a search cut short
    if not compact or not beats_chance(best, n, evidence.candidates):
        return False
    if evidence.error > ROUGH_LAW and leaves_a_shape(best, data):
        return False
    if evidence.error > WEAK_LAW and not weak_but_real(best, data, evidence):
        return False
    if noise is not None and best.error > 1.3 * noise + EXACT:
        return False
    # a free smooth function may not do much better
    return bool(evidence.error <= 1.3 * evidence.surrogate + 1e-9)


def _named(
    template: Template, data: Data, known: Mapping[sp.Symbol, float]
) -> tuple[sp.Expr, tuple[Parameter, ...], np.ndarray]:
    """Parameters called c0, c1, ... in the order in which the formula shows them."""
    free = {s: i for i, s in enumerate(template.parameters)}
    pins = {p.symbol: p for p in template.pinned}
    values = dict(zip(template.parameters, template.values.tolist(), strict=True))
    values |= {symbol: float(pin.exact) for symbol, pin in pins.items()}
    order = in_order(template.expression, values)
    covariance = template.covariance(data)
    parameters = []
    for k, symbol in enumerate(order):
        if symbol in pins:
            pin = pins[symbol]
            parameters.append(Parameter(f"c{k}", float(pin.exact), pin.stderr, pin.exact))
        else:
            i = free[symbol]
            error = float(np.sqrt(np.abs(covariance[i, i])))
            parameters.append(Parameter(f"c{k}", float(template.values[i]), error))
    names = {s: sp.Symbol(f"c{k}") for k, s in enumerate(order)}
    expression = template.expression.xreplace(names)
    given = [s for s in known if expression.has(s)]
    parameters += [Parameter(s.name, known[s], 0.0, given=True) for s in given]
    full = np.zeros((len(parameters), len(parameters)))
    where = [k for k, s in enumerate(order) if s in free]
    own = [free[order[k]] for k in where]
    full[np.ix_(where, where)] = covariance[np.ix_(own, own)]
    return expression, tuple(parameters), full


_MARK = sp.Float("1e-25", 40)  # far below the digits of a float: tells equal numbers apart


def in_order(expression: sp.Expr, values: Mapping[sp.Symbol, float]) -> list[sp.Symbol]:
    """Return the parameters in the order in which the formula, written with numbers, shows them.

    Those that are lost there, since numbers were multiplied, come last.
    """
    numbers = {
        symbol: sp.Float(value or 1.0, 40) * (1 + k * _MARK)
        for k, (symbol, value) in enumerate(values.items())
    }
    owners = {abs(number): symbol for symbol, number in numbers.items()}
    shown = [*_leaves(expression.xreplace(numbers)), *_leaves(expression)]
    found = [owners.get(abs(leaf)) if leaf.is_Float else leaf for leaf in shown]
    return list(dict.fromkeys(symbol for symbol in (*found, *values) if symbol in values))


def _leaves(expression: sp.Expr) -> Iterator[sp.Expr]:
    """Numbers and symbols as they are written, from left to right."""
    parts: Sequence[sp.Expr] = expression.args
    if expression.is_Add:
        parts = expression.as_ordered_terms()
    elif expression.is_Mul:
        parts = sorted(expression.as_ordered_factors(), key=_divides)
    if not parts:
        yield expression
    for part in parts:
        yield from _leaves(part)


def _divides(factor: sp.Expr) -> bool:
    """Return whether a factor is written below the line."""
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp < 0)


def pareto(laws: Sequence[Template], known: Mapping[sp.Symbol, float]) -> tuple[Entry, ...]:
    """The laws than which none is both simpler and better."""
    numbers = {s: sp.Float(v, 17) for s, v in known.items()}
    entries = []
    for law in laws:
        formula = law.law.xreplace(numbers)
        entries.append(Entry(formula, operations(formula), law.error, len(law.parameters)))
    front: list[Entry] = []
    # a number to be fitted counts as an operation, or long approximations would pass for short
    for entry in sorted(entries, key=lambda e: (e.complexity + e.parameters, e.error)):
        if not front or entry.error < 0.999 * front[-1].error:
            front.append(entry)
    return tuple(front)
