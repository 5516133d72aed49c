"""Whether a formula belongs to a family: a form with free numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from ..._core.types import Array
from ._descent import THOROUGH, descended, polished
from ._form import Form, evaluated

_POINTS = 160
_SAME = 1e-6  # relative error of a fit to values without noise


def same_family(
    formula: sp.Expr, form: Form, box: Sequence[tuple[float, float]], tolerance: float = _SAME
) -> bool:
    """Return whether some numbers make a form equal to a formula on a box.

    Args:
        formula: in the form's inputs, with numbers.
        form: what it may be.
        box: range of each input.
        tolerance: of the root mean square of the difference, relative to the spread.

    Example:
        >>> x = sp.Symbol("x")
        >>> form = Form.of("a*x/(b + x)", ["x"])
        >>> same_family(6 * x / (2 * x + 3), form, [(0, 4)])
        True
        >>> same_family(1 - sp.exp(-x), form, [(0, 4)])
        False
    """
    X = _points(box)
    y = evaluated((formula,), form.inputs, X)[0]
    usable = np.isfinite(y)
    X, y = X[usable], y[usable]
    spread = float(np.std(y)) or float(np.abs(y).max(initial=0.0))
    if len(y) < len(form.parameters) + 2 or not spread:
        return False
    root = np.full(len(y), 1 / spread)
    for seed in (0, 1):
        found = descended(form, X, y, root, THOROUGH, seed)
        for which in range(min(3, len(found.cost))):
            values = polished(form, X, y, root, found.values(form, which))
            miss = root * (form.value(X, values) - y)
            if np.sqrt(np.mean(miss**2)) < tolerance:
                return True
    return False


def _points(box: Sequence[tuple[float, float]]) -> Array:
    """Points of a box, spread as a lattice that has no two in one row or column."""
    low, high = np.array(box, dtype=float).reshape(-1, 2).T
    steps = np.sqrt([2, 3, 5, 7, 11, 13, 17, 19, 23, 29][: len(low)])
    count = np.arange(_POINTS)
    unit = (count[:, None] * steps) % 1 if len(low) > 1 else (count[:, None] + 0.5) / _POINTS
    return np.asarray(low + (high - low) * unit)
