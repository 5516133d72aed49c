"""What may be claimed of the best candidate, and what speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from ..._core.types import Array
from .._thresholds import (
    ASTRAY,
    COMPARABLE,
    EXACT_NUMBERS,
    FEW_NAMED_NUMBERS,
    FEW_NUMBERS,
    MISSTATED,
    MOST_OF_IT,
    NEIGHBOURS,
    NOT_NOISE,
    OVER_CHANCE,
    OVER_ROUNDING,
    OVER_SMOOTH,
    RESIDUAL_SHAPE,
    ROUNDING,
    ROWS_ALONE,
    STABLE,
    STRONG_SHAPE,
    UNLIKELY,
    WELL_OVER_SMOOTH,
    exact_below,
)
from ..fitting import CONSTANT, GIVEN, Fit, NoiseShape, Rows
from ..law import Grade
from ..waves import phases
from ._effects import effects_left
from ._smooth import smooth_deviance, some_rows
from ._tests import lack_of_fit, neighbours, outer_part, rounding, shape_left, stability
from ._weigh import PRIOR, Candidate, weights

_CLOSE = 5  # rivals that the choice is repeated among
_FEW_ROWS, _MANY_ROWS = 2, 30  # a law of so many rows must not rest on so few
_SMOOTH_COLUMNS = 2  # a smooth curve of more inputs has too many lengths to be found from few rows


@dataclass(frozen=True)
class Verdict:
    """A grade with its reasons.

    Attributes:
        grade: of the first candidate.
        doubts: one sentence each.
        stable: how often the first is chosen again on part of the rows; None if not tried.
    """

    grade: Grade
    doubts: tuple[str, ...]
    stable: float | None = None


def graded(
    candidates: Sequence[Candidate],
    rows: Rows,
    constant: float,
    *,
    trusted: bool = True,
    stopped: bool = False,
    beyond: Sequence[str] = (),
    over: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Grade the first of some candidates.

    Args:
        candidates: the most probable first.
        rows: the data.
        constant: score of a mere constant.
        trusted: False if the search itself does not call its formula a law.
        stopped: whether the search ran out of time.
        beyond: what is odd about the formula just outside of the data.
        over: whether the time is up: then one reason against the formula is enough, tests that take
            long are left out, and it is not called established.
    """
    best = candidates[0]
    if not best.fit.numbers and not best.fit.form.expression.free_symbols:
        return Verdict(Grade.NOTHING, ())
    if not best.fit.form.expression.has(*best.fit.form.inputs):
        return Verdict(Grade.NOTHING, ("No input was found to matter.",))
    if constant - best.score < OVER_CHANCE:
        return Verdict(Grade.NOTHING, ("It does not fit significantly better than the mean.",))
    if constant - best.score - _gain_of_few(best.fit, rows) < OVER_CHANCE:
        return Verdict(
            Grade.NOTHING,
            (f"Without its {_FEW_ROWS} most influential rows it fits no better than the mean.",),
        )
    if exact(best.fit, rows):
        if len(rows.y) <= best.fit.numbers:
            many = f"It has {best.fit.numbers} fitted parameters for {len(rows.y)} rows."
            return Verdict(Grade.INTERPOLATION, (many, *beyond))
        if not trusted and best.named is None and best.fit.numbers > EXACT_NUMBERS:
            many = (
                f"It has {best.fit.numbers} fitted parameters: so many can fit any smooth function."
            )
            return Verdict(Grade.INTERPOLATION, (many, *beyond))
        if best.named is None and _follows_closely(best.fit, rows):
            shape = "Its residuals are small, but larger than rounding errors, and autocorrelated."
            return Verdict(Grade.INTERPOLATION, (shape, *beyond))
        enough = len(rows.y) >= best.fit.numbers + 3
        return Verdict(Grade.ESTABLISHED if enough and not beyond else Grade.SEVERAL, tuple(beyond))
    against = tuple(_until(over, _against(best, rows, trusted, over)))
    if against:
        return Verdict(Grade.INTERPOLATION, (*against, *beyond))
    close = [c for c in candidates[:_CLOSE]]
    compared = len(close) > 1 and len(rows.y) >= 8
    stable = stability(close, rows, over=over) if compared else 1.0
    doubts = (*_doubts(candidates, rows, stable, stopped or over()), *beyond)
    return Verdict(Grade.SEVERAL if doubts else Grade.ESTABLISHED, doubts, stable)


