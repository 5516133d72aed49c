"""Polynomials in one or several variables, as coefficient rows next to a table of powers.

A monomial is a tuple of powers, one for each variable: (2, 1) stands for u^2 v. Everything here
works for any number of variables, so one- and two-dimensional units share every line.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

Powers = tuple[tuple[int, ...], ...]


def monomials(variables: int, degree: int, constant: bool = True) -> Powers:
    """List all monomials of total degree <= `degree`, lowest degree first.

    >>> monomials(2, 2)
    ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    """
    table = itertools.product(range(degree + 1), repeat=variables)
    kept = [powers for powers in table if (0 if constant else 1) <= sum(powers) <= degree]
    return tuple(sorted(kept, key=lambda powers: (sum(powers), *(-power for power in powers))))


def evaluate(coefficients: Sequence[Tensor], powers: Powers, variables: Sequence[Tensor]) -> Tensor:
    """Sum coefficients * monomials by nested Horner steps: no power is formed on its own."""
    top = max(row[0] for row in powers)
    result: Tensor | None = None
    for power in range(top, -1, -1):
        rows = [n for n, row in enumerate(powers) if row[0] == power]
        value: Tensor | None = None
        if rows and len(variables) > 1:
            rest = tuple(powers[n][1:] for n in rows)
            value = evaluate([coefficients[n] for n in rows], rest, variables[1:])
        elif rows:
            value = coefficients[rows[0]]
        if result is None:
            result = value
        elif value is None:
            result = result * variables[0]
        else:
            result = torch.addcmul(value, result, variables[0])
    assert result is not None
    return result


def differentiate(
    coefficients: Sequence[Tensor], powers: Powers, variable: int
) -> tuple[list[Tensor], Powers]:
    """Return coefficients and powers of the derivative with respect to one variable."""
    rows = [n for n, row in enumerate(powers) if row[variable] > 0]
    lowered = tuple(
        tuple(power - (axis == variable) for axis, power in enumerate(powers[n])) for n in rows
    )
    return [coefficients[n] * powers[n][variable] for n in rows], lowered


def moments(
    weight: Tensor,
    powers: Powers,
    variables: Sequence[Tensor],
    reduce: Callable[[Tensor], Tensor],
) -> list[Tensor]:
    """Reduce weight * monomial, one result for each monomial."""
    sums: dict[tuple[int, ...], Tensor] = {}

    def visit(product: Tensor, wanted: Iterable[tuple[int, ...]], chosen: tuple[int, ...]) -> None:
        depth = len(chosen)
        if depth == len(variables):
            sums[chosen] = reduce(product)
            return
        for power in range(max(row[depth] for row in wanted) + 1):
            if power:
                product = product * variables[depth]
            below = [row for row in wanted if row[depth] == power]
            if below:
                visit(product, below, (*chosen, power))

    visit(weight, powers, ())
    return [sums[row] for row in powers]
