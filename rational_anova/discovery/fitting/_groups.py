"""Several experiments, one form: numbers that all share beside numbers of a group's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ..._core.least_squares import lstsq
from ..._core.types import Array
from ._descent import QUICK, Effort, descended
from ._fit import GIVEN, POISSON, NoiseShape, Rows, deviations
from ._form import Form, evaluated
from ._joint import Descent, Experiments
from ._sharing import Choice
from ._symmetry import canonical

_STEADY = NoiseShape()
_ROUNDS = 200  # of the search for the spread between groups
_UNDETERMINED = 10.0  # relative error of most numbers
_ABSURD = 1e60  # no number of a law is as large
_SETTLED = 1e-4  # relative change of the spread that ends it


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """One form with numbers for each group.

    Attributes:
        form: what was fitted.
        groups: labels in order of appearance.
        shared: parameters that are the same in all groups.
        own: parameters that each group has for itself.
        values: (groups, parameters).
        errors: standard errors of these; infinite where the rows of a group do not fix its own.
        typical: of a typical group (parameters,): what is shared, and the mean of the others.
        covariance: of the typical parameters as those of all such groups, of which these are a
            sample.
        noise: the model of the noise.
        scale: by which the model's standard deviations are multiplied.
        deviance: minus twice the log likelihood; where own parameters are shrunk, that of the rows
            with these integrated out (Laplace).
        numbers: how many were fitted.
        rows: how many.
        miss: what is left over, in standard deviations (rows,).
        spread: standard deviation of own parameters between groups, errors of estimation excluded.
        shrunk: whether own parameters are drawn towards their mean.
        logged: own parameters that were drawn on the scale of their logarithm.
        between: covariance of own parameters between groups, (own, own), on that scale.
        compared: sets of shared parameters that were tried and their scores, the best first.
    """

    form: Form
    groups: tuple[Any, ...]
    shared: tuple[str, ...]
    own: tuple[str, ...]
    values: Array
    errors: Array
    typical: Array
    covariance: Array
    noise: NoiseShape
    scale: float
    deviance: float
    numbers: int
    rows: int
    miss: Array
    spread: dict[str, float]
    shrunk: bool = False
    logged: tuple[str, ...] = ()
    between: Array = field(default_factory=lambda: np.zeros((0, 0)))
    compared: tuple[tuple[tuple[str, ...], float], ...] = ()

    @property
    def score(self) -> float:
        """Deviance with a charge for each number (BIC); the lower the better."""
        return float(self.deviance + self.numbers * np.log(self.rows))

    @property
    def determined(self) -> bool:
        """Whether the rows say how large its numbers are; if not, a limit of the form is meant."""
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.abs(np.diagonal(self.covariance))) / np.abs(self.typical)
        sane = np.isfinite(self.typical) & (np.abs(self.typical) < _ABSURD)
        return bool(sane.all() and not np.median(errors) > _UNDETERMINED)

    def predict(self, X: Array, labels: Sequence[Any] | Array | None = None) -> Array:
        """What the formula says for rows of known groups; for a typical group without labels."""
        if labels is None:
            return self.form.value(X, self.typical)
        place = {label: k for k, label in enumerate(self.groups)}
        unknown = [label for label in _listed(labels) if label not in place]
        if unknown:
            raise ValueError(
                f"group {unknown[0]!r} was not fitted, only {list(self.groups)} were; "
                "leave out labels for a typical group"
            )
        index = np.array([place[label] for label in _listed(labels)], dtype=int)
        columns = (*self.form.inputs, *self.form.parameters)
        return evaluated((self.form.expression,), columns, np.hstack([X, self.values[index]]))[0]


def fitted_groups(
    form: Form, rows: Rows, labels: Sequence[Any] | Array, noise: NoiseShape = _STEADY, *,
    shared: Sequence[str] | None = None, own: Sequence[str] | None = None, shrink: bool = False,
    effort: Effort = QUICK, values: Array | None = None, seed: int = 0,
) -> GroupedFit | None:  # fmt: skip
    """Fit one form to several groups of rows together; None if it has no value on them.

    Args:
        form: of all groups.
        rows: the data.
        labels: which group each row belongs to (rows,).
        noise: model of the noise, with one scale for all groups.
        shared: parameters that all groups share; the others are their own.
        own: parameters that each group has for itself; the others are shared. Without either, the
            rows decide: by the deviance with a charge for each number.
        shrink: whether own parameters are drawn towards their mean, the more the less a group's
            rows say (empirical Bayes).
        effort: how hard to look for starts.
        values: where to begin, (parameters,) or (groups, parameters), in place of a search.
        seed: of the starts.

    Example:
        >>> x = np.tile(np.linspace(1, 5, 9), 2)
        >>> run = np.repeat(["first", "second"], 9)
        >>> y = np.where(run == "first", 3, 5) * np.exp(-0.7 * x) + 0.001 * np.cos(9 * x)
        >>> found = fitted_groups(Form.of("a*exp(-b*x)", ["x"]), Rows(x[:, None], y), run)
        >>> found.shared, found.own, found.values.round(1).tolist()
        (('b',), ('a',), [[3.0, 0.7], [5.0, 0.7]])
    """
    listed = _listed(labels)
    if len(listed) != len(rows.y):
        raise ValueError(f"there are {len(listed)} labels for {len(rows.y)} rows; give one each")
    groups = tuple(dict.fromkeys(listed))
    place = {label: k for k, label in enumerate(groups)}
    index = np.array([place[label] for label in listed], dtype=int)
    order = np.argsort(index, kind="stable")
    data = Experiments(form, rows.some(order), index[order], noise)
    choice = Choice(data, _starts(data, effort, values, seed), not effort.polish, values is None)
    found = choice.best(_named(form, shared, own))
    if found is None:
        return None
    record = _shrunk if shrink and found.layout.own and data.count > 1 else _plain
    try:
        fit = record(data, found)
    except np.linalg.LinAlgError:  # slopes that overflow
        return None
    compared = tuple((_names(form, key, True), score) for key, score in choice.scores)
    miss = np.empty(len(order))
    miss[order] = fit.miss
    return replace(fit, groups=groups, miss=miss, compared=compared)


def _listed(labels: Sequence[Any] | Array) -> list[Any]:
    return list(np.asarray(labels).tolist())


def _named(
    form: Form, shared: Sequence[str] | None, own: Sequence[str] | None
) -> frozenset[int] | None:
    """Places of own parameters, if the caller says which they are."""
    if shared is None and own is None:
        return None
    names = [p.name for p in form.parameters]
    for name in (*(shared or ()), *(own or ())):
        if name not in names:
            raise ValueError(f"{name!r} is no parameter of the form; it has {names}")
    if shared is not None and own is not None and sorted([*shared, *own]) != sorted(names):
        raise ValueError(
            f"shared={list(shared)} and own={list(own)} must name each of {names} once; give one"
        )
    chosen = set(own) if own is not None else set(names) - set(shared or ())
    return frozenset(k for k, name in enumerate(names) if name in chosen)


def _names(form: Form, own: frozenset[int], shared: bool) -> tuple[str, ...]:
    return tuple(p.name for k, p in enumerate(form.parameters) if (k in own) != shared)


# Where to begin


def _starts(data: Experiments, effort: Effort, values: Array | None, seed: int) -> list[Array]:
    """Starts (groups, parameters): one set for all, and each group's own."""
    form, rows, count = data.form, data.rows, data.count
    if values is not None:
        given = np.asarray(values, dtype=float)
        return [np.array(np.broadcast_to(given, (count, len(form.parameters))))]
    root = 1 / deviations(rows, np.abs(rows.y), data.noise)
    found = descended(form, rows.X, rows.y, root, effort, seed)
    if not len(found.cost):
        return []
    ways = _equal_ways(form)
    pooled = _most_positive(form, ways, found.values(form))
    out = np.tile(pooled, (count, 1))
    if count > 1:
        ends = np.r_[data.begins, len(rows.y)]
        for k, (first, last) in enumerate(pairwise(ends)):
            if last - first > len(form.parameters):  # else the pooled values are a better start
                part = slice(int(first), int(last))
                alone = descended(form, rows.X[part], rows.y[part], root[part], effort, seed)
                if len(alone.cost):
                    out[k] = _nearest(form, ways, alone.values(form), pooled)
    return [np.tile(pooled, (count, 1)), out]


