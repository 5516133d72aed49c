"""Laws of a derived table, put back: fitted to the whole table, weighed and graded there.

A table in groups without units, or the table of a hole in a template, is searched as any other.
What is found there are parts of the law that is wanted; error bars, noise and grade are those of
the whole.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile

import numpy as np
import sympy as sp

from ..._core.types import Array
from ...tables import Table
from .._assemble import Weighed, assembled, in_order
from .._run import Options, data_of, split
from .._thresholds import COMPACT, FITTED_ROWS, SEARCHED
from ..catalogue import NamedForm
from ..claims import (
    Candidate,
    Verdict,
    chosen_noise,
    exact,
    graded,
    named_candidate,
    oddities,
    outer_error,
    possible_noise,
    ranked,
    refits,
    refitted,
    relative_error,
    searched_candidate,
    wild,
    with_oddities,
)
from ..finish import forms, rewritten, simplified
from ..fitting import Fit, Form, NoiseShape, Rows, evaluated_fit, fitted
from ..law import Evidence, Grade, Law, Parameter, operations
from ..search import Data, Template

_ORDER = (Grade.ESTABLISHED, Grade.SEVERAL, Grade.INTERPOLATION, Grade.NOTHING)
_TRIED = 15  # candidates that are fitted to all rows


@dataclass(frozen=True, eq=False)
class Part:
    """A formula with its numbers, and what was said of it where it was found.

    Args:
        expression: in symbols of columns, constants and parameters.
        parameters: its numbers, without the given ones.
        source: the same before it was put back, whose length the prior probability follows.
        named: its entry in the catalogue, if it has one.
        grade: the most that may be said of it; None if nothing is known.
        doubts: why not more.
        trusted: False if it was no better than a smooth curve.
    """

    expression: sp.Expr
    parameters: tuple[Parameter, ...]
    source: sp.Expr
    named: NamedForm | None = None
    grade: Grade | None = None
    doubts: tuple[str, ...] = ()
    trusted: bool = True

    def put(self, expression: sp.Expr, more: Sequence[Parameter] = ()) -> Part:
        """Return the part in another formula, which may bring numbers of its own."""
        return replace(self, expression=expression, parameters=(*more, *self.parameters))

    def renamed(self, taken: Collection[str]) -> Part:
        """Return the part with other names for the parameters whose names are taken."""
        used, names = set(taken), {}
        for parameter in self.parameters:
            name = parameter.name
            while name in used:
                name += "_"
            used.add(name)
            names[parameter.symbol] = name
        symbols = {old: sp.Symbol(name) for old, name in names.items()}
        return replace(
            self,
            expression=self.expression.xreplace(symbols),
            source=self.source.xreplace(symbols),
            parameters=tuple(replace(p, name=names[p.symbol]) for p in self.parameters),
        )

    def template(self) -> Template:
        """Return it as the search has formulas."""
        symbols = tuple(p.symbol for p in self.parameters)
        template = Template(self.expression, symbols, np.array([p.value for p in self.parameters]))
        for k, parameter in reversed(list(enumerate(self.parameters))):
            if parameter.exact is not None:
                template = template.pinned_at(k, parameter.exact, parameter.stderr)
        return template


def parts_of(
    law: Law, named: Sequence[NamedForm], known: Mapping[str, float] | None = None
) -> Iterator[Part]:
    """Yield the law of a derived table, then its rivals, as parts.

    Args:
        law: of the derived table.
        named: forms of the catalogue.
        known: constants, which rivals have as numbers.
    """
    names = {form.name: form for form in named}
    # what is no better than a mere number there is graded where it is put
    told = law.template.has(*law.names.symbols) and law.grade is not Grade.NOTHING
    yield Part(
        law.template,
        tuple(p for p in law.parameters if not p.given),
        law.template,
        names.get(law.name),
        law.grade if told else None,
        law.doubts if told else (),
        law.grade.claimed or not told,
    )
    given = {sp.Float(value, 17): sp.Symbol(name) for name, value in (known or {}).items()}
    for rival in law.rivals:
        if rival.own:
            continue
        template = Template.of(rival.formula.xreplace(given))
        symbols = [sp.Symbol(f"c{k}") for k in range(len(template.parameters))]
        expression = template.expression.xreplace(
            dict(zip(template.parameters, symbols, strict=True))
        )
        pairs = zip(symbols, template.values, strict=True)
        numbers = tuple(Parameter(s.name, float(v)) for s, v in pairs)
        yield Part(
            expression, numbers, expression, names.get(rival.name),
            trusted=law.grade.claimed or not told,
        )  # fmt: skip


def shortest(
    part: Part, table: Table, taken: Collection[str], over: Callable[[], bool] = lambda: False
) -> Part:
    """Return a formula of the search in its shortest form, numbers exact where rows allow it.

    Once the time is over, no further form is looked at.
    """
    template, rows = part.template(), Rows(table.X, table.y)
    if part.named is not None or sp.count_ops(part.expression) > COMPACT:
        return part
    data = data_of(table, rows.some(split(len(rows.y), 0)[0]))
    with np.errstate(all="ignore"):
        whole = template.refined(data).weighed(data)
        tried = takewhile(lambda _: not over(), forms(whole))
        found = [s for form in tried for s in _shortened(form.refined(data), whole, data)]
    best = min(found, key=lambda t: round(t.score, 3), default=whole)
    if (len(best.parameters), operations(best.law)) >= (
        len(whole.parameters),
        operations(whole.law),
    ):
        return part
    pairs = zip(best.parameters, best.values, strict=True)
    numbers = {s: Parameter(f"c{k}", float(v)) for k, (s, v) in enumerate(pairs)}
    for pin in best.pinned:
        name = f"c{len(numbers)}"
        numbers[pin.symbol] = Parameter(name, float(pin.exact), pin.stderr, pin.exact)
    symbols = {old: new.symbol for old, new in numbers.items()}
    short = replace(
        part,
        expression=squares(best.expression.xreplace(symbols)),
        parameters=tuple(numbers.values()),
    )
    return replace(short, source=short.expression).renamed(taken)


def squares(formula: sp.Expr) -> sp.Expr:
    """Return a formula with x**2 - 2*x*z + z**2 written as (x - z)**2.

    Example:
        >>> x, y, z = sp.symbols("x y z")
        >>> squares(1 / (x**2 - 2 * x * z + z**2 + y))
        1/(y + (x - z)**2)
    """
    return formula.replace(lambda e: e.is_Add, _with_squares)


def _with_squares(total: sp.Add) -> sp.Expr:
    terms = total.as_coefficients_dict()
    plain = sorted((t.base for t in terms if t.is_Pow and t.exp == 2), key=sp.default_sort_key)
    for a, b in combinations(plain, 2):
        factor, both = terms[a**2], terms[a * b]
        if factor == terms[b**2] and factor != 0 and abs(both) == 2 * abs(factor):
            sign = 1 if both == 2 * factor else -1
            rest = total - factor * (a**2 + 2 * sign * a * b + b**2)
            return factor * (a + sign * b) ** 2 + (_with_squares(rest) if rest.is_Add else rest)
    return total


def _shortened(form: Template, whole: Template, data: Data) -> Iterator[Template]:
    if not form.error <= 1.05 * whole.error + 1e-12:
        return
    try:
        yield (
            rewritten(simplified(form, data, (), dict(data.known)), data)
            .refined(data)
            .weighed(data)
        )
    except (ArithmeticError, ValueError, TypeError):
        return  # a form that cannot be finished: others can


def put_back(
    table: Table, parts: Sequence[Part], options: Options, evidence: Evidence,
    outliers: Sequence[int] = (), beyond: bool = True,
) -> Law:  # fmt: skip
    """Fit all parts to a table, weigh them, and return the best as a law.

    Args:
        table: the whole table.
        parts: in its columns; those that cannot be fitted are left out.
        options: of the discovery.
        evidence: how they were found; errors are filled in here.
        outliers: rows that belong to none.
        beyond: whether what is odd about the formula outside of the data counts against it.
    """
    whole = Rows(table.X, table.y, table.sigma, table.x_sigma)
    rows = whole.some(np.setdiff1d(np.arange(len(table.y)), outliers)) if outliers else whole
    searched, held = split(len(rows.y), options.seed)
    part = rows.some(searched)
    mean = _mean(table, part)

    def late() -> bool:
        return time.monotonic() > options.limit

    plain = possible_noise(part, options.noise_model)[0]
    pool = [*_candidates(parts, part, table, plain, late)]
    owners = {id(c.template): p for c, p in pool}
    candidates = [c for c, _ in pool] or [mean]
    noise, compared = _noise(candidates, part, options, late)
    candidates = ranked(list(refits(candidates, part, noise, late)) or [mean], part.X)
    candidates = [c for c in candidates if options.allowed(c.fit)] or candidates
    tame = [c for c in candidates if not wild(c.fit, part)] or candidates
    final = rows if len(rows.y) <= FITTED_ROWS else rows.some(np.arange(FITTED_ROWS))
    names = table.names.columns if beyond else None
    top = _final(tame[:_TRIED], final, noise, names, late) or tame[:1]
    best = top[0]
    source = owners.get(id(best.template))
    verdict = graded(
        top, final, _score(mean, final, noise), trusted=source is None or source.trusted,
        stopped=evidence.stopped,
        beyond=_odd(best.fit, final, names) if best.fit.numbers else (), over=late,
    )  # fmt: skip
    filled = replace(
        evidence,
        held_out=_held_out(best.fit, rows, searched, held),
        extrapolation=None if late() else outer_error(best.fit, final),
        seconds=time.monotonic() - options.start,
    )
    verdict = _capped(verdict, source)
    weighed = Weighed(top, final, verdict, compared, (), outliers)
    law = assembled(table, weighed, filled, over=late)
    return law if source is None else _with_names(law, best, source)


def _candidates(
    parts: Sequence[Part], rows: Rows, table: Table, noise: NoiseShape, late: Callable[[], bool]
) -> Iterator[tuple[Candidate, Part]]:
    """The parts that can be fitted, those after the first only while there is time."""
    known = {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    for place, part in enumerate(parts):
        if place and late():
            return
        template = part.template()
        form = Form(template.numeric.xreplace(known), table.names.symbols, template.parameters)
        try:
            fit = fitted(form, rows, noise, values=template.values)
        except (ValueError, TypeError, NameError):  # a function without an array form
            continue
        if fit is not None and np.isfinite(fit.deviance):
            yield _candidate(fit, part, template), part


def _candidate(fit: Fit, part: Part, template: Template) -> Candidate:
    """A candidate whose prior probability is that of what was found, not of what it became."""
    if part.named is not None:
        return replace(named_candidate(fit, part.named), template=template)
    short = replace(template, expression=part.source)
    return replace(searched_candidate(fit, short), template=template)


def _noise(
    candidates: Sequence[Candidate], rows: Rows, options: Options, late: Callable[[], bool]
) -> tuple[NoiseShape, dict[str, float]]:
    models = possible_noise(rows, options.noise_model)
    if late() or any(exact(c.fit, rows) for c in candidates):
        return models[0], {}
    return chosen_noise(sorted(candidates, key=lambda c: c.score)[:6], rows, models, late)


def _final(
    candidates: Sequence[Candidate], rows: Rows, noise: NoiseShape, names: Sequence[str] | None,
    late: Callable[[], bool],
) -> list[Candidate]:  # fmt: skip
    """Candidates on all rows, to the last digit while there is time, the most probable first."""
    out: list[Candidate] = []
    for candidate in candidates:
        if out and late():
            break
        form, values = candidate.fit.form, candidate.fit.values
        fit = fitted(form, rows, noise, values=values, polish=not late())
        if fit is not None and np.isfinite(fit.deviance):
            strange = _odd(fit, rows, names)
            out.append(with_oddities(replace(candidate, fit=fit), len(strange)))
    out = ranked(out, rows.X)
    if out and exact(out[0].fit, rows):  # without noise the one with fewest numbers is meant
        out.sort(key=lambda c: (not exact(c.fit, rows), c.fit.numbers, c.prior))
    return out


def _odd(fit: Fit, rows: Rows, names: Sequence[str] | None) -> tuple[str, ...]:
    return () if names is None else tuple(oddities(fit, rows, names))


def _mean(table: Table, rows: Rows) -> Candidate:
    form = Form(sp.Symbol("c0"), table.names.symbols, (sp.Symbol("c0"),))
    fit = evaluated_fit(form, rows, NoiseShape(), np.array([float(np.mean(rows.y))]))
    assert fit is not None
    return Candidate(fit, 0.0)


def _score(mean: Candidate, rows: Rows, noise: NoiseShape) -> float:
    fit = fitted(mean.fit.form, rows, noise, values=mean.fit.values)
    return np.inf if fit is None else replace(mean, fit=fit).score


def _held_out(fit: Fit, rows: Rows, searched: Array, held: Array) -> float | None:
    if not len(held):
        return None
    again = refitted(fit, rows.some(searched))
    return None if again is None else relative_error(again, rows.some(held), rows)


def share(options: Options, part: float) -> Options:
    """Return the options with a part of the time that is left."""
    now = time.monotonic()
    return replace(options, start=now, limit=now + part * max(options.limit - now, 0.0))


def interrupted(evidence: Evidence, options: Options) -> bool:
    """Return whether a search was ended by the user, before its time was up."""
    # the clock ends a search when this part of its time is over, a user mostly before
    return evidence.stopped and time.monotonic() < options.after(SEARCHED)


def worse(one: Grade, other: Grade) -> Grade:
    """Return the weaker of two grades."""
    return max(one, other, key=_ORDER.index)


def _capped(verdict: Verdict, source: Part | None) -> Verdict:
    """The verdict, no better than that of a part which was no law where it was found.

    Of one that was, rivals, names and what lies beyond the data are those of the whole.
    """
    if source is None or source.grade is None or source.grade.claimed:
        return verdict
    doubts = tuple(dict.fromkeys((*source.doubts, *verdict.doubts)))
    return replace(verdict, grade=worse(source.grade, verdict.grade), doubts=doubts)


def _with_names(law: Law, best: Candidate, source: Part) -> Law:
    """The law with the names and meanings that the parameters of its parts have."""
    template = best.template
    assert template is not None
    values = dict(zip(template.parameters, best.fit.values.tolist(), strict=True))
    values |= {pin.symbol: float(pin.exact) for pin in template.pinned}
    meant = {p.symbol: p for p in source.parameters}
    names, count = {}, 0
    for k, symbol in enumerate(in_order(template.expression, values)):
        own = meant[symbol]
        if re.fullmatch(r"c\d+_*", own.name):
            names[f"c{k}"] = replace(own, name=f"c{count}")
            count += 1
        else:
            names[f"c{k}"] = own
    symbols = {sp.Symbol(old): new.symbol for old, new in names.items()}
    parameters = tuple(
        p if p.given else replace(p, name=names[p.name].name, meaning=names[p.name].meaning)
        for p in law.parameters
    )
    return replace(law, template=law.template.xreplace(symbols), parameters=parameters)
