"""What is proposed for a law: named laws, the search, products of functions; and if one will do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from ._run import Run, data_of, is_constant, reduced_table, thinned
from ._thresholds import (
    CHANCE,
    COMPACT,
    CONCLUDED,
    EXACT,
    FREE_NUMBERS,
    NEIGHBOURS,
    ROUNDING,
    SEARCHED,
)
from .claims import (
    NUMBER,
    PRIOR,
    Candidate,
    catalogued,
    chosen_noise,
    composed,
    exact,
    fits,
    freed,
    neighbours,
    possible_noise,
    ranked,
    refits,
    searched_candidate,
    spans_decades,
    undetermined,
    wild,
)
from .finish import digits, forms, rewritten, simplified
from .fitting import (
    CONSTANT,
    PROPORTIONAL,
    Form,
    NoiseShape,
    Rows,
    deviations,
    evaluated_fit,
    fitted,
)
from .search import (
    Data,
    OutOfTime,
    ReducedTable,
    Search,
    Template,
    constant,
    finished,
    permitted,
    solve,
)

NOISY = 1e-5  # leave-one-out error of a smooth curve above which the rows have noise
_ALSO = 3  # formulas of the search that are weighed as they are, beside an exact one
_NEAR = 12.0  # in score: what exact numbers may bring
_NEARLY = 3.0  # times the error of a curve of both columns: that of one alone, to be looked at
_FEW = 3  # numbers of a named law that fits, beside which no formula without a name is looked for
_REWRITTEN = 2  # forms of a law that are looked at for shorter ways to write them
_UNFINISHED = (ArithmeticError, ValueError, TypeError)  # of a form that algebra cannot finish


# -- what is tried


def add_named_laws(run: Run, rows: Rows, noise: NoiseShape, levels: Sequence[int]) -> None:
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
        if some is not rows:
            found = list(refits(found, rows, view, lambda: run.late))
        run.candidates += found


def add_products(run: Run, rows: Rows, noise: NoiseShape) -> None:
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
    return [k for k in columns if left[k] < _NEARLY * whole + NOISY]


def add_mean(run: Run, rows: Rows, noise: NoiseShape) -> None:
    """Add a mere number, so that there always is a candidate."""
    form = Form(sp.Symbol("a"), run.table.names.symbols, (sp.Symbol("a"),))
    form = form.renamed(form.inputs)
    fit = fitted(form, rows, noise, values=np.array([float(np.mean(rows.y))]))
    named = next((f for f in run.options.forms if f.name == "constant"), None)
    if fit is None:
        fit = evaluated_fit(form, rows, NoiseShape(), np.array([float(np.mean(rows.y))]))
    assert fit is not None
    run.candidates.append(Candidate(fit, PRIOR[1] + NUMBER, named))


def mean_score(run: Run, rows: Rows, noise: NoiseShape) -> float:
    mean = run.candidates[0]
    fit = fitted(mean.fit.form, rows, noise, values=mean.fit.values)
    return np.inf if fit is None else replace(mean, fit=fit).score


def add_searched(
    run: Run, rows: Rows, noise: NoiseShape, content: bool, plain: ReducedTable
) -> list[Template]:
    """Add the formulas of the search; return its templates.

    Args:
        run: under way.
        rows: that are searched on.
        noise: its model.
        content: whether there may be a law already that others must be simpler than.
        plain: these rows as the search has them where all count alike.
    """
    options = run.options
    weight = None
    if noise.model != CONSTANT:
        best = min(run.candidates, key=lambda c: c.score)
        weight = 1 / deviations(rows, best.fit.predict(rows.X), noise)
        weight = weight / np.sqrt(np.mean(weight**2)) if np.isfinite(weight).all() else None
    data = data_of(run.table, rows, weight)
    search = Search(
        data, options.after(SEARCHED), run.counter, options.forbidden, run.report,
        functions=options.functions,
    )  # fmt: skip
    search.content = content and satisfied(run, rows, noise)
    reduced = plain if weight is None else reduced_table(run, rows, weight)
    interrupted: KeyboardInterrupt | None = None
    try:
        # a step may be long: what is not begun in time is not begun
        laws = solve(replace(reduced.smooth, until=options.after(CONCLUDED)), search)
    except (KeyboardInterrupt, OutOfTime) as error:
        interrupted = error if isinstance(error, KeyboardInterrupt) else None
        run.stopped = run.interrupted = interrupted is not None  # no algebra on what there is
        run.counter.cut = True
        laws = finished(run.counter.pool, run.counter.found, data, options.forbidden)
    if not laws:  # no time for anything
        empty = replace(reduced, U=reduced.U[:, :0], variables=())
        laws = finished([constant(empty)], [], data, options.forbidden)
    if content:  # what no exact number would bring near to the named laws is left as it is
        raw = list(candidates_of(laws[:4], rows, run, noise))
        run.candidates += raw
        near = min(c.score for c in run.candidates) + _NEAR
        close = {id(c.template) for c in raw if c.score < near}
        laws = [law for law in laws[:4] if id(law) in close]
    run.report("simplifying")
    short: list[Template] = []
    for law in laws[:4]:
        if not _outdone(law, short):
            short.append(with_exact_numbers(law, data, run))
    rest = [] if content else laws[: _ALSO if short and short[0].error < EXACT else 2 * _ALSO]
    laws = sorted(short, key=lambda t: round(t.score, 3)) + rest
    run.candidates += list(candidates_of(laws, rows, run, noise))
    if interrupted is not None:
        raise interrupted
    return laws


def candidates_of(
    laws: Sequence[Template], rows: Rows, run: Run, noise: NoiseShape
) -> Iterator[Candidate]:
    """Templates of the search as candidates, and the same with exponents set free."""
    table = run.table
    known = {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    for place, law in enumerate(laws):
        if place and run.late:
            return
        free = (t for t in freed(law) if permitted(t.law, run.options.forbidden))
        for template in (law, *free):
            form = Form(template.numeric.xreplace(known), table.names.symbols, template.parameters)
            try:
                fit = fitted(form, rows, noise, values=template.values)
            except (ValueError, TypeError, NameError):  # a function without an array form
                continue
            if fit is not None and np.isfinite(fit.deviance):
                yield searched_candidate(fit, template)


def _outdone(law: Template, short: Sequence[Template]) -> bool:
    """Whether a law without a free number fits as well: then no other can be more probable."""
    return any(
        not other.parameters
        and other.rows * np.log(max(other.error, ROUNDING) / max(law.error, ROUNDING)) < CHANCE / 2
        for other in short
    )


def with_exact_numbers(law: Template, data: Data, run: Run) -> Template:
    """The law with exact numbers where the data allow it, in its shortest form."""
    if law.error < EXACT:
        law = law.pruned(data)
    if run.over or len(law.parameters) > FREE_NUMBERS or law.complexity > COMPACT:
        return law  # of an approximation no form makes a law
    found: list[Template] = []
    for form in forms(law):
        if run.over:
            break
        form = form.refined(data)
        if not form.error <= 1.05 * law.error + 1e-12:
            continue
        run.counter.candidates += 1
        with contextlib.suppress(*_UNFINISHED):
            found.append(simplified(form, data, (), dict(data.known)).weighed(data))
    found = [form for form in found if permitted(form.law, run.options.forbidden)]
    found.sort(key=lambda form: (round(form.score, 3), digits(form.law)))
    best = found[0] if found else law
    done = 0
    for form in found:
        # algebra takes most of the time, and the other forms are mostly the same law once more
        if done == _REWRITTEN or run.over:
            break
        with contextlib.suppress(*_UNFINISHED):
            short = rewritten(form, data).refined(data).weighed(data)
            done += 1
            better = short.score < best.score - 1e-3  # ties: as textbooks have it
            if better and permitted(short.law, run.options.forbidden):
                best = short
    return best


# -- what is decided


def best_by_view(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
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


def noise_by_candidates(run: Run, rows: Rows) -> tuple[NoiseShape, dict[str, float]]:
    rows = thinned(rows)
    models = possible_noise(rows, run.options.noise_model)
    top = [c for c in best_by_view(run.candidates, 6)[1:] if sane(c, rows)][:8]
    top = _first(top, 3)
    if run.late or any(exact(c.fit, rows) for c in top):
        return models[0], {}
    return chosen_noise(top, rows, models, lambda: run.late)


def sane(candidate: Candidate, rows: Rows) -> bool:
    """Return whether a candidate is no mere curve that runs wild, or of numbers that are open."""
    fit = candidate.fit
    return exact(fit, rows) or not (undetermined(fit) or wild(fit, rows))


def simple(run: Run, rows: Rows, noise: NoiseShape) -> bool:
    """Return whether a law is there that few formulas of as many numbers could rival."""
    if is_constant(rows.y) or not satisfied(run, rows, noise):
        return is_constant(rows.y)
    best = min(run.candidates, key=lambda c: c.score)
    shapeless = neighbours(best.fit, rows) < NEIGHBOURS
    return exact(best.fit, rows) or (best.fit.numbers <= _FEW and shapeless)


def satisfied(run: Run, rows: Rows, noise: NoiseShape) -> bool:
    """Return whether a law is exact, a named one fits, or nothing at all is to be found."""
    if any(exact(c.fit, rows) for c in run.candidates):
        return True
    top = ranked(list(refits(best_by_view(run.candidates, 6), rows, noise)), rows.X)[:6]
    tame = [c for c in top if c.named is not None and sane(c, rows)]
    if not tame:
        return False
    return fits(tame[0], rows, mean_score(run, rows, noise))
