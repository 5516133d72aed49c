"""Which coefficients may become exact numbers, with data to answer.

Coefficients are fixed one after the other, those that are still free follow by Gauss-Newton steps,
and a snap stays only if the data allow it:

- no prediction has moved by more than `precision` of the spread of the targets since the start;
- the snap raised the sum of squares by no more than 4 s^2, s^2 being the variance of the residuals:
  two standard errors of the coefficient, as the others stand;
- all snaps together raised it by no more than s^2 times the 95 % quantile of chi^2 with as many
  degrees of freedom.

Where only the sum of several coefficients matters, as with the constants of all terms, the data
say nothing of each; these are fixed first, at the simplest number that works, often zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sympy
import torch
from torch import Tensor

from ..symbols import snap
from ._coefficients import Coefficient
from ._trial import Trial

if TYPE_CHECKING:
    from ._ran import RAN

_CHEAP = 1e-3  # below this share of what it may move, a coefficient counts as zero already
_LEGS = 8  # of a way that cannot be gone in one


class Search(Trial):
    """Snap the coefficients of a float64 network that may be changed; see `Trial`.

    Args:
        model: the network.
        places: its coefficients.
        x: (rows, features).
        y: (rows, outputs) or None.
        precision: how far predictions may move, over the spread.
        constants: names for `snap`.
    """

    def __init__(
        self,
        model: RAN,
        places: list[Coefficient],
        x: Tensor,
        y: Tensor | None,
        precision: float,
        constants: Sequence[str],
    ) -> None:
        super().__init__(model, x, y, precision)
        self.places, self.constants = places, constants
        self.exact: dict[int, sympy.Expr] = {}
        self.tried: dict[tuple[int, Any], str] = {}

    def run(self) -> tuple[dict[int, sympy.Expr], dict[int, str]]:
        """Return the exact numbers by place, and why the others stayed."""
        self._fold_gates()
        phases: list[Callable[[Tensor], Iterator[tuple[int, Any]]]]
        # Twice, since what could not be done before may be done once others are fixed.
        phases = [*(self._wholes, self._zeros) * 2, self._unseen, *(self._simple,) * 2]
        for phase in phases:
            self.tried.clear()
            # Once one more is fixed, the errors of the others are smaller.
            reach = self.tolerance()
            while any(self._attempt(n, value, float(reach[n])) for n, value in phase(reach)):
                reach = self.tolerance()
        reasons = {}
        for n in self._order():
            told = [reason for (place, _), reason in self.tried.items() if place == n]
            none = f"no simple number lies within {reach[n]:.1g}, as far as it may move"
            reasons[n] = told[-1] if told else none
        return self.exact, reasons

    def _fold_gates(self) -> None:
        """Put gates of units with base zero into the numerators: gate p/d has a scale too many."""
        place = {(each.parameter, each.place): n for n, each in enumerate(self.places)}
        for n, each in enumerate(self.places):
            unit = getattr(self.model, each.parameter.partition(".")[0])
            gate = float(self.theta[n])
            if each.part != "gate" or unit.base != "zero" or gate in (0.0, 1.0):
                continue
            name = each.parameter.replace("gate", "numerator")
            top = [m for (parameter, at), m in place.items()
                   if parameter == name and at[-1] == each.place[0]]  # fmt: skip
            if self.free[[n, *top]].all():
                theta = self.theta.clone()
                theta[top] *= gate
                theta[n] = 1.0
                if not self.verdict(theta):
                    self._accept(n, sympy.Integer(1), theta)

    # What to try, the most likely first.

    def _wholes(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Gates that may be open or shut, and weights that may be one."""
        for n in self._order("gate", "weight"):
            for value in (1, 0) if self.places[n].part == "gate" else (1,):
                if abs(float(self.theta[n]) - value) <= reach[n]:
                    yield n, sympy.Integer(value)

    def _zeros(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients that may be zero, those that cost least first."""
        cost = torch.where(self.theta == 0, 0.0, self.theta.abs() / reach).tolist()
        for n in sorted(self._order(), key=lambda n: max(cost[n], _CHEAP)):
            if cost[n] <= 1:
                yield n, sympy.Integer(0)

    def _unseen(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients that may be anything: round numbers near them."""
        for n in self._order():
            value = float(self.theta[n])
            if reach[n] == torch.inf and value:
                yield n, sympy.Integer(1 if value > 0 else -1)
                for digits in range(3):
                    yield n, sympy.Rational(f"{value:.{digits}e}")

    def _simple(self, reach: Tensor) -> Iterator[tuple[int, Any]]:
        """Coefficients next to a simple number, the shortest number first."""
        found = []
        for n in self._order():
            value = float(self.theta[n])
            number = snap(value, min(float(reach[n]), abs(value) / 2), self.constants)
            if number is not None:
                found.append((len(str(number)), n, number))
        for _, n, number in sorted(found, key=lambda entry: entry[:2]):
            yield n, number

    def _order(self, *parts: str) -> list[int]:
        """Return the free coefficients, those that are rather done without first."""

        def rank(n: int) -> tuple[Any, ...]:
            each = self.places[n]
            return -len(each.term), each.part != "denominator", -sum(each.power), n

        chosen = self.free.nonzero().flatten().tolist()
        return sorted((n for n in chosen if not parts or self.places[n].part in parts), key=rank)

    def _attempt(self, n: int, value: Any, reach: float) -> bool:
        """Fix a coefficient, let the others follow, and keep that if the data allow it."""
        if not self.free[n] or (n, value) in self.tried:
            return False
        self.free[n] = False
        theta, reason = self._move(self.theta, n, float(value))
        if reason and reach == torch.inf:
            # What the data do not see may still be a long way off, and curved.
            theta = self.theta
            for goal in torch.linspace(float(theta[n]), float(value), _LEGS + 1)[1:].tolist():
                theta, again = self._move(theta, n, goal)
                if again:
                    break
            else:
                reason = ""
        self.free[n] = bool(reason)
        if reason:
            self.tried[n, value] = f"{value} {reason}"
            return False
        self._accept(n, value, theta)
        return True

    def _move(self, theta: Tensor, n: int, value: float) -> tuple[Tensor, str]:
        theta = theta.clone()
        theta[n] = value
        return self.settle(theta)

    def _accept(self, n: int, value: sympy.Expr, theta: Tensor) -> None:
        self.theta, self.exact[n], self.free[n] = theta, value, False
        self.fixed += 1
        self.cost = max(self.first, self.squares(theta))
