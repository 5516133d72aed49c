"""From weighed candidates to a `Law`: numbers named, evidence gathered, the front drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp

from .. import __version__
from .._core.types import Array
from ..tables import Table
from .claims import Candidate, Verdict, formula, relative_error, weights
from .fitting import CONSTANT, PROPORTIONAL, Fit, Rows
from .law import (
    Entry,
    Evidence,
    Law,
    Noise,
    Parameter,
    Rival,
    Sample,
    operations,
    profile,
)

_SHOWN = 12  # rivals
_PROFILED = 8  # parameters, and ...
_PROFILED_ROWS = 5000  # ... rows up to which intervals are found by profiles
_KEPT_ROWS = 5000  # of the data, for plots


@dataclass(frozen=True, eq=False)
class Weighed:
    """All that is known once candidates are weighed.

    Attributes:
        candidates: the most probable first; the first is the law.
        rows: that they were fitted to.
        verdict: the grade and its reasons.
        compared: weight of each model of the noise.
        pool: further candidates, for the front of complexity against error.
        outliers: rows of the table that were left out.
    """

    candidates: Sequence[Candidate]
    rows: Rows
    verdict: Verdict
    compared: Mapping[str, float] = field(default_factory=dict)
    pool: Sequence[Candidate] = ()
    outliers: Sequence[int] = ()


def assembled(
    table: Table, weighed: Weighed, evidence: Evidence, *, profiled: bool = True,
    over: Callable[[], bool] = lambda: False, **more: Any,
) -> Law:  # fmt: skip
    """The law of the first candidate, with what speaks for it and against it.

    Args:
        table: the whole table.
        weighed: candidates and their grade.
        evidence: how the law was found; errors are filled in here.
        profiled: whether intervals are by profile likelihood.
        over: whether the time is up: then they are not.
        more: further fields of the law.
    """
    best, rows = weighed.candidates[0], weighed.rows
    known = {sp.Symbol(name): value for name, value in table.known.items()}
    template, parameters, covariance = _numbers(best, known)
    n, k = len(rows.y), best.fit.numbers
    error = relative_error(best.fit, rows)
    spread = float(np.std(rows.y)) or float(np.abs(rows.y).max()) or 1.0
    filled = replace(
        evidence, rows=len(table.y), error=error, spread=spread,
        noise=error * float(np.sqrt(n / max(n - k, 1))),
    )  # fmt: skip
    box = tuple(zip(table.X.min(0).tolist(), table.X.max(0).tolist(), strict=True))
    noise = _noise(best.fit, rows, weighed.compared)
    law = Law(
        template, parameters, table.names, table.target, box, covariance, filled,
        pareto=front([*weighed.candidates, *weighed.pool], rows, known),
        grade=weighed.verdict.grade, name=best.name, doubts=weighed.verdict.doubts,
        rivals=_rivals(weighed.candidates, rows, known), noise=noise,
        outliers=tuple(int(row) for row in weighed.outliers), data=_sample(table), **more,
    )  # fmt: skip
    return _profiled(law, rows, over) if profiled and error > 1e-10 else law


def _sample(table: Table) -> Sample:
    kept = slice(None, _KEPT_ROWS)
    part = [None if a is None else a[kept] for a in (table.sigma, table.groups, table.x_sigma)]
    return Sample(table.X[kept], table.y[kept], *part)


def _noise(fit: Fit, rows: Rows, compared: Mapping[str, float]) -> Noise:
    model, scale, floor = fit.noise.model, fit.scale, 0.0
    if model == PROPORTIONAL:
        floor = fit.scale * fit.noise.floor * rows.typical
    if model == CONSTANT and rows.x_sigma is not None:
        left = rows.y - fit.predict(rows.X)
        scale = float(np.sqrt(left @ left / max(len(left) - fit.numbers, 1)))
    return Noise(model, float(scale), float(floor), dict(compared))


def _profiled(law: Law, rows: Rows, over: Callable[[], bool]) -> Law:
    """The law with intervals by profile likelihood, where these can be had quickly."""
    free = [p for p in law.parameters if p.exact is None and not p.given]
    if not free or len(free) > _PROFILED or len(rows.y) > _PROFILED_ROWS:
        return law
    if rows.x_sigma is not None:  # squares of y alone are not what was minimised
        return _wald(law)
    log = law.noise.model == "log-normal"
    weight = None
    if not log:
        weight = 1 / law.noise.deviation(law.predict(rows.X), rows.sigma)
        weight = weight if np.isfinite(weight).all() else None
    found = profile(
        law.template, law.parameters, law.names, rows.X, rows.y, weight, log=log,
        freedom=len(rows.y) - len(free), known=weight is not None and law.noise.known, over=over,
    )  # fmt: skip
    ends = [found.get(p.name, (np.nan, np.nan)) for p in law.parameters]
    parameters = tuple(
        replace(p, low=low, high=high) for p, (low, high) in zip(law.parameters, ends, strict=True)
    )
    return replace(law, parameters=parameters)


def _wald(law: Law) -> Law:
    """The law with intervals by standard errors."""
    ends = law.intervals(method="wald")
    parameters = tuple(
        replace(p, low=ends[p.name][0], high=ends[p.name][1]) if p.name in ends else p
        for p in law.parameters
    )
    return replace(law, parameters=parameters)


def _numbers(
    best: Candidate, known: Mapping[sp.Symbol, float]
) -> tuple[sp.Expr, tuple[Parameter, ...], Array]:
    """Template, parameters and covariance: named as in the form, else c0, c1, ... as read."""
    if best.template is not None:
        return _searched(best, known)
    whole, exact = best.general or best.fit, dict(best.exact)
    errors = np.sqrt(np.abs(np.diag(whole.covariance)))
    form, at = whole.form, {p: k for k, p in enumerate(best.fit.form.parameters)}
    meanings = [] if best.named is None else list(best.named.parameters.values())
    covariance = np.zeros((len(errors), len(errors)))
    where = [k for k, p in enumerate(form.parameters) if p in at]
    covariance[np.ix_(where, where)] = best.fit.covariance
    parameters = []
    for k, p in enumerate(form.parameters):
        meaning = meanings[k] if len(meanings) == len(form.parameters) else ""
        if p in exact:
            parameters.append(
                Parameter(p.name, float(exact[p]), float(errors[k]), exact[p], meaning=meaning)
            )
        else:
            error = float(np.sqrt(abs(covariance[k, k])))
            parameters.append(
                Parameter(p.name, float(best.fit.values[at[p]]), error, meaning=meaning)
            )
    # a form has its constants as numbers of 17 digits
    named = {sp.Float(value, 17): symbol for symbol, value in known.items()}
    return _with_given(form.expression.xreplace(named), tuple(parameters), covariance, known)


def _with_given(
    expression: sp.Expr,
    parameters: tuple[Parameter, ...],
    covariance: Array,
    known: Mapping[sp.Symbol, float],
) -> tuple[sp.Expr, tuple[Parameter, ...], Array]:
    given = [s for s in known if expression.has(s)]
    size = len(parameters)
    full = np.zeros((size + len(given), size + len(given)))
    full[:size, :size] = covariance
    constants = tuple(Parameter(s.name, known[s], 0.0, given=True) for s in given)
    return expression, parameters + constants, full


def _searched(
    best: Candidate, known: Mapping[sp.Symbol, float]
) -> tuple[sp.Expr, tuple[Parameter, ...], Array]:
    """Parameters called c0, c1, ... in the order in which the formula shows them."""
    template, fit = best.template, best.fit
    assert template is not None
    free = {s: i for i, s in enumerate(template.parameters)}
    pins = {p.symbol: p for p in template.pinned}
    values = dict(zip(template.parameters, fit.values.tolist(), strict=True))
    values |= {symbol: float(pin.exact) for symbol, pin in pins.items()}
    order = in_order(template.expression, values)
    errors = np.sqrt(np.abs(np.diag(fit.covariance)))
    parameters = []
    for k, symbol in enumerate(order):
        if symbol in pins:
            pin = pins[symbol]
            parameters.append(Parameter(f"c{k}", float(pin.exact), pin.stderr, pin.exact))
        else:
            i = free[symbol]
            parameters.append(Parameter(f"c{k}", float(fit.values[i]), float(errors[i])))
    names = {s: sp.Symbol(f"c{k}") for k, s in enumerate(order)}
    full = np.zeros((len(order), len(order)))
    where = [k for k, s in enumerate(order) if s in free]
    own = [free[order[k]] for k in where]
    full[np.ix_(where, where)] = fit.covariance[np.ix_(own, own)]
    expression = template.expression.xreplace(names)
    return _with_given(expression, tuple(parameters), full, known)


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


def written_formula(candidate: Candidate, known: Mapping[sp.Symbol, float]) -> sp.Expr:
    """The candidate with numbers, exact ones as they are."""
    numbers = {s: sp.Float(v, 17) for s, v in known.items()}
    if candidate.template is None:
        return formula(candidate).xreplace(numbers)
    return replace(candidate.template, values=candidate.fit.values).law.xreplace(numbers)


def _rivals(
    candidates: Sequence[Candidate], rows: Rows, known: Mapping[sp.Symbol, float]
) -> tuple[Rival, ...]:
    share = weights(candidates)
    out = []
    for n, candidate in enumerate(candidates[:_SHOWN]):
        whole = written_formula(candidate, known)
        out.append(
            Rival(
                whole, candidate.name, float(share[n]), relative_error(candidate.fit, rows),
                candidate.fit.numbers, operations(whole), own=n == 0,
            )
        )  # fmt: skip
    return tuple(out)


def front(
    candidates: Sequence[Candidate], rows: Rows, known: Mapping[sp.Symbol, float]
) -> tuple[Entry, ...]:
    """The formulas than which none is both simpler and better, and the first one in any case."""
    entries = []
    for candidate in candidates[:60]:
        whole = written_formula(candidate, known)
        error = relative_error(candidate.fit, rows)
        entries.append(Entry(whole, operations(whole), error, candidate.fit.numbers))
    kept: list[Entry] = []
    # a number to be fitted counts as an operation, or long approximations would pass for short
    for entry in sorted(entries, key=lambda e: (e.complexity + e.parameters, e.error)):
        if entry is entries[0] or not kept or entry.error < 0.999 * min(e.error for e in kept):
            kept.append(entry)
    return tuple(kept)


def provenance(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a law's making: version, rows, columns, options, notes on the table."""
    return {
        "version": __version__,
        "rows": len(table.y),
        "columns": list(table.names.columns),
        "options": dict(options),
        "notes": list(table.notes),
    }
