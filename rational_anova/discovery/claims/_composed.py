"""Forms without a name on one column: products of a few functions, and a term more.

A power of x times one or two functions such as exp(-b*x), log(1 + b*x**2) or sin(b*x), with or
without a further term. All of them are compared at once on a grid of their inner numbers, where
the others follow by least squares; the best are then fitted as any form is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import sympy as sp

from ..._core.types import Array
from ..fitting import Form, NoiseShape, Rows, deviations, fitted, improved
from ..search import permitted, written
from ._weigh import Candidate, composed_candidate

_X = sp.Symbol("x")
_HALF = sp.Rational(1, 2)
_OUTER = (-1, 0, _HALF, 1, 3 * _HALF, 2)  # powers of x before a function
_INNER = (-1, _HALF, 1, 2, 3)  # powers of x inside of one
_ROWS = 120  # that the grid looks at
_LOOKED_AT, _STEPS = 90, 6  # forms that are improved from the grid, and by how many steps
_KEPT = 24  # of these, fitted


@dataclass(frozen=True)
class _Shape:
    """A function of u = b*x**k; the value of an array, and its formula."""

    value: Callable[[Array], Array]
    formula: Callable[[sp.Expr], sp.Expr]
    either_sign: bool = False  # of b


_SHAPES = (
    _Shape(lambda u: np.exp(-u), lambda u: sp.exp(-u), either_sign=True),
    _Shape(lambda u: -np.expm1(-u), lambda u: 1 - sp.exp(-u)),
    _Shape(np.log1p, lambda u: sp.log(1 + u)),
    _Shape(lambda u: np.sqrt(1 + u), lambda u: sp.sqrt(1 + u)),
    _Shape(lambda u: 1 / (1 + u), lambda u: 1 / (1 + u)),
    _Shape(np.tanh, sp.tanh),
    _Shape(np.arctan, sp.atan),
)
_WAVES = (_Shape(np.sin, sp.sin), _Shape(np.cos, sp.cos))
_FADING = (_SHAPES[0], _SHAPES[2], _SHAPES[4])  # what a second function may be
_RESTS = tuple(
    map(sp.sympify, (0, 1, _X, _X**2, sp.sqrt(_X), sp.log(_X), 1 / _X))
)  # the further term, if any


@dataclass(frozen=True)
class _Columns:
    """Values of one function on a grid of its inner number.

    Attributes:
        formula: in x and the number, which is called b.
        grid: of the number (grid,).
        values: (grid, rows).
    """

    formula: sp.Expr
    grid: Array
    values: Array


def composed(
    rows: Rows,
    symbol: sp.Symbol,
    noise: NoiseShape,
    *,
    forbidden: frozenset[str] = frozenset(),
    over: Callable[[], bool] = lambda: False,
) -> list[Candidate]:
    """Fit products of a few functions, with a further term or without.

    Args:
        rows: the data, of one column.
        symbol: of the column.
        noise: the model of the noise.
        forbidden: functions that a formula may not have.
        over: whether the time is up.
    """
    some = _some(rows)
    root = 1 / deviations(some, np.abs(some.y), noise)
    found: dict[sp.Expr, tuple[float, Array]] = {}
    with np.errstate(all="ignore"):
        for whole, theta, squares in _scanned(some.X[:, 0], some.y, root):
            if over():
                break
            if permitted(whole, forbidden):
                score = _rough_score(whole, squares, len(some.y))
                if score < found.get(whole, (np.inf, theta))[0]:
                    found[whole] = score, theta
    started = []
    for whole, (_, theta) in sorted(found.items(), key=lambda item: item[1][0])[:_LOOKED_AT]:
        # the grid is coarse: a step or two tell more
        start = improved(_form(whole), some.X, some.y, root, theta[None], _STEPS)
        if len(start.cost) and not over():
            score = _rough_score(whole, float(start.cost[0]), len(some.y))
            started.append((score, _form(whole), start.values(_form(whole))))
    fits = (
        fitted(form.renamed([symbol]), rows, noise, values=values)
        for _, form, values in sorted(started, key=lambda item: item[0])[:_KEPT]
        if not over()
    )
    return [composed_candidate(f) for f in fits if f is not None and np.isfinite(f.deviance)]


_LINEAR, _NONLINEAR = sp.symbols("a d"), sp.symbols("b c")


@cache
def _form(whole: sp.Expr) -> Form:
    parameters = [s for s in (*_LINEAR, *_NONLINEAR) if s in whole.free_symbols]
    return Form(whole, (_X,), tuple(sorted(parameters, key=lambda s: s.name)))


def _rough_score(whole: sp.Expr, squares: float, n: int) -> float:
    numbers = len(whole.free_symbols) - 1
    return float(n * np.log(max(squares, 1e-300)) + numbers * np.log(n) + 2 * written(whole))


def _some(rows: Rows) -> Rows:
    if len(rows.y) <= _ROWS:
        return rows
    order = np.argsort(rows.X[:, 0], kind="stable")
    return rows.some(np.sort(order[np.linspace(0, len(order) - 1, _ROWS).astype(int)]))


# -- the grid


def _scanned(x: Array, y: Array, root: Array) -> Iterator[tuple[sp.Expr, Array, float]]:
    """Each form with its best inner numbers on the grid, and the squares that it leaves."""
    a, d = _LINEAR
    outer = [(p, v) for p in _OUTER if np.isfinite(v := _power(x, p)).all()]
    rests = [(rest, _values(rest, x)) for rest in _RESTS]
    rests = [(rest, v) for rest, v in rests if np.isfinite(v).all()]
    single = [*_columns(_SHAPES, _INNER, x, 24), *_columns(_WAVES, (1,), x, 160)]
    second = list(_columns(_FADING, (1,), x, 10))
    b, c = _NONLINEAR
    for (power, factor), first in product(outer, single):
        values = first.values * factor
        for rest, term in rests:
            at, squares = _best(values, term, y, root)
            whole = a * _X**power * first.formula + d * rest
            yield whole, first.grid[[at]], squares
        for other in second:
            if other.formula == first.formula:
                continue
            both = (values[:, None] * other.values).reshape(-1, len(x))
            for rest, term in rests[:2]:
                at, squares = _best(both, term, y, root)
                i, j = divmod(at, len(other.grid))
                whole = a * _X**power * first.formula * other.formula.xreplace({b: c}) + d * rest
                yield whole, np.array([first.grid[i], other.grid[j]]), squares


def _columns(
    shapes: Sequence[_Shape], powers: Sequence[sp.Expr], x: Array, count: int
) -> Iterator[_Columns]:
    for power, shape in product(powers, shapes):
        inside = _power(x, power)
        if not np.isfinite(inside).all():
            continue
        grid = _grid(np.abs(inside), count, wave=shape in _WAVES)
        grid = np.r_[-grid[: count // 2], grid] if shape.either_sign else grid
        formula = shape.formula(_NONLINEAR[0] * _X**power)
        yield _Columns(formula, grid, shape.value(grid[:, None] * inside))


def _grid(size: Array, count: int, wave: bool) -> Array:
    """Inner numbers at which something happens among the rows."""
    large = float(size.max()) or 1.0
    if wave:  # from a third of a period to one every four rows
        return np.linspace(2.0, np.pi * len(size) / 2, count) / large
    small = max(float(np.quantile(size, 0.1)), 1e-6 * large)
    return np.geomspace(0.1 / large, 20 / small, count)


def _best(values: Array, term: Array, y: Array, root: Array) -> tuple[int, float]:
    """Which of some columns, with a further term, leaves the least squares, and how much."""
    D, left = values * root, y * root
    whole = np.einsum("gn,gn->g", D, D)
    if term.any():
        q = term * root / np.linalg.norm(term * root)
        left = left - (left @ q) * q
        D = D - np.outer(D @ q, q)
    own = np.einsum("gn,gn->g", D, D)
    usable = np.isfinite(own) & (own > 1e-10 * whole)
    gain = np.where(usable, (D @ left) ** 2 / np.where(usable, own, 1.0), -np.inf)
    at = int(np.argmax(gain))
    return at, float(left @ left - gain[at]) if usable[at] else np.inf


def _power(x: Array, power: sp.Expr) -> Array:
    return np.asarray(x ** float(power))


def _values(formula: sp.Expr, x: Array) -> Array:
    out = sp.lambdify(_X, formula, "numpy")(x)
    return np.broadcast_to(np.asarray(out, dtype=float), x.shape)
