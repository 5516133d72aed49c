"""Predictions of tables in pieces: chunk by chunk here, where their partitions are on clusters."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ..._core.types import Array
from ...tables import pieces_of
from ..model import workers
from ._engines import chunks_of, made_by
from ._scan import naming

M = TypeVar("M", bound=Callable[..., Any])


def in_pieces(name: str) -> Callable[[M], M]:
    """Let a method of an estimator, from a table to a number or more for each row, take pieces.

    Args:
        name: of the column that a frame of Dask or Spark gets; classes have one each.
    """

    def wrapped(method: M) -> M:
        @functools.wraps(method)
        def call(self: Any, X: Any, *args: Any, **options: Any) -> Any:
            def of(frame: pd.DataFrame) -> Any:
                return method(self, known(self, frame), *args, **options)

            owner = made_by(X)
            if owner in ("dask", "spark"):
                self = copy.copy(self)
                vars(self).pop("sums_", None)  # large, and of no use to workers
                return (_on_dask if owner == "dask" else _on_spark)(self, X, of, name)
            pieces = pieces_of(X)
            if pieces is None:
                return method(self, X, *args, **options)
            return _joined([_named(of, *chunk) for chunk in chunks_of(pieces)])

        return call  # type: ignore[return-value]

    return wrapped


def known(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a chunk that the model was fitted to; targets and others may be there.

    A chunk that lacks some goes on as it is: the estimator says which.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None or set(names) - set(frame.columns):
        return frame
    return frame[list(names)]


def _named(of: Callable[[pd.DataFrame], Any], where: str, frame: pd.DataFrame) -> Any:
    with naming(where):
        return of(frame)


def _joined(found: list[Any]) -> Any:
    if not found:
        raise ValueError("the table has no rows")
    if isinstance(found[0], tuple):
        return tuple(np.concatenate(some) for some in zip(*found, strict=True))
    return np.concatenate(found)


def _columns(model: Any, found: Any, name: str) -> dict[str, Array]:
    """Return what a method gives as columns, named by the method or by the classes."""
    if isinstance(found, tuple):
        return {f"{name}_{k}": part for k, part in enumerate(found)}
    if found.ndim == 1:
        return {name: found}
    return {f"{name}_{one}": part for one, part in zip(model.classes_, found.T, strict=True)}


def _frame(
    model: Any, of: Callable[[pd.DataFrame], Any], frame: pd.DataFrame, name: str
) -> pd.DataFrame:
    if not len(frame):
        few = of(_one_row(model))
        columns = {n: part[:0] for n, part in _columns(model, few, name).items()}
        return pd.DataFrame(columns, frame.index)
    with workers(1):
        return pd.DataFrame(_columns(model, of(frame), name), frame.index)


def _one_row(model: Any) -> pd.DataFrame:
    return pd.DataFrame([[None] * model.n_features_in_], columns=list(model.feature_names_in_))


def _on_dask(model: Any, X: Any, of: Callable[[pd.DataFrame], Any], name: str) -> Any:
    """Return a lazy frame of Dask: a column, or some."""
    meta = _columns(model, of(_one_row(model)), name)
    made = X.map_partitions(
        functools.partial(_frame, model, of), name,
        meta=pd.DataFrame({n: part[:0] for n, part in meta.items()}),
    )  # fmt: skip
    return made[name] if name in meta else made


def _on_spark(model: Any, X: Any, of: Callable[[pd.DataFrame], Any], name: str) -> Any:
    """Return the frame of Spark with columns more."""
    columns = _columns(model, of(_one_row(model)), name)
    kinds = {n: "string" if part.dtype.kind in "OU" else "double" for n, part in columns.items()}

    def part(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.concat([frame, _frame(model, of, frame, name)], axis=1)

    schema = type(X.schema)(list(X.schema.fields))
    for n, kind in kinds.items():
        schema = schema.add(n, kind)
    return X.mapInPandas(part, schema)
