"""Several experiments, one law: a form whose numbers are shared or a group's own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import sympy as sp

from .._core.types import Array
from ..tables import Table
from ._assemble import Weighed, assembled
from ._run import Options, Run
from ._thresholds import FEW_COLUMNS
from .claims import (
    GroupCandidate,
    Grouped,
    Verdict,
    against_groups,
    catalogued_groups,
    chosen_groups_noise,
    exact_groups,
    graded_groups,
    group_candidate,
    group_error,
    group_outliers,
    oddities,
    possible_noise,
    price_of_outliers,
    ranked_groups,
    refitted_groups,
    spans_decades,
    wild_groups,
    with_oddities,
)
from .fitting import (
    PROPORTIONAL,
    QUICK,
    THOROUGH,
    Effort,
    Form,
    GroupedFit,
    NoiseShape,
    Rows,
    fitted_groups,
    same_family,
)
from .law import Entry, Evidence, Grade, Groups, Law, Rival

ALONE = "No other form was compared: use discover to do that."
_WEIGHED = 12  # candidates that are refitted under the noise that was chosen
_LATE_WEIGHED = 4  # ... when the time is up
_NOISE_FORMS = 3  # forms that models of the noise are compared on
_ROBUST_FORMS = 3  # forms that outliers are looked for with
_ZERO = 0.01  # of the typical value: no relative error is known of what is smaller
_LEVEL = 4.6  # in score: rivals of a tenth of the weight or more


# -- a form that the user brings


def grouped_law(
    form: Form, table: Table, rows: Rows, labels: Array, noise_model: str,
    shared: Sequence[str] | None, shrink: bool, seed: int, start: float, outliers: Any,
) -> Law:  # fmt: skip
    """The law of a form for all experiments together: at most one of several."""
    data = Grouped(rows, labels)
    models = _models(rows, noise_model)
    found = group_fit(form, rows, labels, models[0], THOROUGH, shared, False, seed)
    noise, compared = models[0], {models[0].model: 1.0}
    if not exact_groups(found, data):
        noise, compared = chosen_groups_noise([group_candidate(found)], data, models)
    if noise != models[0]:
        found = group_fit(form, rows, labels, noise, THOROUGH, shared, False, seed)
    candidate = group_candidate(found)
    verdict = _verdict_alone(candidate, data, table.names.columns)
    if shrink:
        found = group_fit(form, rows, labels, noise, THOROUGH, shared, True, seed)
        candidate = group_candidate(found)
    evidence = Evidence(
        rows=len(rows.y), noise=np.nan, error=np.nan, stage="form",
        seconds=time.monotonic() - start, candidates=1,
    )  # fmt: skip
    weighed = Weighed([candidate], rows, verdict, compared, (), outliers)
    law = assembled(table, weighed, evidence, profiled=False)
    return with_groups(law, [candidate], table, data)


def _verdict_alone(candidate: GroupCandidate, data: Grouped, names: Sequence[str]) -> Verdict:
    odd = tuple(oddities(candidate.fit, data.rows, names)) if candidate.fit.numbers else ()
    means = _means(data, candidate.fit.form.inputs, candidate.found.noise)
    verdict = graded_groups([candidate], data, means.score, beyond=odd)
    if verdict.grade is Grade.ESTABLISHED:
        return Verdict(Grade.SEVERAL, (ALONE,))
    return verdict


def group_fit(
    form: Form, rows: Rows, labels: Array, noise: NoiseShape, effort: Effort,
    shared: Sequence[str] | None = None, shrink: bool = False, seed: int = 0,
) -> GroupedFit:  # fmt: skip
    """Fit a form to all groups; raises if it has no value on some rows."""
    found = fitted_groups(
        form, rows, labels, noise, shared=shared, shrink=shrink, effort=effort, seed=seed
    )
    if found is None:
        raise ValueError(f"{form.expression} has no value on some rows, whatever its numbers")
    return found


# -- a form that is looked for


def discovered_groups(table: Table, options: Options) -> Law:
    """The law that several experiments share: one form, numbers shared or own as the rows have it.

    Args:
        table: of one or two inputs, with the experiment of each row.
        options: what was asked for.
    """
    if table.X.shape[1] > FEW_COLUMNS:
        raise ValueError(
            f"a law of several experiments is looked for in {FEW_COLUMNS} inputs at most, and "
            f"there are {table.X.shape[1]}, {list(table.names.columns)}; choose some by "
            "names=[...], or fit a form with fit_law(form, ..., by=...)"
        )
    assert table.groups is not None, "a table without groups"
    search = _Search(table, options)
    search.look()
    return search.concluded()


class _Search:
    """A search for the form of several experiments, under way."""

    def __init__(self, table: Table, options: Options) -> None:
        assert table.groups is not None
        self.table, self.options, self.run = table, options, Run(table, options)
        self.data = Grouped(Rows(table.X, table.y, table.sigma, table.x_sigma), table.groups)
        self.outliers = np.zeros(0, dtype=int)
        self.models = _models(self.data.rows, options.noise_model)
        self.noise, self.compared = self.models[0], {self.models[0].model: 1.0}
        self.means = _means(self.data, table.names.symbols, self.noise)
        self.found: list[GroupCandidate] = [self.means]

    def look(self) -> None:
        """Named laws, the noise, and rare laws if none of the others fits."""
        self.run.attempt(lambda: self._textbook(self._views(), (1, 2)))
        if self.options.robust:
            self.run.attempt(self._without_outliers)
        self.run.attempt(self._choose_noise)
        enough = time.monotonic() < self.options.after(0.6)
        if enough and not self.run.over and any(against_groups(self.best[0], self.data)):
            self.run.attempt(lambda: self._textbook([self.noise], (3,)))

    @property
    def best(self) -> list[GroupCandidate]:
        """Candidates under the noise that was chosen, the most probable first."""
        same = [c for c in self.found if c.found.noise == self.noise]
        return ranked_groups(same or self.found, self.data)

    def _views(self) -> list[NoiseShape]:
        """Models of the noise that forms are looked at with before one is chosen."""
        relative = [m for m in self.models if m.model == PROPORTIONAL][:1]
        return [self.noise, *(relative if spans_decades(self.data.rows) else [])]

    def _textbook(self, views: Sequence[NoiseShape], levels: Sequence[int]) -> None:
        wanted = [f for f in self.options.forms if f.common in levels]
        for view in views:
            self.run.report("rare laws" if 3 in levels else "named laws")
            self.run.counter.candidates += len(wanted)
            catalogued_groups(
                wanted, self.data, self.table.names.symbols, view,
                forbidden=self.options.forbidden, over=lambda: self.run.over, told=self._add,
            )  # fmt: skip

    def _add(self, candidate: GroupCandidate) -> None:
        if not self.options.allowed(candidate.fit):
            return
        self.found.append(candidate)
        self.run.candidates.append(candidate)
        if candidate is min(self.run.candidates, key=lambda c: c.score):
            self.run.report("named laws")

    def _choose_noise(self) -> None:
        """The model of the noise, and the best candidates under it."""
        self.run.report("noise")
        top = _first(_tame(self.found[1:], self.data, 6), _NOISE_FORMS)
        if not top or any(exact_groups(c.found, self.data) for c in top):
            return
        noise, compared = chosen_groups_noise(top, self.data, self.models)
        refits = list(self._refits(noise)) if noise != self.noise else []
        self.noise, self.compared = noise, compared
        self.found += refits

    def _refits(self, noise: NoiseShape) -> Iterator[GroupCandidate]:
        ranking = sorted(self.found[1:], key=lambda c: c.score)
        once = {c.found.form.expression: c for c in reversed(ranking)}  # the better view of a form
        yield self.means.with_found(_means(self.data, self.table.names.symbols, noise).found)
        for candidate in sorted(once.values(), key=lambda c: c.score)[:_WEIGHED]:
            found = refitted_groups(candidate.found, self.data, noise, again=True)
            if found is not None and found.determined:
                yield candidate.with_found(found)

    def _without_outliers(self) -> None:
        """Leave out rows that do not belong to the best form, and look again."""
        tried = []
        for candidate in ranked_groups(self.found[1:], self.data)[:_ROBUST_FORMS]:
            out = group_outliers(candidate.found, self.data)
            kept = self.data.some(np.flatnonzero(~out))
            found = refitted_groups(candidate.found, kept, candidate.found.noise)
            if found is not None and out.mean() <= 0.25:
                price = price_of_outliers(self.data.rows, int(out.sum()))
                tried.append((candidate.with_found(found).score + price, out))
        out = min(tried, key=lambda pair: pair[0])[1] if tried else np.zeros(0, dtype=bool)
        if not out.any():
            return
        self.outliers = np.flatnonzero(out)
        self.data = self.data.some(np.flatnonzero(~out))
        self.means = _means(self.data, self.table.names.symbols, self.noise)
        again, self.found = self.found[1:], [self.means]
        self.run.candidates.clear()
        for candidate in sorted(again, key=lambda c: c.score)[:_ROBUST_FORMS]:
            found = refitted_groups(candidate.found, self.data, candidate.found.noise, again=True)
            if found is not None:
                self._add(candidate.with_found(found))
        self._textbook(self._views(), (1, 2))

    def concluded(self) -> Law:
        """Weigh what was found, grade the best, and make it a law."""
        run, rows, names = self.run, self.data.rows, self.table.names.columns
        run.stopped = run.cut_short
        run.report("weighing")
        top = _tame(self.best, self.data, _LATE_WEIGHED if run.late else _WEIGHED)
        odd = [tuple(oddities(c.fit, rows, names)) for c in top]
        weighed = [_with_odd(c, len(o)) for c, o in zip(top, odd, strict=True)]
        beyond = {c.found.form.expression: o for c, o in zip(top, odd, strict=True)}
        top = _one_of_each_family(ranked_groups(weighed, self.data), self.table)
        best = top[0]
        mean = _means(self.data, self.table.names.symbols, best.found.noise)
        verdict = graded_groups(
            top, self.data, mean.score, stopped=run.stopped,
            beyond=beyond[best.found.form.expression], over=lambda: run.late,
        )  # fmt: skip
        evidence = Evidence(
            rows=len(rows.y), noise=np.nan, error=np.nan, stage="catalogue", stopped=run.stopped,
            seconds=time.monotonic() - self.options.start, candidates=run.counter.candidates,
        )  # fmt: skip
        law = assembled(
            self.table,
            Weighed(top, rows, verdict, self.compared, (), self.outliers.tolist()),
            evidence,
            profiled=False,
        )
        return with_groups(law, top, self.table, self.data)


def _models(rows: Rows, wanted: str) -> list[NoiseShape]:
    """Possible models of the noise; a relative error alone is none where the target is zero."""
    models = possible_noise(rows, wanted)
    if wanted != "auto" or not (np.abs(rows.y) < _ZERO * rows.typical).any():
        return models
    return [m for m in models if m.model != PROPORTIONAL or m.floor > 0]


def _means(data: Grouped, inputs: Sequence[sp.Symbol], noise: NoiseShape) -> GroupCandidate:
    """A number for each experiment, or for all: what every law must beat."""
    name = sp.Symbol("a")
    while name in inputs:
        name = sp.Symbol(name.name + "_")
    form = Form(name, tuple(inputs), (name,))
    means = [[float(np.mean(data.rows.y[i]))] for i in data.places.values()]
    for model in (noise, NoiseShape()):
        found = fitted_groups(
            form, data.rows, data.labels, model, values=np.array(means), effort=QUICK
        )
        if found is not None:
            return group_candidate(found)
    raise AssertionError("a mean has a value on every row")


def _tame(candidates: Sequence[GroupCandidate], data: Grouped, count: int) -> list[GroupCandidate]:
    """The best that do not run away between rows; the very best if all do."""
    out: list[GroupCandidate] = []
    for candidate in sorted(candidates, key=lambda c: c.score):
        if len(out) == count:
            break
        if not wild_groups(candidate.found, data):
            out.append(candidate)
    return out or list(candidates[:1])


def _first(candidates: Sequence[GroupCandidate], count: int) -> list[GroupCandidate]:
    """The first few of each view of the noise."""
    views: dict[NoiseShape, list[GroupCandidate]] = {}
    for candidate in candidates:
        views.setdefault(candidate.found.noise, []).append(candidate)
    return [c for view in views.values() for c in view[:count]]


def _with_odd(candidate: GroupCandidate, count: int) -> GroupCandidate:
    return replace(candidate, prior=with_oddities(candidate, count).prior)


def _one_of_each_family(candidates: Sequence[GroupCandidate], table: Table) -> list[GroupCandidate]:
    """The candidates without the best one's other ways of writing, which are no rivals of it."""
    best = candidates[0]
    box = list(zip(table.X.min(0).tolist(), table.X.max(0).tolist(), strict=True))
    out = [best]
    for other in candidates[1:]:
        level = other.score - best.score < _LEVEL and other.fit.numbers == best.fit.numbers
        typical = other.fit.form.with_numbers(other.fit.values)
        if not (level and same_family(typical, best.fit.form, box)):
            out.append(other)
    return out


