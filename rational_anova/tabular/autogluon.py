"""The estimators as a model of AutoGluon, and their search space as TabArena wants it."""

from __future__ import annotations

import importlib
import time
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .._core import checks as check
from .._core.callbacks import Callback, Progress
from .._core.types import Array
from ._classifier import RANClassifier
from ._regressor import RANRegressor


def search_space(problem_type: str = "regression") -> dict[str, dict[str, Any]]:
    """Return what is worth a search: `choices` (the first is the default) or `low` and `high`.

    Args:
        problem_type: AutoGluon's name: `regression`, `binary` or `multiclass`.
    """
    check.choice(problem_type, ("regression", "binary", "multiclass"), "problem_type")
    space: dict[str, dict[str, Any]] = {
        "pairs": {"choices": ["auto", 0, 5, 15, 30]},
        "refinements": {"low": 0, "high": 4, "default": 2},
        "depth": {"choices": ["shallow", "deep"]},
    }
    if problem_type == "regression":
        space["link"] = {"choices": ["auto", "identity"]}
    return space


def configs(n: int, seed: int = 0, problem_type: str = "regression") -> list[dict[str, Any]]:
    """Return n different configurations, the default first, with the names TabArena gives them.

    Args:
        n: how many; fewer are returned if there are not so many.
        seed: of the draws.
        problem_type: as in `search_space`.
    """
    n = check.integer(n, "n", 1)
    random = np.random.default_rng(seed)
    space = search_space(problem_type)
    found: list[dict[str, Any]] = [{}]
    seen = [{name: _options(entry)[0] for name, entry in space.items()}]
    limit = int(np.prod([len(_options(entry)) for entry in space.values()]))
    while len(found) < min(n, limit):
        drawn = {k: (o := _options(e))[random.integers(len(o))] for k, e in space.items()}
        if drawn not in seen:
            seen.append(drawn)
            found.append(drawn)
    names = ["_c1", *(f"_r{k}" for k in range(1, len(found)))]
    return [
        {**one, "ag_args": {"name_suffix": name}} for one, name in zip(found, names, strict=True)
    ]


def _options(entry: dict[str, Any]) -> list[Any]:
    """Return all values of an entry of the search space, the default first."""
    if "choices" in entry:
        return list(entry["choices"])
    rest = [k for k in range(entry["low"], entry["high"] + 1) if k != entry["default"]]
    return [entry["default"], *rest]


KEY = "RAN"
DEFAULTS: dict[str, Any] = {"depth": "shallow", "pairs": "auto", "refinements": 2}
_BASE_MEMORY = 300_000_000  # bytes of the imports
_COLUMNS = 75  # numerators of an input, and 2200 for pairs
_PAIR_COLUMNS = 2200
_KEPT = 240_000_000  # bytes of columns that stay in memory


def autogluon_space(problem_type: str = "regression") -> dict[str, Any]:
    """Return the search space in AutoGluon's classes, for `ConfigGenerator` or its own search."""
    space = _autogluon("autogluon.common").space
    return {
        name: space.Categorical(*entry["choices"])
        if "choices" in entry
        else space.Int(entry["low"], entry["high"], default=entry["default"])
        for name, entry in search_space(problem_type).items()
    }


def _autogluon(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            "RANModel needs AutoGluon, which is not installed: pip install autogluon.tabular"
        ) from error


def _model_class() -> type:
    """Return the class; it is made on demand, since its base may not be there."""
    base = _autogluon("autogluon.core.models").AbstractModel
    too_long = _autogluon("autogluon.core.utils.exceptions").TimeLimitExceeded

    class RANModel(base):  # type: ignore[misc,valid-type]
        """A Rational ANOVA Network for `TabularPredictor(...).fit(hyperparameters={RANModel: {}})`.

        Its hyperparameters are the options of `RANRegressor` and `RANClassifier`. Validation rows
        are not used: the penalties come from the evidence of the training rows. The time limit is
        looked at between the stages of the fit.
        """

        ag_key = KEY
        ag_name = KEY
        ag_priority = 40
        seed_name = "random_state"
        _supported_problem_types: ClassVar = ["binary", "multiclass", "regression"]
        _default_auxiliary_params_extra: ClassVar = {
            "valid_raw_types": ["bool", "int", "float", "category", "datetime"],
        }
        default_resources_physical_cores_only = True

        def _fit(
            self, X: pd.DataFrame, y: pd.Series, time_limit: float | None = None,
            sample_weight: Any = None, num_cpus: int | str | None = None, **kwargs: Any,
        ) -> None:  # fmt: skip
            X = self.preprocess(X, y=y, is_train=True)
            options = dict(self._get_model_params())
            if isinstance(num_cpus, int):
                options.setdefault("n_jobs", num_cpus)
            number = self.problem_type == "regression"
            if not number:
                options.pop("link", None)  # one search space serves all problems
            model = RANRegressor(**options) if number else RANClassifier(**options)
            watch = [] if time_limit is None else [_stopwatch(time_limit, too_long)]
            self.model = model.fit(X, y, sample_weight=sample_weight, callbacks=watch)

        def _predict_proba(self, X: pd.DataFrame, **kwargs: Any) -> Array:
            X = self.preprocess(X, **kwargs)
            if self.problem_type == "regression":
                return np.asarray(self.model.predict(X))
            proba = self.model.predict_proba(X)
            if self.problem_type == "multiclass" and proba.shape[1] < self.num_classes:
                # A fold of a bag may lack a class.
                full = np.zeros((len(proba), self.num_classes))
                full[:, np.asarray(self.model.classes_, int)] = proba
                proba = full
            return np.asarray(self._convert_proba_to_unified_form(proba))

        def _set_default_params(self) -> None:
            for name, value in DEFAULTS.items():
                self._set_default_param_value(name, value)

        def _get_default_searchspace(self) -> dict[str, Any]:
            return autogluon_space(self.problem_type)

        def get_minimum_resources(self, is_gpu_available: bool = False) -> dict[str, int]:
            return {"num_cpus": 1}

        def _estimate_memory_usage(self, X: pd.DataFrame, **kwargs: Any) -> int:
            return memory(len(X), X.shape[1], self.num_classes or 1)

        @classmethod
        def _estimate_memory_usage_static(
            cls, *, X: pd.DataFrame, num_classes: int | None = 1, **kwargs: Any
        ) -> int:
            return memory(len(X), X.shape[1], num_classes or 1)

        def _more_tags(self) -> dict[str, Any]:
            return {"can_refit_full": True}

    RANModel.__qualname__ = "RANModel"  # so that AutoGluon can pickle its instances
    return RANModel


def memory(rows: int, columns: int, outputs: int = 1) -> int:
    """Return an estimate of the bytes that a fit takes at most."""
    width = _COLUMNS * columns + _PAIR_COLUMNS
    design = min(8 * rows * width, _KEPT) * 2
    return _BASE_MEMORY + 3 * 8 * rows * (columns + outputs) + design + 8 * width**2 * (3 + outputs)


def _stopwatch(seconds: float, too_long: type[Exception]) -> Callback:
    end = time.monotonic() + seconds

    def look(progress: Progress) -> None:
        if time.monotonic() > end:
            raise too_long

    return look


def __getattr__(name: str) -> Any:
    if name != "RANModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = _model_class()
    return found
