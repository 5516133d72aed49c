"""The laws of the catalogue, fitted to a table of one or two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import permutations

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..catalogue import NamedForm
from ..fitting import (
    CONSTANT,
    GLANCE,
    LOG_NORMAL,
    PROPORTIONAL,
    QUICK,
    Effort,
    Fit,
    Form,
    NoiseShape,
    Rows,
    fitted,
    fitted_groups,
)
from ..search import permitted, small_sample
from ._groups import GroupCandidate, Grouped, group_candidate
from ._tests import refitted
from ._weigh import Candidate, named_candidate


def catalogued(
    forms: Sequence[NamedForm],
    rows: Rows,
    symbols: Sequence[sp.Symbol],
    noise: NoiseShape,
    *,
    alone: Sequence[int] | None = None,
    forbidden: frozenset[str] = frozenset(),
    over: Callable[[], bool] = lambda: False,
    told: Callable[[Candidate, Callable[[], Candidate]], None] = lambda c, placed: None,
) -> list[Candidate]:
    """Fit every form to every choice of columns, the best known first.

    Args:
        forms: of the catalogue and the user's own.
        rows: the data.
        symbols: of the columns.
        noise: the model of the noise.
        alone: columns that forms of one input are fitted to; all by default.
        forbidden: functions that a law may not have.
        over: whether the time is up.
        told: called with each candidate after a glance, to be kept if the work is interrupted, and
            with what puts it on its columns, since most are never asked for.
    """
    looked: list[tuple[Candidate, NamedForm, tuple[int, ...]]] = []
    for named in sorted(forms, key=lambda f: (f.common, len(f.parameters))):
        if not permitted(named.expression, forbidden):
            continue
        for columns in placed(named, [s.name for s in symbols]):
            if over():
                break
            if alone is not None and len(columns) == 1 and columns[0] not in alone:
                continue
            fit = _fitted(_form(named), named, rows.columns(columns), noise, GLANCE)
            if fit is not None:
                glanced = named_candidate(fit, named, [symbols[k].name for k in columns])
                looked.append((glanced, named, columns))
                told(glanced, partial(_on_columns, glanced, symbols, columns))
    looked.sort(key=lambda item: item[0].score)
    out = []
    for glanced, named, columns in looked[:PROMISING]:
        fit = None if over() else _again(glanced.fit, named, rows.columns(columns), noise)
        better = glanced if fit is None else replace(glanced, fit=fit)
        out.append(_on_columns(better, symbols, columns))
    return out


def _again(fit: Fit, named: NamedForm, rows: Rows, noise: NoiseShape) -> Fit | None:
    """The better of a fit from where a glance ended and of one from new starts."""
    both = [
        refitted(fit, rows, 20),
        _fitted(fit.form, named, rows, noise, QUICK),
    ]
    found = [f for f in both if f is not None and _allowed(f, named)]
    return min(found, key=lambda f: f.deviance, default=None)


def catalogued_groups(
    forms: Sequence[NamedForm],
    data: Grouped,
    symbols: Sequence[sp.Symbol],
    noise: NoiseShape,
    *,
    forbidden: frozenset[str] = frozenset(),
    over: Callable[[], bool] = lambda: False,
    told: Callable[[GroupCandidate], None] = lambda c: None,
) -> None:
    """Fit every form to several experiments; the best are told of, each as it is found.

    A glance at the largest experiments, one by one, says which forms are promising; these are
    fitted to all together, with numbers shared or own as the rows have it. The arguments are those
    of `catalogued`.
    """
    looked: list[tuple[float, NamedForm, tuple[int, ...]]] = []
    for named in sorted(forms, key=lambda f: (f.common, len(f.parameters))):
        if not permitted(named.expression, forbidden) or _long(named):
            continue
        for columns in placed(named, [s.name for s in symbols]):
            if not over():
                looked.append((_glance(named, data, columns, noise), named, columns))
    found = []
    for named, columns in _promising(looked):
        if over():
            break
        form = _form_on(_form(named), symbols, columns)
        candidate = _to_all(form, named, data, noise, None)
        if candidate is not None:
            told(candidate)
            found.append(candidate)
    for first in sorted(found, key=lambda c: c.score)[:CAREFUL]:
        if over():
            break
        assert first.named is not None
        better = _to_all(first.found.form, first.named, data, noise, first.found.values)
        if better is not None and better.score < first.score:
            told(better)


def _long(named: NamedForm) -> bool:
    return len(named.parameters) > LONGEST_GROUPED and named.field != "own"


def _promising(
    looked: list[tuple[float, NamedForm, tuple[int, ...]]],
) -> Iterator[tuple[NamedForm, tuple[int, ...]]]:
    """The best after a glance, and the best of the simplest."""
    ranking = [item for item in sorted(looked, key=lambda i: i[0]) if np.isfinite(item[0])]
    simple = [item for item in ranking[PROMISING_GROUPED:] if len(item[1].parameters) <= 2]
    for _, named, columns in (*ranking[:PROMISING_GROUPED], *simple[:SIMPLE]):
        yield named, columns


def _to_all(
    form: Form, named: NamedForm, data: Grouped, noise: NoiseShape, values: Array | None
) -> GroupCandidate | None:
    """A form fitted to all experiments, what is shared being chosen."""
    effort = QUICK if len(data.places) <= MANY_GROUPS else GLANCE
    found = fitted_groups(form, data.rows, data.labels, noise, effort=effort, values=values)
    if found is None or not found.determined:
        return None
    candidate = group_candidate(found, named)
    middle = replace(candidate.fit, values=np.median(found.values, axis=0))
    return candidate if _allowed(middle, named) else None


def _glance(named: NamedForm, data: Grouped, columns: Sequence[int], noise: NoiseShape) -> float:
    """Score of a form on the largest experiments; on all as one if they are small."""
    form = _form(named)
    sizes = sorted(data.places.values(), key=len, reverse=True)[:GLANCED]
    large = [chosen for chosen in sizes if len(chosen) >= len(form.parameters) + 3]
    fits = []
    for chosen in large or [np.arange(len(data.labels))]:
        fit = _fitted(form, named, data.rows.some(chosen).columns(columns), noise, GLANCE)
        if fit is None:
            return np.inf
        fits.append(fit)
    n = sum(fit.rows for fit in fits)
    # some numbers will be shared, but not yet known which
    count = len(form.parameters) * (len(fits) + 1) / 2
    prior = named_candidate(fits[0], named).prior
    return float(_together(fits) + count * np.log(n) + small_sample(n, count + 1) / 2 + prior)


def _together(fits: Sequence[Fit]) -> float:
    """Deviance of fits whose noise has one scale."""
    model = fits[0].noise.model
    if model not in (CONSTANT, PROPORTIONAL, LOG_NORMAL):
        return sum(fit.deviance for fit in fits)
    n = np.array([fit.rows for fit in fits])
    squares = np.array([float(np.sum((fit.miss * fit.scale) ** 2)) for fit in fits])
    squares = np.maximum(squares, 1e-300)
    volume = sum(fit.deviance for fit in fits) - float(np.sum(n * np.log(squares / n)))
    return float(n.sum() * np.log(squares.sum() / n.sum()) + volume)


def placed(named: NamedForm, names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Every choice of columns for a form, which must be its own if it names them."""
    if all(name in names for name in named.inputs):
        yield tuple(map(names.index, named.inputs))
        return
    yield from permutations(range(len(names)), len(named.inputs))


