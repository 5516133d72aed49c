"""Pairs chosen by what their products explain of the residual of main effects."""

from __future__ import annotations

import numpy as np

from .._core.types import Array
from ._additive import AdditiveFit, fit_additive, rank_polynomials
from ._pairs import Index, pairs_at
from ._products import DEGREE, PairProducts, pair_products
from ._sizes import max_pairs, resolve_size
from ._tables import Table, read_targets, read_weight, standardise

_NEGLIGIBLE = 1e-6  # of the standard deviation of y: what rounding leaves of main effects
_ROUNDS = (2, 10)  # at least and at most, as the work allows
_WORK = 2.5e10  # multiplications, in all rounds
_OUTLIER = 4.0  # mean sizes of a residual
_LEVELS = 20  # a target with fewer different values is taken for classes
_TAMING = 3
_RANK = 1e-10  # relative; smaller eigenvalues are rounding
_TINY = 1e-300  # instead of zero, to divide by
_CHANCE = 0.01  # that noise makes the best of all pairs look like more than noise


def residual_pairs(X: Array, y: Table, size: int | str, weight: Table | None) -> Index:
    """The pairs of columns of `X` that explain most of what main effects leave of `y`."""
    features, rows = X.shape[1], len(X)
    count = resolve_size(size, features)
    Y, weights = read_targets(y, rows), read_weight(weight, rows)
    used = weights > 0
    X, Y, weights = X[used], standardise(Y[used]), weights[used] / weights[used].mean()
    polynomials = rank_polynomials(X, weights, 2 * DEGREE)
    fit = fit_additive(X, Y, weights, polynomials)
    residual = _rotated(_tamed(Y, fit), X.shape)
    if count == 0:
        return pairs_at([], features)
    every = pairs_at(range(max_pairs(features)), features)
    products = pair_products(X, polynomials, weights, every)
    del polynomials
    return every[np.sort(_choose(products, fit, residual, count))]


def _tamed(Y: Array, fit: AdditiveFit) -> Array:  # (n, C)
    """The residuals of `Y`, with outliers drawn in so that no single row decides.

    Targets of few values stay as they are: an indicator is all outliers when its class is rare.
    """
    residual = fit.residual(Y)
    many = [k for k, column in enumerate(Y.T) if len(np.unique(column)) > _LEVELS]
    for _ in range(_TAMING):
        inner = residual[:, many]
        bound = _OUTLIER * _spread(inner, fit.weight)
        # The outliers leave y, not only the residual: they have bent the main effects, too.
        Y[:, many] -= inner - np.clip(inner, -bound, bound)
        residual[:, many] = fit.residual(Y[:, many])
    return residual


def _spread(columns: Array, weight: Array) -> Array:  # (C,)
    """Mean sizes, of what is left after drawing in what exceeds the bound they set."""
    size = np.abs(columns)
    for _ in range(10):
        mean = weight @ size / len(size)
        size = np.minimum(size, _OUTLIER * mean)
    return mean


def _rotated(residual: Array, shape: tuple[int, ...]) -> Array:  # (n, rank)
    """The residuals along their principal axes, which explain the same, without the empty ones."""
    values, vectors = np.linalg.eigh(residual.T @ residual / len(residual))
    kept = values > max(_NEGLIGIBLE**2, _RANK * values[-1])
    if not kept.any():
        raise ValueError(
            f"main effects of the {shape[1]} columns of X explain y entirely on these {shape[0]} "
            "rows, so nothing is left to rank pairs by; give more rows, or take no pairs "
            "(Topology.none)"
        )
    return residual @ vectors[:, kept]


def _choose(products: PairProducts, fit: AdditiveFit, residual: Array, count: int) -> Index:
    """Ranks of `count` pairs: the strong ones round by round, then the best of the others.

    What a round takes leaves the residual, so that a pair which only shadows a stronger one,
    because their columns are correlated, has nothing to show in the next round.
    """
    rows = max(np.sum(fit.weight) ** 2 / np.sum(fit.weight**2) - fit.freedom, 1.0)
    taken = np.zeros(0, dtype=np.int64)
    work = residual.size * products.functions.shape[2] ** 2
    for left in range(int(np.clip(_WORK / work, *_ROUNDS)), 0, -1):
        coordinates = [products.coordinates(column) for column in residual.T]
        excess = _excess(products.count / rows, coordinates, fit.weight, residual)
        excess[taken] = -np.inf
        missing = count - len(taken)
        limit = min(missing, max(1, len(taken), missing >> left))
        batch = _batch(products.pairs, excess, limit, 2 * np.log(len(excess) / _CHANCE) / rows)
        if len(batch) == 0 or len(taken) + len(batch) == count:
            break
        taken = np.concatenate([taken, batch])
        for target, column in enumerate(residual.T.copy()):
            parts = [products.explained(pair, column) for pair in batch]
            residual[:, target] = _without(column, np.stack(parts, axis=1), fit)
    excess[taken] = np.inf
    return _descending(excess)[:count]


def _excess(noise: Array, coordinates: list[Array], weight: Array, residual: Array) -> Array:
    """Share of the residual that each pair explains, less what as many products of noise would.

    For k products, n rows and a residual of noise, n share has the chi-squared distribution with
    k degrees of freedom. The result is share - noise (1 + log(share / noise)), noise = k / n, with
    the sign of share - noise: twice the log-likelihood ratio against noise, over n. On that scale
    pairs with few and with many products compare as equals.
    """
    covariance = (weight[:, None] * residual).T @ residual / len(residual)
    total = max(float(np.trace(covariance)), _TINY)
    # Targets that say the same, such as the indicators of two classes, count once.
    targets = total**2 / max(float(np.sum(covariance**2)), _TINY)
    share = np.sum([np.sum(each**2, axis=1) for each in coordinates], axis=0) / total
    ratio = np.maximum(share, _TINY) / np.maximum(noise, _TINY)
    excess = np.sign(share - noise) * (share - noise * (1 + np.log(ratio))) * targets
    return np.where(noise > 0, excess, -np.inf)


def _batch(pairs: Index, excess: Array, limit: int, threshold: float) -> Index:
    """The strongest pairs beyond `threshold`, at most `limit`, no two of them sharing a column."""
    seen: set[int] = set()
    batch: list[int] = []
    order = _descending(excess)[: 20 * limit]
    for pair in order[excess[order] > threshold].tolist():
        ends = set(pairs[pair].tolist())
        if len(batch) < limit and not ends & seen:
            seen |= ends
            batch.append(pair)
    return np.array(batch, dtype=np.int64)


def _descending(scores: Array) -> Index:
    # Scores that are equal on paper differ in their last bits with the order of summation.
    return np.argsort(-np.round(scores, 12), kind="stable")


def _without(column: Array, parts: Array, fit: AdditiveFit) -> Array:  # (n,)
    """What the `parts` leave of a residual when the main effects may adapt to them."""
    root = np.sqrt(fit.weight)[:, None]
    parts = fit.residual(parts)
    slopes = np.linalg.lstsq(root * parts, root[:, 0] * column, rcond=1e-8)[0]
    return column - parts @ slopes
