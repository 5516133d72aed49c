"""Solving all other numerators again after an edit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..._core.types import Array
from ...tables import from_tensor
from .._fitting import additive, problem_of
from ..explain import measure
from ..fit import Link, Logistic, Loss, Offset, Softmax, Squared, pooled, solve, standard
from ..fit import check as check_link
from ..model import Additive, Constant, Part, Rows, Term, purify, workers
from ..monotone import as_signs, constrain

UPDATES = 8  # of the penalties


def refitted(estimator: Any, data: Any, fixed: list[Part], own: set[int]) -> None:
    """Solve all effects of an estimator again but the fixed ones; heads stay where they are.

    Penalties are set by the evidence again. Effects that must rise or fall do so afterwards, too.

    Args:
        estimator: whose attributes are replaced.
        data: (X, y) or (X, y, sample_weight).
        fixed: main effects that stay as they are.
        own: inputs whose main effects were fixed or dropped.
    """
    several = estimator.model_.outputs > 1 and not hasattr(estimator, "classes_")
    if several or getattr(estimator, "loss", "squared") != "squared":
        raise ValueError(
            "refit solves models of one target with loss='squared', and of classes; this is a "
            f"{type(estimator).__name__} with loss={getattr(estimator, 'loss', None)!r}: edit it "
            "without refit, or fit it anew with monotone or forbid"
        )
    with workers(estimator.n_jobs):
        _refitted(estimator, _unpacked(data), fixed, own)


def _refitted(estimator: Any, data: tuple[Any, ...], fixed: list[Part], own: set[int]) -> None:
    model: Additive = estimator.model_
    task = _Task(estimator, *data)
    terms = [
        part.term
        for part in model.parts
        if not any(isinstance(basis, Constant) for basis in part.term.bases)
    ]
    terms = [t for t in terms if len(t.axes) > 1 or t.axes[0] not in own]
    new = task.solved(terms, fixed)
    # Pairs would make up for what was edited. What they say about its inputs alone is taken away,
    # and all other effects are solved once more around them.
    pairs = [p for p in new.parts if len(p.term.axes) > 1 and own & set(p.term.axes)]
    if pairs:
        fixed = [*fixed, *pairs]
        new = task.solved([t for t in terms if not own & set(t.axes)], fixed)
    new = replace(new, parts=[*new.parts, *fixed], history=[*model.history, *new.history])
    estimator.model_ = new
    estimator.measured_ = measure(new, task.rows, task.problem.weight)
    if task.link is not None:
        f = new.decision(task.rows)[:, 0]
        estimator.link_ = task.link.smeared(f, task.y.astype(float), task.problem.weight)


class _Task:
    """Rows and targets to solve effects on."""

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.features = estimator.model_.features
        frame = estimator._frame(X, reset=False)
        weight = estimator._weight(sample_weight, frame)
        y = column_or_1d(np.asarray(from_tensor(y)), warn=True)
        check_consistent_length(frame, y)
        targets, loss = _targets(estimator, y, weight)
        self.seed = estimator._seed()
        problem = problem_of(self.features, frame, targets, weight, loss, self.seed)
        self.problem = pooled(problem)
        self.rows = Rows(self.problem.rows.values)
        self.y = y[weight > 0]
        self.link = Link(estimator.link_.name) if isinstance(loss, Squared) else None
        self.signs = as_signs(estimator.monotone, self.features)

    def solved(self, terms: list[Term], fixed: list[Part]) -> Additive:
        """Return a purified model of these terms, to which the fixed parts are to be added."""
        problem = self.problem
        nothing = np.zeros((len(self.rows), problem.outputs))
        offset = sum((part.at(self.rows) for part in fixed), nothing)
        scale, shift = 1.0, 0.0
        if self.link is not None:
            t = self.link.forward(self.y.astype(float)) - offset[:, 0]
            column, scale, shift = standard(t, problem.weight)
            problem = replace(problem, y=column)
        elif fixed:
            known = np.concatenate([problem.y, offset], 1)
            problem = replace(problem, y=known, loss=Offset(problem.loss))
        fit = solve(problem, terms, UPDATES)
        line = ("solved again", len(fit.terms), len(fit.theta), float(fit.edf.sum()))
        fit = replace(fit, history=[line])
        own = {axis for part in fixed for axis in part.term.axes}
        signs = {i: sign for i, sign in self.signs.items() if i not in own}
        if signs:
            fit = constrain(problem, fit, signs)
        model = additive(fit, self.features, scale, shift, self.seed)
        return purify(model, self.rows, problem.weight, self.seed)


def _unpacked(data: Any) -> tuple[Any, Any, Any]:
    if not isinstance(data, tuple) or len(data) not in (2, 3):
        raise ValueError("refit takes (X, y) or (X, y, sample_weight)")
    return data[0], data[1], data[2] if len(data) == 3 else None


def _targets(estimator: Any, y: Array, weight: Array) -> tuple[Array, Loss]:
    """Return targets as the fit has them, and the loss."""
    if not hasattr(estimator, "classes_"):
        y = y.astype(float)
        if not np.isfinite(y).all():
            raise ValueError("refit has targets that are NaN or infinite; drop their rows")
        check_link(estimator.link_.name, y[weight > 0])
        return standard(y, weight)[0], Squared()
    classes = estimator.classes_
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        known = classes.tolist()
        raise ValueError(f"refit has the class {unknown.tolist()[0]!r}; the model knows {known}")
    targets = (y[:, None] == classes).astype(float)
    lacking = classes[~(weight @ targets > 0)].tolist()
    if lacking:
        raise ValueError(f"refit has no rows of the class {lacking[0]!r}")
    return (targets[:, 1:], Logistic()) if len(classes) == 2 else (targets, Softmax(len(classes)))