# -- the law


def with_groups(law: Law, candidates: Sequence[GroupCandidate], table: Table, data: Grouped) -> Law:
    """The law with the numbers of each group, and errors of all groups together.

    Args:
        law: of the first candidate, without profiles: these would be of one curve through all rows.
        candidates: the most probable first.
        table: the whole one.
        data: its rows and groups.
    """
    found = candidates[0].found
    error = group_error(found, data)
    free = max(found.rows - found.numbers, 1)
    rivals = tuple(
        replace(rival, error=group_error(candidate.found, data))
        for rival, candidate in zip(law.rivals, candidates, strict=False)
    )
    return replace(
        law,
        groups=Groups(
            table.by, tuple(found.shared), tuple(found.own), _by_group(found), dict(found.spread),
            found.shrunk,
        ),
        evidence=replace(
            law.evidence, error=error, noise=error * float(np.sqrt(found.rows / free))
        ),
        noise=replace(law.noise, scale=float(found.scale)),
        rivals=rivals,
        pareto=_front(rivals),
    )  # fmt: skip


def _by_group(found: GroupedFit) -> pd.DataFrame:
    columns: dict[str, Array] = {}
    for k, parameter in enumerate(found.form.parameters):
        columns[parameter.name] = found.values[:, k]
        columns[f"{parameter.name} stderr"] = found.errors[:, k]
    return pd.DataFrame(columns, index=[str(g) for g in found.groups])


def _front(rivals: Sequence[Rival]) -> tuple[Entry, ...]:
    """Formulas than which none is both simpler and better, and the law itself."""
    kept: list[Entry] = []
    for rival in sorted(rivals, key=lambda r: (r.complexity + r.parameters, r.error)):
        if rival.own or not kept or rival.error < 0.999 * min(e.error for e in kept):
            kept.append(Entry(rival.formula, rival.complexity, rival.error, rival.parameters))
    return tuple(kept)
