"""Which task a target means, which rows are held out, and how good a model is on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn import metrics

from ..._core.types import Array
from ...tables import NOTES, as_text, stray_text, typed_columns

TASKS = ("auto", "regression", "classification")
_FEW = 10  # whole numbers up to which a target is taken for classes
_MOST_CLASSES = 200


@dataclass(frozen=True)
class Task:
    """What is to be predicted.

    Args:
        name: `regression` or `classification`.
        why: in words.
        y: the target of each row.
    """

    name: str
    why: str
    y: Array

    @property
    def classes(self) -> bool:
        """Whether the targets are classes."""
        return self.name == "classification"


def inputs_and_target(
    frame: pd.DataFrame, inputs: list[str], target: str, texts: list[str], dates: list[str]
) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Return inputs with their types, the target of the rows that have one, and notes.

    Args:
        frame: the table.
        inputs: its columns that are inputs.
        target: the column to predict.
        texts: inputs whose numbers are names.
        dates: inputs that are dates.
    """
    if not inputs:
        raise ValueError(f"the table has no column but the target {target!r} to predict it from")
    notes = list(frame.attrs.get(NOTES, ()))
    gaps = frame[target].isna()
    if gaps.all():
        raise ValueError(f"the target {target!r} is missing in all rows")
    if gaps.any():
        notes.append(f"{gaps.sum()} rows without {target} were left out")
        frame = frame[~gaps].reset_index(drop=True)
    for name in inputs:
        found = None if name in (*texts, *dates) else stray_text(frame[name])
        if found:
            notes.append(
                f"{name} has text among its numbers, such as {found[1]!r} in row {found[0] + 1}, "
                "and was taken as text: correct such cells, or say that it is a category"
            )
    return typed_columns(frame[inputs], texts, dates), frame[target], notes


def task_of(target: pd.Series, wanted: str, option: str = "--task") -> Task:
    """Return the task that a target without gaps means, unless one is wanted.

    Args:
        target: a column.
        wanted: one of `TASKS`.
        option: what messages call the way to want one.
    """
    name, values = target.name, target.nunique()
    number = pd.api.types.is_numeric_dtype(target) and not pd.api.types.is_bool_dtype(target)
    if values < 2:
        raise ValueError(f"the target {name!r} is {target.iloc[0]} in all rows")
    if wanted == "auto":
        guess, why = _guess(target, number, values)
        other = "regression" if guess == "classification" else "classification"
        why += f"; {option} {other} overrides" if number and _whole(target) else ""
    else:
        guess, why = wanted, "as asked for"
    if guess == "regression":
        try:
            return Task(guess, why, target.astype(float).to_numpy())
        except (TypeError, ValueError):
            place, cell = stray_text(target) or (0, target.iloc[0])
            raise ValueError(
                f"the target {name!r} must be numbers for regression, got {str(cell)!r} in row "
                f"{place + 1}"
            ) from None
    if values > _MOST_CLASSES or (values > 2 and values > len(target) / 2):
        if found := stray_text(target):
            raise ValueError(
                f"the target {name!r} has text among its numbers, such as {str(found[1])!r} in row "
                f"{found[0] + 1}; correct or empty such cells"
            )
        raise ValueError(
            f"the target {name!r} has {values} different values in {len(target)} rows, too many "
            "for classes" + (f"; use {option} regression" if number else "")
        )
    if number:
        whole = target.astype(int) if _whole(target) else target
        return Task(guess, why, whole.to_numpy())
    return Task(guess, why, np.asarray(as_text(target).tolist()))


def _guess(target: pd.Series, number: bool, values: int) -> tuple[str, str]:
    if not number:
        return "classification", f"{target.name} is text with {values} different values"
    if values == 2:
        return "classification", f"{target.name} has two different values"
    if _whole(target) and values <= _FEW and len(target) >= 10 * values:
        return "classification", f"{target.name} has {values} different whole numbers"
    return "regression", f"{target.name} is a number with {values} different values"


def _whole(target: pd.Series) -> bool:
    values = target.astype(float).to_numpy()
    return bool((values % 1 == 0).all())


