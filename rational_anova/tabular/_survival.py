"""`RANSurvival`: how soon something happens, from tables in which some rows wait still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from .._core.callbacks import Callback
from .._core.types import Array
from ..tables import NotNumbers, check_range, from_tensor, numbers
from ._base import RANEstimator, Report
from ._fitting import learn_features, problem_of
from .fit import Cox, Link, Squared, baseline
from .model import lifted

PAIRS_AT_ONCE = 1 << 22  # of rows that are compared


class RANSurvival(RANEstimator):
    """A Rational ANOVA Network for waiting times: proportional hazards with curves and surfaces.

    The hazard of a row is that of all, times exp(f); f is a sum of effects of mean zero over the
    rows. What all have in common is not modelled (Cox's partial likelihood, Breslow's for ties).

    Args:
        pairs: `auto`, a number at most, or the pairs that may be used, as names or positions.
        forbid: pairs that may not be used; a name alone is an input that takes part in no pair.
        monotone: +1 or -1 for inputs in which the hazard must not fall or rise.
        refinements: steps that move the heads, at most.
        special_values: as of `RANRegressor`.
        random_state: seed of the halves on which pairs are judged, and of the posterior's draws.
        n_jobs: threads; None means all processors. The effects do not depend on it, to the bit.
        time_limit: seconds after which no further stage is begun; None for no limit.
        verbose: show the stages; for more see `callbacks` of `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 2))
        >>> time = rng.exponential(np.exp(-X[:, 0] - np.sin(X[:, 1])))
        >>> event = time < 1.5
        >>> model = RANSurvival().fit(X, np.minimum(time, 1.5), event)
        >>> model.predict_survival(X[:2], [0.5, 1.0]).shape
        (2, 2)
    """

    depth = "shallow"
    _explained = "order of events (R2 of O'Quigley)"

    def __init__(
        self,
        *,
        pairs: str | int | Sequence[tuple[Any, Any]] = "auto",
        forbid: Sequence[Any] = (),
        monotone: dict[Any, int] | None = None,
        refinements: int = 2,
        special_values: Any = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> None:
        self.pairs = pairs
        self.forbid = forbid
        self.monotone = monotone
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
        event: Any = None,
        sample_weight: Any = None,
        *,
        callbacks: Sequence[Callback] | None = None,
    ) -> RANSurvival:
        """Fit the effects to a table X and waiting times y; returns self.

        Args:
            X: the table.
            y: positive times; or times and events together, as a structured array of a boolean and
                a number (scikit-survival's) or as two columns, time and event.
            event: whether the event was seen at that time (1) or the row was last seen waiting (0).
            sample_weight: small whole numbers count as repeats of a row; others are relative.
            callbacks: functions that are called with a `training.Progress` as each stage begins;
                after one has returned True only what a model needs is done.
        """
        with self._whole(), self._watched(callbacks) as report:
            return self._learn(X, y, event, sample_weight, report)

    def _learn(
        self, X: Any, y: Any, event: Any, sample_weight: Any, report: Report | None
    ) -> RANSurvival:
        frame = self._frame(X, reset=True)
        time, seen = times_and_events(y, event)
        self.target_name_ = str(getattr(y, "name", None) or "time")
        check_consistent_length(frame, time)
        weight = self._weight(sample_weight, frame)
        used = weight > 0
        if not seen[used].any():
            raise ValueError("no event was seen in any row: there is nothing to learn from")
        if np.ptp(time[used]) == 0:
            raise ValueError(f"all times are {time[used][0]:g}: none is sooner than another")
        seed = self._seed()
        column = _residuals(time, seen, weight)[:, None]
        features = learn_features(frame, column, weight, self.special_values)
        options = self._options(features, report)
        problem = problem_of(features, frame, column, weight, Squared(), seed)
        known = np.stack([time, seen.astype(float), weight], 1)[used]
        problem = replace(problem, y=known, loss=Cox())
        self._fitted(features, problem, options, seed)
        middle = np.average(self.model_.decision(problem.rows), axis=0, weights=problem.weight)
        self.model_ = lifted(self.model_, -middle)
        f = self.model_.decision(problem.rows)[:, 0]
        gain = self.deviance_explained_ * 2  # of the log likelihood an event, twice
        self.deviance_explained_ = 1 - float(np.exp(-gain))
        self.times_, hazard = baseline(known[:, 0], known[:, 1], known[:, 2], f)
        self.hazard_ = np.cumsum(hazard)
        self.link_ = Link()
        return self

    def _predicted(self) -> str:
        return f"predicts the log of the hazard of {self.target_name_}, over that of all rows"

    def predict(self, X: Any) -> Array:
        """Return f, the log of the hazard over that of a row of mean f: higher is sooner."""
        return self._decision(self._rows(X))[:, 0]

    def predict_survival(self, X: Any, times: Any = None) -> Array:
        """Return the probability of waiting longer than each time, (rows, times).

        Args:
            X: a table.
            times: at which; None for `times_`, those of the events of the fit.
        """
        risk = np.exp(np.clip(self.predict(X), -50, 50))
        times = self.times_ if times is None else np.atleast_1d(np.asarray(times, float))
        if np.isnan(times).any():
            raise ValueError(f"times must be numbers, got {times}")
        total = np.concatenate([[0.0], self.hazard_])
        return np.exp(-risk[:, None] * total[np.searchsorted(self.times_, times, side="right")])

    def predict_median(self, X: Any) -> Array:
        """Return the time that half of such rows wait at most; infinity beyond all times."""
        beyond = self.predict_survival(X) <= 0.5
        reached = beyond.any(1)
        return np.where(reached, self.times_[beyond.argmax(1)], np.inf)

    def score(self, X: Any, y: Any, event: Any = None) -> float:
        """Return the concordance: the share of pairs of rows whose order f has right.

        Pairs count in which the one that came first was seen; equal f count one half.
        """
        time, seen = times_and_events(y, event)
        return concordance(time, seen, self.predict(X))


def times_and_events(y: Any, event: Any) -> tuple[Array, Array]:
    """Return times and whether events were seen, of any of the forms that `fit` takes."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    y = from_tensor(y)
    names = getattr(getattr(y, "dtype", None), "names", None)
    if event is None and names is not None and len(names) == 2:
        first = names[0] if y[names[0]].dtype.kind == "b" else names[1]
        event, y = y[first], y[names[1] if first == names[0] else names[0]]
    elif event is None and np.ndim(y) == 2 and np.shape(y)[1] == 2:
        both = y.to_numpy() if isinstance(y, pd.DataFrame) else np.asarray(y)
        y, event = both[:, 0], both[:, 1]
    elif event is None:
        event = np.ones(len(y))  # all were seen
    time = _numbers(y, "the time")
    seen = _numbers(event, "the event")
    check_consistent_length(time, seen)
    if (time <= 0).any():
        row = int(np.flatnonzero(time <= 0)[0])
        raise ValueError(
            f"times must be positive, got {time[row]:g} in row {row}; drop rows whose time is 0, "
            "or give the times in a finer unit"
        )
    if not np.isin(seen, (0, 1)).all():
        row = int(np.flatnonzero(~np.isin(seen, (0, 1)))[0])
        raise ValueError(f"events must be 1 (seen) or 0 (not yet), got {seen[row]:g} in row {row}")
    return time, seen > 0


def _numbers(given: Any, what: str) -> Array:
    values = np.asarray(from_tensor(given))
    if values.ndim != 1:
        raise ValueError(f"{what} must be one number for each row, got the shape {values.shape}")
    try:
        found = numbers(pd.Series(values), what)
    except NotNumbers as error:
        raise ValueError(str(error)) from None
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"{what} must be finite, got {found[row]} in row {row}; drop such rows")
    check_range(found, what)
    return found


def _residuals(time: Array, seen: Array, weight: Array) -> Array:
    """Return events less those expected of all alike, by which crowded categories are known."""
    times, hazard = baseline(time, seen.astype(float), weight, np.zeros(len(time)))
    total = np.cumsum(np.concatenate([[0.0], hazard]))
    return seen - total[np.searchsorted(times, time, side="right")]


def concordance(time: Array, seen: Array, f: Array) -> float:
    """Return Harrell's concordance of risks f with times."""
    first = np.flatnonzero(seen)
    right, pairs = 0.0, 0
    step = max(PAIRS_AT_ONCE // max(len(time), 1), 1)
    for at in range(0, len(first), step):
        own = first[at : at + step]
        later = (time > time[own][:, None]) | ((time == time[own][:, None]) & ~seen)
        apart = f[own][:, None] - f
        right += float(((apart > 0) & later).sum() + 0.5 * ((apart == 0) & later).sum())
        pairs += int(later.sum())
    return right / pairs if pairs else float("nan")
