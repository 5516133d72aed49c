"""From a table to weighed candidates: the catalogue, the search, the noise, the grade."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..tables import Table
from ._assemble import Weighed, assembled
from ._proposals import (
    NOISY,
    add_mean,
    add_named_laws,
    add_products,
    add_searched,
    best_by_view,
    candidates_of,
    mean_score,
    noise_by_candidates,
    sane,
    satisfied,
    simple,
    with_exact_numbers,
)
from ._run import Indices, Options, Run, data_of, is_constant, reduced_table, split
from ._thresholds import FEW_COLUMNS, FITTED_ROWS
from .claims import (
    Candidate,
    Verdict,
    best_of_each_law,
    distinct,
    exact,
    far_from_law,
    far_from_surrogate,
    formula,
    graded,
    oddities,
    outer_error,
    possible_noise,
    price_of_outliers,
    ranked,
    refits,
    refitted,
    relative_error,
    spans_decades,
    wild,
    with_oddities,
    with_simple_exponents,
)
from .finish import holds
from .fitting import (
    CONSTANT,
    GIVEN,
    QUICK,
    NoiseShape,
    Rows,
    fitted,
    robust,
)
from .law import Evidence, Grade, Law
from .search import (
    ReducedTable,
    Template,
)

_WEIGHED = 24  # candidates that are refitted under the noise that was chosen
_LAST = 15  # ... and of these, on all rows
_LATE_WEIGHED, _LATE_LAST = 6, 4  # the same when the time is up
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
    add_mean(run, part, noise)  # however short the time, there is a candidate
    noisy = few and not is_constant(part.y) and reduced.smooth.loo > NOISY
    laws: list[Template] = []
    if noisy:
        run.attempt(lambda: add_named_laws(run, part, noise, (1, 2)))
        plain, (noise, compared) = noise, noise_by_candidates(run, part)
        # of formulas that do not fit the noise cannot be told, unless it is plain to see
        sure = noise == plain or spans_decades(part) or run.over or satisfied(run, part, noise)
        seen = noise if sure else plain
        run.attempt(lambda: laws.extend(add_searched(run, part, seen, True, reduced)))
        noise, compared = (noise, compared) if sure else noise_by_candidates(run, part)
    else:
        run.attempt(lambda: laws.extend(add_searched(run, part, noise, False, reduced)))
    if not few:
        noise, compared = noise_by_candidates(run, part)
        if noise.model not in (CONSTANT, GIVEN) and time.monotonic() < options.after(0.5):
            run.report("again, since the noise grows with the target")
            run.attempt(lambda: laws.extend(add_searched(run, part, noise, False, reduced)))
    if table.X.shape[1] == 1 and not run.over and not simple(run, part, noise):
        run.attempt(lambda: add_products(run, part, noise))
        if noisy:
            noise, compared = noise_by_candidates(run, part)
    if noisy and not run.over and not satisfied(run, part, noise):
        run.attempt(lambda: add_named_laws(run, part, noise, (3,)))
    if few and not noisy:
        run.attempt(lambda: add_named_laws(run, part, noise, (1,)))
    return _Looked(rows, searched, held, reduced, noise, compared)


def _concluded(run: Run, looked: _Looked, outliers: Indices) -> Law:
    """Weigh all candidates on all rows, grade the best, and make it a law."""
    rows, searched, held, noise = looked.rows, looked.searched, looked.held, looked.noise
    cut_short = run.cut_short
    part = rows.some(searched)
    most, last = (_LATE_WEIGHED, _LATE_LAST) if run.over else (_WEIGHED, _LAST)
    chosen = best_by_view(run.candidates, most)
    if run.over:  # the best first, in case there is no time for the others
        chosen.sort(key=lambda c: c.score)
    pool = ranked(list(refits(chosen, part, noise, lambda: run.late)), part.X)
    pool = [c for c in pool if run.options.allowed(c.fit)] or pool
    pool = [c for c in pool if c.fit.numbers <= len(part.y) - _SPARE] or pool[-1:]
    tame = [c for c in pool[:last] if sane(c, part)] + pool[last:]
    final = rows if len(rows.y) <= FITTED_ROWS else rows.some(np.arange(FITTED_ROWS))
    top = _final(run, tame[:last] or pool[:last], final, noise)
    if not top:  # a row that was held out is negative, and the noise was that of logarithms
        noise = NoiseShape()
        top = _final(run, tame[:last] or pool[:last], final, noise)
    if not any(exact(c.fit, final) for c in top[:1]) and not run.over:
        top = with_simple_exponents(sorted(top, key=lambda c: c.score), final, lambda: run.late)
    names = run.table.names.columns
    top = [with_oddities(c, len(list(oddities(c.fit, final, names)))) for c in top]
    top = best_of_each_law(ranked(top, final.X))
    if exact(top[0].fit, final):
        top = _made_exact(run, top, part, final, noise)
    best = top[0]
    evidence = _evidence(run, best, rows, searched, held, looked.reduced)
    evidence = replace(evidence, stopped=cut_short)
    trusted = best.template is None or holds(best.template, data_of(run.table, part), evidence)
    verdict = graded(
        top, final, mean_score(run, final, noise), trusted=trusted, stopped=cut_short,
        beyond=tuple(oddities(best.fit, final, names)) if best.fit.numbers else (),
        over=lambda: run.late,
    )  # fmt: skip
    if verdict.grade is Grade.NOTHING:  # then nothing is said but the mean
        top = [*_final(run, run.candidates[:1], final, noise), *top]
    if is_constant(rows.y):
        top, verdict = top[:1], Verdict(Grade.ESTABLISHED, ())
    weighed = Weighed(top, final, verdict, looked.compared, tame[last:], outliers.tolist())
    # an interpolation has no numbers that mean anything, and profiles of many take long
    return assembled(
        run.table, weighed, evidence, profiled=verdict.grade.claimed, over=lambda: run.late,
        provenance={},
    )  # fmt: skip


def _final(
    run: Run, candidates: Sequence[Candidate], rows: Rows, noise: NoiseShape
) -> list[Candidate]:
    """Candidates on all rows, to the last digit while there is time; one at least."""
    out: list[Candidate] = []
    over = run.over
    for candidate in candidates:
        if out and run.late:
            break
        form, values = candidate.fit.form, candidate.fit.values
        fit = fitted(form, rows, noise, values=values, polish=not (over or run.late))
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
            short = with_exact_numbers(whole.refined(data).weighed(data), data, run)
        except NotImplementedError:  # a step has no slope
            continue
        for new in candidates_of([short], rows, run, noise):
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
        extrapolation=None if run.late else outer_error(best.fit, rows),
        surrogate=reduced.smooth.loo,
        seconds=time.monotonic() - run.options.start,
        candidates=run.counter.candidates,
        stage=_stage(best),
        route=tuple(step.text for step in steps),
        made_exact=() if template is None else tuple(step.text for step in template.exact),
    )


def _stage(best: Candidate) -> str:
    if best.template is not None:
        return best.template.stage
    return "products of functions" if best.named is None else "catalogue"


# -- rows that do not belong to the rest


def _spoilt(run: Run, rows: Rows) -> Outliers:
    """Rows to leave out before the search: far from the best named law, or from a surrogate."""
    none = np.zeros(len(rows.y), dtype=bool)
    if is_constant(rows.y):
        return none
    if rows.X.shape[1] > FEW_COLUMNS:
        return far_from_surrogate(reduced_table(run, rows, None), lambda: run.over)
    noise = possible_noise(rows, run.options.noise_model)[0]
    add_named_laws(run, rows, noise, (1, 2))
    tried = ranked(best_by_view(run.candidates, _ROBUST), rows.X)[:_ROBUST]
    run.candidates.clear()
    found: list[tuple[float, Outliers]] = []
    for candidate in tried:
        if found and run.over:
            break
        if wild(candidate.fit, rows):  # a pole beside a row explains any outlier
            continue
        out = robust(candidate.fit.form, rows, noise, QUICK, over=lambda: run.over)
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
    tried = ranked(list(refits(best_by_view(run.candidates, _ROBUST), part, looked.noise)), part.X)
    found: list[tuple[float, Outliers]] = []
    for candidate in tried[:_ROBUST]:
        if found and run.late:
            break
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
    before = best_by_view(run.candidates, _WEIGHED)[1:]
    run.candidates.clear()
    if search and time.monotonic() < run.options.after(0.5):
        run.report("again, without the outliers")
        looked = _looked(run, rows)
    else:
        searched, held = split(len(rows.y), run.options.seed)
        reduced = reduced_table(run, rows.some(searched), None)
        looked = replace(looked, rows=rows, searched=searched, held=held, reduced=reduced)
        add_mean(run, rows.some(searched), looked.noise)
    run.candidates += list(refits(before, rows.some(looked.searched), looked.noise))
    return looked
