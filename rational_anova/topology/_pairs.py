"""Pairs as an integer array, checked, numbered and sampled; how many: a number, or a rule."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .._core.checks import integer
from .._core.types import Array

Index: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = Iterable[Sequence[int]] | NDArray[np.integer] | Tensor
Indices: TypeAlias = Iterable[int] | NDArray[np.integer] | Tensor


def read_pairs(pairs: Pairs) -> Index:  # (K, 2)
    """Turn `pairs` into an integer array, keeping their order and orientation."""
    if isinstance(pairs, (np.ndarray, Tensor)):
        array = pairs.numpy(force=True) if isinstance(pairs, Tensor) else pairs
        if array.dtype.kind not in "iu":
            raise TypeError(f"pairs must hold integers, got dtype {array.dtype}")
        if array.ndim != 2 or array.shape[1] != 2:
            raise ValueError(f"pairs must have shape (K, 2), got {array.shape}")
        return array.astype(np.int64)
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"pairs must be a list of index pairs (i, j), got {pairs!r}")
    rows = [_read_pair(pair) for pair in pairs]
    try:
        return np.array(rows, dtype=np.int64).reshape(-1, 2)
    except OverflowError:
        raise ValueError(
            f"pairs must hold indices below 2**63, got {max(map(max, rows))}"
        ) from None


def _read_pair(pair: Sequence[int]) -> tuple[int, int]:
    try:
        i, j = pair
    except (TypeError, ValueError) as error:
        raise type(error)(f"each pair must be two feature indices (i, j), got {pair!r}") from None
    return integer(i, "each index in pairs"), integer(j, "each index in pairs")


def normalise_pairs(index: Index, features: int) -> Index:  # (K, 2)
    """Copy `index` with i < j in every row; refuse bad indices and repeated pairs."""

    def refuse(rows: NDArray[np.bool_], fault: str) -> None:
        if rows.any():
            i, j = index[int(rows.argmax())].tolist()
            raise ValueError(f"pair ({i}, {j}) {fault}")

    outside = (index.min(axis=1) < 0) | (index.max(axis=1) >= features)
    refuse(outside, f"has an index outside 0..{features - 1}, the range for features={features}")
    refuse(index[:, 0] == index[:, 1], "joins a feature to itself; its two indices must differ")
    index = np.sort(index, axis=1)
    key = index[:, 0] * features + index[:, 1]
    repeated = np.ones(len(key), dtype=bool)
    repeated[np.unique(key, return_index=True)[1]] = False
    refuse(repeated, "is given more than once; (i, j) and (j, i) are the same pair")
    return index


def normalise_mains(mains: Indices | None, features: int) -> tuple[int, ...]:
    """Sort the indices of the main terms, all of them when None; refuse bad and repeated ones."""
    if mains is None:
        return tuple(range(features))
    values = mains.tolist() if isinstance(mains, (np.ndarray, Tensor)) else mains
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"mains must be None or a list of feature indices, got {mains!r}")
    result = sorted(integer(value, "each index in mains") for value in values)
    if result and result[-1] >= features:
        raise ValueError(f"mains must lie in 0..{features - 1}, got {result[-1]}")
    for one, following in pairwise(result):
        if one == following:
            raise ValueError(f"mains must not repeat an index, got {one} more than once")
    return tuple(result)


def pairs_at(ranks: Sequence[int] | Index, features: int) -> Index:  # (K,) -> (K, 2)
    """The pairs at `ranks` in the lexicographic order (0, 1), (0, 2), ..., (d - 2, d - 1)."""
    ranks, first = np.asarray(ranks, dtype=np.int64), np.arange(features, dtype=np.int64)
    start = first * (2 * int(features) - first - 1) // 2  # rank of (i, i + 1)
    i = np.searchsorted(start, ranks, side="right") - 1
    return np.stack([i, ranks - start[i] + i + 1], axis=1)


def largest(matrix: Array, count: int) -> Index:  # (count, 2)
    """The pairs (i, j) of the largest entries above the diagonal, in index order."""
    features = len(matrix)
    # Scores that are equal on paper differ in their last bits with the order of summation.
    scores = np.round(matrix[np.triu_indices(features, 1)], 12)
    return pairs_at(np.sort(np.argsort(-scores, kind="stable")[:count]), features)


def sample(population: int, count: int, seed: int | Tensor) -> Index:  # (count,)
    """Draw `count` of the numbers 0..population - 1 without replacement, sorted."""
    value = seed.item() if isinstance(seed, (np.ndarray, Tensor)) and seed.ndim == 0 else seed
    generator = np.random.Generator(np.random.PCG64(integer(value, "seed")))
    return np.sort(generator.choice(population, count, replace=False, shuffle=False))


def neighbours(shape: tuple[int, int, int], radius: float) -> Index:  # (K, 2)
    """Pairs of entries of a (C, H, W) image at most `radius` pixels apart, in sorted order."""
    from scipy.spatial import cKDTree

    positions = np.indices(shape)[1:].reshape(2, -1).T
    # Rounding in radius**2 must not lose a distance such as sqrt(13).
    tree, reach = cKDTree(positions), radius * (1 + 1e-12)
    index = tree.query_pairs(reach, output_type="ndarray").astype(np.int64)
    return index[np.lexsort((index[:, 1], index[:, 0]))]


_RULE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)?\*?(d|dlogd|d\^2)")
_FORMS = 'an integer, "none", "all", or a multiple a >= 0 in "a d", "a d log d" or "a d^2"'


def max_pairs(features: int) -> int:
    """The number of pairs of `features` inputs, d (d - 1) / 2.

    Args:
        features: the number d of inputs, at least 1.

    >>> max_pairs(784)
    306936
    """
    d = integer(features, "features", 1)
    return d * (d - 1) // 2


def resolve_size(rule: int | str, features: int, maximum: int | None = None) -> int:
    """The number of pairs |S| that `rule` means for `features` inputs.

    A rule is capped at the number of pairs there are; an integer beyond it is an error.

    Args:
        rule: an integer, or a string such as "0.5d", "2*d", "d log d" (natural), "0.1 d^2",
            "all" or "none"; rounded to the nearest integer, halves to even.
        features: the number d of inputs, at least 1.
        maximum: how many pairs there are to choose from; d (d - 1) / 2 when None.

    >>> resolve_size("0.5d", 8), resolve_size("d log d", 8), resolve_size("d^2", 8)
    (4, 17, 28)
    """
    d = integer(features, "features", 1)
    most = max_pairs(d) if maximum is None else integer(maximum, "maximum")
    if isinstance(rule, str):
        return _resolve_rule(rule, d, most)
    if isinstance(rule, float):
        hint = f'for {rule:g} times the number of features write "{rule:g}d"'
        raise TypeError(f"size must be {_FORMS}, got the float {rule}; {hint}")
    try:
        count = integer(rule, "size")
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error}; allowed: {_FORMS}") from None
    if count > most:
        hint = 'write "all" for all of them'
        raise ValueError(f"size must be at most {most} for features={d}, got {rule}; {hint}")
    return count


def _resolve_rule(rule: str, d: int, most: int) -> int:
    text = "".join(rule.lower().split())
    if text in ("none", "all"):
        return most if text == "all" else 0
    match = _RULE.fullmatch(text)
    if match is None:
        raise ValueError(f"size must be {_FORMS}, got {rule!r}")
    unit = {"d": d, "dlogd": d * math.log(d), "d^2": d * d}[match[2]]
    return round(min(float(match[1] or 1) * unit, most))
