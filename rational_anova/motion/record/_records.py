"""What a system is made of beside its equations: rivals, starts, fixed points, conserved sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from ..._core.types import Array


@dataclass(frozen=True)
class Rival:
    """A system that was compared.

    Attributes:
        formulas: its right-hand sides, with their numbers.
        weight: its posterior probability among all that were compared.
        numbers: how many parameters were fitted.
        own: True for the system that was returned.
    """

    formulas: tuple[sp.Expr, ...]
    weight: float
    numbers: int
    own: bool = False


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run begins, estimated with the numbers of the system.

    Attributes:
        run: its label.
        t: first and last time.
        state: at the first time, velocities included.
        last: state at the last time.
        stderr: standard errors of `state`.
        group: what the run belongs to, if there are groups with numbers of their own.
    """

    run: str
    t: tuple[float, float]
    state: Array
    last: Array
    stderr: Array
    group: str = ""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A fixed point: a state at which all rates of change are zero.

    Attributes:
        state: where it is.
        eigenvalues: of the Jacobian there.
        kind: such as "stable node", "saddle", "unstable focus", "centre".
        inside: whether it lies in the range of the data.
    """

    state: Array
    eigenvalues: Array
    kind: str
    inside: bool

    @property
    def stable(self) -> bool:
        """Whether it is asymptotically stable."""
        return self.kind.startswith("stable")

    def __str__(self) -> str:
        place = ", ".join(f"{x:.4g}" for x in self.state)
        return f"{self.kind} at ({place})"


@dataclass(frozen=True)
class Conserved:
    """A conserved quantity: a function of the states that is constant along trajectories.

    Attributes:
        formula: in the symbols of the states.
        drift: its change in the measured runs, relative to its range on their box.
        expected: the change expected from the noise alone; a drift near it is consistent.
    """

    formula: sp.Expr
    drift: float
    expected: float

    @property
    def confirmed(self) -> bool:
        """Whether the data agree: it changes no more than by their noise."""
        return bool(self.drift <= 1.5 * self.expected + 1e-6)


def kind_of(eigenvalues: Array, discrete: bool) -> str:
    """Name a fixed point by the eigenvalues of the slopes there."""
    if discrete:
        growth = np.log(np.maximum(np.abs(eigenvalues), 1e-300))
        turning = np.abs(eigenvalues.imag) > 1e-9 * np.abs(eigenvalues)
    else:
        growth = eigenvalues.real
        turning = np.abs(eigenvalues.imag) > 1e-9 * np.abs(eigenvalues).max()
    still = np.abs(growth) <= 1e-7 * max(float(np.abs(eigenvalues).max()), 1e-300)
    if still.all():
        return "centre" if turning.any() else "degenerate point"
    if (growth[~still] > 0).any() and (growth[~still] < 0).any():
        return "saddle"
    stability = "stable" if (growth[~still] < 0).all() else "unstable"
    if still.any():
        return f"{stability} but for a direction without change"
    return f"{stability} {'focus' if turning.any() else 'node'}"