Way = tuple[tuple[int, ...], tuple[int, ...]]  # places taken from, signs


def _equal_ways(form: Form) -> list[Way]:
    """Changes of the parameters that leave the curve as it is, such as two rates that swap.

    Tried by numbers: a*(exp(-b*t) - exp(-c*t)) stays if b and c swap and a changes its sign.
    """
    columns = (*form.inputs, *form.parameters)
    table = np.random.default_rng(0).uniform(0.4, 1.6, (12, len(columns)))
    table[6:, len(form.inputs) :] *= np.random.default_rng(1).choice(
        [-1, 1], (6, len(form.parameters))
    )
    before = evaluated((form.expression,), columns, table)[0]
    out = []
    for places, signs in _changes(form):
        moved = table.copy()
        moved[:, len(form.inputs) :] = (table[:, len(form.inputs) :] * signs)[:, places]
        after = evaluated((form.expression,), columns, moved)[0]
        both = np.isfinite(before) & np.isfinite(after)
        if both.sum() > 3 and np.allclose(before[both], after[both], rtol=1e-9, atol=1e-12):
            out.append((places, signs))
    return out


def _changes(form: Form) -> list[Way]:
    """Swaps and signs of nonlinear parameters, alone or with a change of linear ones."""
    at = {p: k for k, p in enumerate(form.parameters)}
    still, plus = list(range(len(at))), [1] * len(at)
    nonlinear, linear = [at[p] for p in form.nonlinear], [at[p] for p in form.linear]

    def swapped(places: list[int], i: int, j: int) -> list[int]:
        return [j if k == i else i if k == j else k for k in places]

    def flipped(*chosen: int) -> list[int]:
        return [-1 if k in chosen else 1 for k in still]

    out = [(still, flipped(i)) for i in nonlinear]
    out += [(still, flipped(i, j)) for i in nonlinear for j in linear]
    for pair in combinations(nonlinear, 2):
        both = swapped(still, *pair)
        out += [(both, plus), *((both, flipped(k)) for k in linear)]
        out += [(swapped(both, *two), plus) for two in combinations(linear, 2)]
    return [(tuple(places), tuple(signs)) for places, signs in out]


