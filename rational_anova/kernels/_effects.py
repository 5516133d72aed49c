"""Sums of effects of one or two inputs at rows of a table, by a C kernel: see source/effects.h."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from . import _c
from ._pick import asked, missing

Array = np.ndarray[Any, Any]
KINDS = {"heads": 0, "levels": 1, "codes": 2, "missing": 3}


@dataclass(frozen=True)
class Functions:
    """Functions of one input: heads 1/(1 + u^2), or indicators.

    Args:
        column: of the input.
        kind: one of `KINDS`.
        count: of heads, levels or codes.
        odd: whether heads come with u/(1 + u^2), after all 1/(1 + u^2).
        numbers: of heads: centres, inverse widths, and what the functions are where the input is
            missing; of codes: these.
        special: numbers that heads see as missing.
        values: what stands for each level, where heads see that; the last one for unseen levels.
    """

    column: int
    kind: str
    count: int
    odd: bool = False
    numbers: tuple[Array, ...] = ()
    special: Array | None = None
    values: Array | None = None

    @property
    def size(self) -> int:
        """How many functions there are."""
        return 1 if self.kind == "missing" else self.count * (2 if self.odd else 1)


class Program:
    """Effects as the kernel reads them.

    Args:
        effects: the functions of one input, or of two whose products are used, and numerators,
            (size, outputs).
        intercept: (outputs,).
    """

    def __init__(self, effects: list[tuple[list[Functions], Array]], intercept: Array) -> None:
        self.intercept = np.asarray(intercept, float)
        self._numbers: list[Array] = []
        self._at = 0
        axes: list[list[int]] = []
        pieces: list[list[int]] = []
        most = 1
        for functions, numerators in effects:
            places = []
            for each in functions:
                places.append(len(axes))
                most = max(most, each.size)
                axes.append(self._axis(each))
            at = self._put(np.ascontiguousarray(numerators.T, float).ravel())
            pieces.append([places[0], places[1] if len(places) > 1 else -1, at])
        self.axes = np.array(axes, np.int64).reshape(-1, 7)
        self.pieces = np.array(pieces, np.int64).reshape(-1, 3)
        self.numbers = np.concatenate([*self._numbers, np.zeros(1)])
        self.most = most

    def _axis(self, each: Functions) -> list[int]:
        special = np.zeros(0) if each.special is None else each.special
        values = np.zeros(0) if each.values is None else each.values
        at = self._put(*each.numbers, special, values)
        return [
            each.column, KINDS[each.kind], each.count, int(each.odd), len(special), len(values), at
        ]  # fmt: skip

    def _put(self, *arrays: Array) -> int:
        at = self._at
        for array in arrays:
            self._numbers.append(np.asarray(array, float))
            self._at += len(array)
        return at

    def at(self, x: Array, single: bool = False) -> Array | None:
        """Return the sum at rows x, (rows, outputs); None where no kernel is to be had.

        Args:
            x: numbers (NaN where missing) and codes of levels, (rows, inputs).
            single: whether functions are computed in single precision; sums are not.
        """
        kind = torch.float32 if single else torch.float64
        if asked() not in ("auto", "c") or missing(kind) is not None:
            return None
        x = np.ascontiguousarray(x, np.float64)
        result = np.tile(self.intercept, (len(x), 1))
        shape = np.array([*x.shape, len(self.pieces), len(self.intercept), self.most], np.int64)
        arrays = (shape, self.axes, self.pieces, self.numbers, x, result)
        failed = _c.load(kind).ran_effects(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
        if failed:
            raise MemoryError(f"ran_effects has no memory for {self.most} functions")
        return result
