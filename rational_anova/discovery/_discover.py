"""`discover`: from a table to a law."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from .._core import checks as check
from .._core.types import Array
from ..tables import Table, prepare
from ._thresholds import COMPACT, EXACT, FITTED_ROWS, FREE_NUMBERS, SEARCHED_ROWS
from .finish import assemble, forms, rewritten, row_weights, simplified
from .law import Law
from .search import (
    Counter,
    Data,
    ReducedTable,
    Search,
    Template,
    constant,
    finished,
    permitted,
    solve,
)

Rows = NDArray[np.int64]
FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "power")


def discover(
    X: Any,
    y: Any = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
    *,
    constants: Mapping[str, float] | None = None,
    positive: Sequence[str] = (),
    periodic: Sequence[str] = (),
    without: Sequence[str] = (),
    noise: float | None = None,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Law:
    """Find the law behind a table.

    Symmetries of a smooth surrogate reduce the table, then quotients of few terms, links of the
    target, lifts of the inputs, and sums and products of parts are tried on what is left, in this
    order of cost, and the shortest description of the data is taken.

    Args:
        X: inputs: an array (rows, columns), one column, a tensor, a dict of columns, a DataFrame;
            or a `Table` of `prepare`, which has the target, names and constants in it.
        y: target, or the name of a column of X.
        names: of the columns; "x0", "x1", ... by default.
        target: name of y.
        constants: known numbers by name, such as {"R": 8.314}; used where the law has multiples of
            them.
        positive: columns that are positive by nature; an error where a row is not.
        periodic: columns that are angles: they enter by their sine and cosine only.
        without: functions that the law may not have, out of sin, cos, exp, log, sqrt, tanh, power.
        noise: standard deviation of the noise relative to the spread of y, if it is known.
        time_limit: seconds after which the best law so far is returned.
        seed: for the rows that are held out.
        progress: called with the name of every stage.

    Returns:
        The law; `law.found` is False where no compact law holds, and the law is then the best
        approximation.

    Example:
        >>> x = np.linspace(0.1, 4, 50)
        >>> discover(x, 3 * x / (x + 0.5), names=["S"], target="v").formula
        3*S/(S + 1/2)
    """
    start = time.monotonic()
    if not check.real(time_limit, "time_limit") > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be a name, got {target!r}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function of the stage's name, got {progress!r}")
    check.integer(seed, "seed")
    table = prepare(X, y, names, target, constants)
    _check_options(table, positive, periodic, without, noise)
    options = _Options(
        periodic=tuple(periodic),
        forbidden=frozenset(without),
        noise=noise,
        seed=seed,
        start=start,
        limit=start + float(time_limit),
        progress=progress or _quiet,
    )
    with np.errstate(all="ignore"):  # a formula without a value on a row is but a bad formula
        return _found(table, options)


@dataclass(frozen=True)
class _Options:
    """What `discover` was asked for, checked."""

    periodic: tuple[str, ...]
    forbidden: frozenset[str]  # functions
    noise: float | None
    seed: int
    start: float  # of the clock
    limit: float  # of the clock
    progress: Callable[[str], None]

    def after(self, part: float) -> float:
        """The time at which this part of the time limit is spent."""
        return self.start + part * (self.limit - self.start)


def _quiet(stage: str) -> None:
    """Say nothing."""


def _check_options(
    table: Table,
    positive: Sequence[str],
    periodic: Sequence[str],
    without: Sequence[str],
    noise: float | None,
) -> None:
    columns = list(table.names.columns)
    for option, given in (("positive", positive), ("periodic", periodic)):
        if isinstance(given, str):
            raise TypeError(f"{option} must be a list of names of columns, got {given!r}")
        for name in given:
            if name not in columns:
                raise ValueError(f"{option} names {name!r}, but the columns are {columns}")
    for name in positive:
        low = float(table.X[:, columns.index(name)].min())
        if low <= 0:
            raise ValueError(f"{name!r} is declared positive, but a row has {low:g}")
    if isinstance(without, str):
        raise TypeError(f"without must be a list of functions, got {without!r}")
    for name in without:
        if name not in FUNCTIONS:
            raise ValueError(f"without takes some of {FUNCTIONS}, got {name!r}")
    if noise is not None and not 0 <= check.real(noise, "noise") < 10:
        raise ValueError(f"noise must be relative to the spread of the target, got {noise!r}")


def _found(table: Table, options: _Options) -> Law:
    searched, held = _split(len(table.y), options.seed)
    counter, forbidden, progress = Counter(), options.forbidden, options.progress

    def searching(weight: Array | None) -> tuple[ReducedTable, list[Template]]:
        data = _data(table, searched, weight)
        U, variables = _variables(data.X, table, options.periodic)
        reduced = ReducedTable(
            data.y, U, data.y.copy(), data.weight, variables, forbidden=forbidden,
            importance=None if weight is None else data.weight,
        )  # fmt: skip
        if float(np.std(data.y)) <= 1e-14 * float(np.abs(data.y).max()):
            reduced = replace(reduced, U=U[:, :0], variables=())  # a constant: nothing to look for
        search = Search(data, options.after(0.85), counter, forbidden, progress)
        laws = solve(reduced, search)
        if not laws:  # no time for anything
            laws = finished(
                [constant(replace(reduced, U=U[:, :0], variables=()))], [], data, forbidden
            )
        progress("simplifying")
        best = [_finished(law, data, counter, options) for law in laws[:4]]
        return reduced, sorted(best, key=lambda t: round(t.score, 3)) + laws

    reduced, laws = searching(None)
    weight = None
    if laws[0].error > EXACT:
        every = _data(table, None)
        fitted = laws[0].predict(every)
        weight = row_weights(fitted, every.y - fitted)
    if weight is not None and time.monotonic() < options.after(0.5):
        progress("again, since the noise grows with the target")
        reduced, laws = searching(weight)
    progress("verifying")
    last = np.arange(FITTED_ROWS) if len(table.y) > FITTED_ROWS else np.arange(len(table.y))
    rows = tuple(_data(table, r, weight) if len(r) else None for r in (searched, held, last))
    return assemble(
        table,
        laws,
        rows,
        surrogate=reduced.fitted().loo,
        candidates=counter.candidates,
        noise=options.noise,
        start=options.start,
        limit=options.limit,
    )


def _split(n: int, seed: int) -> tuple[Rows, Rows]:
    """Rows to search on and rows held out: a seventh, of fifty rows or more."""
    order = np.random.default_rng(seed).permutation(n)
    held = order[: n // 7] if n >= 50 else order[:0]
    rest = order[len(held) :]
    return np.sort(rest[:SEARCHED_ROWS]), np.sort(held)


def _data(table: Table, rows: Rows | None, weight: Array | None = None) -> Data:
    chosen = slice(None) if rows is None else rows
    X, y = table.X[chosen], table.y[chosen]
    spread = float(np.std(table.y)) or float(np.abs(table.y).max()) or 1.0
    known = tuple((sp.Symbol(name), value) for name, value in table.known.items())
    if weight is None:
        return Data(X, y, table.names.symbols, spread, np.ones(len(y)), known)
    w2 = weight**2
    centre = np.sum(w2 * table.y) / np.sum(w2)
    spread = float(np.sqrt(np.mean(w2 * (table.y - centre) ** 2))) or 1.0
    return Data(X, y, table.names.symbols, spread, weight[chosen], known)


def _variables(
    X: Array, table: Table, periodic: tuple[str, ...]
) -> tuple[Array, tuple[sp.Expr, ...]]:
    """Columns of the search: angles as sine and cosine, the others as they are."""
    columns, expressions = [], []
    for name, symbol, x in zip(table.names.columns, table.names.symbols, X.T, strict=True):
        if name in periodic:
            columns += [np.sin(x), np.cos(x)]
            expressions += [sp.sin(symbol), sp.cos(symbol)]
        else:
            columns.append(x)
            expressions.append(symbol)
    return np.column_stack(columns), tuple(expressions)


def _finished(law: Template, data: Data, counter: Counter, options: _Options) -> Template:
    """The law with exact numbers where the data allow it, in its shortest form."""
    best = None
    if len(law.parameters) > FREE_NUMBERS or law.complexity > COMPACT:
        return law  # an approximation: no form makes it a law
    for form in forms(law):
        if time.monotonic() > options.limit:
            break
        form = form.refined(data)
        if not form.error <= 1.05 * law.error + 1e-12:
            continue
        counter.candidates += 1
        try:
            short = (
                rewritten(simplified(form, data, (), dict(data.known)), data)
                .refined(data)
                .weighed(data)
            )
        except (ArithmeticError, ValueError, TypeError):
            continue  # a form that cannot be finished: others can, and nothing is lost
        if not permitted(short.law, options.forbidden):
            continue
        if best is None or short.score < best.score - 1e-3:  # ties: the form of textbooks
            best = short
    return best or law
