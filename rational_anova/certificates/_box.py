"""The box that a certificate is for, and the checks of what comes in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn

from ..proofs import Interval
from ..units import Rational1d, Rational2d


def box_of(value: Any, features: int | None) -> Interval:
    """Return a box as an interval (features,).

    Args:
        value: one (low, high) for each input.
        features: how many there must be; None for any number.
    """
    way = "give one (low, high) with low < high for each input, such as [(-1, 1)] * 8"
    try:
        rows = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"box must hold numbers, got {value!r}; {way}") from None
    if rows.size == 0:
        raise ValueError(f"box is empty; {way}")
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"box must have shape (inputs, 2), got {rows.shape}; {way}")
    if features is not None and len(rows) != features:
        raise ValueError(f"box has {len(rows)} intervals for {features} inputs; {way}")
    for n, (low, high) in enumerate(rows.tolist()):
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(
                f"box[{n}] must be finite, got ({low}, {high}); box=None certifies the "
                "denominators on the whole space, where nothing else is bounded"
            )
        if low >= high:
            raise ValueError(f"box[{n}] must have low < high, got ({low}, {high}); {way}")
    return Interval(rows[:, 0].copy(), rows[:, 1].copy())


def inputs_of(model: Any) -> int | None:
    """Return the number of inputs of a model, or None if any number from a least one will do."""
    if isinstance(model, nn.Sequential):  # the first that knows: a dropout does not
        return next((n for n in map(inputs_of, model) if n is not None), None)
    for name in ("in_features", "features"):
        count = getattr(model, name, None)
        if isinstance(count, int):
            return count
    return None


def check_features(model: Any, count: int) -> None:
    """Raise if a box has too few inputs for the pairs, or the units act on another axis."""
    if isinstance(model, Rational2d) and count < model._least:
        raise ValueError(f"box has {count} intervals, and the pairs need {model._least}")
    if isinstance(model, Rational1d) and model.dim != -1:
        raise ValueError(f"certify needs the features on the last axis, got dim={model.dim}")


def check_weights(model: nn.Module) -> None:
    """Raise if a parameter is not finite."""
    for name, parameter in model.named_parameters():
        bad = ~torch.isfinite(parameter.detach())
        if bad.any():
            place = tuple(bad.nonzero()[0].tolist())
            value = parameter.detach()[place].item()
            raise ValueError(
                f"{name}{list(place)} is {value}: nothing can be certified; load finite weights, "
                "or find out where training diverged"
            )
