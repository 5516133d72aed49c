"""Pairs chosen by what their products explain of the residual of main effects.

Main effects are a smooth additive fit in orthonormal functions of each column; what is left of the
target is compared with the products of these functions, for all pairs at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .._core.least_squares import lstsq
from .._core.types import Array
from ..tables import Numbers, read_targets, read_weight, standardise
from ._pairs import Index, max_pairs, pairs_at, resolve_size

_MAINS = 4  # degree of the main effects, in ranks
_PRESENT = 1e-6  # a function whose norm falls below this share is a combination of earlier ones
_RANK = 1e-10  # relative; smaller eigenvalues are rounding
# Generalised cross validation as it stands follows noise; 1.4 degrees of freedom for each one
# used cures that (Kim and Gu, 2004).
_CAUTION = 1.4


def rank_polynomials(X: Array, weight: Array, degree: int) -> Array:  # (degree + 1, n, d)
    """Polynomials in the ranks of each column, orthonormal under `weight`.

    Ranks, because they do not care about units, tails and outliers. A column with L different
    values has L - 1 functions beside the constant; the others are zero.
    """
    ranks = rankdata(X, axis=0)
    t = (ranks - (len(X) + 1) / 2) * (2 / len(X))
    result = np.zeros((degree + 1, *X.shape))
    result[0] = 1
    for k in range(1, degree + 1):
        result[k] = _orthonormal(t * result[k - 1], result[:k], weight)
    return result


def _orthonormal(columns: Array, basis: Array, weight: Array) -> Array:  # (n, d)
    """What `basis` leaves of `columns`, at norm one; zero where that is rounding."""
    norms = np.sqrt(weight @ columns**2 / len(weight))
    for _ in range(2):  # once more removes the rounding errors of the first time
        for function in basis:
            columns = columns - function * (weight @ (function * columns) / len(weight))
    rest = np.sqrt(weight @ columns**2 / len(weight))
    present = rest > _PRESENT * np.maximum(norms, _PRESENT)
    return np.where(present, columns / np.where(present, rest, 1.0), 0.0)


@dataclass(frozen=True)
class AdditiveFit:
    """A ridge fit of functions of single columns: it takes main effects out of any column."""

    basis: Array  # (n, p)
    weight: Array  # (n,), mean 1
    vectors: Array  # (p, rank)
    inverse: Array  # (rank,), 1 / (eigenvalue + penalty)
    freedom: float  # degrees of freedom used, the constant included

    def residual(self, Y: Array) -> Array:  # (n, C)
        """What main effects leave of the columns of `Y`."""
        weighted = self.weight[:, None] * Y
        projected = self.vectors.T @ (self.basis.T @ weighted)
        fit = self.basis @ (self.vectors @ (self.inverse[:, None] * projected))
        return Y - weighted.mean(axis=0) - fit


def fit_additive(X: Array, Y: Array, weight: Array, polynomials: Array) -> AdditiveFit:
    """Fit main effects to the columns of `Y`, with one penalty chosen by cross validation."""
    basis = _main_basis(X, weight, polynomials)
    root = np.sqrt(weight)[:, None]
    values, vectors = _spectrum(root * basis)
    centred = root * (Y - weight @ Y / len(Y))
    penalty = _choose_penalty(values, vectors, root * basis, centred)
    inverse = 1 / (values + penalty)
    return AdditiveFit(basis, weight, vectors, inverse, 1 + float(values @ inverse))


def _main_basis(X: Array, weight: Array, polynomials: Array) -> Array:  # (n, p)
    """Polynomials of ranks, the higher ones held back, and what of the column they miss."""
    degree = min(_MAINS, len(polynomials) - 1)
    parts = [polynomials[k] / k**2 for k in range(1, degree + 1)]
    # With it a straight line in a column with long tails is in the span, too.
    parts.append(_orthonormal(standardise(X), polynomials[: degree + 1], weight))
    basis = np.concatenate(parts, axis=1)
    return basis[:, np.any(basis != 0, axis=0)]


def _spectrum(A: Array) -> tuple[Array, Array]:  # (rank,), (p, rank)
    """Eigenvalues and vectors of A^T A, by the smaller of A^T A and A A^T."""
    tall = A.shape[0] >= A.shape[1]
    values, vectors = np.linalg.eigh(A.T @ A if tall else A @ A.T)
    kept = values > _RANK * max(values.max(initial=0.0), 1.0)
    values, vectors = values[kept], vectors[:, kept]
    return values, vectors if tall else A.T @ vectors / np.sqrt(values)


def _choose_penalty(values: Array, vectors: Array, A: Array, Y: Array) -> float:
    """The penalty with the least generalised cross validation score over all of `Y`."""
    scores = vectors.T @ (A.T @ Y)  # (rank, C)
    outside = np.sum((Y - A @ (vectors @ (scores / values[:, None]))) ** 2)
    power = np.sum(scores**2, axis=1) / values
    penalties = values.max(initial=1.0) * np.logspace(-13, 2, 61)[:, None]
    error = outside + (penalties / (values + penalties)) ** 2 @ power
    used = 1 + np.sum(values / (values + penalties), axis=1)
    spare = 1 - _CAUTION * used / len(Y)
    risk = np.where(spare > 0, error, np.inf) / np.maximum(spare, 0.01) ** 2
    return float(penalties[np.argmin(risk), 0])


DEGREE = 3  # of a function in a product; twice as much is needed for products of products
_PRODUCTS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1))  # total degree 4 at most
_FIRST, _SECOND = (np.array(degrees) for degrees in zip(*_PRODUCTS, strict=True))
_DISTINCT = 1e-3  # a product of which main effects leave less of the variance is one of them
_STABLE = 1e-9  # keeps the main effects of equal columns apart
_CHUNK = 2**13  # pairs


@dataclass(frozen=True)
class PairProducts:
    """Every pair's products with the main effects of its two columns taken out, at norm one.

    They explain the share |T m|^2 of a residual of norm one, where m holds its moments with the
    functions of both columns and their products, and T is the pair's row of `transform`.
    """

    functions: Array  # (DEGREE + 1, n, d), orthonormal in each column
    columns: Array  # (n, d), standardised
    weight: Array  # (n,), mean 1
    pairs: Index  # (P, 2)
    transform: Array  # (P, 6, 12)
    count: Array  # (P,), how many products are left

    def coordinates(self, residual: Array) -> Array:  # (n,) -> (P, 6)
        """Inner products of `residual` with the products of each pair."""
        weighted = (self.weight * residual)[:, None] / len(residual)
        f = self.functions
        single = np.stack([weighted[:, 0] @ f[k] for k in range(1, DEGREE + 1)])  # (3, d)
        i, j = self.pairs.T
        moments = np.empty((len(i), 2 * DEGREE + len(_PRODUCTS)))
        moments[:, :DEGREE], moments[:, DEGREE : 2 * DEGREE] = single[:, i].T, single[:, j].T
        for a in range(1, DEGREE + 1):
            scaled = f[a] * weighted
            for b in range(a, DEGREE + 1):
                if (a, b) in _PRODUCTS:
                    table = scaled.T @ f[b]
                    moments[:, 2 * DEGREE + _PRODUCTS.index((a, b))] = table[i, j]
                    moments[:, 2 * DEGREE + _PRODUCTS.index((b, a))] = table[j, i]
        return np.matmul(self.transform, moments[:, :, None])[:, :, 0]

    def explained(self, pair: int, residual: Array) -> Array:  # (n,) -> (n,)
        """The part of a residual that a pair explains, main effects of its columns included.

        More functions than the score has, the columns themselves among them: what a strong pair
        leaves for want of functions looks like other pairs.
        """
        i, j = self.pairs[pair]
        first, second = ([*self.functions[:, :, k], self.columns[:, k]] for k in (i, j))
        parts = np.stack([a * b for a in first for b in second], axis=1)
        weighted = self.weight[:, None] * parts
        gram = weighted.T @ parts
        ridge = _STABLE * np.diag(gram) + len(parts) * _STABLE
        return parts @ np.linalg.solve(gram + np.diag(ridge), weighted.T @ residual)


def pair_products(X: Array, polynomials: Array, weight: Array, pairs: Index) -> PairProducts:
    """Prepare `pairs`; `polynomials` must have twice the degree of the functions in products."""
    joint, triple = _joint_moments(polynomials, weight), _triple_moments(polynomials, weight)
    transform = np.empty((len(pairs), len(_PRODUCTS), 2 * DEGREE + len(_PRODUCTS)))
    count = np.empty(len(pairs))
    for start in range(0, len(pairs), _CHUNK):
        part = slice(start, start + _CHUNK)
        i, j = pairs[part].T
        blocks = _blocks(joint[:, :, i, j].transpose(2, 0, 1), triple[i], triple[j])
        transform[part], count[part] = _whiten(*blocks)
    functions = polynomials[: DEGREE + 1].copy()  # lets go of the higher degrees
    return PairProducts(functions, standardise(X), weight, pairs, transform, count)


def _joint_moments(f: Array, weight: Array) -> Array:  # (k, k, d, d)
    """Means of f_a(x_i) f_b(x_j)."""
    size, rows, features = f.shape
    joint = np.empty((size, size, features, features))
    for a in range(size):
        scaled = f[a] * (weight / rows)[:, None]
        for b in range(a, size):
            joint[a, b] = scaled.T @ f[b]
            joint[b, a] = joint[a, b].T
    return joint


def _triple_moments(f: Array, weight: Array) -> Array:  # (d, DEGREE, DEGREE, k)
    """Means of f_a f_b f_c in one column: they expand a product of two functions in the third."""
    result = np.empty((f.shape[2], DEGREE, DEGREE, len(f)))
    for a in range(DEGREE):
        for b in range(a, DEGREE):
            product = f[a + 1] * f[b + 1] * (weight / f.shape[1])[:, None]
            result[:, a, b] = np.stack([np.sum(product * each, axis=0) for each in f], axis=1)
            result[:, b, a] = result[:, a, b]
    return result


def _blocks(joint: Array, first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Covariances of the products, of the main effects with them, and of the main effects."""
    length, k = len(joint), joint.shape[1]
    a, b, single = _FIRST - 1, _SECOND - 1, slice(1, DEGREE + 1)
    left = np.matmul(first.reshape(length, -1, k), joint)  # E[f_a f_c (x_i) f_n (x_j)]
    right = np.matmul(joint[:, single], second.reshape(length, -1, k).transpose(0, 2, 1))
    four = np.matmul(left, second.reshape(length, -1, k).transpose(0, 2, 1))
    pairs_of = a[:, None] * DEGREE + a, b[:, None] * DEGREE + b
    mean = joint[:, _FIRST, _SECOND]
    products = four[:, pairs_of[0], pairs_of[1]] - mean[:, :, None] * mean[:, None, :]
    left, right = left.reshape(length, DEGREE, DEGREE, k), right.reshape(length, DEGREE, DEGREE, -1)
    cross = np.concatenate(
        [left[:, a, :, _SECOND].transpose(1, 2, 0), right[:, a, b].transpose(0, 2, 1)], axis=1
    )
    mains = np.zeros((length, 2 * DEGREE, 2 * DEGREE))
    mains[:, :DEGREE, DEGREE:] = joint[:, single, single]
    mains += mains.transpose(0, 2, 1) + np.eye(2 * DEGREE)
    return products, cross, mains


