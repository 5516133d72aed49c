"""Is a polynomial positive on a box? Bernstein coefficients with subdivision, then exact Sturm.

On [0, 1] a polynomial lies between its least and its greatest Bernstein coefficient, and the first
and the last are its values at the ends (so at the corners, in two variables). What float64 cannot
settle in one variable, such as a root of even order, Sturm's theorem settles with exact fractions.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from .._core.types import Array
from ..functional import Powers
from ..proofs import first_root
from ._search import _corners, _grid, _shares, _split
from ._taylor import Expansion

_ROUNDS = 60
_BUDGET = 4096  # cells a polynomial
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
    search.corners(*_corners(low, high))
    unit, lower, upper = _grid(low, high, 1)
    for _ in range(_ROUNDS):
        is_open = search.look(unit, lower, upper) & ~search.settled(unit)
        cells = np.bincount(unit[is_open], minlength=len(table))
        search.cells += cells
        is_open &= search.cells[unit] < _BUDGET
        if not is_open.any():
            break
        unit, lower, upper = unit[is_open], lower[is_open], upper[is_open]
        share = _shares(lower, upper, (high - low)[unit])
        unit, lower, upper, _ = _split(unit, lower, upper, np.zeros((len(unit), 0)), share)
    return [search.verdict(n, low[n], high[n]) for n in range(len(table))]


class _Search:
    def __init__(self, powers: Powers, rows: Array) -> None:
        self.powers, self.rows = powers, rows
        self.cells = np.zeros(len(rows), dtype=np.int64)
        self.bound = np.full(len(rows), np.inf)
        self.fails: dict[int, tuple[float, ...]] = {}
        self.open: dict[int, tuple[float, ...]] = {}

    def corners(self, unit: np.ndarray, low: Array, high: Array) -> None:
        """Look at the corners of the box."""
        value = Expansion.around(self.powers, self.rows[unit], low, high - low)
        at = value.derivative((0,) * low.shape[1])
        for n in np.flatnonzero(at.high[1] <= 0):
            self.fails.setdefault(int(unit[n]), tuple(low[n].tolist()))

    def look(self, unit: np.ndarray, low: Array, high: Array) -> np.ndarray:
        """Return which cells are open; remember bounds, failures, and where it is still open."""
        bernstein, error = _coefficients(self.powers, self.rows[unit], low, high)
        least = (bernstein - error).min(1)
        proved = least > 0
        np.minimum.at(self.bound, unit[proved], least[proved])
        middle = 0.5 * low + 0.5 * high
        self.corners(unit[~proved], middle[~proved], middle[~proved])
        stuck = set(unit[~proved].tolist())
        self.open = {n: where for n, where in self.open.items() if n in self.spent()}
        for n, where in zip(unit[~proved].tolist(), middle[~proved].tolist(), strict=True):
            if n in stuck:
                self.open[n] = tuple(where)
        result: np.ndarray = ~proved
        return result

    def spent(self) -> set[int]:
        """Return the polynomials whose cells are used up."""
        return set(np.flatnonzero(self.cells >= _BUDGET).tolist())

    def settled(self, unit: np.ndarray) -> np.ndarray:
        """Return which cells belong to a polynomial that has failed."""
        return np.isin(unit, list(self.fails))

    def verdict(self, n: int, low: Array, high: Array) -> Positivity:
        """Return what is known about polynomial n."""
        if n in self.fails:
            return Positivity("refuted", -np.inf, self._root(n, low, high) or self.fails[n])
        if n not in self.open:
            return Positivity("proved", float(self.bound[n]))
        if len(low) > 1:
            return Positivity("undecided", -np.inf, self.open[n])
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
def _matrix(degree: int) -> Array:
    """Return the matrix from powers of t to Bernstein coefficients."""
    return np.array(
        [[comb(i, k) / comb(degree, k) for k in range(degree + 1)] for i in range(degree + 1)]
    )


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
        bernstein = np.tensordot(bernstein, _matrix(plan.highest), ((1,), (1,)))
        spread = np.tensordot(spread, _matrix(plan.highest), ((1,), (1,)))
    lost = expansion.lost[:, None] * (1 + side**variables)
    return bernstein.reshape(len(low), -1), spread.reshape(len(low), -1) * 2 + lost