def _orbit(form: Form, ways: list[Way], values: Array) -> list[Array]:
    """Equal sets of parameters, within the bounds."""
    low, high = form.limits(form.parameters)
    found = [canonical(form, values)]
    for seen in found:  # grows on the way
        for places, signs in ways:
            new = (seen * signs)[list(places)]
            if len(found) < 48 and not any(np.array_equal(new, old) for old in found):
                found.append(new)
    inside = [v for v in found if ((v >= low) & (v <= high)).all()]
    return inside or [values]


def _most_positive(form: Form, ways: list[Way], values: Array) -> Array:
    return max(_orbit(form, ways, values), key=lambda v: int((v > 0).sum()))


def _nearest(form: Form, ways: list[Way], values: Array, goal: Array) -> Array:
    """The equal set that is nearest to another one, so that rates keep one order."""

    def distance(v: Array) -> float:
        return float(np.sum(np.abs(v - goal) / (np.abs(v) + np.abs(goal) + 1e-300)))

    return min(_orbit(form, ways, values), key=distance)


# Records


def _plain(data: Experiments, found: Descent) -> GroupedFit:
    layout, values, n = found.layout, found.values, len(data.rows.y)
    fit = data.evaluated(values)
    assert fit is not None
    k = found.z.size + found.u.size
    left = fit.miss * fit.scale
    scale = _scale(data, float(left @ left) / max(n - k, 1))
    inverse = found.normal().inverse()
    own = list(layout.own)
    errors = scale * np.sqrt(np.einsum("gii->gi", inverse.of_values(layout)))
    errors[np.ix_(np.flatnonzero(inverse.poor), np.array(own, dtype=int))] = np.inf
    between = _moments(values[:, own], scale**2 * inverse.alone[~inverse.poor])
    covariance = scale**2 * inverse.of_mean(layout)
    covariance[np.ix_(own, own)] += _positive(between) / data.count
    names = _names(data.form, frozenset(own), False)
    spread = np.sqrt(np.maximum(np.diagonal(between), 0))
    return GroupedFit(
        data.form, (), _names(data.form, frozenset(own), True), names, values, errors,
        values.mean(axis=0), covariance, data.noise, scale, fit.deviance, k, n, left / scale,
        dict(zip(names, spread.tolist(), strict=True)), between=_positive(between),
    )  # fmt: skip


