"""A warm-started path over the penalty, and a choice on it."""

from __future__ import annotations

import copy
import math
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import nn

from .._core import checks as check
from .._core.files import write_figure
from ..networks import RAN, DeepRAN
from ._fit import run
from ._history import History
from ._loop import ENDED
from ._losses import resolve_loss
from ._settings import Settings
from ._terms import active_terms, prune
from .data import Data, outputs_of, prepare_source, training_part
from .optimizers import Penalty

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

_SPAN = 1e-4  # of the largest penalty, where a path begins


@dataclass
class PathStep:
    """One point of a path.

    Attributes:
        penalty: its strength.
        terms: how many are left.
        training_loss: without the penalty.
        validation_loss: likewise, on validation rows.
        model: the network there, terms that are zero included.
        history: of its fit.
    """

    penalty: float
    terms: int
    training_loss: float
    validation_loss: float | None
    model: nn.Module
    history: History


@dataclass
class PenaltyPath:
    """A path from weak to strong penalties.

    Attributes:
        steps: its points.
        chosen: the point that was picked.
        model: the network there, pruned, and fitted once more without a penalty if asked.
        history: of that last fit, or of the chosen point.
    """

    steps: list[PathStep]
    chosen: PathStep
    model: nn.Module
    history: History

    def table(self) -> pandas.DataFrame:
        """Return the path as a table of pandas."""
        import pandas

        names = ("penalty", "terms", "training_loss", "validation_loss")
        return pandas.DataFrame([{n: getattr(step, n) for n in names} for step in self.steps])

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw losses and the number of terms over the penalty.

        Args:
            path: where to write the picture, if anywhere.
        """
        figure = draw_path(self)
        if path is not None:
            write_figure(path, figure)
        return figure


def follow(
    model: nn.Module,
    data: Data,
    validation: Any,
    settings: Settings,
    *,
    penalties: Sequence[float] | int,
    tolerance: float,
    refit: bool,
) -> PenaltyPath:
    """Follow a path; see `fit_path`."""
    if validation is None:
        raise ValueError(
            "a path chooses its penalty on validation rows; give validation=0.2, or data as (X, y)"
        )
    Penalty(model, 1.0, settings.penalized)  # raises if there is nothing to drop
    if not isinstance(model, RAN | DeepRAN):
        raise TypeError(f"a path needs a RAN or a DeepRAN, got {type(model).__name__}")
    free = replace(settings, penalty=0.0, checkpoint=None)
    work = copy.deepcopy(model)
    history = run(work, data, validation, free)
    strengths = _strengths(model, data, validation, settings, penalties)
    steps = [_step(0.0, work, history)]
    for strength in strengths if history.stopped not in ENDED else []:
        work = copy.deepcopy(work)
        own = replace(free, penalty=strength, label=f", penalty {strength:.3g}")
        history = run(work, data, validation, own)
        steps.append(_step(strength, work, history))
        if not steps[-1].terms or history.stopped in ENDED:
            break
    chosen = _choose(steps, tolerance)
    smaller, last = prune(chosen.model), chosen.history
    if refit and history.stopped not in ENDED:
        last = run(smaller, data, validation, replace(free, label=", chosen terms"))
    return PenaltyPath(steps, chosen, smaller, last)


def _step(penalty: float, model: nn.Module, history: History) -> PathStep:
    terms = active_terms(model)
    assert terms is not None
    losses = (history.training_loss, history.validation_loss)
    return PathStep(penalty, terms, *losses, model, history)


def _choose(steps: list[PathStep], tolerance: float) -> PathStep:
    """Return the point with fewest terms whose validation loss is near the least."""
    scores = {id(step): step.history.score for step in steps if step.terms}
    bound = min(scores.values()) * (1 + tolerance)
    good = [step for step in steps if scores.get(id(step), math.inf) <= bound]
    return min(good, key=lambda step: (step.terms, scores[id(step)]))


def _strengths(
    model: nn.Module, data: Data, validation: Any, settings: Settings, given: Sequence[float] | int
) -> list[float]:
    if not isinstance(given, numbers.Integral):
        each: Sequence[float] = given  # type: ignore[assignment]
        values = sorted(check.nonnegative(value, "a penalty") for value in each)
        if not values or values[0] == 0:
            raise ValueError(f"penalties must be numbers > 0, got {list(each)}")
        return values
    count = check.integer(given, "penalties", 2)
    most = largest_penalty(model, data, validation, settings)
    return [most * _SPAN ** (1 - n / (count - 1)) for n in range(count)]


def largest_penalty(model: nn.Module, data: Data, validation: Any, settings: Settings) -> float:
    """Return the least penalty at which having no terms at all is stationary."""
    train = training_part(data, validation, settings.batch_size or 256, settings.split_seed)
    outputs = outputs_of(model, train)
    loss = resolve_loss(settings.loss, next(iter(train.chunks(1))).y, outputs)
    return Penalty(model, 1.0, settings.penalized).largest(
        prepare_source(train, loss, outputs, model), loss, outputs
    )


def draw_path(path: PenaltyPath) -> Figure:
    """Draw losses and the number of terms over the penalty."""
    from .._core.figures import Picture

    figure = Picture(figsize=(8, 4.5), layout="constrained")
    left = figure.subplots()
    rows = [step for step in path.steps if step.penalty > 0]
    penalties = [step.penalty for step in rows]
    left.plot(penalties, [step.training_loss for step in rows], ".-", label="training")
    held = [step.validation_loss for step in rows if step.validation_loss is not None]
    if len(held) == len(rows):
        left.plot(penalties, held, ".-", label="validation")
    if path.chosen.penalty > 0:
        left.axvline(path.chosen.penalty, color="0.6", linestyle=":", label="chosen")
    left.set(xlabel="penalty", ylabel="loss", xscale="log", yscale="log")
    right = left.twinx()
    right.step(penalties, [step.terms for step in rows], color="C2", where="mid")
    right.set_ylabel("terms", color="C2")
    right.set_ylim(bottom=0)
    figure.legend(loc="outside upper center", ncols=3)  # elsewhere a line would cross it
    return figure
