"""Effects that a user draws: points or levels with what they add, as parts of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.interpolate import PchipInterpolator
from scipy.linalg import cho_solve, qr, solve_triangular

from ..._core.types import Array
from ..model import MISSING, Basis, Codes, Feature, Heads, Levels, Missing, Part, Term
from ..monotone import Cone, Held

MOST_POINTS = 400
MANY_POINTS = 60
WITHIN = 6  # places between two heads where the curve is kept near what it is to follow
TRIED = 100  # places between two points where its error is measured
UNEVEN = 3.0  # gaps next to each other with a larger ratio get heads in between
POINT = 100.0  # weight of a point among the places between points, where both cannot be met
PROVED = 24  # points of a curve that is to rise or fall, at most: many more leave it no room
NEAREST = 60  # ... and none nearer to the next than this part of the range
RIDGE = 1e-12  # on the numerators, relative to columns of size one


def own_parts(
    feature: Feature, axis: int, values: Any, classes: tuple[Any, ...], draws: int, sign: int = 0
) -> tuple[list[Part], float]:
    """Return parts for an effect given by a user, and how far they are from it at most.

    Args:
        feature: the input.
        axis: its position.
        values: what each number or level adds; see `EditMixin.fix_term`.
        classes: one for each output; none if there is but one output.
        draws: how many the model has.
        sign: +1 or -1 if the effect must rise or fall.
    """
    keys, effects = _table(feature, values, classes)
    if feature.category:
        bases, error = [_levels(feature, keys, effects)], 0.0
    else:
        bases, error = _curve(feature, keys, effects, sign)
    parts = [
        Part(Term((axis,), (basis,)), numerators, np.repeat(numerators[:, :, None], draws, 2))
        for basis, numerators in bases
    ]
    return parts, error


def rising(curve: pd.DataFrame, sign: int) -> pd.DataFrame:
    """Return a curve that never falls (+1) or never rises (-1), the nearest to one that may.

    Args:
        curve: of `Effect.curve`: half of its points are quantiles of the rows, so that each point
            stands for about as many of them.
        sign: +1 or -1.
    """
    from sklearn.isotonic import isotonic_regression

    known = curve[curve.columns[0]].notna().to_numpy()
    curve, gap = curve[known], curve[~known]
    effect = isotonic_regression(curve["effect"].to_numpy(float), increasing=sign > 0)
    keep = _spread(_numbers(curve[curve.columns[0]]))
    found = pd.DataFrame({"value": curve[curve.columns[0]], "effect": effect}).iloc[keep]
    gap = pd.DataFrame({"value": gap[curve.columns[0]], "effect": gap["effect"]})
    return pd.concat([found, gap]) if len(gap) else found


def _numbers(values: pd.Series) -> Array:
    return values.to_numpy().astype("int64" if values.dtype.kind == "M" else float).astype(float)


def _spread(x: Array) -> list[int]:
    """Choose points that are not too many, nor too near to each other, for a curve with a proof."""
    near = (x[-1] - x[0]) / NEAREST
    wanted = np.unique(np.linspace(0, len(x) - 1, PROVED).round().astype(int))
    kept = [0]
    for at in wanted[1:-1]:
        if x[at] - x[kept[-1]] >= near and x[-1] - x[at] >= near:
            kept.append(int(at))
    return [*kept, len(x) - 1] if len(x) > 1 else kept


def _table(feature: Feature, values: Any, classes: tuple[Any, ...]) -> tuple[list[Any], Array]:
    """Return values of an input and what each adds, (values, outputs)."""
    if isinstance(values, pd.DataFrame):
        key = next((c for c in ("value", "level") if c in values), values.columns[0])
        if "effect" in values and "class" in values and classes:
            values = values.pivot(index=key, columns="class", values="effect")[list(classes)]
        elif "effect" in values:
            values = values.set_index(key)["effect"]
        else:
            values = values.set_index(key)
        keys, effects = list(values.index), values.to_numpy(dtype=float)
    elif isinstance(values, pd.Series | Mapping):
        keys = list(values.keys())
        given = list(values if isinstance(values, pd.Series) else values.values())
        effects = np.array([np.asarray(one, dtype=float) for one in given], dtype=float)
    else:
        raise ValueError(
            f"the effect of {feature.name!r} must be a dict, a Series or a DataFrame of values and "
            f"what they add, got {type(values).__name__}"
        )
    outputs = max(len(classes), 1)
    effects = effects.reshape(len(keys), -1) if len(keys) else np.zeros((0, outputs))
    if effects.shape[1] != outputs:
        raise ValueError(
            f"the effect of {feature.name!r} has {effects.shape[1]} numbers for a value, and the "
            f"model {outputs} outputs {list(classes) or ''}".rstrip()
        )
    if not np.isfinite(effects).all():
        bad = keys[int(np.flatnonzero(~np.isfinite(effects).all(1))[0])]
        raise ValueError(f"the effect of {feature.name!r} at {bad!r} is not a finite number")
    return keys, effects


def _levels(feature: Feature, keys: list[Any], effects: Array) -> tuple[Basis, Array]:
    named = [MISSING if pd.isna(key) else key for key in keys]
    unknown = [key for key in named if key not in feature.levels]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no level of {feature.name!r}; there are {list(feature.levels)}"
        )
    left = [level for level in feature.levels if level not in named]
    if left:
        raise ValueError(
            f"the effect of {feature.name!r} lacks the levels {left}; give 0 for those that are "
            "to add nothing"
        )
    order = [named.index(level) for level in feature.levels]
    return Levels(len(feature.levels)), effects[order]


def _curve(
    feature: Feature, keys: list[Any], effects: Array, sign: int
) -> tuple[list[tuple[Basis, Array]], float]:
    """Return heads through points, and an indicator of gaps if one of the values is missing.

    Between the points the curve is to follow cubic pieces that do not overshoot; before the first
    and after the last point it stays as it is there.
    """
    x = replace(feature, clip=None).read(pd.Series(keys, dtype=None if keys else float))
    gap = np.isnan(x)
    found: list[tuple[Basis, Array]] = [(Missing(), effects[gap][-1:])] if gap.any() else []
    special = feature.codes
    if special is not None:
        at = [np.flatnonzero(x == code)[-1:] for code in special]
        known = [effects[k[0]] if len(k) else np.zeros(effects.shape[1:]) for k in at]
        found.append((Codes(special), np.stack(known)))
        gap = gap | np.isin(x, special)
    x, effects = x[~gap], effects[~gap]
    if not 2 <= len(x) <= MOST_POINTS:
        raise ValueError(
            f"the effect of {feature.name!r} takes 2 to {MOST_POINTS} points, got {len(x)}"
        )
    if len(np.unique(x)) < len(x):
        values, counts = np.unique(x, return_counts=True)
        raise ValueError(
            f"the effect of {feature.name!r} has the value {values[counts > 1][0]:g} twice"
        )
    order = np.argsort(x)
    x, effects = x[order], effects[order]
    low, high = feature.clip or (x[0], x[-1])
    if low < x[0]:
        x, effects = np.insert(x, 0, low), np.insert(effects, 0, effects[0], 0)
    if high > x[-1]:
        x, effects = np.append(x, high), np.append(effects, effects[-1:], 0)
    follow = PchipInterpolator(x, effects)
    # A curve that must not turn has to bend more closely to stay near flat pieces.
    heads = _heads(_between(x, 4) if sign and len(x) <= MANY_POINTS // 2 else x)
    dense = _between(np.sort(np.append(x, heads.centre[:-1])), WITHIN)
    goal = np.asarray(follow(dense))
    if sign:
        _check_order(feature, x, effects, sign)
        numerators = _monotone(heads, x, effects, dense, goal, sign)
    else:
        numerators = _through(heads.of(x), effects, heads.of(dense), goal)
    fine = _between(x, TRIED)
    error = float(np.abs(heads.of(fine) @ numerators - follow(fine)).max())
    fill = np.zeros(heads.size) if feature.gaps or special is not None or gap.any() else None
    heads = replace(heads, fill=fill, special=special)
    return [(heads, numerators), *found], error


def _between(x: Array, count: int) -> Array:
    """Return points, and evenly spaced places between any two of them."""
    x = np.unique(x)
    inside = np.arange(count) / count
    return np.append((x[:-1, None] + np.diff(x)[:, None] * inside).ravel(), x[-1])


def _heads(x: Array) -> Heads:
    """Return heads at points, between them unless they are many, and nearer to short gaps."""
    centre = list(np.sort(np.append(x, (x[1:] + x[:-1]) / 2)) if len(x) <= MANY_POINTS else x)
    k = 1
    while k < len(centre) - 1 and len(centre) < 3 * MOST_POINTS:
        left, right = centre[k] - centre[k - 1], centre[k + 1] - centre[k]
        if right > UNEVEN * left:
            centre.insert(k + 1, centre[k] + 2 * left)
        elif left > UNEVEN * right:
            centre.insert(k, centre[k] - 2 * right)
            k = max(k - 1, 1)
            continue
        k += 1
    step = np.diff(centre)
    width = np.concatenate([step[:1], (step[1:] + step[:-1]) / 2, step[-1:]])
    # A head that is wider than the whole range gives what is straight.
    middle = (x[0] + x[-1]) / 2
    return Heads(np.append(centre, middle), np.append(width, 3 * (x[-1] - x[0])), odd=True)


def _through(exact: Array, values: Array, near: Array, goal: Array) -> Array:
    """Return t with exact t = values, and near t as close to the goal as that allows."""
    count = len(exact)
    q, r = qr(exact.T)
    start = q[:, :count] @ solve_triangular(r[:count], values, trans=1)
    free = near @ q[:, count:]
    gram = free.T @ free
    gram[np.diag_indices(len(gram))] += RIDGE * len(near)
    turn = np.linalg.solve(gram, free.T @ (goal - near @ start))
    return np.asarray(start + q[:, count:] @ turn)


def _check_order(feature: Feature, x: Array, effects: Array, sign: int) -> None:
    wrong = np.flatnonzero(sign * np.diff(effects[:, 0]) < 0)
    if len(wrong):
        at = int(wrong[0])
        way = "fall" if sign > 0 else "rise"
        raise ValueError(
            f"the effect of {feature.name!r} must not {way} (monotone), and does from {x[at]:g} to "
            f"{x[at + 1]:g}; take the input out of `monotone` first"
        )


def _monotone(
    heads: Heads, x: Array, effects: Array, dense: Array, goal: Array, sign: int
) -> Array:
    """Return numerators near points and a curve between them that are proved to rise or fall."""
    columns = np.concatenate([heads.of(x) * POINT, heads.of(dense)])
    targets = np.concatenate([effects[:, 0] * POINT, goal[:, 0]])
    gram = columns.T @ columns
    gram[np.diag_indices(len(gram))] += RIDGE * len(columns)
    factor = np.linalg.cholesky(gram)
    free = cho_solve((factor, True), columns.T @ targets)
    held = Held([heads], np.arange(heads.size), np.ones(heads.size), sign, x[0], x[-1])
    return Cone([held], free, factor).proved()[:, None]
