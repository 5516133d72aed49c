"""From a table to weighed candidates: the catalogue, the search, the noise, the grade."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from ..tables import Table
from ._assemble import Weighed, assembled
from ._run import Indices, Options, Run, data_of, is_constant, reduced_table, split, thinned
from ._thresholds import COMPACT, EXACT, FEW_COLUMNS, FITTED_ROWS, FREE_NUMBERS, NEIGHBOURS
from .claims import (
    NUMBER,
    PRIOR,
    Candidate,
    Verdict,
    best_of_each_law,
    catalogued,
    chosen_noise,
    composed,
    distinct,
    exact,
    far_from_law,
    far_from_surrogate,
    fits,
    formula,
    freed,
    graded,
    neighbours,
    oddities,
    outer_error,
    possible_noise,
    price_of_outliers,
    ranked,
    refits,
    refitted,
    relative_error,
    searched_candidate,
    spans_decades,
    undetermined,
    wild,
    with_oddities,
    with_simple_exponents,
)
from .finish import forms, holds, rewritten, simplified
from .fitting import (
    CONSTANT,
    GIVEN,
    PROPORTIONAL,
    QUICK,
    Form,
    NoiseShape,
    Rows,
    deviations,
    evaluated_fit,
    fitted,
    robust,
)
from .law import Evidence, Grade, Law
from .search import (
    Data,
    ReducedTable,
    Search,
    Template,
    constant,
    finished,
    permitted,
    solve,
)

_NOISY = 1e-5  # leave-one-out error of a smooth curve above which the rows have noise
_WEIGHED = 24  # candidates that are refitted under the noise that was chosen
_ALSO = 3  # formulas of the search that are weighed as they are, beside an exact one
_NEAR = 12.0  # in score: what exact numbers may bring
_NEARLY = 3.0  # times the error of a curve of both columns: that of one alone, to be looked at
_FEW = 3  # numbers of a named law that fits, beside which no formula without a name is looked for
_CONTENT = 3.0  # seconds that the search gets once a named law fits
_SPARE = 3  # rows more than numbers, at least: else a curve goes through all of them
_ROBUST = 12  # candidates that outliers are looked for with
_MOST_SPOILT = 0.25  # of the rows
_SURROGATE_SPOILT = 0.05  # ... by a surrogate alone
Outliers = NDArray[np.bool_]  # True for the rows to be left out


@dataclass
class _Looked:
    """Where a search has looked, and the noise that it has seen."""

    rows: Rows
    searched: Indices
    held: Indices
    reduced: ReducedTable
    noise: NoiseShape
    compared: Mapping[str, float]


def discovered(table: Table, options: Options) -> Law:
    """The law of a table."""
    run = Run(table, options)
    rows = Rows(table.X, table.y, table.sigma, table.x_sigma)
    out = np.zeros(len(rows.y), dtype=bool)
    if options.robust:
        out = _spoilt(run, rows)
    looked = _looked(run, rows.some(np.flatnonzero(~out)))
    if options.robust and table.X.shape[1] > FEW_COLUMNS:
        out, before = _far_from_the_laws(run, rows, out, looked), out
        if (out != before).any():
            kept = rows.some(np.flatnonzero(~out))
            looked = _looked_again(run, kept, looked, search=bool((out & ~before).any()))
    return _concluded(run, looked, np.flatnonzero(out))


def _looked(run: Run, rows: Rows) -> _Looked:
    """Look for candidates on some rows: named laws, formulas of the search."""
    table, options = run.table, run.options
    searched, held = split(len(rows.y), options.seed)
    part = rows.some(searched)
    few = table.X.shape[1] <= FEW_COLUMNS
    noise = possible_noise(part, options.noise_model)[0]
    compared: dict[str, float] = {}
    reduced = reduced_table(run, part, None)
    _constant(run, part, noise)  # however short the time, there is a candidate
    noisy = few and not is_constant(part.y) and reduced.fitted().loo > _NOISY
    laws: list[Template] = []
    if noisy:
        run.attempt(lambda: _textbook(run, part, noise, (1, 2)))
        plain, (noise, compared) = noise, _noise(run, part)
        # of formulas that do not fit the noise cannot be told, unless it is plain to see
        sure = noise == plain or spans_decades(part) or _satisfied(run, part, noise)
        seen = noise if sure else plain
        run.attempt(lambda: laws.extend(_searched(run, part, seen, True)))
        noise, compared = (noise, compared) if sure else _noise(run, part)
    else:
        run.attempt(lambda: laws.extend(_searched(run, part, noise, False)))
    if not few:
        noise, compared = _noise(run, part)
        if noise.model not in (CONSTANT, GIVEN) and time.monotonic() < options.after(0.5):
            run.report("again, since the noise grows with the target")
            run.attempt(lambda: laws.extend(_searched(run, part, noise, False)))
    if table.X.shape[1] == 1 and not _simple(run, part, noise):
        run.attempt(lambda: _composed(run, part, noise))
        if noisy:
            noise, compared = _noise(run, part)
    if noisy and not _satisfied(run, part, noise):
        run.attempt(lambda: _textbook(run, part, noise, (3,)))
    if few and not noisy:
        run.attempt(lambda: _textbook(run, part, noise, (1,)))
    return _Looked(rows, searched, held, reduced, noise, compared)


def _concluded(run: Run, looked: _Looked, outliers: Indices) -> Law:
    """Weigh all candidates on all rows, grade the best, and make it a law."""
    rows, searched, held, noise = looked.rows, looked.searched, looked.held, looked.noise
    run.stopped = run.stopped or run.counter.stopped or time.monotonic() > run.options.limit
    part = rows.some(searched)
    pool = ranked(list(refits(_best(run.candidates, _WEIGHED), part, noise)), part.X)
    pool = [c for c in pool if run.options.allowed(c.fit)] or pool
    pool = [c for c in pool if c.fit.numbers <= len(part.y) - _SPARE] or pool[-1:]
    tame = [c for c in pool[:15] if _sane(c, part)] + pool[15:]
    final = rows if len(rows.y) <= FITTED_ROWS else rows.some(np.arange(FITTED_ROWS))
    top = _final(tame[:15] or pool[:15], final, noise)
    if not any(exact(c.fit, final) for c in top[:1]) and not run.over:
        top = with_simple_exponents(sorted(top, key=lambda c: c.score), final)
    names = run.table.names.columns
    top = [with_oddities(c, len(list(oddities(c.fit, final, names)))) for c in top]
    top = best_of_each_law(ranked(top, final.X))
    if exact(top[0].fit, final):
        top = _made_exact(run, top, part, final, noise)
    best = top[0]
    evidence = _evidence(run, best, rows, searched, held, looked.reduced)
    trusted = best.template is None or holds(best.template, data_of(run.table, part), evidence)
    verdict = graded(
        top, final, _mean_score(run, final, noise), trusted=trusted, stopped=run.stopped,
        beyond=tuple(oddities(best.fit, final, names)) if best.fit.numbers else (),
    )  # fmt: skip
    if verdict.grade is Grade.NOTHING:  # then nothing is said but the mean
        top = [*_final(run.candidates[:1], final, noise), *top]
    if is_constant(rows.y):
        top, verdict = top[:1], Verdict(Grade.ESTABLISHED, ())
    weighed = Weighed(top, final, verdict, looked.compared, tame[15:], outliers.tolist())
    return assembled(run.table, weighed, evidence, provenance={})


def _final(candidates: Sequence[Candidate], rows: Rows, noise: NoiseShape) -> list[Candidate]:
    """Candidates on all rows, to the last digit."""
    out = []
    for candidate in candidates:
        fit = fitted(candidate.fit.form, rows, noise, values=candidate.fit.values, polish=True)
        if fit is not None:
            out.append(replace(candidate, fit=fit))
    return out


def _made_exact(
    run: Run, candidates: Sequence[Candidate], part: Rows, rows: Rows, noise: NoiseShape
) -> list[Candidate]:
    """Candidates without noise: numbers exact where they can be, the one with fewest first."""
    data, out = data_of(run.table, part), []
    for candidate in candidates[:4]:
        if candidate.template is not None or not exact(candidate.fit, rows):
            continue
        whole = Template.of(formula(candidate), stage="catalogue")
        try:
            short = _finished(whole.refined(data).weighed(data), data, run)
        except NotImplementedError:  # a step has no slope
            continue
        for new in _candidates([short], rows, run, noise):
            if exact(new.fit, rows) and new.template is short:
                out.append(replace(new, named=candidate.named, prior=candidate.prior))
    found = [c for c in candidates if exact(c.fit, rows)]
    first = sorted([*out, *found], key=lambda c: (c.fit.numbers, c.prior))
    return distinct([*first, *(c for c in candidates if c not in found)], rows.X)


def _evidence(
    run: Run, best: Candidate, rows: Rows, searched: Indices, held: Indices, reduced: ReducedTable
) -> Evidence:
    held_out = None
    if len(held):
        fit = refitted(best.fit, rows.some(searched))
        held_out = None if fit is None else relative_error(fit, rows.some(held), rows)
    template = best.template
    steps = () if template is None else (*template.route, *template.exact)
    return Evidence(
        rows=len(rows.y),
        noise=np.nan,
        error=relative_error(best.fit, rows),
        held_out=held_out,
        extrapolation=outer_error(best.fit, rows),
        surrogate=reduced.fitted().loo,
        seconds=time.monotonic() - run.options.start,
        candidates=run.counter.candidates,
        stage=_stage(best),
        route=tuple(step.text for step in steps),
        made_exact=() if template is None else tuple(step.text for step in template.exact),
        stopped=run.stopped,
    )


def _stage(best: Candidate) -> str:
    if best.template is not None:
        return best.template.stage
    return "products of functions" if best.named is None else "catalogue"


# -- what is tried


def _textbook(run: Run, rows: Rows, noise: NoiseShape, levels: Sequence[int]) -> None:
    """Add the named laws of some levels; of many rows, some tell as much."""
    some = thinned(rows)
    wanted = [f for f in run.options.forms if f.common in levels]
    run.report("named laws" if 3 not in levels else "rare laws")
    alone = _alone(reduced_table(run, some, None))
    views = [noise]
    if noise.model == CONSTANT and spans_decades(some) and run.options.noise_model == "auto":
        views.append(NoiseShape(PROPORTIONAL))
    for view in views:
        found = catalogued(
            wanted, some, run.table.names.symbols, view, alone=alone,
            forbidden=run.options.forbidden, over=lambda: run.over, told=run.glance,
        )  # fmt: skip
        run.counter.candidates += len(wanted)
        run.candidates += found if some is rows else list(refits(found, rows, view))


def _composed(run: Run, rows: Rows, noise: NoiseShape) -> None:
    """Add products of a few functions of the one column."""
    run.report("products of functions")
    plain = possible_noise(rows, run.options.noise_model)[0]
    for view in dict.fromkeys((plain, noise)):
        found = composed(
            rows, run.table.names.symbols[0], view,
            forbidden=run.options.forbidden, over=lambda: run.over,
        )  # fmt: skip
        run.counter.candidates += len(found)
        run.candidates += found


def _alone(table: ReducedTable) -> list[int]:
    """Columns of which a smooth curve alone comes near to one of all columns."""
    columns = range(table.U.shape[1])
    if len(columns) == 1:
        return [0]
    whole = table.fitted().loo
    left = [
        replace(table, U=table.U[:, [k]], variables=(table.variables[k],)).fitted().loo
        for k in columns
    ]
    return [k for k in columns if left[k] < _NEARLY * whole + _NOISY]


def _constant(run: Run, rows: Rows, noise: NoiseShape) -> None:
    """Add a mere number, so that there always is a candidate."""
    form = Form(sp.Symbol("a"), run.table.names.symbols, (sp.Symbol("a"),))
    form = form.renamed(form.inputs)
    fit = fitted(form, rows, noise, values=np.array([float(np.mean(rows.y))]))
    named = next((f for f in run.options.forms if f.name == "constant"), None)
    if fit is None:
        fit = evaluated_fit(form, rows, NoiseShape(), np.array([float(np.mean(rows.y))]))
    assert fit is not None
    run.candidates.append(Candidate(fit, PRIOR[1] + NUMBER, named))


def _mean_score(run: Run, rows: Rows, noise: NoiseShape) -> float:
    mean = run.candidates[0]
    fit = fitted(mean.fit.form, rows, noise, values=mean.fit.values)
    return np.inf if fit is None else replace(mean, fit=fit).score


def _searched(run: Run, rows: Rows, noise: NoiseShape, content: bool) -> list[Template]:
    """Add the formulas of the search; return its templates."""
    options = run.options
    weight = None
    if noise.model != CONSTANT:
        best = min(run.candidates, key=lambda c: c.score)
        weight = 1 / deviations(rows, best.fit.predict(rows.X), noise)
        weight = weight / np.sqrt(np.mean(weight**2)) if np.isfinite(weight).all() else None
    data = data_of(run.table, rows, weight)
    search = Search(data, options.after(0.85), run.counter, options.forbidden, run.report)
    if content and _satisfied(run, rows, noise):
        search.hurry(_CONTENT)
    reduced = reduced_table(run, rows, weight)
    interrupted: KeyboardInterrupt | None = None
    try:
        laws = solve(reduced, search)
    except KeyboardInterrupt as error:
        interrupted = error
        laws = finished(run.counter.pool, run.counter.found, data, options.forbidden)
    if not laws:  # no time for anything
        plain = replace(reduced, U=reduced.U[:, :0], variables=())
        laws = finished([constant(plain)], [], data, options.forbidden)
    if content:  # what no exact number would bring near to the named laws is left as it is
        raw = list(_candidates(laws[:4], rows, run, noise))
        run.candidates += raw
        near = min(c.score for c in run.candidates) + _NEAR
        close = {id(c.template) for c in raw if c.score < near}
        laws = [law for law in laws[:4] if id(law) in close]
    run.report("simplifying")
    short = [_finished(law, data, run) for law in laws[:4]]
    rest = [] if content else laws[: _ALSO if short and short[0].error < EXACT else 2 * _ALSO]
    laws = sorted(short, key=lambda t: round(t.score, 3)) + rest
    run.candidates += list(_candidates(laws, rows, run, noise))
    if interrupted is not None:
        raise interrupted
    return laws


def _candidates(
    laws: Sequence[Template], rows: Rows, run: Run, noise: NoiseShape
) -> Iterator[Candidate]:
    """Templates of the search as candidates, and the same with exponents set free."""
    table = run.table
    known = {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    for law in laws:
        free = (t for t in freed(law) if permitted(t.law, run.options.forbidden))
        for template in (law, *free):
            form = Form(template.numeric.xreplace(known), table.names.symbols, template.parameters)
            try:
                fit = fitted(form, rows, noise, values=template.values)
            except (ValueError, TypeError, NameError):  # a function without an array form
                continue
            if fit is not None and np.isfinite(fit.deviance):
                yield searched_candidate(fit, template)


def _finished(law: Template, data: Data, run: Run) -> Template:
    """The law with exact numbers where the data allow it, in its shortest form."""
    best = None
    if len(law.parameters) > FREE_NUMBERS or law.complexity > COMPACT:
        return law  # an approximation: no form makes it a law
    for form in forms(law):
        if run.over:
            break
        form = form.refined(data)
        if not form.error <= 1.05 * law.error + 1e-12:
            continue
        run.counter.candidates += 1
        try:
            short = (
                rewritten(simplified(form, data, (), dict(data.known)), data)
                .refined(data)
                .weighed(data)
            )
        except (ArithmeticError, ValueError, TypeError):
            continue  # a form that cannot be finished: others can, and nothing is lost
        if not permitted(short.law, run.options.forbidden):
            continue
        if best is None or short.score < best.score - 1e-3:  # ties: the form of textbooks
            best = short
    return best or law


# -- what is decided


def _best(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """The most probable under each view of the noise, the constant first."""
    views: dict[str, list[Candidate]] = {}
    for candidate in candidates[1:]:
        views.setdefault(candidate.fit.noise.model, []).append(candidate)
    chosen = [c for view in views.values() for c in sorted(view, key=lambda c: c.score)[:count]]
    return [*candidates[:1], *chosen]


def _first(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """The first few of each view of the noise."""
    views: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        views.setdefault(candidate.fit.noise.model, []).append(candidate)
    return [c for view in views.values() for c in view[:count]]


def _noise(run: Run, rows: Rows) -> tuple[NoiseShape, dict[str, float]]:
    rows = thinned(rows)
    models = possible_noise(rows, run.options.noise_model)
    top = [c for c in _best(run.candidates, 6)[1:] if _sane(c, rows)][:8]
    top = _first(top, 3)
    if any(exact(c.fit, rows) for c in top):
        return models[0], {}
    return chosen_noise(top, rows, models)


def _sane(candidate: Candidate, rows: Rows) -> bool:
    """Return whether a candidate is no mere curve that runs wild, or of numbers that are open."""
    fit = candidate.fit
    return exact(fit, rows) or not (undetermined(fit) or wild(fit, rows))


def _simple(run: Run, rows: Rows, noise: NoiseShape) -> bool:
    """Return whether a law is there that few formulas of as many numbers could rival."""
    if is_constant(rows.y) or not _satisfied(run, rows, noise):
        return is_constant(rows.y)
    best = min(run.candidates, key=lambda c: c.score)
    shapeless = neighbours(best.fit, rows) < NEIGHBOURS
    return exact(best.fit, rows) or (best.fit.numbers <= _FEW and shapeless)


def _satisfied(run: Run, rows: Rows, noise: NoiseShape) -> bool:
    """Return whether a law is exact, a named one fits, or nothing at all is to be found."""
    if any(exact(c.fit, rows) for c in run.candidates):
        return True
    top = ranked(list(refits(_best(run.candidates, 6), rows, noise)), rows.X)[:6]
    tame = [c for c in top if c.named is not None and _sane(c, rows)]
    if not tame:
        return False
    return fits(tame[0], rows, _mean_score(run, rows, noise))


# -- rows that do not belong to the rest


def _spoilt(run: Run, rows: Rows) -> Outliers:
    """Rows to leave out before the search: far from the best named law, or from a surrogate."""
    none = np.zeros(len(rows.y), dtype=bool)
    if is_constant(rows.y):
        return none
    if rows.X.shape[1] > FEW_COLUMNS:
        return far_from_surrogate(reduced_table(run, rows, None))
    noise = possible_noise(rows, run.options.noise_model)[0]
    _textbook(run, rows, noise, (1, 2))
    tried = ranked(_best(run.candidates, _ROBUST), rows.X)[:_ROBUST]
    run.candidates.clear()
    found = []
    for candidate in tried:
        if wild(candidate.fit, rows):  # a pole beside a row explains any outlier
            continue
        out = robust(candidate.fit.form, rows, noise, QUICK)
        fit = refitted(candidate.fit, rows.some(np.flatnonzero(~out)), 40)
        if fit is not None and out.mean() <= _MOST_SPOILT:
            score = replace(candidate, fit=fit).score + price_of_outliers(rows, int(out.sum()))
            found.append((score, out))
    return min(found, key=lambda pair: pair[0])[1] if found else none


def _far_from_the_laws(run: Run, rows: Rows, out: Outliers, looked: _Looked) -> Outliers:
    """Rows far from the law that is most probable without them.

    If no law fits the rest, those that are far from the surrogate; but none where these are many,
    since then the surrogate is poor.
    """
    part = looked.rows.some(looked.searched)
    tried = ranked(list(refits(_best(run.candidates, _ROBUST), part, looked.noise)), part.X)
    found = []
    for candidate in tried[:_ROBUST]:
        if not candidate.fit.form.expression.has(*candidate.fit.form.inputs):
            continue
        far = far_from_law(candidate.fit, rows, out)
        if far is not None and far[0].mean() <= _MOST_SPOILT:
            price = price_of_outliers(rows, int(far[0].sum()))
            found.append((replace(candidate, fit=far[1]).score + price, far[0]))
    if not found:
        return out if out.mean() <= _SURROGATE_SPOILT else np.zeros_like(out)
    return min(found, key=lambda pair: pair[0])[1]


def _looked_again(run: Run, rows: Rows, looked: _Looked, search: bool) -> _Looked:
    """The candidates on other rows, and those of a new search there if one is wanted."""
    before = _best(run.candidates, _WEIGHED)[1:]
    run.candidates.clear()
    if search and time.monotonic() < run.options.after(0.5):
        run.report("again, without the outliers")
        looked = _looked(run, rows)
    else:
        searched, held = split(len(rows.y), run.options.seed)
        reduced = reduced_table(run, rows.some(searched), None)
        looked = replace(looked, rows=rows, searched=searched, held=held, reduced=reduced)
        _constant(run, rows.some(searched), looked.noise)
    run.candidates += list(refits(before, rows.some(looked.searched), looked.noise))
    return looked
