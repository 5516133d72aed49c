"""A system of equations as functions of arrays: right-hand sides and slopes at many places."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from .._core.types import Array
from ..symbols import Program, program


@dataclass(frozen=True)
class System:
    """Right-hand sides in states, inputs and parameters.

    Attributes:
        states: their symbols.
        inputs: symbols of inputs, time among them if anything depends on it.
        parameters: symbols of the numbers.
        right: the right-hand sides, one a state.
        discrete: whether they give the next state rather than the rate of change.
    """

    states: tuple[sp.Symbol, ...]
    inputs: tuple[sp.Symbol, ...]
    parameters: tuple[sp.Symbol, ...]
    right: tuple[sp.Expr, ...]
    discrete: bool = False

    def rates(self, x: Array, u: Array, theta: Array) -> Array:  # (places, states)
        """Right-hand sides at states (places, states) and inputs (places, inputs)."""
        out = np.empty((len(x), len(self.right)))
        for k, value in enumerate(self._value(*x.T, *u.T, *theta)):
            out[:, k] = value
        return out

    def slopes(self, x: Array, u: Array, theta: Array) -> Array:
        """Slopes in states and then parameters, (places, states, states + parameters)."""
        size = len(self.right)
        out = np.zeros((len(x), size, len(self.states) + len(self.parameters)))
        for k, value in enumerate(self._slopes(*x.T, *u.T, *theta)):
            out[:, k % size, k // size] = value
        return out

    @cached_property
    def _arguments(self) -> tuple[sp.Symbol, ...]:
        return (*self.states, *self.inputs, *self.parameters)

    @cached_property
    def _value(self) -> Program:
        return program(self._arguments, self.right)

    @cached_property
    def _slopes(self) -> Program:
        return program(self._arguments, self.right, (*self.states, *self.parameters))