def _until(over: Callable[[], bool], reasons: Iterator[str]) -> Iterator[str]:
    """The reasons, those after the first only while there is time."""
    for reason in reasons:
        yield reason
        if over():
            return


def _gain_of_few(fit: Fit, rows: Rows) -> float:
    """What the few rows that speak most for a formula add to its score over a mean's.

    A pole beside one row explains whatever that row has; noise with far values invites it.
    """
    if fit.noise.model != CONSTANT or len(rows.y) < _MANY_ROWS or exact(fit, rows):
        return 0.0
    with np.errstate(all="ignore"):
        left = (rows.y - fit.predict(rows.X)) ** 2
    mean, least = (rows.y - np.mean(rows.y)) ** 2, (ROUNDING * float(np.std(rows.y))) ** 2
    some = np.argsort(mean - left)[:-_FEW_ROWS]

    def gain(which: Array) -> float:
        around = rows.y[which]
        squares = max(float(np.sum((around - np.mean(around)) ** 2)), least)
        return len(which) * float(np.log(squares / max(float(np.sum(left[which])), least)))

    return gain(np.arange(len(rows.y))) - gain(some)


def fits(best: Candidate, rows: Rows, constant: float) -> bool:
    """Return whether a candidate is more than a curve through the rows, or but a mean."""
    return constant - best.score < OVER_CHANCE or not any(_against(best, rows, True))


def exact(fit: Fit, rows: Rows) -> bool:
    """Return whether a fit leaves nothing over but rounding."""
    with np.errstate(all="ignore"):
        left = rows.y - fit.predict(rows.X)
    spread = float(np.std(rows.y)) or float(np.abs(rows.y).max()) or 1.0
    return bool(np.sqrt(np.mean(left**2)) < exact_below(fit.numbers) * spread)


def _follows_closely(fit: Fit, rows: Rows) -> bool:
    """Return whether a fit to many digits is a close approximation of another function.

    Of a true formula only roundings are left over, and these know nothing of the columns.
    """
    with np.errstate(all="ignore"):
        left = float(np.sqrt(np.mean((rows.y - fit.predict(rows.X)) ** 2)))
    return left > OVER_ROUNDING * rounding(fit, rows) and neighbours(fit, rows) > STRONG_SHAPE


