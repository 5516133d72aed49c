"""Fit a unit to a given function: least squares on a range, with an eye on what happens outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from .. import _validation as check
from ..functional import Form
from ._projection import Search, basis, candidates, polish
from ._samples import FitError, Samples

# Points on each axis and rings outside, for one and two variables: to search, to polish, to check.
_GRIDS = {1: ((251, 32), (2001, 64), (10001, 1000)), 2: ((21, 4), (41, 6), (101, 16))}


@dataclass(frozen=True)
class Fit:
    """Coefficients of p and of q, in the order of `Form`, and what they achieve."""

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    error: FitError


def fit_function(
    form: Form, function: Callable[..., Tensor], interval: tuple[float, float] = (-8.0, 8.0)
) -> Fit:
    """Find p and q that bring p/d nearest to a function in the mean square over a range.

    The same arguments give the same fit: the random starts come from a generator of its own.
    A `polynomial` denominator is kept positive in the range and out to ten times the range.

    Args:
        form: powers of p and q, and the denominator made from q. Base and gate play no part.
        function: takes one float64 tensor of shape (n,) for each variable and returns a tensor of
            that shape. It must be finite on the range, and is also asked ten times further out.
        interval: the range (low, high), the same for every variable.

    Example:
        >>> form = Form.make(1, (0, 2), "sos", "zero", None)
        >>> fit_function(form, lambda x: 1 / (1 + x**2), (-2.0, 2.0)).error.rmse < 1e-12
        True
    """
    low, high = check.interval(interval, "interval")
    rough, fine, dense = (
        Samples(form.variables, function, low, high, *grid) for grid in _GRIDS[form.variables]
    )
    bases = [basis(fine, powers) for powers in (form.numerator, *form.denominator)]
    with np.errstate(all="ignore"):  # a step that overflows is a step that is not taken
        search, final = (Search(form, bases, samples, dense) for samples in (rough, fine))
        finalists = polish(final, *candidates(search))
        scored = [(*dense.judge(form, *each), *each) for each in finalists]
    _, error, numerator, denominator = min(scored, key=lambda entry: entry[0])
    return Fit(tuple(numerator.tolist()), tuple(denominator.tolist()), error)


def measure(
    form: Form,
    numerator: Sequence[float],
    denominator: Sequence[float],
    function: Callable[..., Tensor],
    interval: tuple[float, float],
) -> FitError:
    """Return how far p/d with the given coefficients is from a function over a range."""
    dense = Samples(form.variables, function, *interval, *_GRIDS[form.variables][-1])
    return dense.judge(form, np.asarray(numerator), np.asarray(denominator))[1]
