"""Parts of a model as the kernel for sums of effects reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._core.types import Array
from ...kernels import Functions, Program
from ._bases import Basis, Codes, Heads, Levels, Missing

if TYPE_CHECKING:
    from ._additive import Part


def program(parts: Sequence[Part], intercept: Array) -> Program:
    """Return parts, none of whose bases is constant, and an intercept as a program."""
    effects = []
    for part in parts:
        term = part.term
        own = [functions(i, basis) for i, basis in zip(term.axes, term.bases, strict=True)]
        effects.append((own, part.numerators))
    return Program(effects, intercept)


def functions(column: int, basis: Basis) -> Functions:
    """Return the functions of a basis at an input."""
    if isinstance(basis, Heads):
        fill = np.zeros(basis.size) if basis.fill is None else basis.fill
        numbers = basis.centre, 1 / basis.width, fill
        count, odd = len(basis.centre), basis.odd
        special = None if basis.values is not None else basis.special
        return Functions(column, "heads", count, odd, numbers, special, basis.values)
    if isinstance(basis, Levels):
        return Functions(column, "levels", basis.count)
    if isinstance(basis, Codes):
        return Functions(column, "codes", len(basis.values), numbers=(basis.values,))
    if isinstance(basis, Missing):
        return Functions(column, "missing", 1)
    raise TypeError(f"there is no kernel for {type(basis).__name__}")
