"""The denominators: d = 1 + eps + sum of psi(q) over one or several polynomials q.

Each entry of the registry knows psi, its slope and its symbolic form, the least value it can take,
how its coefficients are laid out and from where it can start to learn. A new denominator is a new
entry and must pass the contract suite in tests/test_contract.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ._polynomial import Powers, monomials

# Start of `square` and `sos`, whose slope is zero at q = 0: with 1/2 the slope there is one.
_ALIVE = 0.5
# Above this softplus(q) equals q in float64 too: log1p(exp(-40)) < 1e-17 * 40.
_SOFTPLUS_LINEAR = 40.0


@dataclass(frozen=True)
class Denominator:
    """One way to make a denominator; see `DENOMINATORS` for those there are.

    Args:
        name: the word people type.
        value: psi(q).
        slope: psi'(q).
        expression: psi(q) in sympy.
        minimum: the greatest lower bound of 1 + psi over the reals (-inf for `polynomial`).
        rational: whether psi of a polynomial is a polynomial, so that poles are its roots.
        squares: whether q is split into several polynomials with constants (`sos`).
        refuses_constant: why q takes no constant term; empty where it may have one.
        start: the value of a leading coefficient at which the gradient is not zero.
        eps: the default for eps.
        flops: operations of psi on one number; a transcendental function counts as one.
    """

    name: str
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    expression: Callable[[Any], Any]
    minimum: float = 1.0
    rational: bool = False
    squares: bool = False
    refuses_constant: str = ""
    start: float = 0.0
    eps: float = 0.0
    flops: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        # Functions without a name of their own cannot be pickled; the registry has them.
        return _denominator, (self.name,)

    def layout(self, variables: int, degree: int, constant: bool = False) -> tuple[Powers, ...]:
        """Powers of each polynomial q; together they hold all coefficients, in order."""
        if constant and self.refuses_constant:
            takers = [kind.name for kind in DENOMINATORS.values() if not kind.refuses_constant]
            raise ValueError(
                f"constant=True is not for denominator={self.name!r}: {self.refuses_constant}; "
                f"leave it at False, or use one of {', '.join(map(repr, takers))}"
            )
        if self.squares:
            count = len(monomials(variables, degree, constant=False))
            return _squares(variables, degree, count)
        return (monomials(variables, degree, constant),)

    def start_powers(self, q: Powers) -> Powers:
        """Monomials of a polynomial q that start at `start`: the lowest that there are."""
        least = min(map(sum, q))
        return tuple(row for row in q if sum(row) == least)


def _denominator(name: str) -> Denominator:
    return DENOMINATORS[name]


def _squares(variables: int, degree: int, count: int) -> tuple[Powers, ...]:
    """Lay `count` coefficients out as squares of polynomials, so that d has degree <= `degree`.

    The squares form a triangle, as in a Cholesky factor: each lacks one more of the leading
    monomials. At degree 2 this reaches every positive quadratic polynomial up to scale, in one
    variable and in two. The last square takes the highest monomials left to it, since a constant
    alone would only rescale. Degree 1 has no positive polynomial but constants, so there each
    variable has its own square and d has degree 2.
    """
    if degree == 1:
        return tuple((row,) for row in monomials(variables, 1, constant=False))
    basis = monomials(variables, degree // 2)
    leading = sorted(basis, key=lambda row: (-sum(row), *(-power for power in row)))
    squares: list[Powers] = []
    dropped = 0
    while count:
        dropped %= len(basis)
        chosen = leading[dropped:][:count]
        squares.append(tuple(row for row in basis if row in chosen))
        count -= len(chosen)
        dropped += 1
    return tuple(squares)


def _softplus(q: Tensor) -> Tensor:
    return functional.softplus(q, threshold=_SOFTPLUS_LINEAR)


def _abs(q: Tensor) -> Tensor:
    # At the kink the right-hand slope, not zero: a unit that starts at q = 0 must learn. Written
    # out, because torch.abs has slope 0 there wherever torch differentiates it.
    return q * _abs_slope(q)


def _squareplus(q: Tensor) -> Tensor:
    # (q + root)/2 cancels for q < 0. With 1/(root + |q|) = root - |q| it is a sum of two numbers
    # that are not negative. Both clamp and _abs have slope 1 at q = 0, which makes it 1/2 there.
    root = torch.sqrt(q * q + 1)  # where this overflows, its share is lost anyway
    return q.clamp_min(0) + 0.5 / (root + _abs(q))


def _squareplus_slope(q: Tensor) -> Tensor:
    # (1 + q/root)/2 cancels for q < 0; for q and -q the slopes add up to one.
    root = torch.sqrt(q * q + 1)
    less = 0.5 / ((root + _abs(q)) * root)
    sign = _abs_slope(q)
    return 0.5 * (1 + sign) - sign * less


def _abs_slope(q: Tensor) -> Tensor:
    return torch.sign(torch.sign(q) + 0.5)  # 1 at q = 0; torch.where takes ten times as long


# Sympy is slow to import, and only formulas need it.


def _softplus_expression(q: Any) -> Any:
    import sympy

    return sympy.log(1 + sympy.exp(q))


def _squareplus_expression(q: Any) -> Any:
    import sympy

    return (q + sympy.sqrt(q**2 + 1)) / 2


# NOTE[DIFF] The paper has softplus alone. With the constant in q of its appendix a law with a
# polynomial denominator is exact to rounding, without it (Eq. 4) it is not.
DENOMINATORS: dict[str, Denominator] = {
    entry.name: entry
    for entry in (
        Denominator(
            "softplus",
            _softplus,
            torch.sigmoid,
            _softplus_expression,
            eps=1e-6,
            flops=3,
        ),
        Denominator("squareplus", _squareplus, _squareplus_slope, _squareplus_expression, flops=5),
        Denominator(
            "square",
            torch.square,
            lambda q: 2 * q,
            lambda q: q**2,
            rational=True,
            start=_ALIVE,
        ),
        Denominator("abs", _abs, _abs_slope, abs),
        Denominator(
            "sos",
            torch.square,
            lambda q: 2 * q,
            lambda q: q**2,
            rational=True,
            squares=True,
            refuses_constant="from degree 2 on its squares have constants already",
            start=_ALIVE,
        ),
        Denominator(
            "polynomial",
            lambda q: q,
            torch.ones_like,
            lambda q: q,
            minimum=float("-inf"),
            rational=True,
            refuses_constant="1 + q has a constant, and another would only rescale p and q",
            flops=0,
        ),
    )
}
