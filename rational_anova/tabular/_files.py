"""Fitted estimators as files, without pickle: JSON and arrays in one archive."""

from __future__ import annotations

import datetime
import os
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._core import records
from .._core.codec import register
from ._intervals import Noise
from .deep import Deep
from .explain import Measured, Observed
from .fit import Link
from .many import Kept
from .model import (
    Additive,
    Codes,
    Constant,
    Feature,
    Heads,
    Levels,
    LevelSums,
    Missing,
    Part,
    Term,
)
from .monotone import Proof


def _random_state(known: dict[str, Any]) -> np.random.RandomState:
    state = np.random.RandomState()
    state.set_state(known)
    return state


for _record in (
    Additive, Codes, Constant, Feature, Heads, Kept, Levels, LevelSums, Link, Measured, Missing,
    Noise, Observed, Part, Proof, Term,
):  # fmt: skip
    register(_record)
register(Deep, Deep.to_arrays, Deep.from_arrays)
register(Decimal, str, Decimal)
register(datetime.date, datetime.date.isoformat, datetime.date.fromisoformat)
register(datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat)
register(pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp)
register(pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta)
register(pd.Period, lambda p: [p.ordinal, p.freqstr], lambda p: pd.Period(ordinal=p[0], freq=p[1]))
register(pd.Interval, lambda i: [i.left, i.right, i.closed], lambda i: pd.Interval(*i))
register(np.random.RandomState, lambda state: state.get_state(legacy=False), _random_state)


E = TypeVar("E", bound="SaveMixin")


class SaveMixin:
    """`save` and `load` for fitted estimators."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file; the file appears whole or not at all.

        Args:
            path: where to write, by custom with the ending `.ran`.

        Example:
            >>> import rational_anova as ra, tempfile, pathlib
            >>> model = ra.RANRegressor().fit([[0.0], [1.0], [2.0]] * 9, [0.0, 1.0, 2.0] * 9)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.ran"
            >>> model.save(path)
            >>> bool((ra.RANRegressor.load(path).predict([[1.0]]) == model.predict([[1.0]])).all())
            True
        """
        records.save(self, path)

    @classmethod
    def load(cls: type[E], path: str | os.PathLike[str]) -> E:
        """Read a model of this class written by `save`."""
        found = records.load_kind(path, "estimator")
        if not isinstance(found, cls):
            raise TypeError(
                f"{path} holds a {type(found).__name__}, not a {cls.__name__}; call "
                f"{type(found).__name__}.load(path)"
            )
        return found


def _write(model: Any) -> bytes:
    check_is_fitted(model)
    parameters = model.get_params(deep=False)
    # Names with a leading underscore are caches, and settings of scikit-learn.
    state = {k: v for k, v in vars(model).items() if k not in parameters and k[0] != "_"}
    name = type(model).__name__
    content = {"class": name, "parameters": parameters, "state": state}
    return records.to_archive("estimator", content, f"the fitted {name}")


def _read(found: records.Found) -> Any:
    content = found.content
    records.check_entries(found, ("class", "parameters", "state"))
    model = _class(content["class"], found.source)(**content["parameters"])
    state = content["state"]
    hidden = [name for name in state if not name.endswith("_") or name.startswith("_")]
    if hidden:
        raise ValueError(f"a fitted {content['class']} has no {hidden[0]!r:.60}")
    vars(model).update(state)
    _try(model)
    return model


def _try(model: Any) -> None:
    """Predict a row of gaps, and describe the model: what is damaged cannot."""
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    columns = range(model.n_features_in_) if names is None else list(names)
    for feature in model.features_:
        if names is not None and not f"{feature.name} (".startswith(f"{columns[feature.column]} ("):
            raise ValueError(f"its input {feature.name!r:.60} is none of its columns")
    model.predict(pd.DataFrame([[None] * len(columns)], columns=columns))
    model.summary()


def _class(name: object, source: str) -> Any:
    """Return the estimator of a name: one of this library, or a subclass that is imported."""
    known = [SaveMixin]
    for cls in known:  # grows on the way, the nearest first
        if cls.__name__ == name and hasattr(cls, "fit"):
            return cls
        known += cls.__subclasses__()
    raise records.FileError(
        f"{source} holds a {name}, which is not known here; import its class first"
    )


records.register("estimator", SaveMixin, _write, _read)
