"""Products of functions of two columns, for all pairs at once: what they explain of a residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core.types import Array
from ._pairs import Index
from ._tables import standardise

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
