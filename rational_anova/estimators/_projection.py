"""Weighted least squares on functions of either input, from their products."""

from __future__ import annotations

import numpy as np

from .._core.types import Array

# Directions with less of the largest variance are left out. The space is then a little smaller,
# and what remains is orthogonal to it all the same.
LEAST = 1e-9
MOST = 32  # directions of one input, those of the largest variance
APART = 1e-6  # of its variance that a direction must have apart from the main effect
ALIKE = 1e-14  # below which functions of the two inputs are the same


def directions(gram: Array) -> Array:
    """Return a map from functions to orthonormal ones, from the products of a one and them."""
    mean = gram[0, 1:] / gram[0, 0]
    covariance = gram[1:, 1:] / gram[0, 0] - np.outer(mean, mean)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    used = scale > 1e-7 * (1 + np.abs(mean))
    inverse = np.where(used, 1 / np.where(used, scale, 1), 0)
    found = _whitened(covariance * np.outer(inverse, inverse), LEAST)
    return inverse[:, None] * found[:, -MOST:]


def project(gram: Array, moment: Array, first: int) -> Array:
    """Return the coefficients of a projection.

    Args:
        gram: products of the functions: a one; `first` functions of the first input; those of the
            second. Of each input the main effect comes first.
        moment: their products with what is projected, (functions, any).
        first: how many functions are of the first input.
    """
    total = gram[0, 0]
    mean = gram[0, 1:] / total
    covariance = gram[1:, 1:] - total * np.outer(mean, mean)
    right = moment[1:] - np.outer(mean, moment[0])
    parts = (slice(0, first), slice(first, len(mean)))
    turns = [_main_first(covariance[part, part]) for part in parts]
    turn = np.zeros((len(mean), sum(t.shape[1] for t in turns)))
    turn[parts[0], : turns[0].shape[1]] = turns[0]
    turn[parts[1], turns[0].shape[1] :] = turns[1]
    turn = turn @ _whitened(turn.T @ covariance @ turn, ALIKE)
    result = turn @ (turn.T @ right)
    for _ in range(2):  # until what is left over is orthogonal to rounding
        result += turn @ (turn.T @ (right - covariance @ result))
    constant = moment[0] / total - mean @ result
    return np.concatenate([constant[None], result])


def _main_first(gram: Array) -> Array:
    """Return a map to orthonormal functions of which the first is the first, if it is not zero."""
    size = len(gram)
    start = np.zeros((size, 1))
    rest = np.eye(size)[:, 1:]
    if gram[0, 0] > 1e-20 * max(gram.trace(), 1e-300):
        start[0] = 1 / np.sqrt(gram[0, 0])
        rest[0] = -gram[0, 1:] / gram[0, 0]
    else:
        start = start[:, :0]
    return np.concatenate([start, rest @ _whitened(rest.T @ gram @ rest, APART)], 1)


def _whitened(gram: Array, least: float) -> Array:
    """Return the directions of a matrix of products, each of length one; those of none left out."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = values > least * max(float(values.max(initial=0)), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept])
