"""What a kernel must compute, in plain numbers and names: no torch, nothing to call.

r = b + gate * (sum over heads of p/d - b),    d = 1 + eps + sum over q of psi(q)

With a reach, p/d is taken at the nearest point of [-reach, reach] and goes on from there as b does.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

Powers = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Spec:
    """One form of unit.

    Args:
        variables: inputs of a unit, 1 or 2.
        numerator: powers of each monomial of p, in the order of its coefficients.
        denominator: powers of each polynomial q; together they take the coefficients in order.
        kind: the name of psi.
        base: the name of b, which acts on the mean of the inputs.
        eps: added to d.
        reach: of units of one variable, or None.
        ends: values of b at -reach and at reach.
    """

    variables: int
    numerator: Powers
    denominator: tuple[Powers, ...]
    kind: str
    base: str
    eps: float
    reach: float | None = None
    ends: tuple[float, float] = (0.0, 0.0)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what kernels keep beside it, which belongs to this process.
        return Spec, tuple(getattr(self, field.name) for field in fields(self))