def _scale(data: Experiments, variance: float) -> float:
    """Of the noise; errors that are stated too small are not believed."""
    root = float(np.sqrt(variance)) or 1e-300
    return max(root, 1.0) if data.noise.model == GIVEN else root


def _moments(own: Array, errors: Array) -> Array:
    """Covariance between groups: that of the estimates less that of their errors."""
    if len(own) < 2:
        return np.zeros((own.shape[1], own.shape[1]))
    away = own - own.mean(axis=0)
    noise = errors.mean(axis=0) if len(errors) else 0.0
    return np.asarray(away.T @ away / (len(own) - 1) - noise)


def _positive(matrix: Array) -> Array:
    """The nearest matrix without negative eigenvalues, of equal scales."""
    size = np.sqrt(np.maximum(np.abs(np.diagonal(matrix)), 1e-300))
    low, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    return np.asarray((vectors * np.maximum(low, 0)) @ vectors.T * np.outer(size, size))


def _shrunk(data: Experiments, found: Descent) -> GroupedFit:
    """Own parameters drawn towards their mean, as far as their spread and errors say.

    Linearised at the fitted curves as by Lindstrom and Bates (1990); the covariance between groups
    and the noise follow by restricted likelihood, with steps of expectation and maximisation.
    """
    plain, n = _plain(data, found), len(data.rows.y)
    mixed = _mixed(data, found, plain)
    for _ in range(_ROUNDS):
        mixed.run(3)
        turn, free = _expected(mixed)
        values = mixed.values
        left = data.residual(values, mixed.root)
        scale = _scale(data, float(left @ left) / max(n - free, 1.0))
        before = mixed.layout.factor
        assert before is not None
        mixed.layout = replace(mixed.layout, factor=before @ turn)
        mixed.u = lstsq(turn, mixed.u.T).T
        change = max(_change(before, before @ turn), abs(scale**2 / mixed.penalty - 1))
        mixed.penalty, mixed.root = scale**2, data.root(values)
        if change < _SETTLED:
            break
    mixed.run(20)
    return _mixed_record(data, mixed, plain)


def _change(before: Array, after: Array) -> float:
    """Change of a covariance that is given by its root, relative to the variances."""
    old, new = before @ before.T, after @ after.T
    size = np.sqrt(np.maximum(np.diagonal(old), 1e-300))
    return float(np.abs((new - old) / np.outer(size, size)).max())


