"""`RANClassifier`: classes out of tables, by effects that can be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._core.callbacks import Callback
from .._core.types import Array
from ..tables import from_tensor
from ._base import RANEstimator, Report
from ._fitting import learn_features, problem_of
from .fit import Logistic, Loss, Softmax
from .many import Engine, Given, Scan, in_pieces, table_of

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


class RANClassifier(ClassifierMixin, RANEstimator):
    """A Rational ANOVA Network for classes: log odds as a sum of curves and surfaces.

    Two classes have one decision, the log odds of the second; more classes have one each, and
    their probabilities are the softmax. The options are those of `RANRegressor`, but for the link.

    Args:
        depth: `shallow`: effects only. `deep`: also networks of rational units for the residuals;
            `variance_explained_` is the share of the variance that the effects explain.
        pairs: `auto`, a maximum number, or the pairs that may be used, as names or positions.
        forbid: pairs that may not be used; a name alone excludes an input from all pairs.
        monotone: +1 or -1 for inputs in which the log odds of `classes_[1]` must not fall or rise
            (two classes); such inputs are not used in pairs, and `monotone_` has the proofs.
        refinements: maximum number of steps that optimise the heads (basis functions).
        class_weight: factors of the rows' weights by class, `balanced` for the same weight of all
            classes, None for none. Probabilities are then those of a table so weighted.
        special_values: numbers that are codes (-9 for "no record"), each with an effect of its own,
            as missing values have: `auto` finds them, numbers hold everywhere, a dict for columns;
            None for none.
        random_state: seed of the halves on which pairs are judged, and of the posterior's draws.
        n_jobs: threads; None means all processors. Results do not depend on it, bit by bit.
        time_limit: seconds after which no further stage is started, and the model is completed;
            None for no limit.
        verbose: show the stages; for more see `callbacks` of `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(600, 2))
        >>> y = np.where(X[:, 0] ** 2 + X[:, 1] > rng.logistic(scale=0.2, size=600), "yes", "no")
        >>> RANClassifier().fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.85
        True
    """

    classes_: Array

    def __init__(
        self,
        *,
        depth: str = "shallow",
        pairs: str | int | Sequence[tuple[Any, Any]] = "auto",
        forbid: Sequence[Any] = (),
        monotone: dict[Any, int] | None = None,
        refinements: int = 2,
        class_weight: dict[Any, float] | str | None = None,
        special_values: Any = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.depth = depth
        self.pairs = pairs
        self.forbid = forbid
        self.monotone = monotone
        self.refinements = refinements
        self.class_weight = class_weight
        self.special_values = special_values
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callbacks: Sequence[Callback] | None = None,
        engine: str | None = None,
    ) -> RANClassifier:
        """Fit the effects to a table X and classes y; returns self.

        Args:
            X: the table, in memory or in pieces: see docs/guides/large_tables.md.
            y: one class for each row; of a table in pieces, the name of a column.
            sample_weight: small whole numbers count as repeats of a row; others are relative. Of a
                table in pieces, the name of a column.
            callbacks: functions that are called with a `training.Progress` as each stage begins;
                after one has returned True only what a model needs is done.
            engine: `threads`, `processes`, `dask` or `spark`, for a table of more than 50,000 rows;
                None to choose by what X is.
        """
        with self._whole(), self._watched(callbacks) as report:
            if y is None:
                raise ValueError("this estimator requires y to be passed, but the target y is None")
            source = self._source(X, engine)
            if source is None:
                return self._learn(X, y, sample_weight, report, engine)
            given = self._given(y, sample_weight, self._clean, True)
            return self._learn_pieces(source, given, report, self._seed())

    def _learn_pieces(
        self, engine: Engine, given: Given, report: Report | None, seed: int
    ) -> RANClassifier:
        found = self._fit_pieces(engine, given, self._asked(report), None, seed)
        if isinstance(found, Scan):
            return self._learn(*table_of(found), report)
        assert found.encoder.classes is not None
        self.classes_ = found.encoder.classes
        return self

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, report: Report | None, engine: str | None = None
    ) -> RANClassifier:
        frame = self._frame(X, reset=True)
        y = _classes(y)
        check_consistent_length(frame, y)
        weight = self._weight(sample_weight, frame)
        large = self._large(frame, y, None if sample_weight is None else weight, True, engine)
        if large is not None:
            return self._learn_pieces(*large, report, self._seed())
        weight = weight * class_weights(self.class_weight, y, weight)
        self.classes_, codes = np.unique(y[weight > 0], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"there must be two classes or more, got 1 class: {self.classes_[0]!r} in all rows "
                "(of positive weight)"
            )
        if self.monotone and len(self.classes_) > 2:
            raise ValueError(
                f"monotone needs two classes, got {len(self.classes_)}: with more, a probability "
                "depends on all decisions"
            )
        seed = self._seed()
        targets = np.zeros((len(y), len(self.classes_)))
        targets[np.flatnonzero(weight > 0), codes] = 1
        loss: Loss = Softmax(len(self.classes_))
        if len(self.classes_) == 2:
            targets, loss = targets[:, 1:], Logistic()
        features = learn_features(frame, targets, weight, self.special_values)
        options = self._options(features, report)
        problem = problem_of(features, frame, targets, weight, loss, seed)
        self._fitted(features, problem, options, seed)
        if self.deep_ is not None:
            self.deep_ = replace(self.deep_, held_=None)
        return self

    def _in_memory(self) -> list[str]:
        return super()._in_memory() + (["class_weight"] if self.class_weight is not None else [])

    @property
    def _clean(self) -> Callable[[Any], Array]:
        return _classes

    @in_pieces("decision")
    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second of two classes, or the decision of each class."""
        rows = self._rows(X)
        f = self._decision(rows)
        return f[:, 0] if f.shape[1] == 1 else f

    @in_pieces("probability")
    def predict_proba(self, X: Any, *, precision: str = "double") -> Array:
        """Return the probability of each class, (rows, classes).

        Args:
            X: a table in memory, or in pieces; frames of Dask and Spark get a column a class.
            precision: `single` computes the functions of effects in single precision, which is
                faster.
        """
        rows = self._rows(X)
        f = self._decision(rows, precision)
        if f.shape[1] == 1:
            f = np.concatenate([np.zeros_like(f), f], 1)
        return softmax(f, axis=1)

    @in_pieces("prediction")
    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]


def _classes(y: Any) -> Array:
    """Return one class for each row, all of them there."""
    found = labels_of(y)
    no_gaps(found)
    check_classification_targets(found)
    return found


def class_weights(class_weight: Any, y: Array, weight: Array) -> Array:
    """Return the factor of each row's weight that its class asks for; their mean stays one."""
    if class_weight is None:
        return np.ones(len(y))
    used = weight > 0
    classes = np.unique(y[used])
    if isinstance(class_weight, Mapping):
        unknown = [one for one in class_weight if one not in classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is no class of y; they are "
                f"{classes.tolist()}"
            )
        bad = {k: v for k, v in class_weight.items() if not (np.isfinite(v) and v > 0)}
        if bad:
            raise ValueError(f"class_weight must have positive numbers, got {bad}")
    elif class_weight != "balanced":
        raise ValueError(
            f"class_weight must be 'balanced', a dict of classes and numbers, or None, got "
            f"{class_weight!r}"
        )
    factor = np.ones(len(y))
    own = class_weight
    if class_weight == "balanced":
        own = {one: 1 / weight[used & (y == one)].sum() for one in classes.tolist()}
    for one, times in own.items():
        factor[y == one] = times
    return np.asarray(factor * weight.sum() / (weight @ factor))


def labels_of(y: Any) -> Array:
    """Return one class for each row; they must be text, or numbers or booleans."""
    try:
        found = np.asarray(from_tensor(y))
    except ValueError as error:
        raise ValueError(f"y must have one class for each row: {error}") from error
    found = column_or_1d(found, warn=True)
    kinds = {type(one) for one in found} if found.dtype == object else {found.dtype.type}
    kinds -= {type(None), type(pd.NA), type(pd.NaT)}  # gaps are told of as such
    text = {kind for kind in kinds if issubclass(kind, str)}
    numbers = {
        kind
        for kind in kinds
        if issubclass(kind, int | float | np.integer | np.floating | np.bool_)
    }
    if kinds - text - numbers or (text and numbers):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"y has classes of the type {names}; classes are all text, or all numbers: make them "
            "text, as [str(one) for one in y]"
        )
    if numbers and kinds == numbers and found.dtype == object and not pd.isna(found).any():
        return np.asarray(found.tolist())  # booleans or numbers, held as objects
    return found


def no_gaps(y: Array) -> None:
    """Raise if a row has no class."""
    gaps = ~np.isfinite(y) if y.dtype.kind == "f" else pd.isna(y)
    if gaps.any():
        row = int(np.flatnonzero(gaps)[0])
        raise ValueError(
            f"Input y contains NaN or infinity (row {row} is {y[row]}); drop rows without a class"
        )
