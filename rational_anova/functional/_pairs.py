"""Pairs of features must name features, and two of them."""

from __future__ import annotations

import torch
from torch import Tensor


def check_pairs(pairs: Tensor, features: int) -> None:
    """Refuse pairs outside the features of x, or of a feature with itself."""
    low, high = (int(bound) for bound in torch.aminmax(pairs))
    if low < 0 or high >= features:
        bad = low if low < 0 else high
        raise ValueError(f"pairs must name features 0 to {features - 1} of x, got {bad}")
    same = (pairs[0] == pairs[1]).nonzero()
    if len(same):
        raise ValueError(f"a pair needs two features, got {int(pairs[0, same[0, 0]])} twice")
