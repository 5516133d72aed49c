"""`RANOrdinal`: ordered classes out of tables, such as grades and severities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from .._core.callbacks import Callback
from .._core.types import Array
from ._base import RANEstimator, Report
from ._classifier import class_weights, labels_of, no_gaps
from ._fitting import learn_features, problem_of
from .fit import Link, Ordinal, Squared, class_shares


class RANOrdinal(ClassifierMixin, RANEstimator):
    """A Rational ANOVA Network for ordered classes: one sum of effects, and cutpoints on it.

    P(class <= k) = 1/(1 + exp(f - cut_k)): where f is larger, higher classes are likelier
    (proportional odds). The effects are those of f, one curve for all classes.

    Args:
        order: the classes from lowest to highest; None: numbers by their size, an ordered
            categorical of pandas by its order.
        pairs: `auto`, a number at most, or the pairs that may be used, as names or positions.
        forbid: pairs that may not be used; a name alone is an input that takes part in no pair.
        monotone: +1 or -1 for inputs in which f must not fall or rise.
        class_weight: as of `RANClassifier`.
        refinements: steps that move the heads, at most.
        special_values: as of `RANClassifier`.
        random_state: seed of the halves on which pairs are judged, and of the posterior's draws.
        n_jobs: threads; None means all processors. The effects do not depend on it, to the bit.
        time_limit: seconds after which no further stage is begun; None for no limit.
        verbose: show the stages; for more see `callbacks` of `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 2))
        >>> y = np.digitize(X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.logistic(size=500), [-1, 1])
        >>> RANOrdinal().fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.7
        True
    """

    classes_: Array
    depth = "shallow"

    def __init__(
        self,
        *,
        order: Sequence[Any] | None = None,
        pairs: str | int | Sequence[tuple[Any, Any]] = "auto",
        forbid: Sequence[Any] = (),
        monotone: dict[Any, int] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        refinements: int = 2,
        special_values: Any = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.order = order
        self.pairs = pairs
        self.forbid = forbid
        self.monotone = monotone
        self.class_weight = class_weight
        self.refinements = refinements
        self.special_values = special_values
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on classes that have no order
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callbacks: Sequence[Callback] | None = None,
    ) -> RANOrdinal:
        """Fit the effects to a table X and ordered classes y; returns self.

        Args:
            X: the table.
            y: one class for each row.
            sample_weight: small whole numbers count as repeats of a row; others are relative.
            callbacks: functions that are called with a `training.Progress` as each stage begins;
                after one has returned True only what a model needs is done.
        """
        with self._whole(), self._watched(callbacks) as report:
            return self._learn(X, y, sample_weight, report)

    def _learn(self, X: Any, y: Any, sample_weight: Any, report: Report | None) -> RANOrdinal:
        if y is None:
            raise ValueError("this estimator requires y to be passed, but the target y is None")
        frame = self._frame(X, reset=True)
        self.target_name_ = str(getattr(y, "name", None) or "target")
        order = self._order(y)
        y = labels_of(y)
        no_gaps(y)
        check_classification_targets(y)
        check_consistent_length(frame, y)
        weight = self._weight(sample_weight, frame)
        weight = weight * class_weights(self.class_weight, y, weight)
        used = weight > 0
        self.classes_ = _classes(y[used], order)
        if len(self.classes_) < 2:
            raise ValueError(
                f"there must be two classes or more, got 1 class: {self.classes_[0]!r} in all rows "
                "(of positive weight)"
            )
        codes = np.full(len(y), -1.0)
        for k, one in enumerate(self.classes_.tolist()):
            codes[y == one] = k
        seed = self._seed()
        column = (codes / (len(self.classes_) - 1))[:, None]
        features = learn_features(frame, column, weight, self.special_values)
        options = self._options(features, report)
        problem = problem_of(features, frame, column, weight, Squared(), seed)
        known = np.stack([codes[used], weight[used]], 1)
        problem = replace(problem, y=known, loss=Ordinal(len(self.classes_)))
        self._fitted(features, problem, options, seed)
        f = self.model_.decision(problem.rows)
        assert isinstance(problem.loss, Ordinal)
        self.cuts_ = tuple(problem.loss.cuts(known, f, weight[used]).tolist())
        self.link_ = Link()
        return self

    def _order(self, y: Any) -> list[Any] | None:
        """Return the order that is given, by the option or by an ordered categorical."""
        if self.order is not None:
            return list(self.order)
        kind = getattr(y, "dtype", None)
        if isinstance(kind, pd.CategoricalDtype) and kind.ordered:
            return kind.categories.tolist()
        return None

    def predict_link(self, X: Any) -> Array:
        """Return f, the sum of all effects."""
        return self._decision(self._rows(X))[:, 0]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (rows, classes)."""
        return class_shares(self.predict_link(X), np.array(self.cuts_))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])


def _classes(y: Array, order: list[Any] | None) -> Array:
    """Return the classes that are there, from lowest to highest."""
    there = np.unique(y)
    if order is None:
        if there.dtype.kind not in "fiub" and len(there) > 1:
            warnings.warn(
                f"the classes are text and are ordered as text: {' < '.join(map(str, there[:6]))}; "
                "pass order=[...] from the lowest to the highest",
                UserWarning,
                stacklevel=5,
            )
        return there
    lacking = [one for one in there.tolist() if one not in order]
    if lacking or len(set(order)) < len(order):
        what = f"lacks the class {lacking[0]!r}" if lacking else "names a class twice"
        raise ValueError(f"order={order} {what}; the classes of y are {there.tolist()}")
    return np.array([one for one in order if one in there.tolist()], dtype=there.dtype)
