"""A law of several experiments: weighed, tested and graded with the numbers of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..._core.types import Array
from .._thresholds import (
    ASTRAY,
    COMPARABLE,
    EXACT,
    MOST_OF_IT,
    NEIGHBOURS,
    OVER_CHANCE,
    OVER_SMOOTH,
    RESIDUAL_SHAPE,
    STABLE,
    STRONG_SHAPE,
    UNLIKELY,
)
from ..catalogue import NamedForm
from ..fitting import (
    CONSTANT,
    GIVEN,
    LOG_NORMAL,
    Fit,
    GroupedFit,
    NoiseShape,
    Rows,
    deviations,
    fitted_groups,
    inverse_gram,
)
from ..law import Grade
from ..search import small_sample
from ._beyond import wild
from ._grade import Verdict
from ._noise import EVIDENCE, shares
from ._smooth import smooth_groups_deviance, some_rows
from ._tests import VAGUE, lack_of_fit, missed_by_chance, neighbours, shape_left
from ._weigh import PRIOR, Candidate, named_candidate, weights

_CLOSE = 4  # rivals that the choice is repeated among
_LEFT_OUT = 12  # times that it is repeated, at most
_FEW_GROUPS = 4  # below, rows are left out in place of groups
_NEIGHBOURS = 4  # rows of a group that has neighbours
_SMOOTH_ROWS = 4  # rows of a group that a smooth curve is looked for in
_OUTLIER = 4.5  # robust standard deviations


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows of several experiments.

    Args:
        rows: of all.
        labels: the experiment of each row.
    """

    rows: Rows
    labels: Array

    @property
    def places(self) -> dict[str, Array]:
        """Rows of each experiment, in order of appearance."""
        return {g: np.flatnonzero(self.labels == g) for g in dict.fromkeys(self.labels.tolist())}

    def some(self, chosen: Array) -> Grouped:
        """Some of the rows."""
        return Grouped(self.rows.some(chosen), self.labels[chosen])


@dataclass(frozen=True, eq=False)
class GroupCandidate(Candidate):
    """A form with numbers for each experiment; its `fit` is that of a typical one.

    Attributes:
        found: the fit of all.
    """

    found: GroupedFit = field(kw_only=True)

    @property
    def score(self) -> float:
        """Minus twice the log of its posterior probability: BIC of all numbers, and prior.

        Many numbers on few rows are charged for as in the choice of what is shared.
        """
        n, k = self.found.rows, self.found.numbers
        return float(self.found.score + small_sample(n, k + 1) + self.prior)

    def with_found(self, found: GroupedFit) -> GroupCandidate:
        """The candidate on other rows or under other noise."""
        return replace(self, found=found, fit=typical_fit(found))


def group_candidate(found: GroupedFit, named: NamedForm | None = None) -> GroupCandidate:
    """A form as a candidate; the prior charges for the numbers of the form, not of all groups."""
    fit = typical_fit(found)
    prior = 0.0 if named is None else named_candidate(fit, named).prior
    return GroupCandidate(fit, prior, named, found=found)


def typical_fit(found: GroupedFit) -> Fit:
    """The fit of a typical group: shared numbers, and the mean of the others."""
    return Fit(
        found.form, found.typical, found.noise, found.scale, found.deviance, found.rows,
        found.covariance, found.miss,
    )  # fmt: skip


def refitted_groups(
    found: GroupedFit, data: Grouped, noise: NoiseShape, *, again: bool = False
) -> GroupedFit | None:
    """The same form on other rows of the same experiments, from where it is.

    Args:
        found: where it is.
        data: the other rows.
        noise: their model.
        again: whether it is chosen anew what is shared.
    """
    place = {g: k for k, g in enumerate(found.groups)}
    values = found.values[[place[g] for g in data.places]]
    own = None if again else found.own
    fit = fitted_groups(found.form, data.rows, data.labels, noise, own=own, values=values)
    return fit if fit is not None and np.isfinite(fit.deviance) else None


def ranked_groups(candidates: Sequence[GroupCandidate], data: Grouped) -> list[GroupCandidate]:
    """The candidates, the most probable first, each set of curves once.

    Without noise the one with the fewest numbers comes first.
    """
    kept: list[GroupCandidate] = []
    said: list[Array] = []
    for candidate in sorted(candidates, key=lambda c: c.score):
        new = candidate.found.predict(data.rows.X, data.labels)
        if not any(map(_same, [candidate] * len(kept), kept, [new] * len(kept), said)):
            kept.append(candidate)
            said.append(new)
    exact = [c for c in kept if exact_groups(c.found, data)]
    first = sorted(exact, key=lambda c: (c.found.numbers, c.prior))
    return [*first, *(c for c in kept if c not in exact)]


