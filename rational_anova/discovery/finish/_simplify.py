"""Numbers made exact, and formulas made short, where the data cannot tell the difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import sympy as sp

from ...symbols import snap
from .._route import MadeExact
from .._thresholds import EXACT, ROUNDING, WORSE, WRITTEN_OUT
from ..search import Data, Template, simple_cost


def simplified(
    template: Template, data: Data, constants: tuple[str, ...], known: Mapping[sp.Symbol, float]
) -> Template:
    """Numbers dropped, then made exact or tied to each other, while the fit stays as good."""
    template = without_numbers(template, data)
    # near the rounding floor every digit counts, so that pi can be told from 22/7
    named = constants if template.error > EXACT else tuple({*constants, "pi"})
    template = with_exact_numbers(template, data, named, known)
    return with_tied_numbers(template, data)


def as_good(trial: Template, template: Template, rows: int) -> bool:
    """Return whether the trial fits as well as the template, to 2.6 standard errors."""
    low = max(template.error, ROUNDING)
    return bool(
        np.isfinite(trial.error) and 2 * rows * np.log(max(trial.error, ROUNDING) / low) < WORSE
    )


def without_numbers(template: Template, data: Data) -> Template:
    """Parameters set to zero or one where the law is as good without them."""
    again = True
    while again:  # one less may free another: terms that almost cancel go by turns
        again = False
        for symbol in template.parameters:
            shorter = _without(template, template.parameters.index(symbol), data)
            if shorter is not None:
                template, again = shorter, True
                break
    return template


def _without(template: Template, i: int, data: Data) -> Template | None:
    value, error = template.values[i], stderr(template, data)[i]
    for number in (0, 1, -1):
        near = max(3 * error, 1e-9 * abs(value), 1e-12 if number == 0 else 0.0)
        if abs(value - number) > near:
            continue
        trial = template.fixed(i, sp.Integer(number))
        if trial.expression.has(sp.zoo, sp.nan, sp.oo):
            continue
        trial = trial.refined(data)
        if as_good(trial, template, len(data.y)):
            return trial
    return None


def stderr(template: Template, data: Data) -> np.ndarray:
    """Standard errors of the parameters."""
    out = np.sqrt(np.abs(np.diag(template.covariance(data))))
    return np.where(np.isfinite(out), out, 0.0)


def with_exact_numbers(
    template: Template, data: Data, constants: tuple[str, ...], known: Mapping[sp.Symbol, float]
) -> Template:
    """Parameters made integers, fractions, short decimals, multiples of constants."""
    refused: set[sp.Symbol] = set()
    while True:
        errors = stderr(template, data)
        todo = [i for i, p in enumerate(template.parameters) if p not in refused]
        if not todo:
            return template
        relative = errors[todo] / np.maximum(np.abs(template.values[todo]), 1e-300)
        i = todo[int(np.argmin(relative))]
        symbol, value = template.parameters[i], float(template.values[i])
        exact_fit = template.error < EXACT
        near = max(2.6 * errors[i], 1e-9 * abs(value) if exact_fit else 0.0)
        for exact in _choices(value, near, constants, known):
            short = not exact.is_Rational or (abs(exact.p) <= WRITTEN_OUT and exact.q <= 4)
            if short:
                trial = template.fixed(i, exact)
            else:  # a decimal: it keeps its name, so that nobody multiplies it out
                trial = template.pinned_at(i, exact, float(errors[i]))
            if trial.expression.has(sp.zoo, sp.nan, sp.oo):
                continue
            trial = trial.refined(data)
            if as_good(trial, template, len(data.y)):
                cost = 2 * min(simple_cost(value, near), np.log(len(data.y)))
                step = MadeExact(value, float(errors[i]), exact)
                template = replace(
                    trial, written=template.written + cost, exact=(*template.exact, step)
                )
                break
        else:
            refused.add(symbol)


def _choices(
    value: float, near: float, constants: tuple[str, ...], known: Mapping[sp.Symbol, float]
) -> Iterator[sp.Expr]:
    single = [(s**p, v**p) for s, v in known.items() for p in (1, -1, 2, -2)]
    pairs = [
        (a * b, u * v)
        for k, (a, u) in enumerate(single)
        for b, v in single[k + 1 :]
        if a.free_symbols != b.free_symbols
    ]
    found: list[tuple[float, sp.Expr]] = []
    for symbol, number in single + pairs:
        ratio = snap(value / number, near / abs(number))
        if ratio is not None:
            found.append((_length(ratio) + 0.5, ratio * symbol))
    exact = snap(value, near, constants)
    if exact is not None:
        found.append((_length(exact), exact))
    for _, choice in sorted(found, key=lambda t: t[0]):  # 3 is 3, and not 1500/4157 times 8.314
        yield choice


def _length(number: sp.Expr) -> float:
    """How long a number is to write."""
    return float(sum(np.log(abs(r.p)) + np.log(r.q) for r in number.atoms(sp.Rational) if r != 0))


def with_tied_numbers(template: Template, data: Data) -> Template:
    """Parameters that are simple multiples of another one, written so."""
    again = True
    while again and len(template.parameters) > 1:
        again = False
        values, cov = template.values, template.covariance(data)
        if not np.isfinite(cov).all():
            return template
        for i in range(len(values)):
            for j in range(i + 1, len(values)):
                if not values[i] or not values[j]:
                    continue
                ratio = values[j] / values[i]
                slope = np.array([-ratio / values[i], 1 / values[i]])
                block = cov[np.ix_([i, j], [i, j])]
                error = float(np.sqrt(max(slope @ block @ slope, 0.0)))
                if not np.isfinite(ratio) or not np.isfinite(error):
                    continue
                exact = snap(ratio, max(2.6 * error, 1e-9 * abs(ratio)))
                if exact is None or not exact.is_Rational or max(abs(exact.p), exact.q) > 6:
                    continue
                trial = tied(template, j, exact * template.parameters[i]).refined(data)
                if as_good(trial, template, len(data.y)):
                    template, again = trial, True
                    break
            if again:
                break
    return template


def tied(template: Template, index: int, value: sp.Expr) -> Template:
    """One parameter written in terms of the others."""
    return template.fixed(index, value)
