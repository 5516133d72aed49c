"""A discovery under way: what was asked for, what was found so far, and its rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from .._core.callbacks import Progress
from .._core.types import Array
from ..tables import Table
from ._assemble import written_formula
from ._thresholds import COMPARED_ROWS, CONCLUDED, SEARCHED_ROWS
from .catalogue import NamedForm
from .claims import Candidate, relative_error
from .fitting import Fit, Rows
from .law import readable
from .search import Counter, Data, ReducedTable
from .sums import Atom

Indices = NDArray[np.int64]


@dataclass
class Options:
    """What `discover` was asked for, checked."""

    forms: Sequence[NamedForm] = ()
    periodic: tuple[str, ...] = ()
    forbidden: frozenset[str] = frozenset()  # functions
    functions: tuple[Atom, ...] = ()  # that sums may have beside the usual ones
    noise_model: str = "auto"
    robust: bool = False
    seed: int = 0
    start: float = 0.0  # of the clock
    limit: float = 0.0  # of the clock
    tell: Callable[[Progress], bool] = lambda progress: False
    allowed: Callable[[Fit], bool] = lambda fit: True  # by what the user knows of the law

    def after(self, part: float) -> float:
        """The time at which this part of the time limit is spent."""
        return self.start + part * (self.limit - self.start)


@dataclass
class Run:
    """One discovery under way.

    Attributes:
        table: the whole table.
        options: what was asked for.
        counter: shared with the search.
        candidates: what was found so far.
        glanced: named laws that were but looked at, in case the work is interrupted: each with what
            puts it on its columns.
        stopped: whether the user, or the clock, ended it.
        interrupted: whether Ctrl-C did, after which seconds count.
        told: when the callbacks were called last, by the clock.
    """

    table: Table
    options: Options
    counter: Counter = field(default_factory=Counter)
    candidates: list[Candidate] = field(default_factory=list)
    glanced: list[tuple[Candidate, Callable[[], Candidate]]] = field(default_factory=list)
    stopped: bool = False
    interrupted: bool = False
    told: float = 0.0

    @property
    def over(self) -> bool:
        """Whether no more work is to be begun."""
        late = time.monotonic() > self.options.after(CONCLUDED)
        return self.stopped or self.counter.stopped or late

    @property
    def late(self) -> bool:
        """Whether time is past, or Ctrl-C was pressed: what a law can do without is left out."""
        return self.interrupted or time.monotonic() > self.options.limit

    @property
    def cut_short(self) -> bool:
        """Whether more time might have found more."""
        return self.over or self.counter.cut

    def report(self, stage: str) -> None:
        """Tell the callbacks where the work is; one that answers True ends it."""
        now, best = time.monotonic(), self._best_so_far()
        shown = None if best is None else readable(written_formula(best, {}), 4)
        rows = Rows(self.table.X, self.table.y)
        error = None if best is None else relative_error(best.fit, rows)
        self.told = now
        progress = Progress(
            stage, now - self.options.start, best=error, formula=shown,
            left=max(self.options.limit - now, 0.0), candidates=self.counter.candidates,
        )  # fmt: skip
        if self.options.tell(progress):
            self.counter.stopped = True

    def attempt(self, work: Callable[[], None]) -> None:
        """Do a part of the work; interrupted, what it has found so far stays."""
        if self.over:
            return
        try:
            work()
        except KeyboardInterrupt:
            self.stopped = self.counter.stopped = self.interrupted = True
            self.candidates += [placed() for _, placed in self.glanced]

    def _best_so_far(self) -> Candidate | None:
        best = min(self.candidates, key=lambda c: c.score, default=None)
        seen, placed = min(self.glanced, key=lambda g: g[0].score, default=(None, None))
        if seen is None or (best is not None and best.score <= seen.score):
            return best
        assert placed is not None
        return placed()

    def glance(self, candidate: Candidate, placed: Callable[[], Candidate]) -> None:
        """Keep a named law that was looked at, and tell of the best every second."""
        self.glanced.append((candidate, placed))
        if time.monotonic() > self.told + 1.0:
            self.report("named laws")


def split(n: int, seed: int) -> tuple[Indices, Indices]:
    """Rows to search on and rows held out: a seventh, of fifty rows or more."""
    order = np.random.default_rng(seed).permutation(n)
    held = order[: n // 7] if n >= 50 else order[:0]
    rest = order[len(held) :]
    return np.sort(rest[:SEARCHED_ROWS]), np.sort(held)


def thinned(rows: Rows) -> Rows:
    """Some of many rows, for what hundreds of forms are compared on."""
    n = len(rows.y)
    if n <= COMPARED_ROWS:
        return rows
    return rows.some(np.sort(np.random.default_rng(0).permutation(n)[:COMPARED_ROWS]))


def data_of(table: Table, rows: Rows, weight: Array | None = None) -> Data:
    """Rows as the search takes them."""
    known = tuple((sp.Symbol(name), value) for name, value in table.known.items())
    X, y = rows.X, rows.y
    if weight is None:
        spread = float(np.std(table.y)) or float(np.abs(table.y).max()) or 1.0
        return Data(X, y, table.names.symbols, spread, np.ones(len(y)), known)
    w2 = weight**2
    centre = np.sum(w2 * y) / np.sum(w2)
    spread = float(np.sqrt(np.mean(w2 * (y - centre) ** 2))) or 1.0
    return Data(X, y, table.names.symbols, spread, weight, known)


def reduced_table(run: Run, rows: Rows, weight: Array | None) -> ReducedTable:
    U, variables = _variables(rows.X, run.table, run.options.periodic)
    y = rows.y
    reduced = ReducedTable(
        y, U, y.copy(), np.ones(len(y)) if weight is None else weight, variables,
        forbidden=run.options.forbidden, importance=weight,
    )  # fmt: skip
    if is_constant(y):
        return replace(reduced, U=U[:, :0], variables=())  # nothing to look for
    return reduced


def is_constant(y: Array) -> bool:
    return float(np.std(y)) <= 1e-14 * float(np.abs(y).max(initial=0.0))


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