def _whiten(products: Array, cross: Array, mains: Array) -> tuple[Array, Array]:
    """The map from moments to orthonormal products free of main effects, and their number."""
    size = mains.shape[1]
    slope = np.linalg.solve(mains + _STABLE * np.eye(size), cross)
    rest = products - cross.transpose(0, 2, 1) @ slope
    values, vectors = np.linalg.eigh((rest + rest.transpose(0, 2, 1)) / 2)
    kept = values > _DISTINCT
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    white = scale[:, :, None] * vectors.transpose(0, 2, 1)
    return np.concatenate([-white @ slope.transpose(0, 2, 1), white], axis=2), kept.sum(axis=1)


_NEGLIGIBLE = 1e-6  # of the standard deviation of y: what rounding leaves of main effects
_ROUNDS = (2, 10)  # at least and at most, as the work allows
_WORK = 2.5e10  # multiplications, in all rounds
_OUTLIER = 4.0  # mean sizes of a residual
_LEVELS = 20  # a target with fewer different values is taken for classes
_TAMING = 3
_TINY = 1e-300  # instead of zero, to divide by
_CHANCE = 0.01  # that noise makes the best of all pairs look like more than noise


def residual_pairs(X: Array, y: Numbers, size: int | str, weight: Numbers | None) -> Index:
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
    slopes = lstsq(root * parts, root[:, 0] * column, 1e-8)
    return column - parts @ slopes
