"""The one definition of a rational unit, in torch operations.

    r(x) = b(x) + gate * (sum over heads of p(x)/d(x) - b(x)),    d = 1 + eps + sum of psi(q(x))

(paper Eq. 4-6). q has a constant term where the form says so. With a `reach` R the quotient is held
outside of [-R, R] and goes on as the base does, c being the point of the range next to x:

    p(c)/d(c) + b(x) - b(c)    in place of    p(x)/d(x)

so that no coefficient can make tails steeper than the base's. Everything that evaluates a unit goes
through `Form`: the autograd function, the initialisers and the tests of every faster path.
Coefficients carry heads first: (heads, k, ...).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .._core import checks as check
from ..kernels import Spec
from . import _polynomial as polynomial
from ._bases import BASES, Base
from ._denominators import DENOMINATORS, Denominator
from ._polynomial import Powers


@dataclass(frozen=True)
class Form:
    """What a unit computes, apart from its coefficients: powers, denominator, base, eps and reach.

    `degrees` and `constant`, whether q has a constant term, are what the powers were made from.
    Units of two variables have no reach.
    """

    numerator: Powers
    denominator: tuple[Powers, ...]
    kind: Denominator
    base: Base
    eps: float
    degrees: tuple[int, int]
    constant: bool = False
    reach: float | None = None

    @staticmethod
    def checked_eps(eps: object) -> float | None:
        """Return eps if denominators stay positive with it: 1 + eps is what psi is added to."""
        if eps is None:
            return None
        if check.real(eps, "eps") <= -1:
            raise ValueError(f"eps must be above -1, or denominators may vanish, got {eps}")
        return float(eps)  # type: ignore[arg-type]

    @staticmethod
    def checked_reach(reach: object) -> float | None:
        """Return a reach that is a range."""
        if reach is None:
            return None
        if not 0 < check.real(reach, "reach") < float("inf"):
            raise ValueError(f"reach must be above 0, or None for no end, got {reach}")
        return float(reach)  # type: ignore[arg-type]

    @staticmethod
    @functools.lru_cache(maxsize=256)
    def make(
        variables: int,
        degrees: tuple[int, int],
        kind: str,
        base: str,
        eps: float | None,
        constant: bool = False,
        reach: float | None = None,
    ) -> Form:
        """Lay out a unit of `variables` inputs with polynomials of the given degrees."""
        entry = DENOMINATORS[kind]
        return Form(
            polynomial.monomials(variables, degrees[0]),
            entry.layout(variables, degrees[1], constant),
            entry,
            BASES[base],
            entry.eps if eps is None else float(eps),
            degrees,
            constant,
            reach,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Made again rather than copied: with a form goes what kernels have built for it.
        names = self.kind.name, self.base.name
        rest = self.eps, self.constant, self.reach
        return Form.make, (self.variables, self.degrees, *names, *rest)

    @functools.cached_property
    def spec(self) -> Spec:
        """What a kernel must compute."""
        names = self.kind.name, self.base.name
        powers = self.numerator, self.denominator
        ends = (0.0, 0.0)
        if self.reach is not None:
            low, high = torch.tensor([-self.reach, self.reach], dtype=torch.float64, device="cpu")
            ends = float(self.base.value(low)), float(self.base.value(high))
        return Spec(self.variables, *powers, *names, self.eps, self.reach, ends)

    def with_base(self, base: str) -> Form:
        """Return the form with another base."""
        if base == self.base.name:
            return self
        kind, eps = self.kind.name, self.eps
        rest = self.constant, self.reach
        return Form.make(self.variables, self.degrees, kind, base, eps, *rest)

    @property
    def variables(self) -> int:
        """Number of inputs of the unit."""
        return len(self.numerator[0])

    def split(self, rows: Tensor) -> list[Sequence[Tensor]]:
        """Cut the coefficients of one head into those of each polynomial q."""
        parts: list[Sequence[Tensor]] = []
        done = 0
        for powers in self.denominator:
            parts.append(rows[done : done + len(powers)].unbind(0))
            done += len(powers)
        return parts

    def denominators(
        self, variables: Sequence[Tensor], rows: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        """Return d and the polynomials q of one head, whose coefficients are `rows`."""
        qs = [
            polynomial.evaluate(part, powers, variables)
            for part, powers in zip(self.split(rows), self.denominator, strict=True)
        ]
        return total([self.kind.value(q) for q in qs]) + (1 + self.eps), qs

    def value(
        self,
        variables: Sequence[Tensor],  # each (outer, units, inner)
        numerator: Tensor,  # (heads, m, units, 1)
        denominator: Tensor,  # (heads, n, units, 1)
        gate: Tensor | None,  # (units, 1)
    ) -> Tensor:
        """Return r at the variables."""
        held, ratios = self.held(variables), []
        for top, bottom in zip(numerator, denominator, strict=True):
            p = polynomial.evaluate(top.unbind(0), self.numerator, held)
            ratios.append(p / self.denominators(held, bottom)[0])
        ratio = total(ratios).expand_as(variables[0])
        if self.reach is not None and not self.base.is_zero:
            ratio = ratio + (self.base.value(variables[0]) - self.base.value(held[0]))
        if gate is None:
            return ratio
        if self.base.is_zero:
            return gate * ratio
        # lerp gives the base exactly at gate 0 and the ratio exactly at gate 1.
        return torch.lerp(self.base.value(self.mean(variables)), ratio, gate)

    def held(self, variables: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the points at which the quotient is taken."""
        if self.reach is None:
            return variables
        return [x.clamp(-self.reach, self.reach) for x in variables]

    def mean(self, variables: Sequence[Tensor]) -> Tensor:
        """Return the mean of the inputs, on which the base acts."""
        if len(variables) == 1:
            return variables[0]
        return total(list(variables)) / len(variables)


def total(terms: list[Tensor]) -> Tensor:
    """Add up terms, without a zero to start from."""
    return sum(terms[1:], start=terms[0])
