"""Many fits of one kind: restarts with the best kept, and sweeps over settings, through joblib."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .._core import checks as check
from ..units import RationalUnit
from ._fit import run
from ._history import History
from ._loop import ENDED
from ._settings import PRIVATE, Settings
from .data import Data, Diverged, note_inputs

if TYPE_CHECKING:
    import pandas

_CAREFUL = 0.1


def best_of(
    model: nn.Module,
    data: Data,
    validation: Any,
    settings: Settings,
    *,
    restarts: int,
    noise: float,
    n_jobs: int,
) -> History:
    """Fit from several starts; the model receives the best, by validation if there is any."""
    in_this_process(settings, n_jobs)
    seeds = [settings.seed + n for n in range(restarts)]
    path = settings.checkpoint
    runs = [
        replace(
            settings,
            seed=seed,
            label=f", start {n + 1} of {restarts}",
            progress=False if n_jobs != 1 else settings.progress,
            checkpoint=None if path is None else f"{path}.{seed}",
        )
        for n, seed in enumerate(seeds)
    ]
    starts = (start(model, each.seed, noise) if n else copy.deepcopy(model)
              for n, each in enumerate(runs))  # fmt: skip
    jobs = zip(starts, runs, strict=True)
    if n_jobs == 1:
        results = []
        for each, own in jobs:
            results.append(_one(each, data, validation, own))
            if results[-1][1].stopped in ENDED:
                break
        seeds = seeds[: len(results)]
    else:
        import joblib

        results = joblib.Parallel(n_jobs=n_jobs)(
            joblib.delayed(_one)(each, data, validation, own) for each, own in jobs
        )
    scores = {seed: history.score for seed, (_, history) in zip(seeds, results, strict=True)}
    finite = [n for n, seed in enumerate(seeds) if math.isfinite(scores[seed])]
    if not finite:
        raise Diverged(f"all {restarts} restarts diverged: {results[0][1].stopped}")
    kept = min(finite, key=lambda n: scores[seeds[n]])
    state, history = results[kept]
    model.load_state_dict(state)
    note_inputs(model, data)  # the starts were copies, and know it
    history.runs = scores
    return history


def in_this_process(settings: Settings, n_jobs: int) -> None:
    """Raise where callbacks would be called on copies of themselves, in other processes."""
    if settings.callbacks and n_jobs != 1:
        raise ValueError(
            f"callbacks are called in this process, and n_jobs={n_jobs} fits in others; use "
            "n_jobs=1, or leave out the callbacks"
        )


def start(model: nn.Module, seed: int, noise: float) -> nn.Module:
    """Return a copy with other weights, drawn anew and shaken; frozen ones stay."""
    result = copy.deepcopy(model)
    before = dict(model.named_parameters())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for module in result.modules():
            reset = getattr(module, "reset_parameters", None)
            if callable(reset):
                reset()
        with torch.no_grad():
            for module in result.modules():
                if isinstance(module, RationalUnit):
                    # A denominator without a lower bound must still be positive on the data.
                    below = noise if module.form.kind.minimum > 0 else _CAREFUL * noise
                    for rows, size in ((module.numerator, noise), (module.denominator, below)):
                        rows.add_(size * torch.randn(rows.shape, dtype=rows.dtype).to(rows.device))
            for name, parameter in result.named_parameters():
                if not parameter.requires_grad:
                    parameter.copy_(before[name])
    return result


def _one(
    model: nn.Module, data: Data, validation: Any, settings: Settings
) -> tuple[dict[str, Any], History]:
    """Fit one start in whatever process this is; a run that diverges loses, it does not raise."""
    try:
        history = run(model, data, validation, settings)
    except Diverged as trouble:
        history = History(settings.optimizer_name, "restart", "", stopped=f"diverged: {trouble}")
        history.training_loss, history.seed = math.inf, settings.seed
    return model.state_dict(), history


@dataclass
class Trial:
    """One fit of a sweep: what was tried, the model, and its history."""

    settings: dict[str, Any]
    model: nn.Module
    history: History


def _score(trial: Trial) -> float:
    score = trial.history.score
    return math.inf if math.isnan(score) else score


@dataclass
class Sweep:
    """All trials of a sweep, in the order of the grid."""

    trials: list[Trial]

    @property
    def best(self) -> Trial:
        """The trial with the least validation loss (training loss without validation rows)."""
        return min(self.trials, key=_score)

    def table(self) -> pandas.DataFrame:
        """Return one row for each trial, best first."""
        import pandas

        rows = [
            {
                **trial.settings,
                "training_loss": trial.history.training_loss,
                "validation_loss": trial.history.validation_loss,
                "seconds": trial.history.seconds,
                "stopped": trial.history.stopped,
            }
            for trial in self.trials
        ]
        table = pandas.DataFrame(rows)
        order = sorted(range(len(rows)), key=lambda n: _score(self.trials[n]))
        return table.iloc[order].reset_index(drop=True)


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values of a grid.

    >>> combinations({"learning_rate": [0.1, 0.2], "seed": [0]})
    [{'learning_rate': 0.1, 'seed': 0}, {'learning_rate': 0.2, 'seed': 0}]
    """
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            raise ValueError(f"grid[{name!r}] must be a list of values to try, got {values!r}")
    return [dict(zip(grid, each, strict=True)) for each in itertools.product(*grid.values())]


def trial(
    model: nn.Module | Callable[..., nn.Module],
    data: Data,
    validation: Any,
    *,
    chosen: dict[str, Any],
    settings: dict[str, Any],
    number: int,
    label: str,
) -> Trial:
    """Make a model and fit it; a run that diverges is recorded, it does not end the sweep."""
    known = {field.name for field in fields(Settings)} - set(PRIVATE)
    own = {name: value for name, value in chosen.items() if name in known}
    other = {name: value for name, value in chosen.items() if name not in known}
    full = Settings.of({**settings, **own})
    if isinstance(model, nn.Module):
        if other:
            check.choice(next(iter(other)), sorted(known), "a key of the grid")
        built = copy.deepcopy(model)
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(full.seed)
            built = model(**other)
    # All trials share one validation set, whatever their seeds.
    full = replace(full, split_seed=settings.get("seed", 0), label=label)
    if full.checkpoint is not None:
        full = replace(full, checkpoint=f"{full.checkpoint}.{number}")
    state, history = _one(built, data, validation, full)
    built.load_state_dict(state)
    return Trial(chosen, built, history)