def _against(
    best: Candidate, rows: Rows, trusted: bool, over: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Reasons to take the formula for a mere curve through the rows."""
    fit = best.fit
    margin = over_smooth(best, rows)
    if margin is not None:
        if margin < OVER_SMOOTH:
            yield "A smooth nonparametric curve describes the data as well."
    elif not trusted:
        yield "A smooth nonparametric function fits better, or the formula is long."
    if fit.noise.model == GIVEN and fit.scale > MISSTATED:
        yield f"The residuals are {fit.scale:.2g} times as large as the stated errors."
    if neighbours(fit, rows) > STRONG_SHAPE:
        yield "The residuals are not random: those of neighbouring rows are correlated."
    effects = effects_left(fit, rows)
    if effects is not None and effects < NOT_NOISE:
        chance = f"p = {effects:.1g}"
        yield f"The residuals are not random: they depend on the inputs ({chance})."
    # of a law with waves in several columns neighbours do not tell of those that it has left
    if fit.form.expression.has(sp.sin, sp.cos) and rows.X.shape[1] > _SMOOTH_COLUMNS:
        if phases(rows.X, fit.miss, np.ones(len(rows.y)), count=1, over=over):
            yield "The residuals oscillate: the law is incomplete."
        elif over():
            yield "There was no time to test whether the residuals oscillate."
    if best.named is None and fit.numbers > len(rows.y) / 4:
        yield f"It has {fit.numbers} fitted parameters for {len(rows.y)} rows."
    elif best.named is None and fit.numbers > FEW_NUMBERS and rows.X.shape[1] <= _SMOOTH_COLUMNS:
        yield f"It has {fit.numbers} fitted parameters and no name: so many can fit any curve."


def over_smooth(best: Candidate, rows: Rows) -> float | None:
    """Return by how much a candidate is more probable than a smooth curve, in score."""
    if rows.X.shape[1] > _SMOOTH_COLUMNS or rows.x_sigma is not None:
        return None
    curve, compared = _smooth_score(rows, best.fit.noise)
    on_these = best.fit.deviance * compared / len(rows.y)
    return curve - (best.score - best.fit.deviance + on_these)


@lru_cache(maxsize=4)  # asked for each of several formulas of one table
def _smooth_score(rows: Rows, noise: NoiseShape) -> tuple[float, int]:
    """Score of a smooth curve of no given form, and on how many of the rows."""
    part = some_rows(rows)
    return smooth_deviance(part, noise) + PRIOR[1], len(part.y)


def _level_with(candidates: Sequence[Candidate]) -> Candidate | None:
    """A rival with no more numbers that only the prior puts behind the best, if there is one."""
    best = candidates[0]
    mine = best.score - best.prior
    for other in candidates[1:]:
        few = other.fit.numbers <= best.fit.numbers
        inputs = [s.name for s in other.fit.form.inputs]
        if other.named is not None and not other.named.expects(inputs):
            continue  # a law of temperatures, and this is none
        if few and other.score - other.prior < mine + ROWS_ALONE:
            return other
    return None


def _doubts(
    candidates: Sequence[Candidate], rows: Rows, stable: float, stopped: bool
) -> Iterator[str]:
    """Reasons not to call the formula established."""
    best = candidates[0]
    share: Array = weights(candidates)
    if len(share) > 1 and (share[1] > COMPARABLE * share[0] or share[0] < MOST_OF_IT):
        second = candidates[1]
        other = second.name or "a formula without a name"
        shares = f"weight {share[1]:.2f} to {share[0]:.2f}"
        yield f"{other[0].upper()}{other[1:]} fits as well ({shares})."
    elif (level := _level_with(candidates)) is not None:
        yield f"Without the prior, {level.name or 'a formula without a name'} is as probable."
    if best.named is None and rows.X.shape[1] <= _SMOOTH_COLUMNS:
        yield "It is not a named law, and with this noise other formulas fit about as well."
    elif best.fit.numbers > (FEW_NUMBERS if best.named is None else FEW_NAMED_NUMBERS):
        yield f"It has {best.fit.numbers} fitted parameters: so many can fit many curves."
    margin = over_smooth(best, rows)
    if margin is not None and margin < WELL_OVER_SMOOTH:
        yield "A smooth nonparametric curve fits almost as well."
    if stable < STABLE:
        share_won = f"{100 * stable:.0f}% of the trials"
        yield f"When a fifth of the rows is left out, it is selected in {share_won}."
    few = rows.X.shape[1] <= _SMOOTH_COLUMNS
    effects = effects_left(best.fit, rows)
    if (
        neighbours(best.fit, rows) > NEIGHBOURS
        or (effects is not None and effects < UNLIKELY)
        or (few and shape_left(best.fit, rows) > RESIDUAL_SHAPE)
    ):
        yield "The residuals show a pattern."
    lack = lack_of_fit(best.fit, rows)
    if lack is not None and lack < UNLIKELY:
        yield f"Lack of fit: the replicates scatter less than the residuals (p = {lack:.1g})."
    outer = outer_part(best.fit, rows)
    if outer is not None and outer < ASTRAY:
        yield "Fitted to part of the range, it does not predict the rest within its errors."
    if stopped:
        yield "The search ran out of time."