PROMISING = 24  # forms that are fitted with care, after a glance at all
PROMISING_GROUPED = 12  # ... to several experiments, and ...
SIMPLE = 4  # ... so many more of two numbers at most
CAREFUL = 5  # of these, all that may be shared is tried
LONGEST_GROUPED = 5  # numbers of a form, unless the user brings it
GLANCED = 3  # experiments that a glance looks at
MANY_GROUPS = 30  # of more, each is looked at with less care


@lru_cache(2048)
def _form(named: NamedForm) -> Form:
    inputs, parameters = (
        tuple(map(sp.Symbol, names)) for names in (named.inputs, named.parameters)
    )
    form = Form(named.expression, inputs, parameters, name=named.name)
    positive = {p: (0.0, np.inf) for p in form.nonlinear if p.name in named.positive}
    bounded = replace(form, bounds=positive)
    bounded.__dict__.update(linear=form.linear, nonlinear=form.nonlinear)
    return bounded


def _fitted(
    form: Form, named: NamedForm, rows: Rows, noise: NoiseShape, effort: Effort
) -> Fit | None:
    if len(rows.y) < len(form.parameters) + 2:
        return None
    fit = fitted(form, rows, noise, effort)
    return fit if fit is not None and _allowed(fit, named) else None


def _allowed(fit: Fit, named: NamedForm) -> bool:
    """Return whether numbers that are positive by nature are; at zero another law is meant."""
    pairs = zip(named.parameters, fit.values, strict=True)
    signs = all(value > 0 for name, value in pairs if name in named.positive)
    return signs and bool(np.isfinite(fit.deviance))


def _on_columns(
    candidate: Candidate, symbols: Sequence[sp.Symbol], columns: Sequence[int]
) -> Candidate:
    """The candidate as one of all columns, by their names."""
    form = _form_on(candidate.fit.form, symbols, columns)
    return replace(candidate, fit=replace(candidate.fit, form=form))


def _form_on(form: Form, symbols: Sequence[sp.Symbol], columns: Sequence[int]) -> Form:
    form = form.renamed([symbols[i] for i in columns], symbols)
    if form.inputs != tuple(symbols):
        form = Form(form.expression, tuple(symbols), form.parameters, form.bounds, form.name)
    return form
