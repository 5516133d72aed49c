"""The stages of `discover`, each to be used alone.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(1, 3, (200, 3))
>>> y = 2 * X[:, 0] / (X[:, 1] - 5 * X[:, 2])
>>> found = symmetries(X, y, names=["q", "a", "b"])
>>> found.variables, found.factor
((b/a,), q/a)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ..symbols import names_in, parse
from ..tables import Table, prepare
from .finish import rewritten, simplified
from .fitting import THOROUGH, Form, Rows, fitted
from .search import (
    LINKS,
    USUAL,
    Candidate,
    Data,
    F,
    ReducedTable,
    Template,
    interactions,
    judged,
    lifts,
    null_space,
    rational_terms,
    reduce_table,
    scanned_rates,
)


@dataclass(frozen=True)
class Structure:
    """What matters in a table: shares of columns and, in y and in log y, of pairs."""

    columns: dict[str, float]  # root mean square of slope times spread, over that of the target
    pairs: dict[tuple[str, str], float]  # what two columns say together and not apart
    products: dict[tuple[str, str], float]  # the same for log y: 0 for a product
    noise: float  # leave-one-out error of a smooth surrogate, relative to the spread


@dataclass(frozen=True)
class Reduced:
    """A table after its symmetries: y is made of a function F of the variables that are left."""

    variables: tuple[sp.Expr, ...]
    factor: sp.Expr  # y / F
    route: tuple[str, ...]
    noise: float
    values: np.ndarray  # of the variables on the rows
    target: np.ndarray  # F on the rows


def structure(X: Any, y: Any = None, names: Sequence[str] | None = None) -> Structure:
    """Which columns and pairs of columns matter, from the slopes of a smooth surrogate."""
    table, reduced = _tables(X, y, names)
    reduced = reduced.fitted()
    columns = table.names.columns
    surrogate = reduced.surrogate
    slopes = np.zeros_like(reduced.U) if surrogate is None else surrogate.gradients
    size = np.sqrt(np.mean((slopes * reduced.U.std(0)) ** 2, axis=0)) / reduced.spread
    both, product = interactions(reduced, LINKS["y"]), interactions(reduced, None)
    index = [(i, j) for i in range(len(columns)) for j in range(i + 1, len(columns))]
    return Structure(
        dict(zip(columns, size.tolist(), strict=True)),
        {(columns[i], columns[j]): float(both[i, j]) for i, j in index},
        {(columns[i], columns[j]): float(product[i, j]) for i, j in index},
        reduced.loo,
    )


def symmetries(
    X: Any, y: Any = None, names: Sequence[str] | None = None, time_limit: float = 30.0
) -> Reduced:
    """Divide out power factors, sums and differences, and scales that the data show."""
    _, reduced = _tables(X, y, names)
    last = reduce_table(reduced, time.monotonic() + time_limit)[-1]
    return Reduced(
        last.variables,
        last.wrap.xreplace({F: sp.Integer(1)}),
        tuple(step.text for step in last.route),
        last.loo,
        last.U,
        last.f,
    )


def project(X: Any, y: Any = None, names: Sequence[str] | None = None) -> list[sp.Expr]:
    """Quotients of polynomials of least degree that hold to rounding; none under noise."""
    _, reduced = _tables(X, y, names)
    return _formulas(list(null_space(reduced.fitted())))


def few_terms(X: Any, y: Any = None, names: Sequence[str] | None = None) -> list[sp.Expr]:
    """Quotients of few monomials, also under noise, by the links of y; the best first."""
    _, reduced = _tables(X, y, names)
    reduced = reduced.fitted()
    return _formulas(judged(list(rational_terms(reduced, USUAL)), reduced.loo)[0])


def lifted(
    X: Any, y: Any = None, names: Sequence[str] | None = None, *, rates: bool = True
) -> list[sp.Expr]:
    """Laws with sin, cos, exp, log, tanh and powers of the inputs, of two at most."""
    _, reduced = _tables(X, y, names)
    reduced = reduced.fitted()
    pool = list(lifts(reduced, USUAL))
    for family in scanned_rates(reduced, USUAL[:4]) if rates else ():
        pool += list(family)
    return _formulas(judged(pool, reduced.loo)[0])


def refine(
    formula: sp.Expr | str, X: Any, y: Any = None, names: Sequence[str] | None = None
) -> sp.Expr:
    """Fit the numbers of a formula to the data.

    Floats are fitted from where they are, equal ones as one number; names that are no columns are
    found without a start, as by `fit_law`. Whole numbers and fractions stay as they are.

    Example:
        >>> x = np.linspace(1, 5, 20)
        >>> refine("a*x**2 + 1.5", x, 3 * x**2 + 2, names=["x"])
        3.0*x**2 + 2.0
    """
    table, _ = _tables(X, y, names)
    if isinstance(formula, str):
        free = {n: sp.Symbol(n) for n in names_in(formula)}
        own = {s.name: s for s in table.names.symbols}
        formula = parse(formula, {**free, **own})
    template = Template.of(sp.sympify(formula))
    unknown = sorted(template.expression.free_symbols - {*table.names.symbols}
                     - {*template.parameters}, key=str)  # fmt: skip
    form = Form(template.expression, table.names.symbols, (*template.parameters, *unknown))
    rows = Rows(table.X, table.y)
    start = None if unknown else template.values
    with np.errstate(all="ignore"):
        fit = fitted(form, rows, effort=THOROUGH, values=start, polish=True)
    if fit is None:
        raise ValueError(f"{formula} has no value on some rows")
    digits = {s: sp.Float(v, 15) for s, v in zip(form.parameters, fit.values, strict=True)}
    return form.expression.xreplace(digits)


def auto_rational(
    formula: sp.Expr,
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    constants: Sequence[str] = (),
) -> sp.Expr:
    """Set the floats of a formula to exact numbers where the data do not contradict it."""
    table, _ = _tables(X, y, names)
    data = _data(table)
    fitted = Template.of(formula).refined(data)
    return rewritten(simplified(fitted, data, tuple(constants), {}), data).law


def _tables(X: Any, y: Any, names: Sequence[str] | None) -> tuple[Table, ReducedTable]:
    table = prepare(X, y, names)
    n = len(table.y)
    return table, ReducedTable(table.y, table.X, table.y.copy(), np.ones(n), table.names.symbols)


def _data(table: Table) -> Data:
    spread = float(np.std(table.y)) or 1.0
    return Data(table.X, table.y, table.names.symbols, spread, np.ones(len(table.y)))


def _formulas(pool: list[Candidate]) -> list[sp.Expr]:
    return [c.expression() for c in pool[:10]]
