"""`RANRegressor`: numbers out of tables, by effects that can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._core import checks as check
from .._core.callbacks import Callback
from .._core.types import Array
from ..tables import NotNumbers, check_range, from_tensor, numbers
from ._base import RANEstimator, Report
from ._fitting import choose_link, learn_features, problem_of
from .deep import effects_only
from .fit import FORWARD, Link, Squared, standard
from .fit import check as check_link
from .many import TARGET, Engine, Given, Scan, in_pieces, table_of


class RANRegressor(RegressorMixin, RANEstimator):
    """A Rational ANOVA Network for tables: a sum of curves and of surfaces of two inputs.

    Every effect is a sum of rational units p/(1 + ((x - c)/w)^2); their numerators are found by one
    ridge regression with a penalty for each term, set by the evidence; the pairs by what they
    explain of the residual on other rows.

    Args:
        depth: `shallow`: effects only. `deep`: and networks of rational units for what they leave
            over; `variance_explained_` is the share that the effects keep.
        pairs: `auto`, a number at most, or the pairs that may be used, as names or positions.
        forbid: pairs that may not be used.
        monotone: +1 or -1 for inputs (by name or position) in which f must not fall or rise; such
            inputs take part in no pair, and `monotone_` has the proofs.
        link: `auto`, `identity`, `log` or `sqrt`: the scale of the target on which effects add up.
        refinements: steps that move the heads, at most.
        special_values: numbers that are codes (-9 for "no record"), each with an effect of its own,
            as gaps have: `auto` finds them, numbers hold for all columns, a dict from columns to
            numbers for some; None for none.
        random_state: seed of the halves on which pairs are judged, and of the posterior's draws.
        n_jobs: threads; None means all processors. The effects do not depend on it, to the bit.
        time_limit: seconds after which no further stage is begun, and only what a model needs is
            done; None for no limit.
        verbose: show the stages; for more see `callbacks` of `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-2, 2, (500, 3))
        >>> y = 1 / (1 + X[:, 0] ** 2) + X[:, 1] * X[:, 2] + 0.01 * rng.normal(size=500)
        >>> model = RANRegressor().fit(X[:400], y[:400])
        >>> round(model.score(X[400:], y[400:]), 2)
        1.0
    """

    def __init__(
        self,
        *,
        depth: str = "shallow",
        pairs: str | int | Sequence[tuple[Any, Any]] = "auto",
        forbid: Sequence[tuple[Any, Any]] = (),
        monotone: dict[Any, int] | None = None,
        link: str = "auto",
        refinements: int = 2,
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
        self.link = link
        self.refinements = refinements
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
    ) -> RANRegressor:
        """Fit the effects to a table X and targets y; returns self.

        Args:
            X: the table, in memory or in pieces: see docs/guides/large_tables.md.
            y: numbers; of a table in pieces, the name of a column.
            sample_weight: small whole numbers count as repeats of a row; others are relative. Of a
                table in pieces, the name of a column.
            callbacks: functions that are called with a `training.Progress` as each stage begins;
                after one has returned True only what a model needs is done.
            engine: `threads`, `processes`, `dask` or `spark`, for a table of more than 50,000 rows;
                None to choose by what X is.
        """
        with self._whole(), self._watched(callbacks) as report:
            check.choice(self.link, ("auto", *FORWARD), "link")
            if y is None:
                raise ValueError("this estimator requires y to be passed, but the target y is None")
            source = self._source(X, engine)
            if source is None:
                return self._learn(X, y, sample_weight, report, engine)
            given = self._given(y, sample_weight, self._clean, False)
            return self._learn_pieces(source, given, report, self._seed())

    def _learn_pieces(
        self, engine: Engine, given: Given, report: Report | None, seed: int
    ) -> RANRegressor:
        found = self._fit_pieces(engine, given, self._asked(report), self.link, seed)
        if isinstance(found, Scan):
            return self._learn(*table_of(found), report)
        if given.target != TARGET:
            self.target_name_ = str(given.target)
        return self

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, report: Report | None, engine: str | None = None
    ) -> RANRegressor:
        frame = self._frame(X, reset=True)
        self.target_name_ = str(getattr(y, "name", None) or "target")
        y = _targets(y)
        check_consistent_length(frame, y)
        weight = self._weight(sample_weight, frame)
        seed = self._seed()
        large = self._large(frame, y, None if sample_weight is None else weight, False, engine)
        if large is not None:
            return self._learn_pieces(*large, report, seed)
        column = standard(y, weight)[0]
        features = learn_features(frame, column, weight, self.special_values)
        options = self._options(features, report)
        problem = problem_of(features, frame, column, weight, Squared(), seed)
        used = weight > 0
        y, weight = y[used], weight[used]
        if self.link != "auto":
            check_link(self.link, y)
        name = self.link
        if name == "auto":
            name = choose_link(problem, features, y, seed)
        link = Link(name)
        column, scale, mean = standard(link.forward(y), weight)
        problem = replace(problem, y=column)
        self._fitted(features, problem, options, seed, scale, mean)
        f = self.model_.decision(problem.rows)
        if self.deep_ is not None:  # decisions on rows that its networks did not see
            f = f if self.deep_.held_ is None else self.deep_.held_
            self.deep_ = replace(self.deep_, held_=None)
        self.link_ = link.smeared(f[:, 0], y, weight)
        return self

    @property
    def _clean(self) -> Callable[[Any], Array]:
        return _targets

    @in_pieces("link")
    def predict_link(self, X: Any) -> Array:
        """Return the sum of all effects, on the scale of the link."""
        rows = self._rows(X)
        return self._decision(rows)[:, 0]

    @overload
    def predict(
        self, X: Any, return_std: Literal[False] = False, *, precision: str = "double"
    ) -> Array: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[True], *, precision: str = "double"
    ) -> tuple[Array, Array]: ...

    @in_pieces("prediction")
    def predict(
        self, X: Any, return_std: bool = False, *, precision: str = "double"
    ) -> Array | tuple[Array, Array]:
        """Return the mean of the target at rows; with its posterior's standard deviation on demand.

        The standard deviation is that of the mean, of the effects alone; `noise_` is the variance
        of targets about it, on the link's scale.

        Args:
            X: a table in memory, or in pieces; of a frame of Dask the result is lazy, a frame of
                Spark gets a column `prediction`.
            return_std: whether the standard deviation is asked for.
            precision: `single` computes the functions of effects in single precision, which is
                faster: docs/guides/large_tables.md has the error.
        """
        if return_std:
            effects_only(self, "return_std=True")
        rows = self._rows(X)
        f = self._decision(rows, precision)[:, 0]
        if not return_std:
            return self.link_.mean(f)
        spread = self.model_.spread(rows)[:, 0]
        return self.link_.mean(f), np.abs(self.link_.slope(f)) * spread

    @in_pieces("end")
    def predict_interval(
        self, X: Any, level: float = 0.95, calibration: tuple[Any, Any] | None = None
    ) -> tuple[Array, Array]:
        """Return the ends of intervals for new observations.

        Args:
            X: a table.
            level: share of new observations that are to lie inside, between 0 and 1.
            calibration: (X, y) of rows that the model was not fitted to. Intervals then hold at
                least the level on average over all such rows and new ones of the same source,
                whatever the noise (split conformal prediction). None: by the posterior and noise
                that is normal, of one size, on the scale of the link.

        Example:
            >>> X = np.linspace(0, 1, 90)[:, None]
            >>> y = X[:, 0] + 0.1 * np.sin(37 * np.arange(90))
            >>> low, high = RANRegressor().fit(X, y).predict_interval(X[:3])
            >>> bool((low < high).all())
            True
        """
        effects_only(self, "predict_interval")
        level = check.real(level, "level")
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        f, scale = self._scales(X)
        away = float(norm.ppf((1 + level) / 2))
        if calibration is not None:
            table, y = calibration
            y = _targets(y)
            check_consistent_length(table, y)
            count = len(y)
            rank = int(np.ceil((count + 1) * level))
            if rank > count:
                least = int(np.ceil(level / (1 - level)))
                raise ValueError(
                    f"calibration has {count} rows; level={level} takes {least} rows or more"
                )
            check_link(self.link_.name, y)
            middle, wide = self._scales(table)
            scores = np.abs(self.link_.forward(y) - middle) / wide
            away = float(np.sort(scores)[rank - 1])
        ends = f - away * scale, f + away * scale
        if self.link_.name == "log":
            return np.exp(np.minimum(ends[0], 700)), np.exp(np.minimum(ends[1], 700))
        if self.link_.name == "sqrt":
            return np.maximum(ends[0], 0) ** 2, np.maximum(ends[1], 0) ** 2
        return ends

    def _scales(self, X: Any) -> tuple[Array, Array]:
        """Return the decision and the standard deviation of a new target, on the link's scale."""
        rows = self._rows(X)
        spread = self.model_.spread(rows)[:, 0]
        return self._decision(rows)[:, 0], np.sqrt(spread**2 + max(self.noise_, 1e-300))

    @property
    def noise_(self) -> float:
        """Variance of the targets about the effects, on the link's scale."""
        return self.model_.noise


def _targets(y: Any) -> Array:
    column = pd.Series(column_or_1d(np.asarray(from_tensor(y)), warn=True))
    try:
        y = numbers(column, "the target")
    except NotNumbers as error:
        raise ValueError(f"{error}, or take RANClassifier for classes") from None
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(
            f"Input y contains NaN or infinity (row {row} is {y[row]}); drop rows without a target"
        )
    check_range(y, "the target")
    return y
