"""`RANRegressor`: numbers out of tables, by effects that can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.validation import check_consistent_length

from .._core import checks as check
from .._core.callbacks import Callback
from .._core.types import Array
from ._base import RANEstimator, Report
from ._fitting import choose_link, learn_features, problem_of
from ._intervals import Noise, conformal, predictive
from ._targets import (
    FAMILIES,
    check_options,
    check_targets,
    family_of,
    in_units,
    levels_of,
    link_of,
    names_of,
    numbers_of,
    offset_of,
    without_offset,
)
from ._tuning import huber_problem, quantile_problem, tuned
from .deep import effects_only
from .fit import Link, Options, Problem, Squared, standard, uncrossed
from .many import TARGET, Engine, Given, Scan, in_pieces, table_of
from .model import lifted


class RANRegressor(RegressorMixin, RANEstimator):
    """A Rational ANOVA Network for tables: a sum of curves and of surfaces of two inputs.

    Every effect is a sum of rational units p/(1 + ((x - c)/w)^2); their numerators are found by one
    ridge regression with a penalty for each term, set by the evidence; the pairs by what they
    explain of the residual on other rows.

    Args:
        depth: `shallow`: effects only. `deep`: also networks of rational units for the residuals;
            `variance_explained_` is the share of the variance that the effects explain.
        pairs: `auto`, a maximum number, or the pairs that may be used, as names or positions.
        forbid: pairs that may not be used; a name alone excludes an input from all pairs.
        monotone: +1 or -1 for inputs (by name or position) in which f must not fall or rise; such
            inputs are not used in pairs, and `monotone_` has the proofs.
        loss: `squared`; `huber` (far targets count less) and `quantile`; `poisson` and
            `negative_binomial` for counts, `gamma` for positive amounts, `tweedie` for amounts
            with zeros, `binomial` for shares from 0 to 1. Targets of several columns take
            `squared`.
        link: `auto`, `identity`, `log`, `sqrt` or `logit`: the scale on which effects add up. With
            squared errors the target itself is taken to that scale; with `poisson` and its kin, of
            which `auto` means `log` (`logit` for `binomial`), the mean is.
        power: of `tweedie`, from 1 to 2; None estimates it, by profile likelihood.
        quantiles: levels for `quantile`; their curves do not cross.
        refinements: maximum number of steps that optimise the heads (basis functions).
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
        >>> X = rng.uniform(-2, 2, (500, 3))
        >>> y = 1 / (1 + X[:, 0] ** 2) + X[:, 1] * X[:, 2] + 0.01 * rng.normal(size=500)
        >>> model = RANRegressor().fit(X[:400], y[:400])
        >>> round(model.score(X[400:], y[400:]), 2)
        1.0
    """

    loss_numbers_: dict[str, Any]
    noise_model_: Noise | None
    output_names_: tuple[str, ...]

    def __init__(
        self,
        *,
        depth: str = "shallow",
        pairs: str | int | Sequence[tuple[Any, Any]] = "auto",
        forbid: Sequence[Any] = (),
        monotone: dict[Any, int] | None = None,
        loss: str = "squared",
        link: str = "auto",
        power: float | None = None,
        quantiles: float | Sequence[float] = (0.5,),
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
        self.loss = loss
        self.link = link
        self.power = power
        self.quantiles = quantiles
        self.refinements = refinements
        self.special_values = special_values
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.loss == "squared"
        tags.target_tags.positive_only = self.loss in FAMILIES
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        callbacks: Sequence[Callback] | None = None,
        engine: str | None = None,
    ) -> RANRegressor:
        """Fit the effects to a table X and targets y; returns self.

        Args:
            X: the table, in memory or in pieces: see docs/guides/large_tables.md.
            y: numbers; of a table in pieces, the name of a column.
            sample_weight: small whole numbers count as repeats of a row; others are relative. Of a
                table in pieces, the name of a column.
            offset: a number for each row that is added to f, on the scale of the link.
            exposure: a positive number for each row that multiplies the mean, as years do for
                counts of claims: the effects are then those of a rate. It needs a log link.
            callbacks: functions that are called with a `training.Progress` as each stage begins;
                after one has returned True only what a model needs is done.
            engine: `threads`, `processes`, `dask` or `spark`, for a table of more than 50,000 rows;
                None to choose by what X is.
        """
        with self._whole(), self._watched(callbacks) as report:
            name = link_of(self.loss, self.link)
            if y is None:
                raise ValueError("this estimator requires y to be passed, but the target y is None")
            source = self._source(X, engine)
            if source is None:
                return self._learn(X, y, sample_weight, offset, exposure, report, engine)
            if offset is not None or exposure is not None:
                raise ValueError(
                    "offset and exposure need all rows in memory, and X comes in pieces; read it "
                    "as a frame"
                )
            given = self._given(y, sample_weight, self._clean, False)
            return self._learn_pieces(source, given, name, report, self._seed())

    def _learn_pieces(
        self, engine: Engine, given: Given, name: str, report: Report | None, seed: int
    ) -> RANRegressor:
        found = self._fit_pieces(engine, given, self._asked(report), name, seed)
        if isinstance(found, Scan):
            X, y, weight = table_of(found)
            return self._learn(X, y, weight, None, None, report)
        if given.target != TARGET:
            self.target_name_ = str(given.target)
        self.output_names_ = ()
        self.loss_numbers_, self.noise_model_ = {}, None
        return self

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any,
        report: Report | None, engine: str | None = None,
    ) -> RANRegressor:  # fmt: skip
        name = link_of(self.loss, self.link)
        frame = self._frame(X, reset=True)
        self.target_name_ = str(getattr(y, "name", None) or "target")
        given, y = y, numbers_of(y)
        check_consistent_length(frame, y)
        if self.loss == "squared" and name == "auto" and (offset is not None or y.ndim == 2):
            name = "identity"
        weight = self._weight(sample_weight, frame)
        check_options(self, y[weight > 0], name)
        check_targets(y, self.loss, self.power)
        known = offset_of(offset, exposure, len(y), name)
        self.output_names_ = self._names(given, y)
        # Categories of many levels are known by their mean target, for one unit of exposure.
        grown = 1.0 if known is None or name != "log" else np.exp(known)
        rate = without_offset(y, known, name) if y.ndim == 1 else y
        often = weight * grown / np.mean(grown)
        seed = self._seed()
        if known is None and y.ndim == 1:
            given_weight = None if sample_weight is None else weight
            large = self._large(frame, y, given_weight, False, engine)
            if large is not None:
                return self._learn_pieces(*large, name, report, seed)
        column = _standardised(rate, often)[0]
        features = learn_features(frame, column, often, self.special_values)
        options = self._options(features, report)
        problem = problem_of(features, frame, column, often, Squared(), seed)
        used = weight > 0
        problem = replace(problem, weight=weight[used])
        rate, y = rate[used], y[used]
        known = None if known is None else known[used]
        if self.loss in FAMILIES:
            self._fit_family(features, problem, options, seed, y, known, name)
        else:
            self._fit_distance(features, problem, options, seed, rate, name)
        return self

    def _fit_family(
        self, features: Any, problem: Problem, options: Options, seed: int, y: Array,
        offset: Array | None, name: str,
    ) -> None:  # fmt: skip
        """Fit a generalised linear model's loss."""
        loss = family_of(self.loss, name, self.power)
        own = in_units(loss, name, y, offset, problem.weight)
        problem = replace(problem, y=own.y, loss=own.loss)
        problem = replace(problem, loss=tuned(problem, features, options, seed))
        self._fitted(features, problem, options, seed, own.scale, own.shift)
        self.loss_numbers_ = problem.loss.numbers()
        f = self.model_.decision(problem.rows)[:, 0]
        if name == "log":  # means add up to the targets, whatever was mixed and shared
            grown = np.exp(f + (0.0 if offset is None else offset))
            lift = float(np.log((problem.weight @ y) / (problem.weight @ grown)))
            self.model_, f = lifted(self.model_, lift), f + lift
        low, high = (1e-3 * own.scale, 1e300) if name == "identity" else (-np.inf, np.inf)
        self.link_ = Link(name, low, high, 1.0).within(f)
        mean = self.link_.mean(f, 0.0 if offset is None else offset)
        self.noise_model_ = Noise.of(self.loss, problem.loss, y, mean, problem.weight, self.model_)

    def _fit_distance(
        self, features: Any, problem: Problem, options: Options, seed: int, y: Array, name: str
    ) -> None:
        """Fit a loss of the distance between the target and f."""
        if name == "auto":
            name = choose_link(problem, features, y, seed)
        link = Link(name)
        column, scale, mean = _standardised(link.forward(y), problem.weight)
        problem = replace(problem, y=column, loss=Squared(column.shape[1]))
        if self.loss == "huber":
            problem = huber_problem(problem, features, options, seed)
        elif self.loss == "quantile":
            levels = levels_of(self.quantiles)
            problem = quantile_problem(problem, features, levels, options, seed)
        self._fitted(features, problem, options, seed, scale, mean)
        self.loss_numbers_ = problem.loss.numbers()
        f = self.model_.decision(problem.rows)
        if self.deep_ is not None:  # decisions on rows that its networks did not see
            f = f if self.deep_.held_ is None else self.deep_.held_
            self.deep_ = replace(self.deep_, held_=None)
        self.noise_model_ = None
        if self.loss == "quantile":
            self.link_ = Link(name, smear=1.0).within(link.forward(y))
        else:
            self.link_ = link.smeared(f[:, 0], y, problem.weight) if y.ndim == 1 else link

    def _names(self, given: Any, y: Array) -> tuple[str, ...]:
        """Return the name of each output; none where there is one."""
        if y.ndim == 2:
            return names_of(given, y.shape[1])
        if self.loss == "quantile" and len(levels_of(self.quantiles)) > 1:
            return tuple(f"{level:g}" for level in levels_of(self.quantiles))
        return ()

    def _in_memory(self) -> list[str]:
        return super()._in_memory() + ([f"loss={self.loss!r}"] if self.loss != "squared" else [])

    @property
    def _clean(self) -> Callable[[Any], Array]:
        return numbers_of

    @in_pieces("link")
    def predict_link(self, X: Any) -> Array:
        """Return the sum of all effects, on the scale of the link; no offset is in it."""
        f = self._decision(self._rows(X))
        return f[:, 0] if f.shape[1] == 1 else f

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = False,
        *,
        offset: Any = ...,
        exposure: Any = ...,
        precision: str = ...,
    ) -> Array: ...

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[True],
        *,
        offset: Any = ...,
        exposure: Any = ...,
        precision: str = ...,
    ) -> tuple[Array, Array]: ...

    @in_pieces("prediction")
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        *,
        offset: Any = None,
        exposure: Any = None,
        precision: str = "double",
    ) -> Array | tuple[Array, Array]:
        """Return the mean of the target at rows; with its posterior's standard deviation on demand.

        The standard deviation is that of the mean, of the effects alone; `noise_` is the variance
        of targets about it, on the link's scale.

        Args:
            X: a table in memory, or in pieces; of a frame of Dask the result is lazy, a frame of
                Spark gets a column `prediction`.
            return_std: whether to return standard deviations, too.
            offset: as in `fit`; none for zero.
            exposure: as in `fit`; none for one unit.
            precision: `single` computes the functions of effects in single precision, which is
                faster: docs/guides/large_tables.md has the error.

        Returns:
            (rows,), or (rows, outputs) with several targets or quantiles.
        """
        if return_std:
            effects_only(self, "return_std=True")
        rows = self._rows(X)
        f, known = self._decision(rows, precision), self._known(offset, exposure, len(rows))
        mean = self._means(f, known)
        if not return_std:
            return mean
        spread = np.abs(self.link_.slope(f, known)) * self.model_.spread(rows)
        return mean, spread[:, 0] if f.shape[1] == 1 else spread

    def _known(self, offset: Any, exposure: Any, rows: int) -> Array | float:
        known = offset_of(offset, exposure, rows, self.link_.name)
        return 0.0 if known is None else known[:, None]

    def _means(self, f: Array, known: Array | float) -> Array:
        mean = self.link_.mean(f, known)
        if f.shape[1] == 1:
            return np.asarray(mean[:, 0])
        return uncrossed(mean, levels_of(self.quantiles)) if self.loss == "quantile" else mean

    def score(self, X: Any, y: Any, sample_weight: Any = None, **known: Any) -> float:
        """Return the share of the deviance that is explained: R2 for squared errors.

        For quantiles it is that of the pinball loss, the mean over the levels; for `huber` R2.

        Args:
            X: a table.
            y: its target.
            sample_weight: of the rows.
            **known: offset or exposure, as in `predict`; the constant that the model is compared
                with then has them, too.
        """
        if self.loss in ("squared", "huber"):
            return float(super().score(X, y, sample_weight)) if not known else float(
                r2_score(numbers_of(y), self.predict(X, **known), sample_weight=sample_weight)
            )  # fmt: skip
        y = numbers_of(y)
        check_targets(y, self.loss, self.power)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        if self.loss == "quantile":
            levels = levels_of(self.quantiles)
            found = self.predict(X, **known).reshape(len(y), -1)
            each = [
                d2_pinball_score(y, found[:, k], sample_weight=weight, alpha=level)
                for k, level in enumerate(levels)
            ]
            return float(np.mean(each))
        assert self.noise_model_ is not None
        rows = self._known(known.get("offset"), known.get("exposure"), len(y))
        return self.noise_model_.explained(
            y, self.predict(X, **known), weight, self.link_, np.ravel(rows)
        )

    @in_pieces("end")
    def predict_interval(
        self, X: Any, level: float = 0.95, calibration: tuple[Any, Any] | None = None,
        *, offset: Any = None, exposure: Any = None,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Return the ends of intervals for new observations.

        Args:
            X: a table.
            level: share of new observations that are to lie inside, between 0 and 1.
            calibration: (X, y) of rows that the model was not fitted to. Intervals then hold at
                least the level on average over all such rows and new ones of the same source,
                whatever the noise (split conformal prediction). A third entry is their offset,
                on the scale of the link. None: by the posterior and the noise that the loss
                means: normal and of one size for `squared`, on the scale of the link;
                that of the family for counts, `gamma` and `binomial`; `quantile` needs the levels
                that end the interval among its `quantiles`.
            offset: as in `predict`.
            exposure: as in `predict`.

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
        if self.loss == "quantile":
            return self._between(X, level, calibration, offset, exposure)
        if self.loss == "huber" and calibration is None:
            raise ValueError(
                "loss='huber' says nothing of the noise's tails: pass calibration=(X, y), rows "
                "that the model was not fitted to"
            )
        rows = self._rows(X)
        known = self._known(offset, exposure, len(rows))
        if calibration is None:
            return self._ends(rows, known, level)
        if self.model_.outputs > 1:
            raise ValueError(
                f"calibration is for one target, and the model predicts {self.model_.outputs}"
            )
        table, y = calibration[:2]
        y = numbers_of(y)
        check_consistent_length(table, y)
        at = self._rows(table)
        their = self._known(calibration[2] if len(calibration) > 2 else None, None, len(y))
        return conformal(self, (rows, known), (at, their), y, level)

    def _ends(self, rows: Any, known: Array | float, level: float) -> tuple[Array, Array]:
        f, spread = self._decision(rows), self.model_.spread(rows)
        if self.noise_model_ is not None:
            mean, slope = self.link_.mean(f, known), self.link_.slope(f, known)
            low, high = self.noise_model_.ends(mean[:, 0], (slope * spread)[:, 0], level)
            return low, high
        low, high = predictive(f + known, np.sqrt(spread**2 + self.noise_), level, self.link_)
        return (low[:, 0], high[:, 0]) if f.shape[1] == 1 else (low, high)

    def _between(
        self, X: Any, level: float, calibration: Any, offset: Any, exposure: Any
    ) -> tuple[Array, Array]:
        """Return the quantiles that end an interval."""
        levels = levels_of(self.quantiles)
        places = [
            next((k for k, one in enumerate(levels) if abs(one - end) < 1e-9), None)
            for end in ((1 - level) / 2, (1 + level) / 2)
        ]
        if None in places or calibration is not None:
            raise ValueError(
                f"loss='quantile' with quantiles={levels} has no interval of level={level}"
                f"{'' if calibration is None else ' with calibration'}; fit it with quantiles="
                f"({(1 - level) / 2:g}, {(1 + level) / 2:g}), or take another loss"
            )
        found = self.predict(X, offset=offset, exposure=exposure)
        return found[:, places[0]], found[:, places[1]]

    @property
    def _explained(self) -> str:  # type: ignore[override]
        own = {"squared": "variance", "huber": "Huber loss", "quantile": "pinball loss"}
        return own.get(self.loss, "deviance")

    @property
    def noise_(self) -> float | Array:
        """Variance of the targets about the effects, on the link's scale; one for each target."""
        return self.model_.noise

    @property
    def dispersion_(self) -> float:
        """Variance of the targets over that which the mean has in a family, by Pearson's sum."""
        if self.noise_model_ is None:
            raise AttributeError(f"loss={self.loss!r} has no dispersion; noise_ is its variance")
        return self.noise_model_.dispersion


def _standardised(y: Array, weight: Array) -> tuple[Array, Any, Any]:
    """Return `standard` of each column of a target."""
    if y.ndim == 1:
        return standard(y, weight)
    found = [standard(column, weight) for column in y.T]
    columns, scales, means = zip(*found, strict=True)
    return np.concatenate(columns, 1), np.array(scales), np.array(means)