def _same(a: GroupCandidate, b: GroupCandidate, said_a: Array, said_b: Array) -> bool:
    """Return whether two candidates are one form, or say the same to a hundredth of the noise."""
    if a.found.form.expression == b.found.form.expression:
        return True
    miss = float(np.mean(np.abs(said_a - said_b)))
    level = float(np.mean(np.abs(b.fit.miss))) * b.fit.scale
    if b.fit.noise.model != CONSTANT:
        level *= float(np.mean(np.abs(said_b)))
    return abs(a.fit.deviance - b.fit.deviance) < 0.05 and miss <= 0.003 * level


def group_error(found: GroupedFit, data: Grouped) -> float:
    """Root mean square of the misses of all experiments over the spread of the target."""
    left = data.rows.y - found.predict(data.rows.X, data.labels)
    spread = float(np.std(data.rows.y)) or float(np.abs(data.rows.y).max()) or 1.0
    return float(np.sqrt(np.mean(left**2))) / spread


def exact_groups(found: GroupedFit, data: Grouped) -> bool:
    """Return whether nothing is left over but rounding."""
    return group_error(found, data) < EXACT


def wild_groups(found: GroupedFit, data: Grouped) -> bool:
    """Return whether the curve of some experiment runs away between its rows."""
    for k, chosen in enumerate(data.places.values()):
        fit = replace(typical_fit(found), values=found.values[k])
        if wild(fit, data.rows.some(chosen)):
            return True
    return False


# -- the noise


def chosen_groups_noise(
    candidates: Sequence[GroupCandidate], data: Grouped, models: Sequence[NoiseShape]
) -> tuple[NoiseShape, dict[str, float]]:
    """The model of the noise under which the best candidate is most probable; weights of all."""
    if len(models) == 1:
        return models[0], {models[0].model: 1.0}
    scores: dict[NoiseShape, float] = {}
    for model in models:
        for candidate in candidates:
            found = refitted_groups(candidate.found, data, model)
            if found is not None:
                score = candidate.with_found(found).score + model.numbers * np.log(found.rows)
                scores[model] = min(scores.get(model, np.inf), float(score))
    best = min(scores, key=lambda m: scores[m], default=models[0])
    plain = scores.get(models[0], np.inf)
    if best.model != CONSTANT and plain - scores[best] < EVIDENCE:
        best = models[0]
    return best, shares(scores)


def group_outliers(found: GroupedFit, data: Grouped) -> Array:
    """Rows that do not belong to the rest of their experiment, True (rows,).

    Weights fall with the distance, at last to nothing (Tukey's bisquare), as in `robust`; the scale
    is that of all experiments.
    """
    rows = data.rows
    base = deviations(rows, np.abs(rows.y), found.noise)
    ratio = np.ones(len(rows.y))
    for step in range(20):
        left = np.abs(rows.y - found.predict(rows.X, data.labels)) / base
        free = len(left) / max(len(left) - found.numbers, 1)
        ratio = left / (1.4826 * float(np.median(left)) * np.sqrt(free) or 1e-300)
        # absolute deviations first, so that the start is not that of the outliers
        weight = 1 / np.maximum(ratio, 0.3) if step < 8 else np.maximum(1 - (ratio / 6) ** 2, 1e-6)
        root = np.sqrt(weight) if step < 8 else weight
        part = Grouped(Rows(rows.X, rows.y, base / root), data.labels)
        new = refitted_groups(found, part, NoiseShape(GIVEN))
        if new is None:
            break
        settled = np.allclose(new.values, found.values, rtol=1e-6) and step > 8
        found = new
        if settled:
            break
    return np.asarray(ratio > _OUTLIER)


# -- the grade


