"""Is a polynomial positive on a box? Bernstein coefficients with subdivision, then exact Sturm.

On [0, 1] a polynomial lies between its least and its greatest Bernstein coefficient, and the first
and the last are its values at the ends (so at the corners, in two variables). What float64 cannot
settle in one variable, such as a root of even order, Sturm's theorem settles with exact fractions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np

from .._core.types import Array
from ._branch_and_bound import Budget, Cells, branch
from ._sturm import first_root
from ._taylor import Expansion, Powers

_ROUNDS = 60
_BUDGET = 8192  # cells a polynomial
_LEAST = 5e-324


@dataclass(frozen=True)
class Positivity:
    """The verdict on one polynomial.

    Args:
        verdict: `proved`, `refuted` or `undecided`.
        bound: a lower bound on the box; above zero if proved, else -inf.
        point: if refuted, the first root in one variable (to rounding), and else a point where it
            is zero or negative; if undecided, a point near which it could not be decided.
    """

    verdict: str
    bound: float
    point: tuple[float, ...] | None = None

    def __bool__(self) -> bool:
        return self.verdict == "proved"


def positive_on(
    powers: Powers, rows: Sequence[Sequence[float]], low: Array, high: Array
) -> list[Positivity]:
    """Decide for polynomials whether they are positive on boxes.

    Args:
        powers: of the monomials, one or two numbers each.
        rows: coefficients of each polynomial.
        low: lower corners, (polynomials, variables).
        high: upper corners.

    Example:
        >>> import numpy as np
        >>> box = np.array([[-1.0]]), np.array([[1.0]])
        >>> positive_on(((0,), (2,)), [[1.0, -0.5]], *box)[0].verdict
        'proved'
        >>> positive_on(((0,), (1,)), [[1.0, -2.0]], *box)[0].verdict
        'refuted'
    """
    table = np.asarray(rows, dtype=np.float64)
    low, high = (np.asarray(end, dtype=np.float64) for end in (low, high))
    search = _Search(powers, table)
    search.corners(Cells.corners(low, high))
    left = branch(Cells.of(low, high), search, Budget(_BUDGET, len(table)), _ROUNDS)
    where = dict(zip(left.problem.tolist(), map(tuple, left.middle.tolist()), strict=True))
    return [search.verdict(n, low[n], high[n], where.get(n)) for n in range(len(table))]


class _Search:
    def __init__(self, powers: Powers, rows: Array) -> None:
        self.powers, self.rows = powers, rows
        self.bound = np.full(len(rows), np.inf)
        self.fails: dict[int, tuple[float, ...]] = {}

    def corners(self, points: Cells) -> None:
        """Look at cells of a single point each."""
        rows, width = self.rows[points.problem], np.zeros_like(points.low)
        value = Expansion.around(self.powers, rows, points.low, width)
        at = value.derivative((0,) * points.low.shape[1])
        for n in np.flatnonzero(at.high[1] <= 0):
            self.fails.setdefault(int(points.problem[n]), tuple(points.low[n].tolist()))

    def __call__(self, cells: Cells) -> tuple[Array, None, None]:
        """Return which cells are open, of polynomials that have not failed; remember bounds."""
        rows = self.rows[cells.problem]
        bernstein, error = _coefficients(self.powers, rows, cells.low, cells.high)
        least = (bernstein - error).min(1)
        proved = least > 0
        np.minimum.at(self.bound, cells.problem[proved], least[proved])
        rest = cells[~proved]
        self.corners(Cells(rest.problem, rest.middle, rest.middle, rest.carried))
        return ~proved & ~np.isin(cells.problem, list(self.fails)), None, None

    def verdict(
        self, n: int, low: Array, high: Array, left: tuple[float, ...] | None
    ) -> Positivity:
        """Return what is known about polynomial n, with a cell that is left open or None."""
        if n in self.fails:
            return Positivity("refuted", -np.inf, self._root(n, low, high) or self.fails[n])
        if left is None:
            return Positivity("proved", float(self.bound[n]))
        if len(low) > 1:
            return Positivity("undecided", -np.inf, left)
        root = self._root(n, low, high)
        return Positivity("refuted", -np.inf, root) if root else Positivity("proved", _LEAST)

    def _root(self, n: int, low: Array, high: Array) -> tuple[float, ...] | None:
        """Return the first real root in one variable, if there is one."""
        if len(low) > 1:
            return None
        terms = {row[0]: value for row, value in zip(self.powers, self.rows[n], strict=True)}
        root = first_root(terms, float(low[0]), float(high[0]))
        return None if root is None else (root,)


@functools.lru_cache(maxsize=64)
def bernstein_matrix(degree: int, symmetric: bool = False) -> Array:
    """Return the matrix from powers of t to Bernstein coefficients.

    Args:
        degree: of the polynomials.
        symmetric: on [-1, 1]; else on [0, 1].
    """
    size = range(degree + 1)
    rows = [[Fraction(comb(i, k), comb(degree, k)) for k in size] for i in size]
    if symmetric:  # the powers of 2 t - 1, in those of t
        powers = [[comb(k, j) * 2**j * (-1) ** (k - j) for j in size] for k in size]
        rows = [[sum(r * p for r, p in zip(row, power, strict=True)) for power in powers]
                for row in rows]  # fmt: skip
    return np.array(rows, dtype=np.float64)


def _coefficients(powers: Powers, rows: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return Bernstein coefficients on each cell and bounds of their errors, (cells, n)."""
    expansion = Expansion.around(powers, rows, low, np.nextafter(high - low, np.inf))
    plan = expansion.plan
    variables = low.shape[1]
    side = plan.highest + 1
    size = np.ones_like(expansion.middle)
    for v in range(variables):
        size = size * expansion.radius[:, v, plan.orders[:, v]]
    shape = (len(low), *(side,) * variables)
    middle, error = np.zeros(shape), np.zeros(shape)
    at = (slice(None), *plan.orders.T)
    middle[at] = expansion.middle * size
    error[at] = expansion.error * size + plan.share * np.abs(middle[at])
    bernstein, spread = middle, error + 8 * side * plan.share * np.abs(middle)
    for _ in range(variables):  # each pass moves one axis to the end
        bernstein = np.tensordot(bernstein, bernstein_matrix(plan.highest), ((1,), (1,)))
        spread = np.tensordot(spread, bernstein_matrix(plan.highest), ((1,), (1,)))
    lost = expansion.lost[:, None] * (1 + side**variables)
    return bernstein.reshape(len(low), -1), spread.reshape(len(low), -1) * 2 + lost
