"""Which model of the noise the rows speak for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..fitting import (
    CONSTANT,
    GIVEN,
    LOG_NORMAL,
    POISSON,
    PROPORTIONAL,
    NoiseShape,
    Rows,
    fitted,
)
from ._weigh import Candidate, with_fit

EVIDENCE = 12.0  # minus twice the log likelihood that another model must gain over the constant one
_ROWS = 20  # of fewer nobody can tell
_DECADE = 10.0  # a target that spans so much is looked at in proportion, too
_FLOORS = (0.1, 0.5)


def possible_noise(rows: Rows, wanted: str = "auto") -> list[NoiseShape]:
    """Models that the target allows; the one that is asked for, alone."""
    if rows.sigma is not None:
        return [NoiseShape(GIVEN)]
    if wanted != "auto":
        return [NoiseShape(wanted)]
    out = [NoiseShape(CONSTANT)]
    if rows.x_sigma is not None or (len(rows.y) < _ROWS and not spans_decades(rows)):
        return out
    y = rows.y
    if (y > 0).all():
        out.append(NoiseShape(LOG_NORMAL))
    if (y == np.round(y)).all() and (y >= 0).all() and len(np.unique(y)) > 4 and y.max() < 1e6:
        out.append(NoiseShape(POISSON))
    return [*out, NoiseShape(PROPORTIONAL), *(NoiseShape(PROPORTIONAL, f) for f in _FLOORS)]


def spans_decades(rows: Rows) -> bool:
    """Return whether a relative error would weigh the rows quite otherwise than an absolute one."""
    size = np.abs(rows.y[rows.y != 0])
    if len(size) < _ROWS // 2 or (rows.y > 0).any() == (rows.y < 0).any():
        return False
    low, high = np.quantile(size, [0.1, 0.9])
    return bool(high > _DECADE * low)


def chosen_noise(
    candidates: Sequence[Candidate], rows: Rows, models: Sequence[NoiseShape],
    over: Callable[[], bool] = lambda: False,
) -> tuple[NoiseShape, dict[str, float]]:  # fmt: skip
    """The model under which the best candidate is most probable, and the weight of each.

    Once the time is over, no further model is looked at.
    """
    if len(models) == 1:
        return models[0], {models[0].model: 1.0}
    scores: dict[NoiseShape, float] = {}
    for model in models:
        if scores and over():
            break
        for candidate in candidates:
            fit = fitted(candidate.fit.form, rows, model, values=candidate.fit.values)
            if fit is not None and np.isfinite(fit.deviance):
                score = with_fit(candidate, fit).score + model.numbers * np.log(len(rows.y))
                scores[model] = min(scores.get(model, np.inf), score)
    best = min(scores, key=lambda m: scores[m], default=NoiseShape())
    plain = scores.get(models[0], np.inf)
    if best.model != CONSTANT and plain - scores[best] < EVIDENCE:
        best = models[0]
    return best, shares(scores)


def shares(scores: dict[NoiseShape, float]) -> dict[str, float]:
    """Weight of each model by its scores, the best of its floors counting."""
    least = min(scores.values(), default=0.0)
    out: dict[str, float] = {}
    for model, score in scores.items():
        out[model.model] = max(out.get(model.model, 0.0), float(np.exp(-0.5 * (score - least))))
    total = sum(out.values())
    return {name: share / total for name, share in out.items()}


def refits(
    candidates: Sequence[Candidate], rows: Rows, noise: NoiseShape,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[Candidate]:  # fmt: skip
    """The candidates under a model of the noise, from where they are.

    Once the time is over, those that are left are not; the first one always is.
    """
    for place, candidate in enumerate(candidates):
        if place and over():
            return
        fit = fitted(candidate.fit.form, rows, noise, values=candidate.fit.values)
        if fit is not None and np.isfinite(fit.deviance):
            yield with_fit(candidate, fit)
