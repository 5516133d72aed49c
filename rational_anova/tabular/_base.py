"""What both estimators share: input, options, fitting, prediction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)
from threadpoolctl import threadpool_limits

from .._core import checks as check
from .._core.callbacks import Callback, ProgressBar, checked, stages
from .._core.types import Array
from ..tables import LARGEST, as_pandas, check_unique, default_names, from_tensor
from ._files import SaveMixin
from ._fitting import Scale, choose_mixture, fit_mixture, judge_of
from .deep import Deep, deepen
from .edit import EditMixin
from .explain import ExplainMixin, Measured, measure
from .export import ExportMixin
from .fit import Options, Problem
from .many import REPEATS, ManyMixin
from .model import Additive, Feature, Rows, identify, purify, read, workers
from .monotone import Proof, as_signs, position, proofs

DEPTHS = ("shallow", "deep")
PRECISIONS = ("double", "single")
Report = Callable[[str], bool]  # takes the name of a stage, says whether to stop


class RANEstimator(ExplainMixin, ExportMixin, EditMixin, SaveMixin, ManyMixin, BaseEstimator):
    """Base of `RANRegressor` and `RANClassifier`."""

    model_: Additive
    measured_: Measured
    deep_: Deep | None = None
    monotone_: dict[str, Proof]
    exact_numbers_: dict[float, str]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    @property
    def features_(self) -> list[Feature]:
        """The inputs: columns of the table, and the parts of dates."""
        check_is_fitted(self)
        return self.model_.features

    # -- input

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return a table as a frame; names and number of its columns as in the fit."""
        table = as_pandas(X)
        if isinstance(table, pd.DataFrame):
            if reset:
                _check_names(table.columns)
                _hint_at_words(table)
            validate_data(self, table, reset=reset, skip_check_array=True)
            return _at_least_one(table)
        X = check_array(from_tensor(X), dtype=None, ensure_all_finite=False, estimator=self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.dtype.kind not in "fiub":
            return pd.DataFrame(X, columns=default_names(X.shape[1])).infer_objects()
        return pd.DataFrame(X.astype(float), columns=default_names(X.shape[1]))

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self)
        return read(self.model_.features, self._frame(X, reset=False))

    def _decision(self, rows: Rows, precision: str = "double") -> Array:
        """Return the sum of all effects, and what the deep part adds."""
        check.choice(precision, PRECISIONS, "precision")
        with workers(self.n_jobs):
            f = self.model_.decision(rows, precision == "single")
        return f if self.deep_ is None else f + self.deep_.decision(rows, f)

    # -- the fit

    def _fitted(
        self, features: list[Feature], problem: Problem, options: Options, seed: int,
        scale: Scale = 1.0, shift: Scale = 0.0,
    ) -> None:  # fmt: skip
        """Fit the effects, and the deep part where asked for; problem.y is on the fitted scale."""
        signs = as_signs(self.monotone, features)
        if signs and self.depth == "deep":
            raise ValueError("depth='deep' cannot promise monotone effects; use depth='shallow'")
        mixture = [(1.0, options)]
        if not signs:  # a nearly linear model has too few heads to bend where it must not fall
            mixture = choose_mixture(problem, features, options, seed)
        model = fit_mixture(mixture, features, problem, seed, scale, shift, signs)
        rows = Rows(problem.rows.values)
        pure = purify(model, rows, problem.weight, seed)
        judge = judge_of(problem, scale, shift)
        self.model_ = identify(pure, rows, problem.weight, judge, signs)
        f = (self.model_.decision(problem.rows) - shift) / scale
        self.deviance_explained_ = explained(problem, f)
        self.deep_ = None
        if self.depth == "deep":
            count = None if self.n_jobs is None else effective_n_jobs(self.n_jobs)
            with threadpool_limits(count, "openmp"):  # torch's
                shallow = self.model_
                self.deep_ = deepen(shallow, problem, mixture, seed, float(scale), float(shift))
        self.measured_ = measure(self.model_, rows, problem.weight)
        self.monotone_ = proofs(self.model_, signs)
        self.edits_ = []
        self.exact_numbers_ = {}

    @property
    def variance_explained_(self) -> float:
        """Share of the variance of the decision that the effects explain: 1 without a deep part."""
        check_is_fitted(self)
        return 1.0 if self.deep_ is None else float(self.deep_.share_)

    def _weight(self, sample_weight: Any, X: pd.DataFrame) -> Array:
        """Return weights: small whole numbers count as repeats, others relative to their mean."""
        sample_weight = from_tensor(sample_weight)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("all sample weights are zero: there is nothing to fit")
        weight = weight if weight.max() <= LARGEST else weight / weight.max()
        mean = weight[weight > 0].mean()
        if sample_weight is not None and ((weight % 1).any() or mean > REPEATS):
            weight = weight / mean
        return weight

    # -- options

    def _asked(self, report: Report | None) -> Callable[[list[Feature]], Options]:
        """Return what makes the options, once the inputs are known."""
        return lambda features: self._options(features, report)

    def _options(self, features: list[Feature], report: Report | None) -> Options:
        check.choice(self.depth, DEPTHS, "depth")
        pairs = self.pairs
        allowed = None
        names = {f.name: i for i, f in enumerate(features)}
        if not isinstance(pairs, str | int | np.integer):
            allowed = tuple(sorted({_pair(p, names, "pairs") for p in pairs}))
            most = len(allowed)
        else:
            if isinstance(pairs, str) and pairs != "auto":
                raise ValueError(
                    f"pairs must be 'auto', a number, or a list of pairs of inputs, got {pairs!r}"
                )
            most = 60 if pairs == "auto" else check.integer(pairs, "pairs", 0)
        forbidden: set[tuple[int, int]] = set()
        for one in self.forbid:
            if isinstance(one, str | int | np.integer):  # an input that takes part in no pair
                alone = position(one, list(names), "forbid")
                forbidden |= {p for p in _all_pairs(len(features)) if alone in p}
            else:
                forbidden.add(_pair(one, names, "forbid"))
        signs = as_signs(self.monotone, features)
        for pair in allowed or ():
            if signs.keys() & set(pair):
                both = " x ".join(features[i].name for i in pair)
                raise ValueError(
                    f"pairs asks for {both}, but inputs in monotone take part in no pair; drop one "
                    "of the two wishes"
                )
        forbidden |= {p for p in _all_pairs(len(features)) if signs.keys() & set(p)}
        if forbidden:
            every = allowed if allowed is not None else _all_pairs(len(features))
            allowed = tuple(p for p in every if p not in forbidden)
        return Options(
            pairs=most,
            refinements=check.integer(self.refinements, "refinements", 0),
            allowed=allowed,
            report=report,
        )

    def _watched(self, callbacks: Sequence[Callback] | None) -> AbstractContextManager[Any]:
        """Enter callbacks, and the lines of `verbose`; gives what the fit calls with its stages."""
        own: list[Callback] = [ProgressBar()] if self.verbose else []
        if self.time_limit is not None:
            limit = check.nonnegative(self.time_limit, "time_limit")
            own.append(lambda now: now.seconds >= limit)
        return stages((*checked(callbacks), *own))

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Fit, or stay as it was: half of a new model beside half of an old one answers wrongly."""
        before = dict(vars(self))
        try:
            with workers(self.n_jobs):
                yield
        except np.linalg.LinAlgError as error:
            self._restore(before)
            raise ValueError(
                f"the fit broke down ({error}): a column or the target has numbers too far apart; "
                "give columns in units in which they are near 1"
            ) from error
        except BaseException:
            self._restore(before)
            raise

    def _restore(self, before: dict[str, Any]) -> None:
        self.__dict__.clear()
        self.__dict__.update(before)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(1 << 31))


def explained(problem: Problem, f: Array) -> float:
    """Return the share of the loss of the best constant that decisions save, from their rows."""
    loss, y, weight = problem.loss, problem.y, problem.weight
    start = loss.start(y, weight)

    def constant(c: float) -> float:
        return loss.mean(y, np.tile(start + c, (len(y), 1)), weight)

    best = min(
        constant(0.0), float(minimize_scalar(constant, bounds=(-2, 2), method="bounded").fun)
    )
    return 1 - loss.mean(y, f, weight) / best if best > 0 else 0.0


def _check_names(names: Sequence[Any]) -> None:
    """Raise if a name is there twice, or if some are text and others are not."""
    check_unique(names)
    odd = [name for name in names if not isinstance(name, str)]
    if 0 < len(odd) < len(names):
        raise TypeError(
            f"the column names of X must be all text or all of another kind, got {odd[0]!r} of "
            f"type {type(odd[0]).__name__} beside text; rename them, as map(str, X.columns) does"
        )


WORDS, TEXTS = 3, 50  # words in a text, and different texts, from which a column is prose


def _hint_at_words(X: pd.DataFrame) -> None:
    """Warn of columns whose texts are prose: as categories nearly every row is a level."""
    for name in X.columns:
        column = X[name]
        if not pd.api.types.is_object_dtype(column) and not pd.api.types.is_string_dtype(column):
            continue
        texts = sorted({one for one in column if isinstance(one, str)})
        if len(texts) < max(TEXTS, len(column) / 2):
            continue
        words = float(np.mean([len(text.split()) for text in texts[:1000]]))
        if words >= WORDS:
            warnings.warn(
                f"column {name!r} has {len(texts)} different texts of {words:.0f} words each in "
                f"{len(column)} rows, and is taken as a category; leave it out, or put counts of "
                "words in its place, as CountVectorizer(max_features=50, binary=True) of "
                "scikit-learn makes them",
                UserWarning,
                stacklevel=5,
            )


def _at_least_one(X: pd.DataFrame) -> pd.DataFrame:
    if X.shape[0] < 1:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    if X.shape[1] < 1:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    return X


def _pair(pair: Any, names: dict[str, int], what: str) -> tuple[int, int]:
    """Return a pair of names or positions as positions, in order."""
    try:
        first, second = pair
    except (TypeError, ValueError):
        raise ValueError(f"{what} takes pairs of columns, got {pair!r}") from None
    found = []
    for one in (first, second):
        if isinstance(one, str) and one in names:
            found.append(names[one])
        elif isinstance(one, int | np.integer) and 0 <= one < len(names):
            found.append(int(one))
        else:
            raise ValueError(f"{what} names {one!r}, which is no input; there are {list(names)}")
    if found[0] == found[1]:
        raise ValueError(f"{what} names {first!r} twice in one pair")
    return min(found), max(found)


def _all_pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for j in range(count) for i in range(j)]