def graded_groups(
    candidates: Sequence[GroupCandidate],
    data: Grouped,
    constant: float,
    *,
    stopped: bool = False,
    beyond: Sequence[str] = (),
    over: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Grade the first of some candidates.

    Args:
        candidates: the most probable first.
        data: the rows.
        constant: score of a number for each experiment, or for all.
        stopped: whether the search ran out of time.
        beyond: what is odd about the formula just outside of the data.
        over: whether the time is up: then tests that take long are left out, and the formula is not
            called established.
    """
    best = candidates[0]
    if not best.found.form.expression.has(*best.found.form.inputs):
        return Verdict(Grade.NOTHING, ("No input was found to matter.",))
    if constant - best.score < OVER_CHANCE:
        return Verdict(
            Grade.NOTHING, ("It does not fit significantly better than the means of the groups.",)
        )
    if exact_groups(best.found, data):
        enough = best.found.rows >= best.found.numbers + 3 and not beyond
        return Verdict(Grade.ESTABLISHED if enough else Grade.SEVERAL, tuple(beyond))
    against = tuple(against_groups(best, data, over))
    if against:
        return Verdict(Grade.INTERPOLATION, (*against, *beyond))
    close = candidates[:_CLOSE]
    alone = stopped or len(close) < 2 or over()
    stable = None if alone else group_stability(close, data, over)
    doubts = (*_doubts(candidates, data, stable, stopped or over()), *beyond)
    return Verdict(Grade.SEVERAL if doubts else Grade.ESTABLISHED, doubts, stable)


def against_groups(
    best: GroupCandidate, data: Grouped, over: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Reasons to take the formula for mere curves through the rows."""
    large = [i for i in data.places.values() if len(i) >= _SMOOTH_ROWS]
    count, found = sum(map(len, large)), best.found
    if count >= 2 * _SMOOTH_ROWS and data.rows.x_sigma is None:
        parts = [some_rows(data.rows.some(i)) for i in large]
        covered = sum(len(part.y) for part in parts) / found.rows
        curve = smooth_groups_deviance(parts, found.noise, over)
        if curve is None:
            yield "There was no time to compare it with smooth nonparametric curves."
        elif curve + PRIOR[1] - (best.score - (1 - covered) * found.deviance) < OVER_SMOOTH:
            yield "Smooth nonparametric curves describe the groups as well."
    if group_neighbours(found, data) > STRONG_SHAPE:
        yield "The residuals are not random: those of neighbouring rows are correlated."


def group_neighbours(found: GroupedFit, data: Grouped) -> float:
    """How much more alike neighbours are missed than by chance, in deviations.

    Neighbours within each experiment, and those of all experiments together: a form that is wrong
    misses all of them at the same place.
    """
    out = [neighbours(typical_fit(found), data.rows)]
    for column in data.rows.X.T:
        products = power = count = 0.0
        for chosen in data.places.values():
            left = found.miss[chosen][np.argsort(column[chosen], kind="stable")]
            if len(left) >= _NEIGHBOURS:
                products += float(left[1:] @ left[:-1])
                power, count = power + float(left @ left), count + len(left)
        if power > 0:
            out.append(products / power * float(np.sqrt(count)))
    return max(out)


def group_lack_of_fit(found: GroupedFit, data: Grouped) -> float | None:
    """Probability of so large a misfit beside the scatter of replicates within experiments."""
    place = {g: k for k, g in enumerate(data.places)}
    index = np.array([place[g] for g in data.labels.tolist()], dtype=float)
    rows = Rows(np.column_stack([data.rows.X, index]), data.rows.y)
    return lack_of_fit(typical_fit(found), rows, found.numbers)


def group_outer_part(found: GroupedFit, data: Grouped) -> float | None:
    """Probability of the misses on either end of the experiments, predicted from their rest.

    As `outer_part`, with the third of the rows at an end of each experiment and the numbers of all
    fitted together. Experiments whose own numbers the rest does not fix are not predicted. None for
    few rows, or if none can be.
    """
    form = found.form
    used = [i for i, s in enumerate(form.inputs) if form.expression.has(s)]
    if not used or found.rows < max(12, 3 * found.numbers + 3):
        return None
    known = []
    for column in used:
        for end in (1, -1):
            outer = _ends(data, end * data.rows.X[:, column])
            inner = np.setdiff1d(np.arange(found.rows), outer)
            if len(outer) and len(inner) > found.numbers + 3:
                chance = _outer_chance(found, data.some(inner), data.some(outer))
                known += [] if chance is None else [chance]
    return min(min(known) * len(known), 1.0) if known else None


def _ends(data: Grouped, column: Array) -> Array:
    """The third of the rows of each experiment with the largest values."""
    thirds = [
        chosen[np.argsort(column[chosen], kind="stable")][len(chosen) - len(chosen) // 3 :]
        for chosen in data.places.values()
    ]
    return np.sort(np.concatenate(thirds))


def _outer_chance(found: GroupedFit, inner: Grouped, outer: Grouped) -> float | None:
    part = refitted_groups(found, inner, found.noise)
    if part is None:
        return None
    typical = inner.rows.typical
    with np.errstate(all="ignore"):
        unit = inverse_gram(_misses(part, inner, typical)[1])
        fixed = _fixed(part, unit)
        chosen = np.flatnonzero([g in fixed for g in outer.labels.tolist()])
        if not len(chosen):
            return None
        miss, J = _misses(part, outer.some(chosen), typical)
    scale = max(part.scale, 1e-300)
    return missed_by_chance(miss, J, unit, scale, part.rows - part.numbers)


def _fixed(part: GroupedFit, unit: Array) -> set[str]:
    """Experiments all of whose numbers are known to 30%, so that errors are linear."""
    errors = part.scale * np.sqrt(np.abs(np.diag(unit)))
    good = set()
    for k, group in enumerate(part.groups):
        own = errors[_places(part, k)]
        if (own <= VAGUE * np.abs(part.values[k])).all():
            good.add(group)
    return good


def _places(found: GroupedFit, group: int) -> Array:
    """Where the numbers of an experiment stand among all: first what is shared, then each own."""
    shared, own = list(found.shared), list(found.own)
    return np.array(
        [
            shared.index(p.name)
            if p.name in shared
            else len(shared) + group * len(own) + own.index(p.name)
            for p in found.form.parameters
        ],
        dtype=int,
    )


def _misses(found: GroupedFit, data: Grouped, typical: float) -> tuple[Array, Array]:
    """What is left over of rows in units of the noise, and its slopes in all numbers.

    Args:
        found: the fit.
        data: rows of its experiments.
        typical: size of the target that a floor of the noise is relative to.
    """
    number = {g: k for k, g in enumerate(found.groups)}
    count = len(found.shared) + len(found.groups) * len(found.own)
    miss, slopes = np.empty(len(data.labels)), np.zeros((len(data.labels), count))
    for group, chosen in data.places.items():
        k, rows = number[group], data.rows.some(chosen)
        values = found.values[k]
        said, J = found.form.value(rows.X, values), found.form.jacobian(rows.X, values)
        if found.noise.model == LOG_NORMAL:
            left, spread = np.log(rows.y) - np.log(said), said
        else:
            noise = replace(found.noise, floor=found.noise.floor * typical / rows.typical)
            spread = deviations(rows, said, noise, found.form, values)
            left = (rows.y - said) / spread
        miss[chosen] = left
        slopes[np.ix_(chosen, _places(found, k))] = J / spread[:, None]
    return miss, slopes


def group_stability(
    candidates: Sequence[GroupCandidate], data: Grouped, over: Callable[[], bool] = lambda: False
) -> float:
    """How often the first is chosen again with an experiment left out (rows, if there are few).

    Once the time is over, this is not done again.
    """
    won = total = 0
    for chosen in _parts(data):
        if total and over():
            break
        part = data.some(chosen)
        scores = []
        for candidate in candidates:
            found = refitted_groups(candidate.found, part, candidate.found.noise)
            scores.append(np.inf if found is None else candidate.with_found(found).score)
        total, won = total + 1, won + (int(np.argmin(scores)) == 0)
    return won / total


def _parts(data: Grouped) -> Iterator[Array]:
    """Rows that stay when something is left out."""
    rng, places = np.random.default_rng(0), list(data.places.values())
    if len(places) >= _FEW_GROUPS:
        for k in rng.permutation(len(places))[:_LEFT_OUT]:
            yield np.sort(np.concatenate([p for j, p in enumerate(places) if j != k]))
        return
    for _ in range(_LEFT_OUT):
        kept = [rng.permutation(p)[len(p) // 5 :] for p in places]
        yield np.sort(np.concatenate(kept))


def _doubts(
    candidates: Sequence[GroupCandidate], data: Grouped, stable: float | None, stopped: bool
) -> Iterator[str]:
    """Reasons not to call the formula established."""
    best, share = candidates[0], weights(candidates)
    if len(share) > 1 and (share[1] > COMPARABLE * share[0] or share[0] < MOST_OF_IT):
        other = candidates[1].name or "a formula without a name"
        ratio = f"(weight {share[1]:.2f} to {share[0]:.2f})"
        yield f"{other[0].upper()}{other[1:]} fits as well {ratio}."
    if stable is not None and stable < STABLE:
        what = "a group" if len(data.places) >= _FEW_GROUPS else "a fifth of the rows"
        yield f"When {what} is left out, it is selected in {100 * stable:.0f}% of the trials."
    shape = group_neighbours(best.found, data) > NEIGHBOURS
    if shape or shape_left(best.fit, data.rows) > RESIDUAL_SHAPE:
        yield "The residuals show a pattern."
    lack = group_lack_of_fit(best.found, data)
    if lack is not None and lack < UNLIKELY:
        yield f"Lack of fit: the replicates scatter less than the residuals (p = {lack:.1g})."
    outer = group_outer_part(best.found, data)
    if outer is not None and outer < ASTRAY:
        yield "Fitted to part of the range, it does not predict the rest within its errors."
    for name in _mixed_signs(best.found):
        yield f"{name} is positive in some groups and negative in others."
    if stopped:
        yield "The search ran out of time."


def _mixed_signs(found: GroupedFit) -> Iterator[str]:
    """Own numbers whose sign differs between experiments by more than their errors."""
    for k, parameter in enumerate(found.form.parameters):
        sure = found.values[:, k][np.abs(found.values[:, k]) > 3 * found.errors[:, k]]
        if len(sure) and sure.min() < 0 < sure.max():
            yield parameter.name