def _expected(mixed: Descent) -> tuple[Array, float]:
    """What the factor is multiplied by, and how many numbers the fit uses.

    The factor is turned by a regression of the rows on u, too (PX-EM, Liu, Rubin and Wu 1998): a
    spread that is nearly nothing is then found in tens of rounds and not in thousands.
    """
    arrow, variance = mixed.normal(), mixed.penalty
    inverse = arrow.inverse()
    errors = inverse.u * variance
    squares = mixed.u[:, :, None] * mixed.u[:, None] + errors
    size = mixed.u.shape[1]
    gram = arrow.blocks - variance * np.eye(size)
    left = np.einsum("gac,gbd->abcd", gram, squares).reshape(size**2, size**2)
    with_shared = arrow.border @ np.swapaxes(inverse.carried @ inverse.z, 1, 2) * variance
    right = np.einsum("gac,gc,gb->ab", arrow.blocks, mixed.u, mixed.u) + with_shared.sum(axis=0)
    turned = lstsq(left, right.ravel(), 1e-10).reshape(size, size)
    free = mixed.u.size + mixed.z.size - float(np.einsum("gii->", errors))
    return turned @ np.linalg.cholesky(squares.mean(axis=0)), free


def _mixed(data: Experiments, found: Descent, plain: GroupedFit) -> Descent:
    """Where the search for the spread begins: groups that say little at the median."""
    own, values = list(found.layout.own), found.values.copy()
    for k in own:
        sure = np.isfinite(plain.errors[:, k])
        values[~sure, k] = np.median(values[sure, k] if sure.any() else values[:, k])
    logged = np.zeros(values.shape[1], dtype=bool)
    logged[own] = (values[:, own] > 0).all(axis=0)
    layout = replace(found.layout, logged=logged)
    u, z = layout.taken(values)
    mean, size = u.mean(axis=0), np.where(logged[own], 1.0, np.abs(u).mean(axis=0))
    covariance = _moments(u, np.zeros((0, 0, 0))) + np.diag((1e-4 * size) ** 2 + 1e-300)
    factor = np.linalg.cholesky(covariance)
    layout = replace(layout, factor=factor)
    u = np.linalg.solve(factor, (u - mean).T).T
    return Descent(data, layout, u, np.r_[z, mean], found.root, plain.scale**2)


def _mixed_record(data: Experiments, mixed: Descent, plain: GroupedFit) -> GroupedFit:
    layout, values, arrow = mixed.layout, mixed.values, mixed.normal()
    assert layout.factor is not None
    variance, inverse, own = mixed.penalty, arrow.inverse(), list(layout.own)
    typical = layout.values(data.form, np.zeros((1, len(own))), mixed.z)[0]
    by_group = variance * np.einsum("gii->gi", inverse.of_values(layout))
    unit, middle = (np.where(layout.logged, v, 1.0) for v in (values, typical))
    covariance = variance * inverse.of_means(layout) * np.outer(middle, middle)
    between = layout.factor @ layout.factor.T
    fit = data.evaluated(values)
    assert fit is not None
    left = fit.miss * fit.scale
    names = np.array([p.name for p in data.form.parameters])
    spread = np.sqrt(np.diagonal(between)) * middle[own]
    return replace(
        plain, values=values, errors=np.sqrt(by_group) * unit, typical=typical,
        covariance=covariance, scale=float(np.sqrt(variance)), miss=left / np.sqrt(variance),
        deviance=_marginal(data, mixed, fit.deviance, float(left @ left), arrow.blocks),
        numbers=mixed.z.size + len(own) * (len(own) + 1) // 2, between=between, shrunk=True,
        spread=dict(zip(plain.own, spread.tolist(), strict=True)),
        logged=tuple(names[layout.logged].tolist()),
    )  # fmt: skip


def _marginal(
    data: Experiments, mixed: Descent, deviance: float, squares: float, blocks: Array
) -> float:
    """Deviance with the own parameters integrated out, by Laplace's approximation."""
    n, variance, model = len(data.rows.y), mixed.penalty, data.noise.model
    if model != POISSON:
        level = squares / n if model != GIVEN else max(squares / n, 1.0)
        deviance += n * np.log(variance / max(level, 1e-300)) + squares * (1 / variance - 1 / level)
    volume = float(np.sum(np.linalg.slogdet(blocks / variance)[1]))
    return float(deviance + np.sum(mixed.u**2) + volume)
