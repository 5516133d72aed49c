"""What the estimators do with tables in pieces, and with large ones in memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    validate_data,
)

from ..._core import checks as check
from ..._core.types import Array
from ...tables import CHUNK, Pieces
from .._fitting import LARGE
from ..fit import Options
from ..model import Feature, workers
from ._engines import ENGINES, LEAST, Engine, engine_of
from ._fit import Found, Wanted, fit_pieces, scanned, whole
from ._scan import Given, Scan
from ._sums import unit_of
from ._update import Kept, merged_sums, sums_of
from ._works import SINGLE

E = TypeVar("E", bound="ManyMixin")
TARGET, WEIGHT = "(target)", "(weight)"  # columns beside those of a table in memory
# Whole weights of a larger mean are amounts (people, money), not how often a row was seen.
REPEATS = 100


@dataclass(frozen=True)
class MemoryPiece:
    """Rows of a table in memory, with their targets and weights."""

    name: str
    frame: pd.DataFrame
    y: Array
    weight: Array | None

    @property
    def rows(self) -> int:
        return len(self.frame)

    def frames(self) -> Iterator[pd.DataFrame]:
        """Yield the rows, some at a time."""
        for at in range(0, len(self.frame), CHUNK):
            part = slice(at, at + CHUNK)
            more = {TARGET: self.y[part]}
            if self.weight is not None:
                more[WEIGHT] = self.weight[part]
            yield self.frame.iloc[part].assign(**more)


def memory_pieces(frame: pd.DataFrame, y: Array, weight: Array | None) -> Pieces:
    """Return a table in memory as pieces, which engines share out."""
    found = Pieces()
    for at in range(0, len(frame), LEAST):
        part = slice(at, at + LEAST)
        name = f"rows {at} to {min(at + LEAST, len(frame)) - 1}"
        some = None if weight is None else weight[part]
        found.append(MemoryPiece(name, frame.iloc[part], y[part], some))
    return found


class ManyMixin:
    """Fits to tables in pieces."""

    special_values: Any
    n_jobs: int | None
    depth: str
    monotone: Any
    sums_: Kept

    @property
    def _clean(self) -> Callable[[Any], Array]:
        """What checks targets and returns them as an array."""
        raise NotImplementedError

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        raise NotImplementedError

    def _in_memory(self) -> list[str]:
        """Return the options that need all rows in memory."""
        deep = ["depth='deep'"] if self.depth == "deep" else []
        return [*deep, *(["monotone"] if self.monotone else [])]

    def _source(self, X: Any, engine: str | None) -> Engine | None:
        """Return what reads a table in pieces; None for one in memory."""
        if engine is not None:
            check.choice(engine, ENGINES, "engine")
        return engine_of(X, engine, self.n_jobs)

    def _given(
        self, y: Any, sample_weight: Any, clean: Callable[[Any], Array], classes: bool
    ) -> Given:
        """Return which columns of a table in pieces are what."""
        for what, name in (("y", y), ("sample_weight", sample_weight)):
            if not isinstance(name, Hashable) or (name is None and what == "y"):
                raise TypeError(
                    f"X comes in pieces: {what} is the name of one of its columns, got "
                    f"{type(name).__name__}"
                )
        return Given(y, sample_weight, clean, classes)

    def _large(
        self, frame: pd.DataFrame, y: Array, weight: Array | None, classes: bool,
        engine: str | None,
    ) -> tuple[Engine, Given] | None:  # fmt: skip
        """Return the pieces of a large table in memory; None for one that is fitted at once."""
        alone = self._in_memory()
        if len(frame) <= LARGE or alone:
            if engine is not None:
                without = f", fitted without {' and '.join(alone)}" if alone else ""
                raise ValueError(
                    f"engine={engine!r} is for tables of more than {LARGE:,} rows{without}; leave "
                    "engine out"
                )
            return None
        pieces = memory_pieces(frame, y, weight)
        found = engine_of(pieces, engine, self.n_jobs)
        assert found is not None
        named = None if weight is None else WEIGHT
        return found, Given(TARGET, named, np.asarray, classes)

    def _fit_pieces(
        self, engine: Engine, given: Given, options: Callable[[list[Feature]], Options],
        link: str | None, seed: int,
    ) -> Found | Scan:  # fmt: skip
        """Return the model, or the scan of a table so small that it is fitted at once."""
        scan = scanned(engine, given, seed)
        if given.target != TARGET:
            if scan.names is not None:
                sample = scan.part.frame() if scan.used else pd.DataFrame(columns=scan.names)
                validate_data(self, sample[scan.names], reset=True, skip_check_array=True)
            if scan.rows <= LARGE and scan.used:
                return scan
            if alone := self._in_memory():
                raise ValueError(
                    f"options that need all rows in memory: {', '.join(alone)}; the table has "
                    f"{scan.rows:,} in pieces; read it as a frame, or leave the option out"
                )
        share = 1.0
        if given.weight is not None and scan.used:
            mean = scan.weight / scan.used
            share = 1 / mean if scan.fractions or mean > REPEATS else 1.0
        found = fit_pieces(engine, scan, Wanted(options, link, self.special_values, seed), share)
        single, unit = scan.rows > SINGLE, unit_of(scan.weight * share)
        self._take(found, Kept.of(found, scan.ends[[0, -1]] if len(scan.ends) else scan.ends,
                                  single, unit))  # fmt: skip
        return found

    def update(
        self: E, X: Any, y: Any, sample_weight: Any = None, *, forget: bool = False,
        engine: str | None = None,
    ) -> E:  # fmt: skip
        """Add rows to a model that was fitted to a large table, and solve again; returns self.

        The terms stay, and so do levels and the ends of columns; all numerators and penalties come
        from the sums over old and new rows. Of numbers that is exact: the same as if all rows had
        been there. Of classes it is one step of Newton's method.

        Args:
            X: the new rows, as `fit` takes them.
            y: their targets, or the name of their column.
            sample_weight: as in `fit`.
            forget: leave the old rows out. Models that several sites have updated so from one and
                the same fit can be merged.
            engine: as in `fit`.
        """
        kept = sums_of(self, "update")
        before = dict(vars(self))
        try:
            with workers(self.n_jobs):
                source, given = self._more(X, y, sample_weight, engine)
                kept = kept.plus(source, given, forget)
                self._take(kept.solved(), kept)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _more(self, X: Any, y: Any, sample_weight: Any, engine: str | None) -> tuple[Engine, Given]:
        """Return what reads rows for an update."""
        classes = hasattr(self, "classes_")
        source = self._source(X, engine)
        if source is not None:
            return source, self._given(y, sample_weight, self._clean, classes)
        frame, y = self._frame(X, False), self._clean(y)
        check_consistent_length(frame, y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, frame, ensure_non_negative=True)
        source = engine_of(memory_pieces(frame, y, weight), engine, self.n_jobs)
        assert source is not None
        named = None if weight is None else WEIGHT
        return source, Given(TARGET, named, np.asarray, classes)

    @classmethod
    def merge(cls: type[E], models: Sequence[E]) -> E:
        """Return the model of all rows of several models with the same terms.

        Only sums are needed, no rows. The models come from one fit, each updated with
        `update(X, y, forget=True)` by rows of its own.
        """
        kept = merged_sums(models)
        found = clone(models[0])
        vars(found).update(
            {k: v for k, v in vars(models[0]).items() if k.endswith("_") and k != "sums_"}
        )
        with workers(found.n_jobs):
            found._take(kept.solved(), kept)
        return found

    def _take(self, found: Found, kept: Kept) -> None:
        """Keep what a fit in pieces has found."""
        self.sums_ = kept
        if found.encoder.classes is None:
            self.link_ = found.link
        self.model_, self.measured_ = found.model, found.measured
        self.deep_: Any = None
        self.monotone_: dict[str, Any] = {}
        self.edits_: list[Any] = []
        self.exact_numbers_: dict[float, str] = {}


def table_of(scan: Scan) -> tuple[pd.DataFrame, pd.Series, Array | None]:
    """Return a small table in memory: its inputs, targets and weights."""
    frame = whole(scan)
    y = frame.pop(scan.given.target)
    weight = None
    if scan.given.weight is not None:
        weight = frame.pop(scan.given.weight).to_numpy(float)
    return frame, y, weight
