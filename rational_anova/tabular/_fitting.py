"""From a table and targets to the fitted model: the link, and shares of several models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from .._core.types import Array
from .fit import SMALL, Fit, Link, Loss, Options, Problem, Recipe, possible, solve, standard
from .model import (
    CODE_FOLDS,
    Additive,
    Feature,
    Judge,
    Part,
    Rows,
    Sum,
    features_of,
    folds,
    groups,
    intercept_with_draws,
    learn,
    level_sums,
    read,
    special_values,
    with_draws,
)
from .monotone import constrain

LARGE, PART = 50_000, 15_000  # rows from which a part of them, so many, chooses the terms
DRAWS = 100  # from the posterior of the numerators, for bands


def learn_features(
    frame: pd.DataFrame, y: Array, weight: Array, special: Any = None
) -> list[Feature]:
    """Return the inputs that a table makes, with what they take from its rows."""
    found = special_values(features_of(frame), frame, weight, special)
    return [learn(f, frame.iloc[:, f.column], y, weight) for f in found]


def problem_of(
    features: list[Feature], frame: pd.DataFrame, y: Array, weight: Array, loss: Loss, seed: int
) -> Problem:
    """Return the rows and targets as the fit sees them; rows of no weight are left out."""
    used = weight > 0
    values = read(features, frame).values[used]
    y, weight = y[used], weight[used]
    fold = folds(values, 2 * CODE_FOLDS, seed)
    coded = {
        i: level_sums(feature, values[:, i], y, weight, fold).encoded(values[:, i], fold // 2)
        for i, feature in enumerate(features)
        if feature.crowded
    }
    return Problem(Rows(values, coded), y, weight, loss, fold % 2)


Scale = float | Array  # of all outputs, or one for each


def judge_of(problem: Problem, scale: Scale = 1.0, shift: Scale = 0.0) -> Judge:
    """Return twice the mean loss of decisions at some rows, in units of f squared or log odds."""
    unit = float(np.mean(np.square(scale)))

    def judge(f: Array, some: slice) -> float:
        y, weight = problem.y[some], problem.weight[some]
        return unit * problem.loss.mean(y, (f - shift) / scale, weight)

    return judge


def fit_additive(
    features: list[Feature], problem: Problem, options: Options, seed: int,
    scale: Scale = 1.0, shift: Scale = 0.0, signs: dict[int, int] | None = None,
) -> Additive:  # fmt: skip
    """Return the model that the recipe finds, monotone in the inputs that have a sign."""
    fit = run_recipe(problem, features, options, seed)
    if signs:
        fit = constrain(problem, fit, signs)
    return additive(fit, features, scale, shift, seed)


def run_recipe(problem: Problem, features: list[Feature], options: Options, seed: int) -> Fit:
    """Return the fitted terms; of very many rows a part chooses them, all fit the numerators."""
    if len(problem.rows) <= LARGE:
        return Recipe(problem, features, options).run()
    some = np.random.default_rng(seed).choice(len(problem.rows), PART, replace=False)
    found = Recipe(problem.part(some), features, options).run()
    if options.report is not None:
        options.report("all rows")
    f = additive(found, features, 1.0, 0.0, seed).decision(problem.rows)
    fit = solve(problem, found.terms, 1, replace(found, f=f), found.penalty)
    line = ("all rows", len(fit.terms), len(fit.theta), float(fit.edf.sum()))
    return replace(fit, edf_heads=found.edf_heads, history=[*found.history, line])


def additive(fit: Fit, features: list[Feature], scale: Scale, shift: Scale, seed: int) -> Additive:
    """Return the model that a fit found, for the target `shift + scale * t` of a fitted t."""
    design = fit.design
    random = np.random.default_rng(seed)
    theta, drawn = [], []
    for solution in fit.solutions:
        normal = random.standard_normal((len(solution.theta), DRAWS))
        away = solve_triangular(solution.factor, normal, lower=True, trans=1, check_finite=False)
        theta.append(solution.theta)
        drawn.append(solution.theta[:, None] + away * np.sqrt(solution.noise))
    scale = np.broadcast_to(scale, len(theta))
    unit = scale / design.scale[:, None]
    numerators = np.stack(theta, 1) * unit
    draws = np.stack(drawn, 1) * unit[:, :, None]
    if (
        fit.loss.sums_to_zero
    ):  # only differences between classes matter: an effect's classes add up to 0
        numerators = numerators - numerators.mean(1, keepdims=True)
        draws = draws - draws.mean(1, keepdims=True)
    group = groups(fit.terms)
    parts = [
        Part(term, numerators[group == k], draws[group == k]) for k, term in enumerate(fit.terms)
    ]
    # The columns were fitted with their means taken off.
    return Additive(
        features,
        shift + numerators[0] - design.mean[1:] @ numerators[1:],
        parts,
        np.reshape(shift, (-1, 1)) + draws[0] - np.tensordot(design.mean[1:], draws[1:], (0, 0)),
        _noise(fit, scale),
        float(sum(s.edf.sum() for s in fit.solutions)),
        fit.history,
    )


def _noise(fit: Fit, scale: Array) -> float | Array:
    """Return the variance of the targets about f, one for each output where they differ."""
    if fit.loss.fixed_noise is not None:
        return fit.loss.fixed_noise
    each = np.array([s.noise for s in fit.solutions]) * scale**2
    return float(each[0]) if len(each) == 1 else each


ROWS = 6000  # that links are tried on
BETTER = 0.98  # error that another link must reach, relative to the identity's


def choose_link(problem: Problem, features: list[Feature], y: Array, seed: int) -> str:
    """Return the link whose model, fitted on one half of the rows, fits the other half best."""
    names = possible(y)
    if len(names) == 1 or problem.count < 50:
        return "identity"
    if len(y) > ROWS:
        some = np.random.default_rng(seed).permutation(len(y))[:ROWS]
        problem, y = problem.part(some), y[some]
    part = problem
    half = part.fold == 0
    if half.all() or not half.any():
        return "identity"
    errors = {}
    for name in names:
        link = Link(name)
        t = link.forward(y)
        total = 0.0
        for train in (half, ~half):
            weight = part.weight[train]
            column, scale, mean = standard(t[train], weight)
            fitted = replace(part.part(train), y=column)
            fitted.fold = folds(fitted.rows.values, 2, seed + 1)
            model = fit_additive(
                features,
                fitted,
                Options(pairs=20, pair_columns=800, refinements=0),
                seed,
                scale,
                mean,
            )
            back = link.smeared(model.decision(fitted.rows)[:, 0], y[train], weight)
            rest = part.rows[~train]
            predicted = back.mean(model.decision(rest)[:, 0])
            total += float(part.weight[~train] @ (y[~train] - predicted) ** 2)
        errors[name] = np.sqrt(total)
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] < BETTER * errors["identity"] else "identity"


Mixture = list[tuple[float, Options]]

FOLDS = 3
PAIRS = 20  # at most, while shares are found
STEP = 0.05  # of shares: coarse, so that rounding errors of a fit do not show in them
EVEN = 0.05  # how much shares lean to being equal
CROWDED = 100  # rows for each input, below which a table is crowded
RICH, FEW = 11, 1000  # rows for each input from which, and rows up to which, heads may be many


def choose_mixture(
    problem: Problem, features: list[Feature], options: Options, seed: int
) -> Mixture:
    """Return models and their shares; one model alone where there are rows enough.

    The evidence sets the penalties, but with few rows it is itself a noisy judge of hundreds of
    them. So below SMALL rows a nearly linear model, main effects, pairs, and more heads get the
    shares that fit held-out rows best. In a larger table of many inputs, penalties that are shared
    and penalties that are not have one half each.
    """
    rows = problem.telling
    alone: Mixture = [(1.0, options)]
    if rows >= SMALL:
        if rows > CROWDED * len(features):
            return alone
        return [(0.5, replace(options, pool=pool)) for pool in (1.0, 0.0)]
    part = folds(problem.rows.values, FOLDS, seed + 1)
    held = [part == k for k in range(FOLDS)]
    if rows < 40 or not all(k.any() and problem.loss.varied(problem.y[~k]) for k in held):
        return alone
    sizes = _sizes(options, RICH * len(features) <= rows < FEW)
    decisions = np.zeros((len(sizes), len(problem.y), problem.outputs))
    for k in held:
        train, test = problem.part(~k), problem.part(k)
        for found, size in zip(decisions, sizes, strict=True):
            quick = replace(size, pairs=min(size.pairs, PAIRS), refinements=0, report=None)
            found[k] = fit_additive(features, train, quick, seed).decision(test.rows)
    shares = _shares(problem, decisions)
    return [(x, size) for x, size in zip(shares, sizes, strict=True) if x > 0]


def fit_mixture(
    mixture: Mixture, features: list[Feature], problem: Problem, seed: int,
    scale: Scale = 1.0, shift: Scale = 0.0, signs: dict[int, int] | None = None,
) -> Additive:  # fmt: skip
    """Return the sum of all models of a mixture, each fitted to all rows: one model again."""
    models = [
        fit_additive(features, problem, options, seed, scale, shift, signs)
        for _, options in mixture
    ]
    if len(models) == 1:
        return models[0]
    shares = [share for share, _ in mixture]
    # The models see the same rows, so they err together: draws that know nothing of each other
    # would cancel.
    wide = 1 / np.sqrt(np.square(shares).sum())
    total = Sum()
    intercept = np.zeros((problem.outputs, 1 + models[0].intercept_draws.shape[1]))
    for share, model in zip(shares, models, strict=True):
        for part in model.parts:
            total.add(part.term, share * _widened(with_draws(part), wide))
        intercept += share * _widened(intercept_with_draws(model), wide)
    return Additive(
        features,
        intercept[:, 0],
        total.parts(),
        intercept[:, 1:],
        sum(share * m.noise for share, m in zip(shares, models, strict=True)),
        float(np.dot(shares, [m.edf for m in models])),
        [line for model in models for line in model.history],
    )


def _sizes(options: Options, rich: bool) -> list[Options]:
    pooled = replace(options, pool=1.0)
    sizes = [replace(pooled, lean=True, pairs=0), replace(pooled, pairs=0)]
    sizes.append(replace(options, pool=0.0, pairs=0))
    if options.pairs:
        sizes.append(pooled)
    if rich:
        sizes.append(replace(pooled, rich=True))
    return sizes


def _shares(problem: Problem, decisions: Array) -> Array:
    count = len(decisions)

    def loss(shares: Array) -> float:
        f = np.tensordot(shares, decisions, 1)
        mean = problem.loss.mean(problem.y, f, problem.weight)
        return mean * (1 + EVEN * float(shares @ shares))

    whole = {"type": "eq", "fun": lambda shares: shares.sum() - 1}
    start = np.full(count, 1 / count)
    found = minimize(
        loss, start, method="SLSQP", bounds=[(0, 1)] * count, constraints=[whole],
        options={"ftol": 1e-10},
    ).x  # fmt: skip
    found = np.round(found / STEP)
    return np.asarray(found / found.sum())


def _widened(numerators: Array, wide: float) -> Array:
    """Return numerators and draws, with the draws further from the numerators."""
    middle = numerators[..., :1]
    return np.asarray(np.concatenate([middle, middle + wide * (numerators[..., 1:] - middle)], -1))