def held_out(task: Task, share: float, seed: int) -> Array:
    """Return which rows are held out: of every class the same share, and never all of them."""
    test = np.zeros(len(task.y), bool)
    random = np.random.default_rng(seed)
    groups = np.unique(task.y, return_inverse=True)[1] if task.classes else np.zeros(len(test), int)
    for group in range(groups.max() + 1):
        rows = random.permutation(np.flatnonzero(groups == group))
        test[rows[: min(round(share * len(rows)), len(rows) - 1)]] = True
    if share and not test.any():
        raise ValueError(
            f"--test {share:g} of {len(test)} rows holds out none; give a greater share, or 0"
        )
    return test


Known = Mapping[str, Array]  # exposures or events of rows, by the name of the argument


def scores(
    model: Any, X: pd.DataFrame, y: Array, train: Array, known: Known | None = None,
    known_train: Known | None = None,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Return measures of a model on rows that it has not seen, and those of a constant guess.

    Args:
        model: that was fitted.
        X: the rows.
        y: their target.
        train: targets of the fit, which the constant is taken of.
        known: exposures or events of the rows.
        known_train: of the rows of the fit.
    """
    known, known_train = known or {}, known_train or {}
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return measures(model.predict_proba(X), y, train, classes)
    if "event" in known:
        return {"concordance": (model.score(X, y, **known), 0.5)}
    given = model.predict(X, **known)
    if getattr(model, "loss", "") == "quantile":
        return _quantile_measures(model, given.reshape(len(y), -1), y, train)
    grown = known.get("exposure", np.ones(len(y)))
    rate = train.sum() / np.sum(known_train.get("exposure", np.ones(len(train))))
    found = measures(given, y, train, constant=rate * grown)
    noise = getattr(model, "noise_model_", None)
    if noise is not None:
        deviances = noise.family().deviance(y, given), noise.family().deviance(y, rate * grown)
        means = float(deviances[0].mean()), float(deviances[1].mean())
        found = {"deviance": means, "D2": (1 - means[0] / means[1], 0.0), **found}
    return found


def _quantile_measures(
    model: Any, given: Array, y: Array, train: Array
) -> dict[str, tuple[float, float]]:
    found = {}
    for level, one in zip(model.quantiles, given.T, strict=True):
        constant = np.full(len(y), np.quantile(train, level))
        losses = (metrics.mean_pinball_loss(y, each, alpha=level) for each in (one, constant))
        found[f"pinball loss {level:g}"] = tuple(map(float, losses))
        found[f"share below {level:g}"] = float(np.mean(y < one)), float(np.mean(y < constant))
    return found  # type: ignore[return-value]


def measures(
    given: Array, y: Array, train: Array, classes: Array | None = None,
    constant: Array | None = None,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Return measures of predictions, and those of a constant guess.

    Args:
        given: predicted numbers, or the probabilities of classes, (rows, classes).
        y: the targets.
        train: targets of the fit, which the constant is taken of.
        classes: in order; None for numbers.
        constant: the constant guess at each row, if it is not the mean.
    """
    if classes is not None:
        return _class_measures(given, y, train, classes)
    both = given, np.full(len(y), train.mean()) if constant is None else constant
    found = {"RMSE": metrics.root_mean_squared_error, "MAE": metrics.mean_absolute_error}
    if len(y) > 1 and np.ptp(y) > 0:
        found["R2"] = metrics.r2_score
    return {n: (float(take(y, both[0])), float(take(y, both[1]))) for n, take in found.items()}


def _class_measures(
    proba: Array, y: Array, train: Array, classes: Array
) -> dict[str, tuple[float, float]]:
    share = np.mean(train[:, None] == classes, 0)
    constant = np.tile(share, (len(y), 1))
    auc = float("nan")
    if len(np.unique(y)) == len(classes):  # else there is no curve for some class
        score = proba[:, 1] if len(classes) == 2 else proba
        auc = float(metrics.roc_auc_score(y, score, multi_class="ovr", labels=classes))

    def loss(p: Array) -> float:
        return float(metrics.log_loss(y, p, labels=classes))

    best = classes[proba.argmax(1)], np.full(len(y), classes[share.argmax()])
    return {
        "ROC AUC": (auc, 0.5),
        "log loss": (loss(proba), loss(constant)),
        "accuracy": (float(np.mean(best[0] == y)), float(np.mean(best[1] == y))),
    }
